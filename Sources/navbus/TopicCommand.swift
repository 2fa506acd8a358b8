import ArgumentParser
import Foundation
import NavBus
import NavConfig
import NavMessages

/// `navbus topic`.
struct TopicCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topic", abstract: "Inspect and measure the topics of the bus, and publish on them.",
        subcommands: [
            TopicList.self, TopicInfo.self, TopicEcho.self, TopicHz.self, TopicBandwidth.self, TopicDelay.self,
            TopicPub.self,
        ])
}

/// `navbus topic list`.
struct TopicList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the topics that are published, without joining the bus.")

    @Argument(help: "Topics; * matches any text. Default: all.") var topics: [String] = []
    @Flag(help: "Print JSON.") var json = false
    @Flag(help: "Query the nodes for their subscriptions, and count them.") var subscribers = false
    @Flag(help: "List the catalogue instead, as a Markdown table.") var catalogue = false

    private struct Row: Encodable {
        var topic: String
        var type: String
        var publisher: String
        var qos: String
        var subscribers: Int?
    }

    func run() throws {
        if catalogue {
            print(TopicCatalogue.markdownTable())
            return
        }
        let snapshot = try ToolBus.registry()
        let survey = subscribers ? try SubscriberSurvey.take(snapshot) : SubscriberSurvey()
        let counts = survey.counts
        // Nodes that do not report may also subscribe.
        let isComplete = survey.silent.isEmpty
        let filter = TopicFilter(include: topics.isEmpty ? ["*"] : topics)
        let rows = snapshot.topics.filter { filter.matches($0.topic.name) }.map {
            Row(
                topic: $0.topic.name, type: $0.topic.typeName, publisher: $0.publisher, qos: $0.topic.qos.word,
                subscribers: subscribers ? counts[$0.topic.name, default: 0] : nil)
        }
        if json {
            print(try navbus.json(rows))
            return
        }
        if rows.isEmpty {
            Console.note("no node publishes \(topics.isEmpty ? "anything" : "such a topic") in this domain")
        }
        var table = Table()
        for row in rows {
            var cells = [
                Table.Cell(row.topic, .bold), Table.Cell(row.publisher), Table.Cell(row.type), Table.Cell(row.qos),
            ]
            if let count = row.subscribers { cells.insert(.number("\(count)\(isComplete ? "" : "+")"), at: 2) }
            table.row(cells)
        }
        table.show()
    }
}

/// A survey of the subscriptions reported by the nodes that serve `navbus.v1.Node`.
struct SubscriberSurvey {
    /// The subscribing nodes by topic.
    var subscribers: [String: [String]] = [:]
    /// The nodes that did not report, with the reason.
    var silent: [(node: String, reason: String)] = []
    /// The nodes' own descriptions.
    var infos: [String: GetInfoResponse] = [:]

    var counts: [String: Int] { subscribers.mapValues(\.count) }

    /// Queries all nodes concurrently, for at most a second.
    static func take(_ snapshot: RegistrySnapshot) throws -> SubscriberSurvey {
        guard !snapshot.servers(of: NodeService.name).isEmpty else {
            var survey = SubscriberSurvey()
            for node in snapshot.nodes { survey.silent.append((node.node, "does not serve \(NodeService.name)")) }
            return survey
        }
        let tool = try ToolBus("survey")
        defer { tool.close() }
        return try take(snapshot, tool)
    }

    static func take(_ snapshot: RegistrySnapshot, _ tool: ToolBus) throws -> SubscriberSurvey {
        var survey = SubscriberSurvey()
        let servers = snapshot.servers(of: NodeService.name).map(\.node)
        for node in snapshot.nodes where !servers.contains(node.node) && node.node != tool.bus.name {
            survey.silent.append((node.node, "does not serve \(NodeService.name)"))
        }
        let answers = try tool.call(servers.map { ($0, "GetInfo", GetInfoRequest().encoded()) })
        for (node, answer) in zip(servers, answers) {
            do {
                let info = try GetInfoResponse(decoding: try answer.get())
                survey.infos[node] = info
                for topic in info.subscribes {
                    if let name = topic.topic { survey.subscribers[name, default: []].append(node) }
                }
            } catch let status as CallStatus {
                survey.silent.append((node, status.text))
            } catch {
                survey.silent.append((node, "\(error)"))
            }
        }
        return survey
    }
}
