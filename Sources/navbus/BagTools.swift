import ArgumentParser
import Foundation
import NavBag
import NavBus
import NavGeo
import NavKit
import NavMessages
import NavRecording

/// The damaged parts of a recording that were skipped.
final class SkippedDamage {
    private(set) var count = 0
    private var first: BagError?

    func add(_ error: BagError) {
        count += 1
        first = first ?? error
    }

    /// A description of the skipped parts; nil without damage.
    var text: String? {
        guard let first else { return nil }
        return count == 1
            ? "a damaged part was skipped: \(first)" : "\(count) damaged parts were skipped, the first: \(first)"
    }

    /// Reports the skipped parts on standard error.
    func report() {
        if let text { Console.note(text) }
    }
}

/// A source of records that skips and counts the damaged parts.
struct LenientRecords: RecordSource {
    private var base: any RecordSource
    private let damage: SkippedDamage

    init(_ base: any RecordSource, _ damage: SkippedDamage = SkippedDamage()) {
        self.base = base
        self.damage = damage
    }

    mutating func next() throws(BagError) -> Record? {
        while true {
            do throws(BagError) {
                return try base.next()
            } catch {
                damage.add(error)
                guard error.code != .io, damage.count < 1_000_000 else { throw error }
            }
        }
    }

    var progress: Double { base.progress }

    func reportDamage() { damage.report() }
}

/// The records of one of several files, whose name is added to errors.
private struct NamedRecords: RecordSource {
    var base: BagRecords<BagFile>
    let path: String

    mutating func next() throws(BagError) -> Record? {
        do throws(BagError) {
            return try base.next()
        } catch {
            throw BagError(error.code, "'\(path)': \(error.reason)", offset: error.offset)
        }
    }

    var progress: Double { base.progress }
}

/// The input bags of a command.
struct BagInputs {
    let readers: [BagReader]
    private let paths: [String]

    /// Opens bags; of a damaged bag, the readable part is used.
    init(_ paths: [String]) throws(NodeError) {
        var readers: [BagReader] = []
        for path in paths {
            do throws(BagError) {
                let reader = try BagReader(path: path)
                if let warning = reader.index.origin.warning(about: path) { Console.note(warning) }
                readers.append(reader)
            } catch {
                throw NodeError.printable(error.code == .io ? .missing : .invalid, error.description(of: path))
            }
        }
        (self.readers, self.paths) = (readers, paths)
    }

    func topics(_ filter: TopicFilter) -> [String] {
        Set(readers.flatMap(\.index.channels).map(\.topic).filter(filter.matches)).sorted()
    }

    /// The messages of a query, by log time.
    func records(_ query: BagQuery) -> LenientRecords {
        LenientRecords(
            readers.count == 1
                ? BagRecords(readers[0], query)
                : MergedRecords(zip(readers, paths).map { NamedRecords(base: BagRecords($0, query), path: $1) }))
    }
}

/// The bag that a command writes from other bags.
struct BagOutput: ParsableArguments {
    @Option(name: [.short, .long], help: ArgumentHelp("The bag to write (.mcap).", valueName: "FILE.mcap"))
    var out: String
    @Flag(help: "Replace an existing file.") var overwrite = false

    func validate() throws { try checkBagName(out) }

    /// Writes records to a bag with the metadata and attachments of its sources; the file gets its final name when it
    /// is complete. Records repeated in the files of a split recording are written once.
    ///
    /// - Parameter head: the records to write before the others.
    func write(_ records: LenientRecords, head: [Record] = [], of inputs: BagInputs, _ paths: [String])
        throws(NodeError)
    {
        guard !paths.contains(where: { isSameFile($0, out) }) else {
            throw NodeError(.usage, "--out is the input bag; use another file")
        }
        let file = try OutputFile(out, replacing: .none, overwrite: overwrite)
        let bar = ProgressBar()
        var records = records
        var supplements = BagSupplements(except: [OutputFile.editMark])
        var latched = inputs.readers.count > 1 ? LatchedValues() : nil
        var count: UInt64 = 0
        do throws(BagError) {
            var writer = try BagWriter(path: file.partial, overwrite: true, durable: true)
            for (reader, path) in zip(inputs.readers, paths) { try supplements.copy(reader, path, to: &writer) }
            let names = paths.map { ($0 as NSString).lastPathComponent }
            try writer.addMetadata(
                name: OutputFile.editMark, ["sources": names.joined(separator: ", "), "version": NavbusVersion.full])
            var ids: [ObjectIdentifier: UInt16] = [:]
            // The map is keyed by identity, so the channels must live as long as it does.
            for record in head { try writer.write(record, ids: &ids) }
            while let record = try records.next() {
                guard latched?.isRepeated(record) != true else { continue }
                try writer.write(record, ids: &ids)
                if writer.statistics.messageCount % 4_096 == 0 { bar.show(records.progress, out) }
            }
            try writer.close()
            bar.finish()
            count = writer.statistics.messageCount
        } catch {
            bar.finish()
            throw NodeError.printable(.invalid, "cannot write '\(out)': \(error)")
        }
        try file.finish()
        print("\(out): \(count) messages")
        records.reportDamage()
        supplements.reportLosses()
    }
}

