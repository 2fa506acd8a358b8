import ArgumentParser
import Foundation
import NavBag
import NavBus
import NavKit
import NavMessages
import NavRecording

/// `navbus bag`.
struct BagCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bag", abstract: "Record, play, inspect, cut, convert and compare bags (MCAP).",
        subcommands: [
            BagRecord.self, BagSnapshot.self, BagPlay.self, BagInfoCommand.self, BagCat.self, BagCheckCommand.self,
            BagRecoverCommand.self, BagCut.self, BagFilter.self, BagMerge.self, BagConvert.self, BagDiffCommand.self,
        ])
}

/// `navbus bag record`.
struct BagRecord: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record", abstract: "Record topics into a bag until Ctrl-C.",
        discussion: """
            The bag can be read at any time, even after the recorder was killed: at most the last second is missing. If \
            FILE.mcap is already a bag, the recording goes into FILE_1.mcap, then FILE_2.mcap, and so on. The exit status is \
            1 when a published message was not recorded.
            """)

    @Argument(help: "Topics; * matches any text. Default: all.") var topics: [String] = []
    @Option(help: ArgumentHelp("The bag to write (.mcap).", valueName: "FILE.mcap")) var out: String
    @Flag(help: "Record in the time of /clock, for example during a playback.") var simTime = false
    @Flag(help: "Take part in a lockstep playback and record only that; equal playbacks produce identical bags.")
    var lockstep = false
    @Flag(help: "Replace FILE.mcap; further files of the recording replace none.") var overwrite = false
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Start a new file after this many megabytes, 1 to 1000000.", valueName: "MB"))
    var splitMb: Int?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Start a new file after this many seconds of recorded time.", valueName: "SECONDS"))
    var splitS: Double?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Delete the oldest files of the recording when their total exceeds this many megabytes, 2 to 100000000; each has "
                + "a tenth of the total, and at least one megabyte.",
            valueName: "MB"))
    var quotaMb: Int?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Keep the last seconds in memory, and write them to one bag on each 'navbus bag snapshot'.",
            valueName: "SECONDS"))
    var snapshot: Double?
    @Option(
        parsing: .unconditional, help: ArgumentHelp("Megabytes of memory for --snapshot, 1 to 100000.", valueName: "MB")
    ) var snapshotMb =
        256
    @Option(
        help: ArgumentHelp("Attach a file, such as a configuration; may be given several times.", valueName: "FILE"))
    var attach: [String] = []
    @OptionGroup var node: BusOptions

    func validate() throws {
        try checkBagName(out)
        guard splitMb.map((1...1_000_000).contains) ?? true else {
            throw ValidationError("--split-mb must be from 1 to 1000000")
        }
        guard splitS.map((1...1e9).contains) ?? true else { throw ValidationError("--split-s must be from 1 to 1e9") }
        guard quotaMb.map((2...100_000_000).contains) ?? true else {
            throw ValidationError("--quota-mb must be from 2 to 100000000")
        }
        guard quotaMb == nil || (!overwrite && snapshot == nil) else {
            throw ValidationError("--quota-mb cannot be combined with --overwrite or --snapshot")
        }
        guard snapshot == nil || (splitMb == nil && splitS == nil) else {
            throw ValidationError("--snapshot cannot be combined with --split-mb or --split-s")
        }
        guard snapshot.map((0.1...86_400).contains) ?? true, (1...100_000).contains(snapshotMb) else {
            throw ValidationError("--snapshot must be from 0.1 to 86400 seconds, --snapshot-mb from 1 to 100000")
        }
        guard snapshot == nil || !lockstep else {
            throw ValidationError("--snapshot cannot be combined with --lockstep")
        }
    }

    /// The maximum number of files named at the end.
    private static let namedFiles = 5

    func run() throws {
        for topic in topics where !topic.hasPrefix("/") && !topic.hasPrefix("*") {
            let right = "/" + topic + (topic.hasSuffix("/") ? "*" : "")
            throw NodeError(
                .usage, "'\(topic)' matches no topic, since names begin with a slash: give '\(right)'")
        }
        let (bus, directory) = try NodeArguments.join(name: node.name ?? "recorder")
        let stop = StopSignal(waking: bus.makeWaker())
        var options = BagRecorder.Options()
        if !topics.isEmpty { options.topics = topics }
        options.simTime = simTime
        // A recording uses the names of the bus; only the topic of its own time can be renamed.
        options.clockTopic = try node.remaps()[Topics.clock.name] ?? Topics.clock.name
        options.lockstep = lockstep
        options.overwrite = overwrite
        options.splitBytes = splitMb.map { $0 * 1_000_000 }
        options.splitSeconds = splitS
        options.quotaBytes = quotaMb.map { $0 * 1_000_000 }
        // Each file begins with the types and latched values, which would fill smaller files.
        if let quotaMb, quotaMb < 10, splitMb == nil { options.splitBytes = 1_000_000 }
        options.snapshotSeconds = snapshot
        options.snapshotBytes = snapshotMb * 1_000_000
        let environment = ProcessInfo.processInfo.environment
        let launchFile = environment["NAVBUS_LAUNCH_FILE"].flatMap {
            FileManager.default.isReadableFile(atPath: $0) ? $0 : nil
        }
        options.attachments = attach + (launchFile.map { [$0] } ?? [])
        options.facts = [
            "version": NavbusVersion.full, "command": CommandLine.arguments.joined(separator: " "),
            "host": ProcessInfo.processInfo.hostName, "started": Date().formatted(.iso8601),
        ]
        let recorder = try BagRecorder(
            bus, path: out, options: options, directory: directory, log: NodeLog(node: bus.name))
        defer { bus.close() }
        let losses = try recorder.run(until: stop)
        if recorder.paths.isEmpty {
            print("no snapshot was requested, nothing is written")
        } else {
            let kept = recorder.keptPaths
            let last = kept.suffix(Self.namedFiles)
            let others = kept.count - last.count
            let names = (others > 0 ? "\(others) earlier files, " : "") + last.joined(separator: ", ")
            let deleted = recorder.paths.count - kept.count
            let remark = deleted > 0 ? ", some of them in \(deleted) files that the quota deleted" : ""
            print("\(names): \(recorder.messageCount) messages\(remark)")
        }
        guard losses.total == 0 else {
            throw NodeError(.system, "the recording is incomplete: \(losses.text); see 'navbus bag check'")
        }
    }
}

