internal import NavBus
internal import NavMessages

/// A readiness probe that reads the bus's registry, and joins the bus only when a condition requires a message or an
/// answer.
///
/// No operation blocks. Announcements from an earlier run of a node, recognised by their `boot_id`, do not count.
package struct BusReadinessProbe: ReadinessProbe {
    /// The longest time of one `GetInfo` call, after which the next is made.
    private static let callTimeout = Duration.seconds(2)
    /// The most messages received in one check, so that a flood does not block the launcher.
    private static let maximumMessages = 4_096

    /// The observed state of one node.
    private struct Watch {
        var run = 0
        var bootID: UInt64?
        var earlierBootID: UInt64?
        var call: Answer?
    }

    /// The status of the call, set when it ends.
    private final class Answer {
        var status: CallStatus?
    }

    private let nodes: [(name: String, conditions: [Readiness.Condition], domain: Int?)]
    private var domains: [DomainView] = []
    private var watches: [Watch]
    /// The reason why there is no bus directory to read.
    private var directoryProblem = ""

    /// - Parameter environment: the environment that the nodes inherit; with each node's own variables it determines the bus.
    package init(_ nodes: [LaunchNode], environment: [String: String]) {
        var domains: [DomainView] = []
        var problem = ""
        self.nodes = nodes.map { node in
            guard let readiness = node.readiness else { return (node.name, [], nil) }
            var variables = environment
            for variable in node.environment { variables[variable.name] = variable.value }
            do throws(BusError) {
                let directory = try BusDirectory.named { variables[$0] }
                let index = domains.firstIndex { $0.directory == directory } ?? domains.count
                if index == domains.count { domains.append(DomainView(directory)) }
                return (node.name, readiness.conditions, index)
            } catch {
                problem = error.description
                return (node.name, readiness.conditions, nil)
            }
        }
        self.domains = domains
        directoryProblem = problem
        watches = Array(repeating: Watch(), count: nodes.count)
    }

    package mutating func missing(_ awaited: [AwaitedNode]) -> [String?] {
        for index in domains.indices where awaited.contains(where: { nodes[$0.index].domain == index }) {
            domains[index].look(limit: Self.maximumMessages)
        }
        return awaited.map { lack(of: $0) }
    }

    package mutating func rest() {
        for index in domains.indices { domains[index].leave() }
        for index in watches.indices { watches[index].call = nil }
    }

    private mutating func lack(of awaited: AwaitedNode) -> String? {
        let node = awaited.index
        guard let index = nodes[node].domain else { return "a bus: \(directoryProblem)" }
        if watches[node].run != awaited.run {
            watches[node] = Watch(run: awaited.run, earlierBootID: watches[node].bootID)
        }
        // Subscribes at the first check, so that the first message is not missed.
        for case .message(let topic) in nodes[node].conditions { domains[index].subscribe(to: topic) }
        if let problem = domains[index].problem { return "a bus: \(problem)" }
        guard let announcement = domains[index].nodes[nodes[node].name],
            announcement.bootID != watches[node].earlierBootID
        else {
            return "its announcement on the bus (domain \(domains[index].directory.domain)): no node named "
                + nodes[node].name
        }
        if watches[node].bootID != announcement.bootID {
            watches[node].bootID = announcement.bootID
            watches[node].call = nil
        }
        let lacks = nodes[node].conditions.compactMap { lack(of: $0, node, announcement, index) }
        return lacks.isEmpty ? nil : lacks.joined(separator: " and ")
    }

    private mutating func lack(
        of condition: Readiness.Condition, _ node: Int, _ announcement: Announcement, _ domain: Int
    ) -> String? {
        switch condition {
        case .topic(let topic):
            if announcement.topics.contains(where: { $0.name == topic }) { return nil }
        case .message(let topic):
            if domains[domain].hasMessage(on: topic, from: announcement.bootID) { return nil }
        case .service(let service):
            guard announcement.services.contains(where: { $0.name == service }) else { break }
            return service == NodeService.name ? lackOfAnswer(node, domain) : nil
        }
        return condition.description
    }

    /// Calls the node's `GetInfo` until it answers; returns the missing answer, nil when it has answered.
    private mutating func lackOfAnswer(_ node: Int, _ domain: Int) -> String? {
        let before = watches[node].call?.status
        if let before, before.code == .ok { return nil }
        if watches[node].call == nil || before != nil {
            let answer = Answer()
            var options = CallOptions(timeout: Self.callTimeout)
            options.node = nodes[node].name
            options.waitForReady = true
            let error = domains[domain].call(NodeService.name, "GetInfo", options) { answer.status = $0 }
            if let error { return "an answer of \(NodeService.name): \(error)" }
            watches[node].call = answer
        }
        return "an answer of \(NodeService.name)/GetInfo" + (before.map { ": \($0)" } ?? "")
    }
}

/// The launcher's view of one domain of the bus.
private struct DomainView {
    private struct Source: Hashable {
        let topic: String
        let bootID: UInt64
    }

    private static let maximumSources = 65_536

    let directory: BusDirectory
    private var reader: RegistryReader
    private var bus: BusNode?
    private var subscribed: Set<String> = []
    private var sources: Set<Source> = []
    /// The live nodes at the last check.
    private(set) var nodes: [String: Announcement] = [:]
    /// The reason why the domain cannot be observed.
    private(set) var problem: String?

    init(_ directory: BusDirectory) {
        self.directory = directory
        reader = RegistryReader(directory: directory)
    }

    mutating func look(limit: Int) {
        do throws(BusError) {
            problem = nil
            let found = try reader.read()?.nodes ?? []
            nodes = Dictionary(found.map { ($0.node, $0) }) { first, _ in first }
            for _ in 0..<limit {
                guard let delivery = try bus?.poll(timeout: .zero) else { break }
                guard sources.count < Self.maximumSources else { continue }
                sources.insert(Source(topic: delivery.topic, bootID: delivery.header.bootID))
            }
        } catch {
            problem = error.description
        }
    }

    func hasMessage(on topic: String, from bootID: UInt64) -> Bool {
        sources.contains(Source(topic: topic, bootID: bootID))
    }

    mutating func subscribe(to topic: String) {
        guard !subscribed.contains(topic) else { return }
        do throws(BusError) {
            _ = try join().subscribe(
                to: topic, qos: .keepLast(64), maximumPayloadSize: BusConfiguration.maximumMessageSizeLimit)
            subscribed.insert(topic)
        } catch {
            problem = error.description
        }
    }

    /// Starts the call; returns the reason if that is impossible.
    mutating func call(
        _ service: String, _ method: String, _ options: CallOptions, onEnd: @escaping (CallStatus) -> Void
    ) -> String? {
        do throws(BusError) {
            _ = try join().call(service, method, [], options: options) { event in
                if case .end(let status) = event { onEnd(status) }
            }
            return nil
        } catch {
            return error.description
        }
    }

    mutating func leave() {
        bus?.close()
        bus = nil
        subscribed = []
        sources = []
    }

    private mutating func join() throws(BusError) -> BusNode {
        if let bus { return bus }
        var configuration = BusConfiguration(directory: directory)
        configuration.lingerMilliseconds = 0
        // A random name, so that any number of launchers can join a domain.
        let name = "launch-" + String(UInt32.random(in: 0...UInt32.max), radix: 16)
        let node = try BusNode(name: name, configuration: configuration)
        bus = node
        return node
    }
}