/// A time range within a bag.
struct BagRange: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Start this many seconds into the bag.", valueName: "SECONDS")) var start = 0.0
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("End this many seconds into the bag.", valueName: "SECONDS")) var end: Double?

    func validate() throws {
        guard start >= 0, start <= 1e9, end.map({ $0 >= start && $0 <= 1e9 }) ?? true else {
            throw ValidationError("--start and --end must be seconds, the end not before the start")
        }
    }

    /// Returns the query for the range, relative to the earliest start of the bags; throws when all bags end before the
    /// range begins.
    func query(_ inputs: BagInputs, topics: [String]?) throws(NodeError) -> BagQuery {
        let ranges = inputs.readers.compactMap(\.index.timeRange)
        let first = ranges.map(\.lowerBound).min() ?? 0
        let begin = Pace.moment(start, after: first)
        if let last = ranges.map(\.upperBound).max(), begin > last {
            let length = (Double(last - first) / 1e9).formatted(
                .number.precision(.fractionLength(0...1)).grouping(.never))
            throw NodeError(.usage, "--start \(start): the bag ends \(length) s after its start")
        }
        return BagQuery(topics: topics, start: begin, end: end.map { Pace.moment($0, after: first) })
    }
}

/// `navbus bag cut`.
struct BagCut: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cut", abstract: "Copy a time range of a bag into a new bag.",
        discussion: "The new bag begins with the values of the latched topics at that time.")

    @Argument(help: "The bag.") var bag: String
    @OptionGroup var range: BagRange
    @OptionGroup var output: BagOutput

    func run() throws {
        let inputs = try BagInputs([bag])
        let query = try range.query(inputs, topics: nil)
        let reader = inputs.readers[0]
        var head: [Record] = []
        do throws(BagError) {
            let latched = Set(reader.index.channels.filter(\.isLatched).map(\.topic)).sorted()
            for (_, message) in try reader.lastMessages(of: latched, before: query.start).sorted(by: { $0.key < $1.key }
            ) {
                guard let channel = reader.index.channel(message.channelID) else { continue }
                var record = Record(message, reader.recordChannel(channel))
                record.logTime = query.start
                head.append(record)
            }
        } catch {
            throw NodeError.printable(
                .invalid, "cannot cut '\(bag)': \(error); 'navbus bag recover' saves the readable part")
        }
        try output.write(inputs.records(query), head: head, of: inputs, [bag])
    }
}

/// `navbus bag filter`.
struct BagFilter: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "filter", abstract: "Copy some topics of a bag into a new bag.")

    @Argument(help: "The bag.") var bag: String
    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("Topics to keep; * matches any text. Default: all.", valueName: "TOPIC"))
    var topics: [String] = []
    @Option(parsing: .upToNextOption, help: ArgumentHelp("Topics to leave out.", valueName: "TOPIC"))
    var exclude: [String] = []
    @OptionGroup var output: BagOutput

    func validate() throws {
        if topics.isEmpty, exclude.isEmpty { throw ValidationError("give --topics or --exclude") }
    }

    func run() throws {
        let inputs = try BagInputs([bag])
        let kept = inputs.topics(TopicFilter(include: topics.isEmpty ? ["*"] : topics, exclude: exclude))
        guard !kept.isEmpty else {
            let all = inputs.topics(TopicFilter(include: ["*"])).joined(separator: ", ")
            throw NodeError.printable(.usage, "no topic of '\(bag)' is selected; it has: \(all)")
        }
        try output.write(inputs.records(BagQuery(topics: kept)), of: inputs, [bag])
    }
}