/// `navbus bag play`.
struct BagPlay: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "play", abstract: "Play a bag onto the bus at its recorded pace, or in lockstep with the nodes.",
        discussion: """
            On a terminal: space pauses and resumes, s plays one moment, b steps back one, left and right seek 10 s back and \
            forward, up and down double and halve the rate, q quits.
            """)

    @Argument(help: "The bag.") var bag: String
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Playback rate relative to the recording, 0.001 to 1000000. Default: 1, or unlimited in lockstep.",
            valueName: "FACTOR")) var rate: Double?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Start this many seconds into the bag.", valueName: "SECONDS")) var start = 0.0
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("End this many seconds into the bag.", valueName: "SECONDS")) var end: Double?
    @Flag(help: "Restart at the end, in a new epoch of /clock.") var loop = false
    @Flag(help: "Start paused.") var paused = false
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Play this many moments (all messages up to the next stamp), then pause.", valueName: "COUNT"))
    var step: Int?
    @Flag(help: "Wait after each moment until every node that runs on /clock has handled it.") var lockstep = false
    @Option(
        name: .customLong("wait-for"),
        help: ArgumentHelp(
            "Nodes of this host that take part in lockstep. Default: every one with sim_time: true at the start.",
            valueName: "NODE,NODE")) var waitFor: String?
    @Option(
        name: .customLong("barrier-timeout"), parsing: .unconditional,
        help: ArgumentHelp("Time limit for a node to handle one moment in lockstep.", valueName: "SECONDS"))
    var patience =
        30.0
    @Flag(
        name: .customLong("skip-failed"), help: "Continue without a node that dies or does not answer in lockstep.")
    var skipFailed = false
    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("Topics to play; * matches any text. Default: all.", valueName: "TOPIC"))
    var topics: [String] = []
    @Option(
        name: .customLong("as-input"),
        help: ArgumentHelp(
            "Skip this node's recorded messages, so that the bag can be its input.", valueName: "NODE"))
    var inputOf: String?
    @Flag(help: "Publish /clock with the bag's time.") var clock = false
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Skip gaps in the bag that are longer than this.",
            valueName: "SECONDS")) var maxGap = 3_600.0
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Subscribers that each topic needs before playback starts; after --wait it starts anyway.",
            valueName: "COUNT")) var subscribers = 1
    @Option(
        parsing: .unconditional, help: ArgumentHelp("How long to wait for subscribers, seconds.", valueName: "SECONDS"))
    var wait = 10.0
    @OptionGroup var node: BusOptions

    func validate() throws {
        guard rate.map(BagPlayer.rates.contains) ?? true else {
            throw ValidationError("--rate must be from 0.001 to 1000000")
        }
        guard start >= 0, start <= 1e9, end.map({ $0 >= start && $0 <= 1e9 }) ?? true else {
            throw ValidationError("--start and --end must be seconds, the end not before the start")
        }
        guard maxGap > 0 else { throw ValidationError("--max-gap must be above 0") }
        guard subscribers >= 0, wait >= 0, wait <= 1e6 else {
            throw ValidationError("--subscribers and --wait must be at least 0")
        }
        guard patience > 0, patience <= 1e6 else { throw ValidationError("--barrier-timeout must be above 0") }
        guard lockstep || (waitFor == nil && !skipFailed) else {
            throw ValidationError("--wait-for and --skip-failed need --lockstep")
        }
        if let step, step < 1 { throw ValidationError("--step must be at least 1") }
    }

    func run() throws {
        let (bus, directory) = try NodeArguments.join(name: node.name ?? "player")
        defer { bus.close() }
        let stop = StopSignal(waking: bus.makeWaker())
        var options = BagPlayer.Options()
        options.rate = rate
        options.start = start
        options.end = end
        options.loop = loop
        if !topics.isEmpty { options.topics = topics }
        options.inputOf = inputOf
        options.remaps = try node.remaps()
        options.clock = clock
        options.longestGap = maxGap
        options.subscribers = subscribers
        options.wait = wait
        options.lockstep = lockstep
        options.participants = waitFor.map { $0.split(separator: ",").map(String.init) } ?? []
        options.patience = patience
        options.leavesOutFailed = skipFailed
        let control = PlayerControl(
            isPaused: paused || step != nil, steps: step ?? 0, waking: bus.makeWaker())
        let player = try BagPlayer(
            bus, path: bag, options: options, control: control, directory: directory, stop: stop,
            log: NodeLog(node: bus.name))
        let keys = PlayerKeys(control, stop, waking: bus.makeWaker())
        defer { keys?.end() }
        let bar = ProgressBar()
        try player.run { player in
            let rate = player.rate.map { $0 == 1 ? "" : ", \(Format.decimal($0, $0 < 1 ? 3 : 1)) times" } ?? ""
            bar.show(
                player.progress,
                "\(Format.seconds(player.played)) of \(Format.seconds(player.duration)), \(player.messageCount) messages"
                    + rate + (player.isPaused ? ", paused" : ""))
        }
        bar.finish()
        print("\(bag): \(player.messageCount) messages played")
    }
}

