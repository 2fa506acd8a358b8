import ArgumentParser
import NavBus
import NavConfig
import NavSpelling
import NavKit
import NavMessages

/// `navbus service`.
struct ServiceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "service", abstract: "Inspect and call the services of the bus.",
        subcommands: [ServiceList.self, ServiceInfo.self, ServiceCall.self])
}

/// `navbus service list`.
struct ServiceList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the services that are served, without joining the bus.")

    @Flag(help: "Print JSON.") var json = false
    @Flag(help: "List the services of the schema instead, as a Markdown table.") var catalogue = false

    private struct Row: Encodable {
        var service: String
        var node: String
        var methods: [String]
    }

    func run() throws {
        if catalogue {
            print(ServiceCatalogue.markdownTable())
            return
        }
        let rows = try ToolBus.registry().nodes.flatMap { node in
            node.services.map { Row(service: $0.name, node: node.node, methods: $0.methods.map(\.name)) }
        }.sorted { ($0.service, $0.node) < ($1.service, $1.node) }
        if json {
            print(try navbus.json(rows))
            return
        }
        if rows.isEmpty { Console.note("no node serves anything in this domain") }
        var table = Table()
        for row in rows {
            table.row([
                Table.Cell(row.service, .bold), Table.Cell(row.node),
                Table.Cell(row.methods.joined(separator: " "), .dim),
            ])
        }
        table.show()
    }
}

/// A service or one of its methods in the form used on the command line: `navbus.v1.Node/GetInfo`, `Node/GetInfo`,
/// `Node`.
struct ServiceTarget {
    let service: String
    let method: String?

    /// Completes a service's name from the served services and the schema.
    init(_ text: String, _ snapshot: RegistrySnapshot, _ pool: SchemaPool) throws(NodeError) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, !first.isEmpty, parts.count == 1 || !parts[1].isEmpty else {
            throw NodeError(.usage, "'\(text)': give SERVICE or SERVICE/METHOD, such as navbus.v1.Node/GetInfo")
        }
        let known = Set(snapshot.nodes.flatMap { $0.services.map(\.name) } + pool.services.map(\.fullName)).sorted()
        let written = String(first)
        let ending = known.filter { $0 == written || $0.hasSuffix(".\(written)") }
        guard let found = ending.contains(written) ? written : ending.count == 1 ? ending[0] : nil else {
            if ending.count > 1 {
                throw NodeError(
                    .usage, "'\(written)' is ambiguous (\(ending.joined(separator: ", "))): give the full name")
            }
            let short = known.map { String($0.split(separator: ".").last ?? "") }
            let near = suggestion(for: written, among: known + short, quote: "'")
            throw NodeError(
                .missing, "no service '\(written)' is served or in the schema (navbus service list)\(near)")
        }
        service = found
        method = parts.count == 2 ? String(parts[1]) : nil
    }
}

/// A lookup of a service's schema: given descriptors, the compiled-in schema, or a server's own.
struct ServiceLookup {
    let pool: SchemaPool
    let service: ServiceDeclaration

    /// - Parameter server: the node to query when the service is not known here.
    static func find(
        _ name: String, descriptors: SchemaPool?, server: Announcement?, _ tool: () throws -> ToolBus
    ) throws -> ServiceLookup {
        for pool in [descriptors, .builtIn].compactMap({ $0 }) {
            if let service = pool.service(named: name) { return ServiceLookup(pool: pool, service: service) }
        }
        guard let server else {
            throw NodeError(.missing, "no node serves '\(name)' (navbus service list)")
        }
        let pool: SchemaPool
        do {
            pool = try tool().schema(of: name, from: server).get()
        } catch let error as NodeError {
            throw NodeError(
                error.code, "the service '\(name)' is unknown here, and \(error): give --descriptors FILE")
        }
        guard let service = pool.service(named: name) else {
            throw NodeError(
                .missing,
                "the service '\(name)' is unknown here, and the schema of node '\(server.node)' lacks it: "
                    + "give --descriptors FILE")
        }
        return ServiceLookup(pool: pool, service: service)
    }

    /// Returns a method, or throws an error that suggests the nearest one.
    func method(_ name: String) throws(NodeError) -> ServiceDeclaration.Method {
        if let method = service.method(named: name) { return method }
        let names = service.methods.map(\.name)
        let hint = nearestName(to: name, among: names).map { "did you mean '\($0)'?" }
        throw NodeError(
            .usage,
            "\(service.fullName) has no method '\(name)'; " + (hint ?? "it has \(names.joined(separator: ", "))"))
    }
}

/// `navbus service info`.
struct ServiceInfo: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info", abstract: "Show the servers of a service and the fields of its methods.")

    @Argument(help: ArgumentHelp("The service, or one method of it.", valueName: "service[/method]")) var target: String
    @Option(
        help: ArgumentHelp("Descriptors of services that are not compiled in (protoc's output).", valueName: "FILE"))
    var descriptors: String?
    @Flag(help: "Print JSON.") var json = false

    private struct Document: Encodable {
        var service: String
        var nodes: [String]
        var methods: [Method]
    }

    private struct Method: Encodable {
        var method: String
        var summary: String?
        var request: String
        var response: String
        var server_streaming: Bool
        var request_fields: [String]
        var response_fields: [String]
    }

    func run() throws {
        let pool = try descriptors.map { path throws(NodeError) in try DescriptorFile(path).pool }
        let snapshot = try ToolBus.registry()
        let target = try ServiceTarget(target, snapshot, pool ?? .builtIn)
        let servers = snapshot.servers(of: target.service)
        var tool: ToolBus?
        defer { tool?.close() }
        let found = try ServiceLookup.find(target.service, descriptors: pool, server: servers.first) {
            let joined = try ToolBus("service")
            tool = joined
            return joined
        }
        let methods =
            try target.method.map { name throws(NodeError) in [try found.method(name)] } ?? found.service.methods
        let known = ServiceCatalogue.service(named: target.service)
        let document = Document(
            service: target.service, nodes: servers.map(\.node),
            methods: methods.map { method in
                Method(
                    method: method.name, summary: known?.method(named: method.name)?.summary,
                    request: method.request, response: method.response,
                    server_streaming: method.isServerStreaming,
                    request_fields: found.pool.declaration(of: method.request),
                    response_fields: found.pool.declaration(of: method.response))
            })
        if json {
            print(try navbus.json(document))
            return
        }
        write(document)
    }

    private func write(_ document: Document) {
        let servers = document.nodes.isEmpty ? "no node" : document.nodes.joined(separator: ", ")
        Console.heading(document.service, "served by \(servers)")
        for method in document.methods {
            let answer = (method.server_streaming ? "stream of " : "") + method.response
            print()
            Console.heading(method.method, "\(method.request) → \(answer)")
            Console.paragraphs(method.summary.map { [$0] } ?? [], indentation: 0, .dim)
            for (name, fields) in [("request", method.request_fields), ("response", method.response_fields)] {
                print("  \(name)\(fields.isEmpty ? ": no fields" : "")")
                Console.paragraphs(fields, indentation: 4)
            }
        }
    }
}