/// `navbus bag merge`.
struct BagMerge: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge", abstract: "Merge several bags into one, in the order of time.",
        discussion: """
            Metadata, attachments and latched values that the files of a split recording repeat are written once.
            """)

    @Argument(help: ArgumentHelp("The bags.", valueName: "FILE")) var bags: [String]
    @OptionGroup var output: BagOutput

    func run() throws {
        let inputs = try BagInputs(bags)
        try output.write(inputs.records(BagQuery()), of: inputs, bags)
    }
}

/// `navbus bag cat`.
struct BagCat: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cat", abstract: "Print the messages of a bag, one per line.",
        discussion: """
            Each line has the log time in seconds, the topic, and the message as JSON by the schema in the bag. Of messages in \
            encodings other than protobuf and JSON only the size is printed.
            """)

    @Argument(help: "The bag.") var bag: String
    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("Topics to print; * matches any text. Default: all.", valueName: "TOPIC"))
    var topics: [String] = []
    @OptionGroup var range: BagRange
    @Option(
        help: ArgumentHelp("Print only this field of each message, such as legs[0].distance_m.", valueName: "PATH"))
    var field: String?
    @Option(
        help: ArgumentHelp("Print only messages that match a condition, such as 'speed>10'.", valueName: "CONDITION"))
    var filter: String?
    @Option(parsing: .unconditional, help: ArgumentHelp("Stop after this many messages.", valueName: "COUNT"))
    var count: Int?
    @Flag(help: "Print topic, type, sequence, times and message as one object per line.") var json = false

    func validate() throws {
        if let field, FieldPath(field) == nil {
            throw ValidationError("--field \(field): give a path such as legs[0].distance_m")
        }
        if let filter, FieldCondition(filter) == nil {
            throw ValidationError("--filter \(filter): \(FieldCondition.form)")
        }
        if let count, count < 1 { throw ValidationError("--count must be at least 1") }
    }

    func run() throws {
        let inputs = try BagInputs([bag])
        let wanted = topics.isEmpty ? nil : inputs.topics(TopicFilter(include: topics))
        if let wanted, wanted.isEmpty {
            let all = inputs.topics(TopicFilter(include: ["*"])).joined(separator: ", ")
            throw NodeError.printable(.usage, "no topic of '\(bag)' matches; it has: \(all)")
        }
        var records = inputs.records(try range.query(inputs, topics: wanted))
        let path = field.flatMap { FieldPath($0) }
        let condition = filter.flatMap { FieldCondition($0) }
        var decoder = RecordText()
        var check = FieldCheck(field: path, condition: condition)
        if let error = fieldError(inputs.readers[0], wanted, check, &decoder) { throw error }
        var output = Output()
        var printed = 0
        while count.map({ printed < $0 }) ?? true, let record = try nextRecord(&records) {
            var text = try decoder.json(record)
            let schema = decoder.pool(record.channel).map { (pool: $0, type: record.channel.schemaName) }
            if let schema { check.note(schema.type, in: schema.pool) }
            if let condition, !condition.holds(in: text, schema) { continue }
            if let path { text = path.value(in: text) ?? "null" }
            output.line(
                try json
                    ? envelope(record, text)
                    : "\(seconds(record.logTime)) \(Console.printable(record.channel.topic)) \(text)")
            printed += 1
        }
        output.flush()
        records.reportDamage()
        if let problem = decoder.problem { throw NodeError.printable(.invalid, problem) }
        if let error = check.error { throw error }
    }

    /// Returns an error, before any output, when no channel has a field; nil when a channel has it or has no schema.
    private func fieldError(
        _ reader: BagReader, _ wanted: [String]?, _ check: FieldCheck, _ decoder: inout RecordText
    ) -> NodeError? {
        var check = check
        for channel in reader.index.channels where wanted?.contains(channel.topic) ?? true {
            let known = reader.recordChannel(channel)
            guard known.messageEncoding == "protobuf", let pool = decoder.pool(known) else { return nil }
            check.note(known.schemaName, in: pool)
        }
        return check.error
    }

    private func nextRecord(_ records: inout LenientRecords) throws(NodeError) -> Record? {
        do throws(BagError) {
            return try records.next()
        } catch {
            throw NodeError.printable(.invalid, "cannot read '\(bag)': \(error)")
        }
    }

    private func seconds(_ time: UInt64) -> String {
        let digits = String(time % 1_000_000_000)
        return "\(time / 1_000_000_000)." + String(repeating: "0", count: 9 - digits.count) + digits
    }

    private func envelope(_ record: Record, _ text: String) throws -> String {
        "{\"topic\":\(try navbus.json(record.channel.topic)),\"type\":\(try navbus.json(record.channel.schemaName)),"
            + "\"sequence\":\(record.sequence),\"log_ns\":\"\(record.logTime)\",\"publish_ns\":\"\(record.publishTime)\","
            + "\"message\":\(text)}"
    }
}

