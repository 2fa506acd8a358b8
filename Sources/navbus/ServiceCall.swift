import ArgumentParser
import Foundation
import NavBus
import NavKit
import NavMessages

/// `navbus service call`.
struct ServiceCall: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "call",
        abstract: "Call a method with a request as JSON and print each response as a line of JSON.")

    @Argument(help: ArgumentHelp("The method.", valueName: "service/method")) var target: String
    @Argument(help: ArgumentHelp("The request; - reads it from standard input.", valueName: "json")) var request = "{}"
    @Option(help: ArgumentHelp("The node to call. Default: the first by name that serves it.", valueName: "NAME"))
    var node: String?
    @Option(parsing: .unconditional, help: ArgumentHelp("Time limit of the call, seconds.", valueName: "SECONDS"))
    var timeout = 10.0
    @Option(
        help: ArgumentHelp("Metadata sent with the request; may be given several times.", valueName: "KEY=VALUE"))
    var metadata: [String] = []
    @Option(
        help: ArgumentHelp("Descriptors of services that are not compiled in (protoc's output).", valueName: "FILE"))
    var descriptors: String?
    @Flag(help: "Wait until a server is available.") var wait = false
    @Flag(help: "Put each member on its own line.") var pretty = false
    @Flag(help: "Print JSON (the only format).") var json = false

    func validate() throws {
        guard target.split(separator: "/").count == 2 else {
            throw ValidationError("'\(target)': give SERVICE/METHOD, such as navbus.v1.Node/GetInfo")
        }
        guard timeout > 0, timeout <= 1e6 else { throw ValidationError("--timeout must be seconds, above 0") }
        for entry in metadata where !entry.contains("=") || entry.hasPrefix("=") {
            throw ValidationError("--metadata \(entry): give KEY=VALUE")
        }
    }

    func run() throws {
        let pool = try descriptors.map { path throws(NodeError) in try DescriptorFile(path).pool }
        let snapshot = try ToolBus.registry()
        let target = try ServiceTarget(target, snapshot, pool ?? .builtIn)
        var servers = snapshot.servers(of: target.service)
        if let node {
            let named = try snapshot.node(named: node)
            guard wait || servers.contains(where: { $0.node == node }) else {
                throw NodeError(.missing, "node '\(node)' does not serve '\(target.service)' (navbus service list)")
            }
            servers = [named]
        }
        let tool = try ToolBus("call")
        defer { tool.close() }
        try tool.meetPeers(of: servers.isEmpty ? nil : Set(servers.map(\.node)))
        let found = try ServiceLookup.find(target.service, descriptors: pool, server: servers.first) { tool }
        let method = try found.method(target.method ?? "")
        guard !method.isClientStreaming else {
            throw NodeError(.usage, "\(method.name) takes a stream of requests, which the bus does not support")
        }
        let bytes = try encode(found.pool, method)
        if servers.isEmpty, !wait {
            throw NodeError(
                .missing, "call failed: UNAVAILABLE: no node serves '\(target.service)'; --wait waits for a server")
        }
        try call(tool, target.service, method, found.pool, bytes)
    }

    private func encode(_ pool: SchemaPool, _ method: ServiceDeclaration.Method) throws -> [UInt8] {
        var text = request
        if request == "-" {
            let data = try FileHandle.standardInput.read(upToCount: 64 << 20) ?? Data()
            text = String(decoding: data, as: UTF8.self)
        }
        do throws(MessageTextError) {
            return try pool.encode(json: text, as: method.request)
        } catch {
            throw NodeError(.usage, "\(error)")
        }
    }

    private func call(
        _ tool: ToolBus, _ service: String, _ method: ServiceDeclaration.Method, _ pool: SchemaPool,
        _ bytes: [UInt8]
    ) throws {
        var options = CallOptions(timeout: .nanoseconds(Int64(timeout * 1e9)))
        options.node = node
        options.waitForReady = wait
        options.maximumResponseSize = ToolBus.maximumResponseSize
        options.metadata = metadata.compactMap { entry in
            entry.firstIndex(of: "=").map {
                MetadataEntry(String(entry[..<$0]), Array(entry[entry.index(after: $0)...].utf8))
            }
        }
        var output = Output()
        var end: CallStatus?
        var unread: MessageError?
        var refusal: String?
        let id = try ToolBus.attempt { () throws(BusError) in
            try tool.bus.call(service, method.name, bytes, options: options) { event in
                switch event {
                case .response(let payload):
                    do throws(MessageError) {
                        let text = try pool.json(decoding: payload.bytes, as: method.response, indent: pretty).json
                        output.line(text)
                        output.flush()
                        refusal = Self.refusal(in: text) ?? refusal
                    } catch {
                        unread = error
                    }
                case .end(let status): end = status
                }
            }
        }
        var isCancelled = false
        while end == nil {
            try ToolBus.attempt { () throws(BusError) in
                try tool.bus.runServices(timeout: .milliseconds(100))
                if tool.stop.isStopped, end == nil, !isCancelled {
                    isCancelled = true
                    try tool.bus.cancel(id)
                }
            }
        }
        if let end, end.code != .ok { throw NodeError(.system, "call failed: \(Console.printable(end.text))") }
        if let unread { throw NodeError(.invalid, "the response cannot be read: \(unread)") }
        if let refusal { throw NodeError(.system, "the response is an error: \(Console.printable(refusal))") }
    }

    /// Returns the reason for a rejected request from its answer's member `error`; nil when the request was accepted.
    private static func refusal(in answer: String) -> String? {
        struct Answer: Decodable {
            struct Failure: Decodable {
                var code: String?
                var message: String?
            }
            var error: Failure?
        }
        guard let error = try? JSONDecoder().decode(Answer.self, from: Data(answer.utf8)).error else { return nil }
        return [error.code, error.message].compactMap { $0 }.joined(separator: ": ")
    }
}
