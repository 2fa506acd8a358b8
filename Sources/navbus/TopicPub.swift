import ArgumentParser
import Foundation
import NavBus
import NavConfig
import NavGeo
import NavKit
import NavMessages

/// `navbus topic pub`.
struct TopicPub: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pub", abstract: "Publish messages, given as JSON, on a topic.")

    @Argument(help: "The topic.") var topic: String
    @Argument(help: ArgumentHelp("The message.", valueName: "json")) var message: String?
    @Option(
        help: ArgumentHelp(
            "Messages to publish one after another, one per line; - is standard input.", valueName: "FILE")
    )
    var file: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Messages per second, 0.001 to 100000; with it a single message is repeated until Ctrl-C (a file: 10).",
            valueName: "HZ"))
    var rate: Double?
    @Option(parsing: .unconditional, help: ArgumentHelp("Stop after this many messages.", valueName: "COUNT"))
    var count: Int?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Maximum wait for a subscriber before the first message, seconds.", valueName: "SECONDS"))
    var wait = 2.0
    @Option(
        help: ArgumentHelp(
            "The message type. Default: that of the catalogue, or of another publisher.", valueName: "TYPE"))
    var type: String?
    @Option(
        help: ArgumentHelp("Descriptors of types that are not compiled in (protoc's output).", valueName: "FILE"))
    var descriptors: String?
    @Flag(help: "Keep the last message for late joiners, and stay until Ctrl-C.") var latched = false
    @OptionGroup var node: BusOptions

    func validate() throws {
        guard (message == nil) != (file == nil) else { throw ValidationError("give a message or --file") }
        if let count, count < 1 { throw ValidationError("--count must be at least 1") }
        if let rate, !(0.001...100_000).contains(rate) {
            throw ValidationError("--rate must be from 0.001 to 100000")
        }
        guard (0...1e6).contains(wait) else { throw ValidationError("--wait must be seconds, at least 0") }
    }

    /// The published type, its schema, and the description of the topic.
    private struct Kind {
        var description: TopicDescription
        var pool: SchemaPool
    }

    func run() throws {
        let set = try descriptors.map { path throws(NodeError) in try DescriptorFile(path) }
        let name = node.name ?? "navbus-pub-\(ProcessInfo.processInfo.processIdentifier)"
        let (bus, directory) = try NodeArguments.join(name: name)
        defer { bus.close() }
        let stop = StopSignal(waking: bus.makeWaker())
        let kind = try kind(set, bus, directory)
        var lines: TextLines?
        do throws(ConfigError) {
            let longest = 64 << 20
            if let file {
                lines =
                    try file == "-" ? TextLines(standardInputWithLinesUpTo: longest) : TextLines(file, longest: longest)
            }
        } catch {
            throw NodeError(.missing, error.description)
        }
        // Report an error in the first message before waiting.
        guard var next = try nextMessage(&lines) ?? message.map({ (text: $0, place: "the message") }) else {
            throw NodeError(.invalid, "\(file ?? "-"): it has no message")
        }
        var bytes = try encode(next, kind)
        let publication = try ToolBus.attempt { () throws(BusError) in try bus.advertise(kind.description) }
        if let set { try serveSchema(set, bus) }
        try waitForSubscriber(bus, publication, stop)

        let period = rate.map { 1 / $0 } ?? 0.1
        let total = count ?? (file == nil && rate == nil ? 1 : .max)
        let start = MonotonicClock.now()
        var sent = 0
        while !stop.isStopped {
            try ToolBus.attempt { () throws(BusError) in
                try bus.publish(bytes, on: publication, stampNanoseconds: WallClock.now().nanoseconds)
            }
            sent += 1
            guard sent < total else { break }
            if file != nil {
                guard let line = try nextMessage(&lines) else { break }
                next = line
                bytes = try encode(next, kind)
            }
            let due = start + Duration(clampingSeconds: Double(sent) * period)
            while !stop.isStopped, MonotonicClock.now() < due {
                let left = due - MonotonicClock.now()
                _ = try ToolBus.attempt { () throws(BusError) in
                    try bus.poll(timeout: max(.zero, min(left, .milliseconds(100))))
                }
            }
        }
        if kind.description.qos == .latched, !stop.isStopped {
            Console.note("\(topic) is latched: late joiners get the last of \(sent) messages until Ctrl-C")
            while !stop.isStopped {
                _ = try ToolBus.attempt { () throws(BusError) in try bus.poll(timeout: .seconds(1)) }
            }
        }
    }

    /// Returns the next line that is not blank, with its location; nil at the end.
    private func nextMessage(_ lines: inout TextLines?) throws -> (text: String, place: String)? {
        while let line = try lines?.next() {
            if line.contains(where: { !$0.isWhitespace }) { return (line, "\(file ?? ""):\(lines?.number ?? 0)") }
        }
        return nil
    }

    private func kind(
        _ set: DescriptorFile?, _ bus: BusNode, _ directory: BusDirectory
    ) throws -> Kind {
        let entry = TopicCatalogue.topic(named: topic)
        let other = try ToolBus.attempt { () throws(BusError) in try directory.inspect() }.publishers(of: topic).first
        if let entry, let type, type != entry.type.fullName {
            throw NodeError(.usage, "\(topic) carries \(entry.type.fullName), not \(type); omit --type")
        }
        guard let type = type ?? entry?.type.fullName ?? other?.topic.typeName else {
            throw NodeError(
                .usage, "\(topic) is not in the catalogue and no node publishes it: give --type (navbus topic info)")
        }
        let compiled = Schema.type(named: type)
        var description = TopicDescription(
            name: topic, typeName: type, schemaFingerprint: compiled?.schemaFingerprint ?? 0,
            qos: latched ? .latched : .keepLast(64), maximumPayloadSize: 16 << 20)
        if let entry {
            description.qos = latched ? .latched : QoS(entry.qos)
            description.maximumPayloadSize = entry.maxSize
        } else if let other, other.topic.typeName == type {
            description = other.topic
        }
        if let set {
            guard set.pool.message(named: type) != nil else {
                throw NodeError(.usage, "\(descriptors ?? ""): it has no type '\(type)'")
            }
            return Kind(description: description, pool: set.pool)
        }
        if compiled != nil { return Kind(description: description, pool: .builtIn) }
        guard let other, other.topic.typeName == type else {
            throw NodeError.printable(
                .usage, "the type '\(type)' is unknown here: give --descriptors FILE (navbus topic info lists types)")
        }
        let tool = try ToolBus("schema")
        defer { tool.close() }
        return Kind(description: description, pool: try tool.schema(of: type, from: other.node).get())
    }

    private func encode(_ line: (text: String, place: String), _ kind: Kind) throws(NodeError) -> [UInt8] {
        do throws(MessageTextError) {
            return try kind.pool.encode(
                json: line.text, as: kind.description.typeName, limit: kind.description.maximumPayloadSize)
        } catch {
            throw NodeError(.usage, "\(line.place): \(error)")
        }
    }

    /// Serves the schema, so that other nodes can decode the published messages.
    private func serveSchema(_ set: DescriptorFile, _ bus: BusNode) throws {
        let answer = { (type: String) -> GetSchemaResponse in
            GetSchemaResponse(
                type: type, fileDescriptorSet: set.pool.message(named: type) == nil ? nil : set.bytes)
        }
        try ToolBus.attempt { () throws(BusError) in
            try bus.serve(.init(name: NodeService.name, methods: [.init("GetSchema")])) { call in
                let type = (try? GetSchemaRequest(decoding: call.request.bytes))?.type ?? ""
                call.finish(answer(type).encoded())
            }
        }
    }

    private func waitForSubscriber(_ bus: BusNode, _ publication: Publication, _ stop: StopSignal) throws {
        let deadline = MonotonicClock.now() + Duration(clampingSeconds: wait)
        // After the first subscriber, others may follow, such as a recorder: allow a moment for them to connect too.
        var (known, settled) = (0, MonotonicClock.now())
        while !stop.isStopped {
            let count = try ToolBus.attempt { () throws(BusError) in try bus.subscriberCount(of: publication) }
            let now = MonotonicClock.now()
            if count != known { (known, settled) = (count, now + .milliseconds(100)) }
            if count > 0, now >= min(settled, deadline) { return }
            guard now < deadline else { break }
            _ = try ToolBus.attempt { () throws(BusError) in try bus.poll(timeout: .milliseconds(20)) }
        }
        if !stop.isStopped, wait > 0 {
            Console.note("no subscriber of \(topic) within \(Format.seconds(wait)): published anyway")
        }
    }
}
