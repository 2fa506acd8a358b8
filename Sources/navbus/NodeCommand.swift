import ArgumentParser
import Foundation
import Glibc
import NavBus
import NavGeo
import NavKit
import NavMessages

/// `navbus node`.
struct NodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "node", abstract: "Inspect the nodes of the bus and change their live parameters.",
        subcommands: [NodeList.self, NodeInfo.self, NodeParams.self])
}

/// A survey of the nodes' latched `/health/<node>` messages.
struct HealthSurvey {
    /// Health by node.
    var health: [String: NodeHealth] = [:]

    /// Listens until each node that announces its health topic has published on it, at most a second.
    static func take(_ snapshot: RegistrySnapshot, _ tool: ToolBus, seconds: Double = 1) throws -> HealthSurvey {
        var survey = HealthSurvey()
        let expected = snapshot.nodes.filter { node in
            node.topics.contains { $0.name == Topics.health(of: node.node).name }
        }
        guard !expected.isEmpty else { return survey }
        try tool.meetPeers(of: Set(expected.map(\.node)))
        let byTopic = Dictionary(
            expected.map { (Topics.health(of: $0.node).name, $0) }, uniquingKeysWith: { first, _ in first })
        try tool.subscribe(byTopic.keys.sorted(), depth: 8)
        let deadline = MonotonicClock.now() + .seconds(seconds)
        while survey.health.count < expected.count, MonotonicClock.now() < deadline, !tool.stop.isStopped {
            guard let delivery = try tool.poll(.milliseconds(50)), let node = byTopic[delivery.topic],
                node.bootID == delivery.header.bootID
            else { continue }
            survey.health[node.node] = try? NodeHealth(decoding: delivery.payload.bytes)
        }
        return survey
    }
}

extension NodeHealth {
    /// `OK`, `DEGRADED`, `LOST`, or the number of an unknown state.
    var word: String {
        let name = (state ?? .unspecified).description
        return name.replacingOccurrences(of: "HEALTH_STATE_", with: "").replacingOccurrences(
            of: "UNSPECIFIED", with: "unknown")
    }

    /// `active`, `inactive` and so on; nil when the node does not report it.
    var lifeWord: String? {
        guard let state = lifecycleState, state != .unspecified else { return nil }
        return state.description.replacingOccurrences(of: "LIFECYCLE_STATE_", with: "").lowercased()
    }

    var style: Console.Style {
        switch state {
        case .some(.ok): .green
        case .some(.lost): .red
        default: .yellow
        }
    }

    /// The reasons for the node's state, on one line.
    var reasonText: String {
        reasons.map { [$0.code, $0.message].compactMap { $0 }.joined(separator: ": ") }.joined(separator: "; ")
    }
}

/// `navbus node list`.
struct NodeList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the nodes that are alive, with their health.")

    @Flag(help: "Print JSON.") var json = false

    private struct Row: Encodable {
        var node: String
        var pid: Int32
        var state: String?
        var life: String?
        var uptime_s: Double?
        var topics: Int
        var services: Int
        var reasons: [String]
    }

    func run() throws {
        let snapshot = try ToolBus.registry()
        var health: [String: NodeHealth] = [:]
        if !snapshot.nodes.isEmpty {
            let tool = try ToolBus("node")
            defer { tool.close() }
            health = try HealthSurvey.take(snapshot, tool).health
        }
        let rows = snapshot.nodes.map { node in
            Row(
                node: node.node, pid: node.processID, state: health[node.node]?.word,
                life: health[node.node]?.lifeWord,
                uptime_s: health[node.node]?.uptimeS, topics: node.topics.count, services: node.services.count,
                reasons: health[node.node]?.reasons.compactMap { $0.message ?? $0.code } ?? [])
        }
        if json {
            print(try navbus.json(rows))
            return
        }
        if rows.isEmpty {
            Console.note("no node is on the bus in this domain")
            return
        }
        var table = Table(["NODE", "PID", "STATE", "LIFE", "UP", "TOPICS", "SERVICES", "WHY"])
        let reporting = Set(
            snapshot.nodes.filter { node in node.topics.contains { $0.name == Topics.health(of: node.node).name } }
                .map(\.node))
        for row in rows {
            let known = health[row.node]
            let isReporting = known != nil || reporting.contains(row.node)
            table.row([
                Table.Cell(row.node, .bold), .number("\(row.pid)"),
                isReporting ? Table.Cell(row.state ?? "silent", known?.style ?? .yellow) : Table.Cell("-"),
                Table.Cell(row.life ?? "-"), .number(row.uptime_s.map { Format.seconds($0) } ?? "-"),
                .number("\(row.topics)"),
                .number("\(row.services)"),
                Table.Cell(known?.reasonText ?? (isReporting ? "" : "a tool, which publishes no health")),
            ])
        }
        table.show()
    }
}

