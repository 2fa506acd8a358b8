internal import NavBus
internal import NavSpelling
internal import NavMessages
internal import Yams

/// The keys of a node for its start, restarts and kernel settings.
extension LaunchFileReader {
    /// A name in `after`, and the node that names it.
    struct Reference {
        let node: Int
        let to: String
        let namespace: [String]
        let label: String
        let place: Place
    }

    private static let restartKeys = ["policy", "delay_s", "max_delay_s", "limit"]
    private static let readinessKeys = ["topic", "message", "service", "timeout_s", "on_timeout"]

    func domain(of section: YAMLSection, _ substitution: Substitution) -> String? {
        guard let domain = section.string("domain", substitution) else { return nil }
        do throws(BusError) {
            _ = try BusDirectory(path: "/", domain: domain)
            return domain
        } catch {
            problems.add("\"domain\" in \(section.what): \(error.description)", at: section.place(of: "domain"))
            return nil
        }
    }

    // MARK: Restarts and readiness

    func restartPolicy(of section: YAMLSection, _ substitution: Substitution) -> RestartPolicy {
        var restart = RestartPolicy()
        guard let node = section.node("restart") else { return restart }
        let wrapped = Node([(Node("policy"), node)], Tag(.map))
        guard
            let policy = YAMLSection(
                node.mapping == nil ? wrapped : node, what: "\"restart\" of \(section.what)", keys: Self.restartKeys,
                file: section.place.file, problems: problems)
        else { return restart }
        if policy.node("policy") == nil {
            problems.add("\(policy.what) has no \"policy\"", at: policy.place)
        }
        if let mode: RestartPolicy.Mode = policy.choice("policy", substitution) { restart.mode = mode }
        let delay = policy.number("delay_s", in: 0...3_600, substitution)
        if let delay { restart.delay = .seconds(delay) }
        if let delay = policy.number("max_delay_s", in: 0...3_600, substitution) {
            restart.maximumDelay = .seconds(delay)
        }
        if delay != nil, restart.delay > restart.maximumDelay {
            problems.add(
                "\"delay_s\" in \(policy.what) must not exceed \"max_delay_s\", which is 30 unless given",
                at: policy.place(of: "delay_s"))
        }
        if let limit = policy.integer("limit", in: 0...1_000_000, substitution) { restart.limit = limit }
        return restart
    }

    /// Reads the longest silence of a node; 0 turns the watchdog off.
    func watchdog(of section: YAMLSection, _ substitution: Substitution) -> Duration {
        guard let time = section.number("watchdog_s", in: 0...86_400, substitution) else {
            return LaunchNode.defaultWatchdog
        }
        if time > 0, time < 1 {
            problems.add(
                "\"watchdog_s\" in \(section.what) must be 0, which turns it off, or at least 1",
                at: section.place(of: "watchdog_s"))
        }
        return .seconds(time)
    }

    /// - Parameter names: The node's name in the file, and with its namespaces.
    func readiness(
        of section: YAMLSection, _ names: (own: String?, full: String), _ remaps: [(from: String, to: String)],
        isRequired: Bool, _ substitution: Substitution
    ) -> Readiness? {
        let problemsBefore = problems.problems.count
        guard let node = section.node("ready_when"),
            let condition = YAMLSection(
                node, what: "\"ready_when\" of \(section.what)", keys: Self.readinessKeys, file: section.place.file,
                problems: problems)
        else { return nil }
        func topics(_ key: String) -> [String] {
            condition.words(key, substitution).map { topic in
                if !Names.isTopic(topic) {
                    problems.add(
                        "\"\(topic)\" in \(condition.what) is not a topic: write /word/word",
                        at: condition.place(of: key))
                }
                if !remaps.contains(where: { $0.to == topic }) {
                    warnOfUnknownTopic(topic, in: condition.what, at: condition.place(of: key))
                }
                // A namespace renames the node, and with it the topic of its health.
                if let own = names.own, topic == Topics.health(of: own).name {
                    return Topics.health(of: names.full).name
                }
                return remaps.first { $0.from == topic }?.to ?? topic
            }
        }
        let services = condition.words("service", substitution)
        for service in services where !context.services.isEmpty && !context.services.contains(service) {
            warnings.add(
                "\"\(service)\" in \(condition.what) is not in the service catalogue"
                    + suggestion(for: service, among: context.services), at: condition.place(of: "service"))
        }
        var readiness = Readiness(
            topics("topic").map { .topic($0) } + topics("message").map { .message($0) }
                + services.map { .service($0) })
        if readiness.conditions.isEmpty, problems.problems.count == problemsBefore {
            problems.add("\(condition.what) needs \"topic\", \"message\" or \"service\"", at: condition.place)
        }
        if let timeout = condition.number("timeout_s", in: 0.001...86_400, substitution) {
            readiness.timeout = .seconds(timeout)
        }
        // A node that is not required does not block the others.
        readiness.onTimeout = condition.choice("on_timeout", substitution) ?? (isRequired ? .stop : .proceed)
        return readiness
    }

