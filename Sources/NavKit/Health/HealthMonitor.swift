import NavBus
import NavGeo
package import NavMessages

/// A builder of the `/health/<node>` messages.
package struct HealthMonitor {
    private let started = Clocks.monotonic()
    private var usage = ProcessUsage()
    private var memory = HealthMemory()

    package init() {}

    /// Forgets all history, because time has started or jumped.
    mutating func startOver() { memory.startOver() }

    /// Returns the node's health now.
    ///
    /// - Parameter publishers: returns the names of the nodes that publish a topic, sorted, given its name on the bus; nil when unknown.
    package mutating func report(
        _ context: NodeContext, state: Lifecycle.State, findings own: [HealthFinding], now: Int64,
        publishers: (String) -> [String]?
    ) -> NodeHealth {
        let statistics = context.link.bus.statistics
        var findings = own
        for outlet in context.link.published {
            let refused = memory.recentLoss("refused " + outlet.name, total: outlet.refused, at: now)
            guard refused > 0 else { continue }
            findings.append(
                HealthFinding(
                    "publish_failed",
                    "\(outlet.name): \(refused) messages could not be published in the last 10 s: see the log",
                    about: outlet.name))
        }
        findings += connections(statistics, now)
        if let problem = (context.bus as? BusNode)?.registryProblem {
            findings.append(
                HealthFinding("registry_lost", "other nodes do not find this one: \(problem)", isLogged: true))
        }
        if state == .active {
            for input in context.inputs {
                let seen = statistics[topic: input.name]
                let silence = silence(of: input, context, now, publishers)
                let refused = refusals(of: input, context, now) + rejections(of: input, seen, now, publishers)
                // A publisher whose messages are rejected is not silent.
                findings += refused.isEmpty ? [silence].compactMap(\.self) : refused
                findings += losses(of: input, seen, now)
            }
        }
        for finding in findings where finding.isLogged && memory.isNew(finding) {
            context.log.warning("\(finding.code): \(finding.message)")
        }
        let stamp = context.stamp.nanoseconds
        let since = memory.since(of: findings, at: stamp)
        var health = NodeHealth(
            stampNs: stamp, monotonicNs: Clocks.monotonic(), node: context.name,
            state: findings.contains { $0.severity == .lost } ? .lost : findings.isEmpty ? .ok : .degraded)
        health.reasons = zip(findings, since).map { finding, since in
            HealthReason(code: finding.code, message: finding.message, sinceNs: since)
        }
        health.topics = topics(context, statistics, now)
        health.latencies = context.recorders.compactMap {
            LatencySummary($0.recent(Clocks.monotonic()), name: $0.name)
        }
        health.counters = counters(context, statistics)
        health.residentBytes = ProcessUsage.residentBytes()
        health.cpuLoad = usage.load()
        health.uptimeS = Double(Clocks.monotonic() - started) * 1e-9
        health.bootId = context.link.bus.bootID
        health.lifecycleState = LifecycleState(state)
        return health
    }

    // MARK: Reasons

    private func silence(
        of input: NodeInput, _ context: NodeContext, _ now: Int64, _ publishers: (String) -> [String]?
    ) -> HealthFinding? {
        guard let tolerated = input.toleratedSilence, let active = context.activeSince else { return nil }
        let last = input.lastAt.map { max($0, active) }
        // The silence of an optional topic counts only after its first message.
        guard input.isRequired || last != nil, now - (last ?? active) > tolerated else { return nil }
        if input.entry.mayPause, publishers(input.name)?.isEmpty != true { return nil }
        let seconds = (now - (last ?? active)) / 1_000_000_000
        var message = last == nil ? "\(input.name): no message yet" : "\(input.name): no message for \(seconds) s"
        message += " (\(input.usualRateText))"
        switch publishers(input.name) {
        case nil: break
        case .some(let nodes) where nodes.isEmpty:
            message += "; no node publishes it: start one, or check the names with 'navbus topic list'"
        case .some(let nodes): message += "; published by \(nodes.joined(separator: ", ")): check its health"
        }
        return HealthFinding("topic_silent", message, about: input.name)
    }

    private func refusals(of input: NodeInput, _ context: NodeContext, _ now: Int64) -> [HealthFinding] {
        input.sources.compactMap { source in
            guard let problem = source.problem, let at = source.rejectedAt,
                now - at < HealthMemory.lossNanoseconds
            else { return nil }
            let who = context.publisher(source.bootID)
            let schema = source.isOfAnotherSchema ? " (its schema is another version)" : ""
            return HealthFinding(
                "messages_rejected", "\(input.name): messages of \(who)\(schema) are rejected: \(problem)",
                about: "\(input.name) \(source.bootID)")
        }
    }

    /// Returns a finding about messages that the bus rejected on arrival, for their frames, header or size.
    private mutating func rejections(
        of input: NodeInput, _ statistics: TopicStatistics?, _ now: Int64, _ publishers: (String) -> [String]?
    ) -> [HealthFinding] {
        guard let statistics, let defect = statistics.lastRejection,
            memory.recentLoss("rejected " + input.name, total: statistics.rejected, at: now) > 0
        else { return [] }
        let names = publishers(input.name) ?? []
        let who = names.isEmpty ? "" : "; published by \(names.joined(separator: ", "))"
        return [
            HealthFinding(
                "messages_rejected", "\(input.name): messages are rejected for \(defect)\(who)", about: input.name,
                isLogged: true)
        ]
    }

    private mutating func losses(
        of input: NodeInput, _ statistics: TopicStatistics?, _ now: Int64
    ) -> [HealthFinding] {
        guard let statistics else { return [] }
        var findings: [HealthFinding] = []
        let lost = memory.recentLoss("lost " + input.name, total: statistics.lost, at: now)
        if lost > 0 {
            findings.append(
                HealthFinding(
                    "messages_lost", "\(input.name): \(lost) messages lost in transit in the last 10 s",
                    about: input.name))
        }
        let dropped = memory.recentLoss("dropped " + input.name, total: statistics.dropped, at: now)
        if dropped > 0 {
            findings.append(
                HealthFinding(
                    "messages_dropped",
                    "\(input.name): \(dropped) messages dropped in the last 10 s: this node is too slow",
                    about: input.name))
        }
        return findings
    }

    /// Returns findings about connections that the bus ended or re-established.
    private mutating func connections(_ statistics: BusStatistics, _ now: Int64) -> [HealthFinding] {
        let stuck = memory.recentLoss("stuck", total: statistics.stuckSubscribers, at: now)
        let silent = memory.recentLoss("silent", total: statistics.silentConnections, at: now)
        return [
            stuck == 0
                ? nil
                : HealthFinding(
                    "subscriber_stuck",
                    "\(stuck) subscribers that read nothing for 2 s while large messages were queued were disconnected "
                        + "in the last 10 s: check for a stopped process; it reconnects when it runs"),
            silent == 0
                ? nil
                : HealthFinding(
                    "publisher_unheard",
                    "\(silent) live but silent publishers were reconnected in the last 10 s: check for a node that is "
                        + "stopped or busy"),
        ].compactMap { $0 }
    }

    // MARK: Figures

    private mutating func topics(
        _ context: NodeContext, _ statistics: BusStatistics, _ now: Int64
    ) -> [TopicHealth] {
        var topics: [TopicHealth] = []
        for outlet in context.link.published {
            var topic = TopicHealth(topic: outlet.name, isPublisher: true, messageCount: outlet.count)
            topic.rateHz = memory.rate("out " + outlet.name, count: outlet.count, at: now)
            topic.ageS = outlet.lastAt.map { Double(now - $0) * 1e-9 }
            topic.byteCount = outlet.bytes
            topic.droppedCount = statistics[topic: outlet.name]?.dropped ?? 0
            topic.rejectedCount = outlet.refused
            topic.peerCount = UInt32(clamping: context.link.subscriberCount(of: outlet.entry.name))
            topic.nominalRateHz = outlet.entry.nominalRateHz
            topics.append(topic)
        }
        for input in context.inputs {
            let seen = statistics[topic: input.name]
            var topic = TopicHealth(topic: input.name, isPublisher: false, messageCount: input.count)
            topic.rateHz = memory.rate("in " + input.name, count: input.count, at: now)
            topic.ageS = input.lastAt.map { Double(now - $0) * 1e-9 }
            topic.lostCount = seen?.lost ?? 0
            topic.droppedCount = seen?.dropped ?? 0
            topic.rejectedCount = (seen?.rejected ?? 0) &+ input.rejected
            topic.peerCount = UInt32(clamping: input.sourceCount(since: now - (input.toleratedSilence ?? .max / 2)))
            topic.byteCount = input.bytes
            topic.nominalRateHz = input.entry.nominalRateHz
            topic.mismatchCount = input.mismatched
            topics.append(topic)
        }
        return topics
    }

    private func counters(_ context: NodeContext, _ statistics: BusStatistics) -> [Counter] {
        let calls = context.link.bus.serviceStatistics
        let log = context.log.sink.counts
        var counters = [
            ("calls_served", calls.callsServed), ("calls_refused", calls.callsRefused),
            ("calls_malformed", calls.malformed), ("call_clients_lost", calls.clientsLost),
            ("calls_made", calls.callsMade), ("calls_retried", calls.retries),
            ("calls_against_the_rules", calls.violations), ("call_frames_stray", calls.strayFrames),
            ("call_connections_refused", calls.refusedConnections),
            ("messages_unattributed", statistics.unattributedRejections),
            ("topics_refused", statistics.refusedTopics), ("connections_cut", statistics.cutConnections),
            ("connections_silent", statistics.silentConnections),
            ("subscribers_stuck", statistics.stuckSubscribers), ("log_lines_collapsed", log.collapsed),
            ("log_lines_left_out", log.leftOut), ("log_lines_unwritten", log.unwritten),
        ]
        if let hosts = (context.link.bus as? BusNode)?.hostStatistics, hosts != HostStatistics() {
            counters += [
                ("hosts_connections", hosts.connections), ("hosts_denied", hosts.denied),
                ("hosts_refused", hosts.refused), ("hosts_malformed", hosts.malformed),
                ("hosts_watchers", UInt64(hosts.watchers)), ("hosts_peers", UInt64(hosts.peers)),
                ("hosts_peers_present", UInt64(hosts.peersPresent)),
            ]
        }
        counters += context.counters.map { ($0.name, $0.value) }
        return counters.map { Counter(name: $0.0, value: $0.1) }
    }
}

extension LatencySummary {
    /// Computes the percentiles of a histogram; nil without samples.
    init?(_ histogram: LatencyHistogram, name: String) {
        guard histogram.count > 0 else { return nil }
        func seconds(_ share: Double) -> Double? { histogram.quantile(share).map { Double($0) * 1e-9 } }
        self.init(
            name: name, sampleCount: histogram.count, p50S: seconds(0.5), p90S: seconds(0.9), p99S: seconds(0.99),
            maxS: Double(histogram.maximum) * 1e-9)
    }
}