/// `navbus node info`.
struct NodeInfo: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info", abstract: "Show a node: its process, health, topics and services.")

    @Argument(help: "The node.") var node: String
    @Flag(help: "Print JSON.") var json = false

    func run() throws {
        let snapshot = try ToolBus.registry()
        let found = try snapshot.node(named: node)
        let tool = try ToolBus("node")
        defer { tool.close() }
        var only = snapshot
        only.nodes = [found]
        let survey = try SubscriberSurvey.take(only, tool)
        let health = try HealthSurvey.take(only, tool).health[node]
        if json {
            let info = try survey.infos[node].map { try MessageJSON.text(of: $0) } ?? "null"
            let state = try health.map { try MessageJSON.text(of: $0) } ?? "null"
            print("{\"node\":\"\(node)\",\"pid\":\(found.processID),\"info\":\(info),\"health\":\(state)}")
            return
        }
        var table = Table()
        func row(_ name: String, _ value: String, _ style: Console.Style? = nil) {
            table.row([Table.Cell(name, .dim), Table.Cell(value, style)])
        }
        row("node", node, .bold)
        row("pid", "\(found.processID)")
        row("boot id", Format.hexadecimal(found.bootID))
        if let info = survey.infos[node] {
            if let version = info.version { row("version", version) }
            if let host = info.host { row("host", host) }
            if info.simTime == true { row("time", "simulated, from /clock") }
        }
        if let health {
            row("state", health.word, health.style)
            if let life = health.lifeWord { row("life", life) }
            if !health.reasons.isEmpty { row("why", health.reasonText, .yellow) }
            if let uptime = health.uptimeS { row("up", Format.seconds(uptime)) }
            if let memory = health.residentBytes { row("memory", Format.bytes(Double(memory))) }
            if let load = health.cpuLoad { row("processor", "\(Format.decimal(load * 100)) % of a core") }
        } else {
            row("state", "no health reported", .yellow)
        }
        table.show()
        topics(found, survey.infos[node], health)
        var services = Table()
        for service in found.services {
            let methods = service.methods.map(\.name).joined(separator: " ")
            services.row([Table.Cell("serves \(service.name)"), Table.Cell(methods, .dim)])
        }
        services.show()
        for silent in survey.silent { Console.note("node '\(silent.node)': \(silent.reason)") }
    }

    private func topics(_ node: Announcement, _ info: GetInfoResponse?, _ health: NodeHealth?) {
        var table = Table(["", "TOPIC", "TYPE", "MESSAGES", "RATE", "LOST", "DROPPED"])
        func row(_ way: String, _ topic: String, _ type: String) {
            let figures = health?.topics.first {
                $0.topic == topic && ($0.isPublisher ?? false) == (way == "publishes")
            }
            table.row([
                Table.Cell(way), Table.Cell(topic, .bold), Table.Cell(type),
                .number(figures?.messageCount.map { "\($0)" } ?? "-"),
                .number(figures?.rateHz.map { Format.decimal($0) + " Hz" } ?? "-"),
                .number(figures?.lostCount.map { "\($0)" } ?? "-"),
                .number(figures?.droppedCount.map { "\($0)" } ?? "-"),
            ])
        }
        for topic in node.topics { row("publishes", topic.name, topic.typeName) }
        for topic in info?.subscribes ?? [] { row("subscribes", topic.topic ?? "", topic.type ?? "") }
        table.show()
    }
}