    /// Warns of an unknown topic; `/health/NODE` exists for every node, though the catalogue does not list it by that name.
    func warnOfUnknownTopic(_ topic: String, in what: String, at place: Place) {
        guard !context.topics.isEmpty, !context.topics.contains(topic),
            TopicCatalogue.topic(named: topic)?.name != Topics.nodeHealth.name
        else { return }
        warnings.add(
            "\"\(topic)\" in \(what) is not in the topic catalogue\(suggestion(for: topic, among: context.topics))",
            at: place)
    }

    // MARK: Order

    /// Resolves the names in `after`, from the inner namespace outwards, and rejects cycles.
    mutating func resolveOrder() {
        let names = nodes.map(\.name)
        for reference in references {
            let candidates = (0...reference.namespace.count).reversed().map { depth in
                Self.fullName(Array(reference.namespace.prefix(depth)), reference.to)
            }
            if let name = candidates.first(where: { names.contains($0) || leftOut.contains($0) }) {
                // A node left out by `when` is not waited for; an alternative of the same name is.
                if names.contains(name) { nodes[reference.node].after.append(name) }
            } else {
                problems.add(
                    "\(reference.label) starts after \"\(reference.to)\", which is not a node"
                        + suggestion(for: reference.to, among: names)
                        + " (known nodes: \(names.joined(separator: ", ")))",
                    at: reference.place)
            }
        }
        let cycle = StartOrder(nodes).cycle
        guard let first = cycle.first else { return }
        let round = (cycle + [first]).reversed().map { names[$0] }
        let place = references.first { $0.node == first }?.place
        problems.add(
            "the start order is circular: \(round.joined(separator: " after "))",
            at: place ?? Place(file: "after", line: nil, column: nil))
    }

    // MARK: Settings

    func settings(of section: YAMLSection, _ substitution: Substitution) -> ProcessSettings {
        var settings = ProcessSettings()
        if section.node("cpus") != nil {
            let text = section.words("cpus", substitution).joined(separator: ",")
            if let cpus = cpuList(text) {
                settings.cpus = cpus
                warnOfAbsentCPUs(cpus, section)
            } else {
                problems.add(
                    "\"cpus\" in \(section.what) must be processors from 0 to \(ProcessSettings.maximumCPUs - 1) such as "
                        + "[0, 1] or \"0-1,3\", not \"\(text)\"", at: section.place(of: "cpus"))
            }
        }
        settings.nice = section.integer("nice", in: -20...19, substitution)
        if let text = section.string("scheduler", substitution) {
            settings.scheduler = ProcessSettings.Scheduler(text)
            if settings.scheduler == nil {
                problems.add(
                    "\"scheduler\" in \(section.what) must be other, batch, idle, fifo:PRIORITY or rr:PRIORITY with a "
                        + "priority from 1 to 99, not \"\(text)\"", at: section.place(of: "scheduler"))
            }
        }
        settings.coreLimit = limit("core_limit", of: section, substitution)
        settings.memoryLimit = limit("memory_limit", of: section, substitution)
        settings.openFiles = limit("open_files", of: section, substitution)
        return settings
    }

    private func limit(
        _ key: String, of section: YAMLSection, _ substitution: Substitution
    ) -> ProcessSettings.Limit? {
        guard let text = section.string(key, substitution) else { return nil }
        if let limit = ProcessSettings.Limit(text) { return limit }
        problems.add(
            "\"\(key)\" in \(section.what) must be \"unlimited\" or a whole number, optionally with K, M or G for "
                + "powers of 1024, not \"\(text)\"", at: section.place(of: key))
        return nil
    }

    private func warnOfAbsentCPUs(_ cpus: [Int], _ section: YAMLSection) {
        let absent = cpus.filter { !context.cpus.contains($0) }
        guard !context.cpus.isEmpty, !absent.isEmpty else { return }
        let there = cpuText(context.cpus)
        warnings.add(
            "\(section.what) cannot start on this machine: it needs the processors "
                + "\(cpuText(absent)), but may use only \(there)",
            at: section.place(of: "cpus"))
    }
}
