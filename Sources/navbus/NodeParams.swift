import ArgumentParser
import NavBus
import NavConfig
import NavSpelling
import NavKit
import NavMessages

/// `navbus node params`.
struct NodeParams: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "params", abstract: "List, get or set the parameters of a running node.",
        usage: "navbus node params <node> [get <key> … | set <key>=<value> …] [--json]")

    @Argument(help: "The node.") var node: String
    @Argument(help: ArgumentHelp("get or set; without it all are listed.", valueName: "action")) var action: String?
    @Argument(help: ArgumentHelp("Keys to get, or KEY=VALUE to set: all are set or none.", valueName: "key[=value]"))
    var words: [String] = []
    @Flag(help: "Print JSON.") var json = false

    func validate() throws {
        guard let action else { return }
        guard ["get", "set"].contains(action) else {
            throw ValidationError("'\(action)': give get KEY or set KEY=VALUE after the node's name")
        }
        guard !words.isEmpty else { throw ValidationError("\(action): give one or more keys") }
        for word in words where action == "set" && (!word.contains("=") || word.hasPrefix("=")) {
            throw ValidationError("'\(word)': give KEY=VALUE")
        }
    }

    func run() throws {
        let found = try ToolBus.registry().node(named: node)
        guard found.services.contains(where: { $0.name == NodeService.name }) else {
            throw NodeError(
                .missing, "node '\(node)' does not serve \(NodeService.name), so its parameters cannot be read")
        }
        let tool = try ToolBus("node")
        defer { tool.close() }
        let all = try read(tool, GetParametersRequest())
        switch action {
        case "get": try show(try words.map { word throws(NodeError) in try parameter(word, in: all) })
        case "set": try show(try set(tool, all))
        default: try show(all)
        }
    }

    private func read(_ tool: ToolBus, _ request: GetParametersRequest) throws -> [Parameter] {
        let answer = try ask(tool, "GetParameters", request.encoded())
        let response = try decode(GetParametersResponse.self, answer)
        if let error = response.error {
            throw NodeError.printable(.invalid, "node '\(node)': \(error.message ?? "refused")")
        }
        return response.parameters
    }

    private func set(_ tool: ToolBus, _ all: [Parameter]) throws -> [Parameter] {
        var changed: [Parameter] = []
        for word in words {
            guard let split = word.firstIndex(of: "=") else { continue }
            let known = try parameter(String(word[..<split]), in: all)
            guard known.isLive != false else {
                throw NodeError(
                    .invalid,
                    "'\(known.key ?? "")' of node '\(node)' cannot be changed while it runs: start it with --set \(word)"
                )
            }
            changed.append(Parameter(key: known.key, value: try value(word[word.index(after: split)...], known)))
        }
        let answer = try ask(tool, "SetParameters", SetParametersRequest(parameters: changed).encoded())
        let response = try decode(SetParametersResponse.self, answer)
        if let error = response.error {
            throw NodeError.printable(.invalid, "node '\(node)' changed nothing: \(error.message ?? "refused")")
        }
        let keys = changed.map(\.key)
        return response.parameters.filter { keys.contains($0.key) }
    }

    /// Parses a value of the parameter's current kind.
    private func value(_ text: Substring, _ known: Parameter) throws(NodeError) -> Parameter.Value {
        let text = String(text)
        var found: Parameter.Value?
        var kind = ""
        switch known.value {
        // The node decides whether the value may be empty, whatever its kind.
        case _ where text.isEmpty: found = .stringValue(text)
        case .boolValue: (found, kind) = (Bool(text).map { .boolValue($0) }, "true or false")
        case .intValue: (found, kind) = (Int64(text).map { .intValue($0) }, "a whole number")
        case .doubleValue:
            (found, kind) = (decimal(text).map { .doubleValue($0) }, "a number")
        case .stringValue, nil: found = .stringValue(text)
        }
        guard let found else {
            var range = known.range.map { ", \($0)" } ?? ""
            if case .boolValue = known.value { range = "" }
            throw NodeError(.usage, "\(known.key ?? "")=\(text): give \(kind)\(range)")
        }
        return found
    }

    private func parameter(_ key: String, in all: [Parameter]) throws(NodeError) -> Parameter {
        if let found = all.first(where: { $0.key == key }) { return found }
        let near = suggestion(for: key, among: all.compactMap(\.key), quote: "'")
        throw NodeError(.usage, "node '\(node)' has no parameter '\(key)' (navbus node params \(node))\(near)")
    }

    private func ask(_ tool: ToolBus, _ method: String, _ request: [UInt8]) throws -> [UInt8] {
        do {
            return try tool.call([(node, method, request)], timeout: .seconds(5))[0].get()
        } catch let status as CallStatus {
            throw NodeError.printable(.system, "\(method) of node '\(node)' failed: \(status.text)")
        }
    }

    private func decode<M: Message>(_ type: M.Type, _ bytes: [UInt8]) throws(NodeError) -> M {
        do throws(MessageError) {
            return try M(decoding: bytes)
        } catch {
            throw NodeError(.invalid, "the response of node '\(node)' cannot be read: \(error)")
        }
    }

    private func show(_ parameters: [Parameter]) throws {
        if json {
            let texts = try parameters.map { try MessageJSON.text(of: $0) }
            print("[\(texts.joined(separator: ","))]")
            return
        }
        var table = Table(["KEY", "VALUE", "UNIT", "LIVE", "RANGE", "MEANING"])
        for parameter in parameters {
            let text: String =
                switch parameter.value {
                case .boolValue(let value): "\(value)"
                case .intValue(let value): "\(value)"
                case .doubleValue(let value): "\(value)"
                case .stringValue(let value): value
                case nil: ""
                }
            table.row([
                Table.Cell(parameter.key ?? "", .bold), Table.Cell(text), Table.Cell(parameter.unit ?? ""),
                Table.Cell(parameter.isLive == true ? "live" : ""), Table.Cell(parameter.range ?? ""),
                Table.Cell(parameter.description ?? "", .dim),
            ])
        }
        table.show()
    }
}
