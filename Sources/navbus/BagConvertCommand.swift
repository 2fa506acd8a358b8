import ArgumentParser
import Foundation
import NavBag
import NavBagFormats
import NavBus
import NavKit

/// The target format of a conversion.
enum BagTarget: String, ExpressibleByArgument, CaseIterable {
    case mcap, rosbag2, csv, gpx, geojson
}

/// `navbus bag convert`.
struct BagConvert: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "convert", abstract: "Convert recordings of other tools into bags, and bags into their formats.",
        discussion: """
            Reads bags of navbus, ROS 2 (MCAP, SQLite, or their folder) and ROS 1, and traces: NMEA 0183, UBX, gpsd JSON, GPX, CSV. From ROS, \
            NavSatFix, TwistStamped, Odometry and Imu are converted. The file extension selects the output format unless --to \
            is given: .mcap is a navbus bag, .csv, .gpx and .geojson are the drive, and no extension is a ROS 2 bag, which \
            is a folder.
            """)

    @Argument(help: "The recording.") var input: String
    @Option(name: [.short, .long], help: ArgumentHelp("The file or folder to write.", valueName: "FILE")) var out:
        String
    @Option(help: ArgumentHelp("mcap, rosbag2, csv, gpx or geojson.", valueName: "FORMAT")) var to: BagTarget?
    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("Topics of the recording to convert; * matches any text.", valueName: "TOPIC"))
    var topics: [String] = []
    @Flag(help: "Add foxglove.LocationFix and foxglove.GeoJSON channels, which map panels draw; .mcap only.")
    var foxglove = false
    @Flag(help: "Replace an existing file, or the ROS 2 bag in an existing folder.") var overwrite = false

    private var target: BagTarget {
        get throws {
            if let to { return to }
            let end = (out as NSString).pathExtension.lowercased()
            guard let target = end.isEmpty ? .rosbag2 : BagTarget(rawValue: end == "json" ? "geojson" : end) else {
                throw ValidationError("--out \(out): unknown format '.\(end)'; give --to")
            }
            return target
        }
    }

    func validate() throws {
        let target = try target
        if foxglove, target != .mcap { throw ValidationError("--foxglove needs a navbus bag (.mcap) as output") }
    }

    func run() throws {
        guard !isSameFile(input, out) else {
            throw NodeError(.usage, "--out is the input recording; use another file")
        }
        let filter = TopicFilter(include: topics.isEmpty ? ["*"] : topics)
        let damage = SkippedDamage()
        var importing = ROSImport(try open(filter, damage))
        let target = try target
        if target == .rosbag2 {
            try writeROS2(&importing, damage)
            return noteSupplements()
        }
        let file = try OutputFile(out, replacing: .none, overwrite: overwrite)
        if let format = TraceExport.Format(rawValue: target.rawValue) {
            try writeTrace(format, file, filter)
            noteSupplements()
        } else {
            try writeBag(importing, damage, file)
        }
        try file.finish()
    }

    private func open(_ filter: TopicFilter, _ damage: SkippedDamage) throws(NodeError) -> LenientRecords {
        do throws(BagError) {
            return LenientRecords(try RecordingFile.open(input, topics: chosen(filter)) { Console.note($0) }, damage)
        } catch {
            throw NodeError(error.code == .io ? .missing : .invalid, error.description)
        }
    }

    private func chosen(_ filter: TopicFilter) -> ((String) -> Bool)? {
        topics.isEmpty ? nil : { filter.matches($0) }
    }

    private func failure(_ error: BagError) -> NodeError {
        NodeError(.invalid, "cannot convert '\(input)': \(error)")
    }

    private func report(_ count: UInt64, _ tallies: [ConversionTally], _ damage: SkippedDamage) throws(NodeError) {
        damage.report()
        for line in tallies.flatMap(\.lines) { Console.note(line) }
        guard count > 0 else { throw NodeError(.invalid, "'\(input)' has no message that can be converted") }
        print("\(out): \(count) messages")
    }

    /// The readable bags of the recording, with their paths.
    private var sources: [(path: String, reader: BagReader)] {
        RecordingFile.mcapFiles(input).compactMap { path in
            (try? BagReader(path: path)).map { (path: path, reader: $0) }
        }
    }

    /// Reports the metadata and attachments that the output format cannot store.
    private func noteSupplements() {
        let indexes = sources.map(\.reader.index)
        let attachments = indexes.reduce(0) { $0 + $1.attachments.count }
        let metadata = indexes.reduce(0) { $0 + $1.metadata.count }
        guard attachments + metadata > 0 else { return }
        Console.note(
            "left out: \(attachments) attachments and \(metadata) metadata records, "
                + "which only a navbus bag (.mcap) keeps")
    }

    private func writeBag(_ importing: ROSImport, _ damage: SkippedDamage, _ file: OutputFile) throws(NodeError) {
        let count: UInt64
        var supplements = BagSupplements(except: [OutputFile.convertMark])
        var records: any RecordSource = foxglove ? FoxgloveRecords(importing) : importing
        do throws(BagError) {
            var writer = try BagWriter(path: file.partial, overwrite: true, durable: true)
            var ids: [ObjectIdentifier: UInt16] = [:]
            // The map is keyed by identity, so the channels must live as long as it does.
            var channels: [RecordChannel] = []
            while let record = try records.next() {
                if ids[ObjectIdentifier(record.channel)] == nil { channels.append(record.channel) }
                try writer.write(record, ids: &ids)
            }
            for (path, reader) in sources { try supplements.copy(reader, path, to: &writer) }
            try writer.addMetadata(
                name: OutputFile.convertMark,
                ["source": (input as NSString).lastPathComponent, "version": NavbusVersion.full])
            try writer.close()
            withExtendedLifetime(channels) {}
            count = writer.statistics.messageCount
        } catch {
            throw failure(error)
        }
        supplements.reportLosses()
        try report(count, [importing.tally], damage)
    }

    private func writeTrace(_ format: TraceExport.Format, _ file: OutputFile, _ filter: TopicFilter) throws {
        let handle = try file.open()
        defer { try? handle.close() }
        var buffer = Data()
        func flush() throws(BagError) {
            do {
                try handle.write(contentsOf: buffer)
                buffer.removeAll(keepingCapacity: true)
            } catch {
                throw BagError(.io, "cannot write '\(out)': \(systemReason(error))")
            }
        }
        var export = TraceExport { (text) throws(BagError) in
            buffer.append(contentsOf: text.utf8)
            if buffer.count > 1 << 16 { try flush() }
        }
        var damage = SkippedDamage()
        var tally = ConversionTally()
        do throws(BagError) {
            // A document is written in several passes over the recording; each encounters the same damage.
            try export.run(format) { () throws(BagError) in
                damage = SkippedDamage()
                let importing = ROSImport(
                    LenientRecords(try RecordingFile.open(input, topics: chosen(filter)), damage))
                tally = importing.tally
                return importing
            }
            try flush()
        } catch {
            throw failure(error)
        }
        try report(UInt64(export.count), [tally], damage)
    }

    private func writeROS2(_ importing: inout ROSImport, _ damage: SkippedDamage) throws(NodeError) {
        let output = try OutputBagFolder(out, input: input, overwrite: overwrite)
        let count: UInt64
        let tally: ConversionTally
        do throws(BagError) {
            var export = try ROS2Export(folder: output.partial, name: output.name)
            while let record = try importing.next() { try export.write(record) }
            try export.close()
            (count, tally) = (export.messageCount, export.tally)
        } catch {
            throw failure(error)
        }
        try report(count, [importing.tally, tally], damage)
        try output.finish()
    }
}
