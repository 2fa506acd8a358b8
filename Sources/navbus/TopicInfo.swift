import ArgumentParser
import Foundation
import NavBus
import NavConfig
import NavSpelling
import NavKit
import NavMessages

/// `navbus topic info`.
struct TopicInfo: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info",
        abstract:
            "Show the publishers, subscribers and fields of a topic; without a topic, list all types.")

    @Argument(help: "The topic.") var topic: String?
    @Option(help: ArgumentHelp("Show the fields of a message type instead, or search for one.", valueName: "TYPE"))
    var type: String?
    @Option(
        help: ArgumentHelp("Descriptors of types that are not compiled in (protoc's output).", valueName: "FILE"))
    var descriptors: String?
    @Flag(help: "Print JSON.") var json = false

    private struct Document: Encodable {
        var topic: String
        var type: String?
        var when: String?
        var qos: String?
        var max_bytes: Int?
        var publishers: [Publisher]
        var subscribers: [String]
        var unknown_subscriptions: [String]
        var fields: [String]
    }

    private struct Publisher: Encodable {
        var node: String
        var pid: Int32
        var type: String
        var qos: String
        var max_bytes: Int
        var schema: String
    }

    func validate() throws {
        if topic != nil, type != nil { throw ValidationError("give a topic or --type, not both") }
    }

    func run() throws {
        let pool = try descriptors.map { path throws(NodeError) in try DescriptorFile(path).pool } ?? .builtIn
        if let topic { return try show(topic, pool) }
        if let type {
            guard pool.message(named: type) != nil else {
                let near = nearestName(to: type, among: pool.messages.map(\.fullName))
                throw NodeError(
                    .missing,
                    "no message type '\(type)' (navbus topic info lists them)"
                        + (near.map { "; did you mean '\($0)'?" } ?? ""))
            }
            return try show(fields: pool.declaration(of: type), json)
        }
        let types = pool.messages.filter { !$0.isMapEntry }.map(\.fullName).sorted()
        if json { return print(try navbus.json(types)) }
        var table = Table()
        for type in types {
            let topics = TopicCatalogue.all.filter { $0.type.fullName == type }.map(\.name)
            table.row([Table.Cell(type), Table.Cell(topics.joined(separator: " "), .dim)])
        }
        table.show()
    }

    private func show(fields: [String], _ json: Bool) throws {
        if json { return print(try navbus.json(fields)) }
        Console.paragraphs(fields, indentation: 2)
    }

    private func show(_ topic: String, _ pool: SchemaPool) throws {
        let snapshot = try ToolBus.registry()
        let entry = TopicCatalogue.topic(named: topic)
        let publishers = snapshot.publishers(of: topic)
        let survey = try SubscriberSurvey.take(snapshot)
        let subscribers = survey.subscribers[topic, default: []]
        guard entry != nil || !publishers.isEmpty || !subscribers.isEmpty else {
            let known = snapshot.topics.map(\.topic.name) + TopicCatalogue.all.map(\.name)
            let near = nearestName(to: topic, among: known).map { "; did you mean \($0)?" } ?? ""
            throw NodeError(
                .missing,
                "\(topic): no node publishes it, and it is not in the catalogue (navbus topic list)\(near)")
        }
        let type = publishers.first?.topic.typeName ?? entry?.type.fullName
        var schema = pool
        if let type, schema.message(named: type) == nil, let node = publishers.first?.node {
            let tool = try ToolBus("topic")
            defer { tool.close() }
            switch try tool.schema(of: type, from: node) {
            case .success(let found): schema = found
            case .failure(let error): Console.note("\(type): \(error)")
            }
        }
        let document = Document(
            topic: topic, type: type, when: entry?.when, qos: entry.map { "\($0.qos)" },
            max_bytes: entry?.maxSize,
            publishers: publishers.map {
                Publisher(
                    node: $0.node.node, pid: $0.node.processID, type: $0.topic.typeName, qos: $0.topic.qos.word,
                    max_bytes: $0.topic.maximumPayloadSize, schema: Self.verdict($0.topic, entry))
            },
            subscribers: subscribers, unknown_subscriptions: survey.silent.map(\.node),
            fields: type.map { schema.declaration(of: $0) } ?? [])
        if json { return print(try navbus.json(document)) }
        write(document, entry)
    }

    /// Returns, as text, whether a publisher's schema equals the compiled-in one.
    static func verdict(_ topic: TopicDescription, _ entry: TopicEntry?) -> String {
        if let entry, entry.type.fullName != topic.typeName { return "not the catalogue's \(entry.type.fullName)" }
        guard let known = Schema.type(named: topic.typeName) else { return "not compiled in here" }
        if topic.schemaFingerprint == 0 { return "not told" }
        return topic.schemaFingerprint == known.schemaFingerprint ? "same" : "another version"
    }

    private func write(_ document: Document, _ entry: TopicEntry?) {
        var table = Table()
        table.row([Table.Cell("topic", .dim), Table.Cell(document.topic, .bold)])
        table.row([Table.Cell("type", .dim), Table.Cell(document.type ?? "unknown")])
        if let when = document.when { table.row([Table.Cell("when", .dim), Table.Cell(when)]) }
        if let qos = document.qos, let size = document.max_bytes {
            let text = "\(qos), messages of at most \(Format.bytes(Double(size)))"
            table.row([Table.Cell("catalogue", .dim), Table.Cell(text)])
        } else {
            table.row([Table.Cell("catalogue", .dim), Table.Cell("not in it")])
        }
        let listeners = document.subscribers.isEmpty ? "none known" : document.subscribers.joined(separator: ", ")
        table.row([Table.Cell("subscribers", .dim), Table.Cell(listeners)])
        table.show()
        if document.publishers.isEmpty {
            print("no node publishes it")
        } else {
            var rows = Table(["PUBLISHER", "PID", "QOS", "LIMIT", "SCHEMA", "TYPE"])
            for publisher in document.publishers {
                let isSame = publisher.schema == "same"
                rows.row([
                    Table.Cell(publisher.node), .number("\(publisher.pid)"), Table.Cell(publisher.qos),
                    .number(Format.bytes(Double(publisher.max_bytes))),
                    Table.Cell(publisher.schema, isSame ? nil : .yellow), Table.Cell(publisher.type),
                ])
            }
            rows.show()
        }
        if !document.fields.isEmpty {
            print("fields")
            Console.paragraphs(document.fields, indentation: 2)
        }
        if !document.unknown_subscriptions.isEmpty {
            Console.note("subscriptions unknown: \(document.unknown_subscriptions.joined(separator: ", "))")
        }
    }
}
