package import NavBus
package import NavGeo
import NavMessages

/// The player's part in lockstep playback: it finds the participants, waits until they are connected to each other, and
/// leads them from step to step.
package final class LockstepLeader {
    package struct Options {
        /// The names of the participants; empty means every node of this host that uses `/clock`.
        package var names: [String] = []
        /// The longest wait for participants before the first step.
        package var joining = Duration.seconds(10)
        /// The longest time a participant may take for a wave.
        package var patience = Duration.seconds(30)
        /// Whether to continue without a participant that fails, instead of ending.
        package var leavesOut = false

        package init() {}
    }

    private let bus: any Bus
    private let options: Options
    private let directory: BusDirectory?
    private let warn: (String) -> Void
    private let isStopped: () -> Bool
    private var coordinator: LockstepCoordinator?

    /// - Parameter directory: the registry in which nodes are looked up; if nil, the names are used as given.
    package init(
        _ bus: any Bus, options: Options, directory: BusDirectory?, isStopped: @escaping () -> Bool,
        warn: @escaping (String) -> Void
    ) {
        (self.bus, self.options, self.directory) = (bus, options, directory)
        (self.isStopped, self.warn) = (isStopped, warn)
    }

    package var participants: [String] { coordinator?.names ?? [] }

    // MARK: Begin

    /// Finds the participants and joins them; returns when they are all connected to each other, or when stopped.
    ///
    /// - Parameter publications: the player's own publications.
    package func begin(_ publications: [Publication]) throws(NodeError) {
        let deadline = MonotonicClock.now() + options.joining
        let names = try findParticipants(until: deadline)
        var known: [String: BarrierResponse] = [:]
        while !isStopped() {
            let points = try ownPoints(publications) + known.values.flatMap(\.published)
            guard let heard = try ask(names, points) else { return }
            let missing = try missingConnection(heard, publications, announced: points, names: names)
            known = heard
            if let missing {
                guard MonotonicClock.now() < deadline else {
                    throw NodeError(.system, "the playback cannot begin: \(missing) after \(options.joining)")
                }
                try pause()
                continue
            }
            coordinator = LockstepCoordinator(
                session: bus.bootID,
                participants: heard.map { .init(name: $0.key, topics: Set($0.value.subscribed)) },
                points: points.compactMap(LockstepPoint.init))
            return
        }
    }

    private func findParticipants(until deadline: MonotonicInstant) throws(NodeError) -> [String] {
        guard let directory else { return options.names.sorted() }
        while !isStopped() {
            let snapshot: RegistrySnapshot
            do throws(BusError) { snapshot = try directory.inspect() } catch {
                throw NodeError(.system, error.description)
            }
            // Only nodes of this host: participants use the registry to find the player and each other.
            let nodes = snapshot.nodes
            let serving = nodes.filter { node in
                node.node != bus.name && node.services.contains { $0.name == NodeService.name }
            }.map(\.node)
            if options.names.isEmpty {
                let simulated = serving.filter(usesSimulatedTime)
                if !simulated.isEmpty { return simulated.sorted() }
            } else {
                let missing = options.names.filter { !serving.contains($0) }
                if missing.isEmpty { return Array(Set(options.names)).sorted() }
            }
            guard !isStopped() else { break }
            guard MonotonicClock.now() < deadline else {
                let what =
                    options.names.isEmpty
                    ? "no node on this host uses /clock (sim_time: true)"
                    : options.names.filter { !serving.contains($0) }.map { name in
                        nodes.contains { $0.node == name }
                            ? "'\(name)' does not serve \(NodeService.name), whose Barrier the player waits for"
                            : "'\(name)' is not on this host, on which all participants run"
                    }.joined(separator: ", ")
                throw NodeError(.missing, "no node takes part in lockstep playback: \(what)")
            }
            try pause()
        }
        return []
    }

    private func usesSimulatedTime(_ node: String) -> Bool {
        (try? answer(of: node, to: NodeService.getInfo, GetInfoRequest(), within: .seconds(2)))?.simTime == true
    }

    /// Sends BEGIN once to every participant.
    ///
    /// - Returns: the answers by participant; nil when stopped.
    private func ask(_ names: [String], _ points: [BarrierPoint]) throws(NodeError) -> [String: BarrierResponse]? {
        var heard: [String: BarrierResponse] = [:]
        for name in names {
            let request = BarrierRequest(points: points, phase: .begin, session: bus.bootID)
            do throws(CallStatus) {
                guard
                    let response = try answer(
                        of: name, to: NodeService.barrier, request, within: options.patience)
                else { return nil }
                heard[name] = response
            } catch {
                throw NodeError(.system, "'\(name)' does not take part in the playback: \(error.message)")
            }
        }
        return heard
    }

    /// Calls a node and waits for its answer.
    ///
    /// - Returns: the answer; nil when stopped.
    private func answer<Request, Response>(
        of node: String, to method: UnaryMethod<Request, Response>, _ request: Request, within timeout: Duration
    ) throws(CallStatus) -> Response? {
        var options = CallOptions(timeout: timeout)
        options.node = node
        var result: Result<Response, CallStatus>?
        do throws(BusError) {
            let call = try bus.call(method, request, options: options) { result = $0 }
            while result == nil {
                guard !isStopped() else {
                    try bus.cancel(call)
                    return nil
                }
                try bus.runServices(timeout: .milliseconds(100))
            }
        } catch {
            throw CallStatus(of: error)
        }
        return try result?.get()
    }

    /// Returns a description of a missing connection, or of a participant that has published since its answer; nil when
    /// the playback can begin.
    private func missingConnection(
        _ heard: [String: BarrierResponse], _ publications: [Publication], announced: [BarrierPoint], names: [String]
    ) throws(NodeError) -> String? {
        let own = try ownPoints(publications)
        let before = Dictionary(
            announced.map { ("\($0.bootId ?? 0) \($0.topic ?? "")", $0.sequence ?? 0) }, uniquingKeysWith: max)
        for point in own + heard.values.flatMap(\.published) {
            let topic = point.topic ?? ""
            // The subscribers of a topic are known only once every participant has been informed of it.
            guard let sequence = before["\(point.bootId ?? 0) \(topic)"] else {
                return "not every node knows \(topic) of '\(point.publisher ?? "")'"
            }
            let listeners = names.filter { heard[$0]?.subscribed.contains(topic) == true }
            guard !listeners.isEmpty else { continue }
            if Int(point.subscriberCount ?? 0) < listeners.count {
                return
                    "\(topic) of '\(point.publisher ?? "")' does not reach all of \(listeners.joined(separator: ", "))"
            }
            if sequence != point.sequence ?? 0 {
                return "'\(point.publisher ?? "")' keeps publishing \(topic) on its own"
            }
        }
        return nil
    }

    private func ownPoints(_ publications: [Publication]) throws(NodeError) -> [BarrierPoint] {
        let statistics = bus.statistics
        do throws(BusError) {
            var points: [BarrierPoint] = []
            for publication in publications {
                points.append(
                    BarrierPoint(
                        topic: publication.topic, bootId: bus.bootID,
                        sequence: statistics[topic: publication.topic]?.published ?? 0, publisher: bus.name,
                        subscriberCount: UInt32(clamping: try bus.subscriberCount(of: publication))))
            }
            return points
        } catch {
            throw NodeError(.system, error.description)
        }
    }

    private func pause() throws(NodeError) {
        do throws(BusError) { try bus.runServices(timeout: .milliseconds(20)) } catch {
            throw NodeError(.system, error.description)
        }
    }

    // MARK: Steps

    /// Makes the participants handle the player's messages of a moment, and all messages that follow from them.
    ///
    /// - Returns: when the first timer of a participant is due; nil when none has one, or when stopped.
    package func step(to time: SimulatedTime, epoch: UInt32, published: [LockstepPoint]) throws(NodeError)
        -> SimulatedTime?
    {
        guard coordinator != nil else { return nil }
        var pending = coordinator?.step(to: time, epoch: epoch, points: published) ?? []
        let answers = Answers()
        while true {
            while !pending.isEmpty {
                switch pending.removeFirst() {
                case .stepped(let timer): return timer
                case .call(let name, let request): try call(name, request, answers)
                case .failed(let failure): pending += try giveUp(failure)
                }
            }
            guard !isStopped() else { return nil }
            do throws(BusError) { try bus.runServices(timeout: .milliseconds(100)) } catch {
                throw NodeError(.system, error.description)
            }
            for (name, result) in answers.take() {
                switch result {
                case .success(let response):
                    pending += coordinator?.answered(name, LockstepCoordinator.Answer(response)) ?? []
                case .failure(let status): pending += coordinator?.failed(name, status.message) ?? []
                }
            }
        }
    }

    /// The answers received, in the order of arrival.
    private final class Answers {
        private var list: [(String, Result<BarrierResponse, CallStatus>)] = []
        func put(_ name: String, _ result: Result<BarrierResponse, CallStatus>) { list.append((name, result)) }
        func take() -> [(String, Result<BarrierResponse, CallStatus>)] {
            defer { list = [] }
            return list
        }
    }

    private func call(_ name: String, _ request: LockstepRequest, _ answers: Answers) throws(NodeError) {
        var options = CallOptions(timeout: self.options.patience)
        options.node = name
        do throws(BusError) {
            try bus.call(NodeService.barrier, request.message, options: options) { answers.put(name, $0) }
        } catch {
            throw NodeError(.system, error.description)
        }
    }

    private func giveUp(_ failure: LockstepCoordinator.Failure) throws(NodeError) -> [LockstepCoordinator.Effect] {
        switch failure {
        case .participant(let name, let reason):
            guard options.leavesOut, (coordinator?.names.count ?? 0) > 1 else {
                throw NodeError(.system, "lockstep playback ends: '\(name)' does not answer: \(reason)")
            }
            warn("'\(name)' does not answer: \(reason); continuing without it")
            return coordinator?.leaveOut(name) ?? []
        case .lost(let name, let count):
            throw NodeError(.system, "lockstep playback ends: '\(name)' has lost \(count) messages")
        case .endless(let topics):
            throw NodeError(
                .system,
                "lockstep playback ends: nodes answer each other endlessly on \(topics.joined(separator: ", "))")
        }
    }

    // MARK: End

    /// Ends the playback for all participants; a participant that does not answer detects by itself that the player has
    /// exited.
    package func end() {
        for name in participants {
            var options = CallOptions(timeout: .seconds(2))
            options.node = name
            let request = BarrierRequest(phase: .end, session: bus.bootID)
            _ = try? bus.callBlocking(NodeService.barrier, request, options: options)
        }
        coordinator = nil
    }
}

extension LockstepCoordinator.Answer {
    init(_ response: BarrierResponse) {
        self.init(
            published: response.published.compactMap(LockstepPoint.init),
            nextTimer: response.nextTimerNs.map { SimulatedTime(nanoseconds: $0) }, lost: response.lostCount ?? 0)
    }
}