/// A converter of records to JSON by the schemas in their recording.
struct RecordText {
    private var pools: [ObjectIdentifier: SchemaPool?] = [:]
    private var channels: [RecordChannel] = []
    /// A description of the first unreadable message.
    private(set) var problem: String?

    /// Returns the message as JSON; null for an unreadable one.
    mutating func json(_ record: Record) throws -> String {
        let channel = record.channel
        switch channel.messageEncoding {
        case "json": return try Self.line(String(decoding: record.data, as: UTF8.self))
        case "protobuf": break
        default: return "{\"encoding\":\(try navbus.json(channel.messageEncoding)),\"bytes\":\(record.data.count)}"
        }
        guard let pool = pool(channel) else {
            return "{\"encoding\":\"protobuf\",\"bytes\":\(record.data.count)}"
        }
        do throws(MessageError) {
            return try pool.json(decoding: Array(record.data), as: channel.schemaName).json
        } catch {
            problem = problem ?? "a message of \(channel.topic) cannot be read: \(error)"
            return "null"
        }
    }

    /// Returns JSON text on one line; returns text that is not JSON as a JSON string.
    private static func line(_ text: String) throws -> String {
        var scanner = JSONScanner(bytes: Array(text.utf8))
        guard (try? scanner.skipValue()) != nil, scanner.peek() == nil else { return try navbus.json(text) }
        return Console.escaped(json: text)
    }

    mutating func pool(_ channel: RecordChannel) -> SchemaPool? {
        if let known = pools[ObjectIdentifier(channel)] { return known }
        var found = channel.schemaData.isEmpty ? nil : try? SchemaPool(fileDescriptorSet: channel.schemaData)
        if found?.message(named: channel.schemaName) == nil {
            found = SchemaPool.builtIn.message(named: channel.schemaName) == nil ? nil : .builtIn
        }
        pools[ObjectIdentifier(channel)] = .some(found)
        channels.append(channel)
        return found
    }
}

/// `navbus bag snapshot`.
struct BagSnapshot: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "snapshot", abstract: "Have a recorder write the last seconds to a bag.",
        discussion: "Needs a recorder that was started with 'navbus bag record --snapshot SECONDS'.")

    @Option(help: ArgumentHelp("The recorder. Default: the first by name.", valueName: "NODE")) var recorder: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Keep recording into the bag for this long, 0 to 3600.", valueName: "SECONDS"))
    var after = 0.0
    @Option(help: ArgumentHelp("The reason, stored in the bag.", valueName: "TEXT")) var reason: String?
    @Flag(help: "Print JSON.") var json = false

    func validate() throws {
        guard (0...3_600).contains(after) else { throw ValidationError("--after must be from 0 to 3600 seconds") }
    }

    private struct Document: Encodable {
        var path: String
        var messages: UInt64
        var before_s: Double
    }

    func run() throws {
        let servers = try ToolBus.registry().servers(of: RecorderService.name).map(\.node)
        guard let node = recorder ?? servers.first, servers.contains(node) else {
            let what =
                recorder.map { "'\($0)' is not a recorder with snapshots" }
                ?? "no recorder with snapshots is on the bus"
            throw NodeError(.missing, "\(what): start one with 'navbus bag record --snapshot SECONDS'")
        }
        let tool = try ToolBus("snapshot")
        defer { tool.close() }
        try tool.meetPeers(of: [node])
        var options = CallOptions(timeout: .seconds(30) + Duration(clampingSeconds: after))
        options.node = node
        do throws(CallStatus) {
            let request = SnapshotRequest(reason: reason, afterS: after > 0 ? after : nil)
            let answer = try tool.bus.callBlocking(RecorderService.snapshot, request, options: options)
            let document = Document(
                path: answer.path ?? "", messages: answer.messageCount ?? 0, before_s: answer.beforeS ?? 0)
            let text =
                "\(document.path): \(document.messages) messages, from \(Format.seconds(document.before_s)) before the call on"
            print(json ? (try? navbus.json(document)) ?? "{}" : Console.printable(text))
        } catch {
            throw NodeError.printable(.system, "the snapshot failed: \(error.text)")
        }
    }
}