/// `navbus bag info`.
struct BagInfoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "info", abstract: "Show the contents of a bag.")

    @Argument(help: "The bag.") var bag: String
    @Flag(help: "Print JSON.") var json = false

    private struct Document: Encodable {
        var duration_s: Double
        var messages: UInt64?
        var start_ns: UInt64?
        var end_ns: UInt64?
        var bytes: Int
        var topics: [Topic]
        var metadata: [Metadata]
        var attachments: [Attachment]
    }

    private struct Metadata: Encodable {
        var name: String
        var entries: [String: String]
    }

    private struct Attachment: Encodable {
        var name: String
        /// The bytes of its record in the bag.
        var bytes: Int
    }

    private struct Topic: Encodable {
        var topic: String
        var type: String
        var messages: UInt64?
    }

    func run() throws {
        let info: BagInfo
        let origin: BagIndex.Origin
        let metadata: [Metadata]
        let attachments: [Attachment]
        do throws(BagError) {
            let reader = try BagReader(path: bag)
            info = reader.info()
            origin = reader.index.origin
            // Damage is reported by 'bag check', not here.
            metadata = reader.index.metadata.map { place in
                Metadata(name: place.name, entries: (try? reader.metadata(place))?.entries ?? [:])
            }
            attachments = reader.index.attachments.map { Attachment(name: $0.name, bytes: $0.length) }
        } catch {
            throw NodeError.printable(.invalid, error.description)
        }
        // Each publisher of a topic has a channel.
        var topics: [Topic] = []
        for channel in info.channels {
            if let last = topics.last, last.topic == channel.channel.topic, last.type == channel.schemaName {
                topics[topics.count - 1].messages = last.messages.flatMap { sum in
                    channel.messageCount.map { sum &+ $0 }
                }
            } else {
                topics.append(
                    Topic(
                        topic: channel.channel.topic, type: channel.schemaName, messages: channel.messageCount))
            }
        }
        if json {
            print(
                try navbus.json(
                    Document(
                        duration_s: Double(info.duration) * 1e-9, messages: info.messageCount,
                        start_ns: info.timeRange?.lowerBound, end_ns: info.timeRange?.upperBound, bytes: info.fileBytes,
                        topics: topics, metadata: metadata, attachments: attachments)))
            return
        }
        let duration = String(format: "%.1f", Double(info.duration) * 1e-9)
        print("\(bag): \(info.messageCount.map { "\($0)" } ?? "?") messages, \(duration) s, \(info.fileBytes) bytes")
        if let range = info.timeRange {
            let format = ISO8601DateFormatter()
            print(
                "from \(format.string(from: Date(timeIntervalSince1970: Double(range.lowerBound) * 1e-9))) to \(format.string(from: Date(timeIntervalSince1970: Double(range.upperBound) * 1e-9)))"
            )
        }
        for packing in info.packings {
            let name = packing.compression.isEmpty ? "uncompressed" : Console.printable(packing.compression)
            print("\(packing.chunkCount) chunks, \(name), ratio " + String(format: "%.1f", packing.ratio))
        }
        if case .scan(let ending, _) = origin {
            let cause = ending == .complete ? "its summary is missing or damaged" : "\(ending)"
            print("note: the bag has no usable index (\(cause)); every record was read")
            print("      'navbus bag recover' writes a copy with an index")
        }
        let width = topics.map(\.topic.count).max() ?? 0
        for topic in topics {
            let name = Console.printable(topic.topic).padding(toLength: width, withPad: " ", startingAt: 0)
            let count = topic.messages.map { "\($0)" } ?? "?"
            print("  \(name)  \(count)\t\(Console.printable(topic.type))")
        }
        for record in metadata {
            // A node's configuration has too many keys for a summary.
            let isShort = record.entries.count <= 12
            let remark = isShort ? "" : ", \(record.entries.count) entries (see --json)"
            print("metadata \(Console.printable(record.name))\(remark)")
            guard isShort else { continue }
            for (key, value) in record.entries.sorted(by: { $0.key < $1.key }) {
                print("  \(Console.printable(key)): \(Console.printable(value))")
            }
        }
        for file in attachments {
            print("attachment \(Console.printable(file.name)), \(file.bytes) bytes of the bag")
        }
    }
}
