import ArgumentParser
import Foundation
import NavBus
import NavConfig
import NavSpelling
import NavGeo
import NavKit
import NavMessages

/// The limits after which a listening tool ends by itself.
struct ListenLimits: ParsableArguments {
    @Option(parsing: .unconditional, help: ArgumentHelp("Stop after this many messages.", valueName: "COUNT"))
    var count: Int?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Stop after this many seconds; exit 1 when no message came.", valueName: "SECONDS"))
    var duration: Double?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Stop with exit 1 when no message came for this many seconds.", valueName: "SECONDS"))
    var timeout: Double?

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count must be at least 1") }
        for (name, value) in [("--duration", duration), ("--timeout", timeout)] {
            if let value, !(value >= 0 && value <= 1e9) {
                throw ValidationError("\(name) must be seconds, at least 0")
            }
        }
    }
}

/// A loop that takes messages until it is stopped, has enough messages, or has waited too long.
struct Listening {
    let tool: ToolBus
    let topics: [String]
    let limits: ListenLimits

    /// Calls `take` for each message and `tick` between messages at least ten times a second.
    func run(_ take: (Delivery) throws -> Void, tick: (_ elapsed: Double) throws -> Void = { _ in }) throws {
        let start = MonotonicClock.now()
        var last = start
        var seen = 0
        var hasNotedRejection = false
        while !tool.stop.isStopped, limits.count.map({ seen < $0 }) ?? true {
            let delivery = try tool.poll(.milliseconds(100))
            let now = MonotonicClock.now()
            if let delivery {
                seen += 1
                last = now
                try take(delivery)
            } else if !hasNotedRejection, let rejection = SilenceExplanation.rejection(tool.bus.statistics) {
                hasNotedRejection = true
                Console.note(rejection)
            }
            let elapsed = (now - start).inSeconds
            try tick(elapsed)
            if let duration = limits.duration, elapsed >= duration { break }
            if let timeout = limits.timeout, (now - last).inSeconds > timeout {
                throw try SilenceExplanation.reason(topics, tool, waited: timeout)
            }
        }
        if seen == 0, let duration = limits.duration, !tool.stop.isStopped {
            throw try SilenceExplanation.reason(topics, tool, waited: duration)
        }
    }
}

/// `navbus topic echo`.
struct TopicEcho: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "echo",
        abstract:
            "Print the messages of topics as JSON, one per line, until Ctrl-C; any type works, including unknown ones.")

    @Argument(help: "Topics; * matches any text.") var topics: [String]
    @OptionGroup var limits: ListenLimits
    @Option(
        help: ArgumentHelp("Print only this field of each message, such as legs[0].distance_m.", valueName: "PATH"))
    var field: String?
    @Option(
        help: ArgumentHelp(
            "Print only messages that match a condition, such as 'deviation=OFF_ROUTE' or 'speed_mps>10' (=, !=, <, <=, >, >=).",
            valueName: "CONDITION"))
    var filter: String?
    @Flag(help: "Put each member on its own line.") var pretty = false
    @Flag(help: "Print topic, publisher, sequence, stamps and message as one object per line.") var json = false
    @Flag(help: "Print the bytes in hexadecimal, not decoded.") var raw = false
    @Option(help: ArgumentHelp("The message type, overriding the publisher's.", valueName: "TYPE"))
    var type: String?
    @Option(
        help: ArgumentHelp("Descriptors of types that are not compiled in (protoc's output).", valueName: "FILE"))
    var descriptors: String?

    func validate() throws {
        if topics.isEmpty { throw ValidationError("give a topic") }
        if let field, FieldPath(field) == nil {
            throw ValidationError("--field \(field): give a path such as legs[0].distance_m")
        }
        if let filter, FieldCondition(filter) == nil {
            throw ValidationError("--filter \(filter): \(FieldCondition.form)")
        }
        if raw, pretty || field != nil || filter != nil {
            throw ValidationError("--raw cannot be combined with --pretty, --field or --filter")
        }
    }

    func run() throws {
        let pool = try descriptors.map { path throws(NodeError) in try DescriptorFile(path).pool }
        let tool = try ToolBus("topic")
        defer { tool.close() }
        let isPattern = try tool.subscribe(topics, depth: 1_000)
        let reader = MessageReader(tool, descriptors: pool, type: type)
        let path = field.flatMap { FieldPath($0) }
        let condition = filter.flatMap { FieldCondition($0) }
        var output = Output()
        var failed: NodeError?
        var limits = limits
        // Messages excluded by the filter do not count.
        let wanted = limits.count
        limits.count = condition == nil ? limits.count : nil
        var printed = 0
        var check = FieldCheck(field: path, condition: condition)
        let listening = Listening(tool: tool, topics: topics, limits: limits)
        try listening.run { delivery in
            var text = "null"
            var schema: (pool: SchemaPool, type: String)?
            if raw {
                text = Self.hexadecimal(delivery.payload)
                if json { text = "\"\(text)\"" }
            } else {
                schema = try reader.pool(of: delivery)
                if let schema { check.note(schema.type, in: schema.pool) }
                // A single topic has one type; of several topics, a later one may have the field.
                if !isPattern, topics.count == 1, let error = check.error { throw error }
                switch try reader.json(delivery, indent: pretty) {
                case .success(let json): text = json
                case .failure(let error):
                    failed = failed ?? error
                    let reason = try navbus.json(error.description)
                    output.line("{\"error\":\(reason)}")
                    return output.flush()
                }
            }
            if let condition, !condition.holds(in: text, schema) { return }
            if let path { text = path.value(in: text) ?? "null" }
            if json {
                text = try envelope(delivery, reader, text)
            } else if isPattern || topics.count > 1 {
                text = "\(delivery.topic) \(text)"
            }
            output.line(text)
            output.flush()
            printed += 1
            if condition != nil, printed == wanted { tool.stop.stop() }
        }
        if let error = failed ?? check.error { throw error }
    }

    private func envelope(_ delivery: Delivery, _ reader: MessageReader, _ text: String) throws -> String {
        let node = try reader.publisher(of: delivery)?.node
        let name = try navbus.json(node)
        return "{\"topic\":\"\(delivery.topic)\",\"publisher\":\(name),\"sequence\":\"\(delivery.header.sequence)\","
            + "\"stamp_ns\":\"\(delivery.header.stampNanoseconds)\","
            + "\"received_ns\":\"\(delivery.received.utcNanoseconds)\",\"message\":\(text)}"
    }

    private static func hexadecimal(_ payload: Payload) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let bytes = payload.bytes
        return String(unsafeUninitializedCapacity: 2 * bytes.count) { buffer in
            for (index, byte) in bytes.enumerated() {
                buffer[2 * index] = digits[Int(byte >> 4)]
                buffer[2 * index + 1] = digits[Int(byte & 15)]
            }
            return 2 * bytes.count
        }
    }
}

/// A check of the fields of `--field` and `--filter` against the types of the messages, which reports a misspelt name or value as an error
/// instead of printing null.
struct FieldCheck {
    private let paths: [FieldPath]
    private let condition: FieldCondition?
    private var types: Set<String> = []
    private var isKnown = false
    /// The first name missing from the types so far.
    private var unknown: SchemaPool.UnknownField?
    /// The first reason why the field of the condition cannot have the compared value.
    private var mistake: String?

    init(field: FieldPath?, condition: FieldCondition?) {
        paths = [field, condition?.path].compactMap { $0 }
        self.condition = condition
    }

    /// Looks up the fields in the type of an incoming message.
    mutating func note(_ type: String, in pool: SchemaPool) {
        guard !paths.isEmpty, !isKnown, types.insert(type).inserted else { return }
        if let missing = paths.lazy.compactMap({ pool.unknownField(in: $0, of: type) }).first {
            unknown = unknown ?? missing
        } else if let mistake = condition?.mistake(for: type, in: pool) {
            self.mistake = self.mistake ?? mistake
        } else {
            isKnown = true
        }
    }

    /// The error when none of the types of the messages so far has the fields, or none allows the value.
    var error: NodeError? {
        guard !isKnown else { return nil }
        if let mistake { return NodeError(.usage, "--filter: \(mistake)") }
        guard let unknown else { return nil }
        let hint =
            nearestName(to: unknown.name, among: unknown.known).map { "did you mean '\($0)'?" }
            ?? (unknown.known.isEmpty ? "it has no fields" : "it has \(unknown.known.joined(separator: ", "))")
        return NodeError.printable(.usage, "\(unknown.type) has no field '\(unknown.name)': \(hint)")
    }
}

/// A comparison of a field with a value.
struct FieldCondition {
    /// The form of a condition, for error messages.
    static let form = "give a path, one of = != < <= > >=, and a value (a number for the last four)"

    let path: FieldPath
    private let field: String
    private let comparison: String
    private let value: String

    /// Parses `PATH=VALUE` or another comparison; nil when the text is malformed.
    init?(_ text: String) {
        guard let start = text.firstIndex(where: { "=!<>".contains($0) }) else { return nil }
        let rest = text[start...]
        field = text[..<start].trimmingCharacters(in: .whitespaces)
        guard let found = ["==", "!=", "<=", ">=", "=", "<", ">"].first(where: { rest.hasPrefix($0) }),
            let path = FieldPath(field)
        else { return nil }
        self.path = path
        comparison = found == "==" ? "=" : found
        value = rest.dropFirst(found.count).trimmingCharacters(in: .whitespaces)
        if let first = value.first, "=!<>".contains(first) { return nil }
        if isOrder, Double(value) == nil { return nil }
    }

    /// Whether the comparison orders numbers.
    private var isOrder: Bool { comparison != "=" && comparison != "!=" }

    /// Returns the reason why the field cannot have the value; nil when it can, or when the type is unknown.
    func mistake(for type: String, in pool: SchemaPool) -> String? {
        switch pool.values(at: path, of: type) {
        case .numbers where Double(value) == nil: return "'\(field)' is numeric: '\(value)' is not a number"
        case .booleans where value != "true" && value != "false": return "'\(field)' is true or false, not '\(value)'"
        case .names where isOrder: return "'\(field)' is a name: compare it with = or !="
        case .names(let names):
            // Values without a name in the schema are printed as numbers.
            if let number = Int32(value) {
                let name = names.values.first { $0.number == number }?.name
                return name.map { "'\(field)' is printed by name: write \($0)" }
            }
            if !names.numbers(named: value).isEmpty { return nil }
            let hint = nearestName(to: value, among: names.shortNames).map { ", did you mean '\($0)'?" } ?? ""
            return "'\(field)' is never '\(value)'\(hint)"
        case .others where isOrder: return "'\(field)' is not numeric: compare it with = or !="
        default: return nil
        }
    }

    /// Returns whether the condition holds: numbers are compared as numbers, and enums also without the prefix of their names.
    ///
    /// - Parameter schema: the schema and the type of the message; nil when they are not known.
    func holds(in json: String, _ schema: (pool: SchemaPool, type: String)?) -> Bool {
        guard var found = path.value(in: json) else { return comparison == "!=" }
        if found.hasPrefix("\""), found.hasSuffix("\""), found.count > 1 {
            found = String(found.dropFirst().dropLast())
        }
        if let holds = NumberComparison.holds(found, comparison, value) { return holds }
        switch comparison {
        case "=": return isName(found, schema)
        case "!=": return !isName(found, schema)
        default: return false
        }
    }

    private func isName(_ found: String, _ schema: (pool: SchemaPool, type: String)?) -> Bool {
        if found == value { return true }
        switch schema?.pool.values(at: path, of: schema?.type ?? "") ?? .unknown {
        case .names(let names): return names.numbers(named: value).contains { names.numbers(named: found) == [$0] }
        case .unknown: return found.hasSuffix("_" + value)
        default: return false
        }
    }
}
