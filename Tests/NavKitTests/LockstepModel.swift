import NavGeo
import NavSimulation
import NavKit

/// A playback without sockets: a player, nodes on a random graph, and a network with random delays in each run.
///
/// One seed determines the graph and the behaviour of the nodes, another the delays; the messages that the nodes handle
/// must depend only on the first.
struct LockstepModel {
    struct Message {
        var publisher: Int
        var topic: String
        var sequence: UInt64
        var value: UInt64
        /// The number of further answers that it may get.
        var hops: Int
    }

    /// The next event, by the network's internal time.
    private enum Event {
        case message(Message, to: Int)
        case call(LockstepRequest, to: Int)
        case answer(LockstepCoordinator.Answer, from: Int)
        case work(node: Int)
    }

    private struct Node {
        var name: String
        var subscribed: Set<String> = []
        var tracker = BarrierTracker<Message>()
        var timers = TimerQueue()
        var now: SimulatedTime?
        var state: UInt64
        var published: [String: UInt64] = [:]
        /// Results of pending work, in the order in which the work was started.
        var work: [Message] = []
        var isWorking = false
        var log: [UInt64] = []
    }

    let graph: UInt64
    private var delays: SeededRandom
    private var nodes: [Node] = []
    private var agenda: [(at: UInt64, order: Int, event: Event)] = []
    private var order = 0
    private var clock: UInt64 = 0
    private var lastArrival: [Int: UInt64] = [:]
    private let holdsBack: Bool
    /// The lengths of the completed steps.
    private(set) var steps = 0

    private static let player = 1_000

    /// - Parameter holdsBack: false handles messages as they arrive, as without a barrier.
    init(graph: UInt64, delays: UInt64, holdsBack: Bool = true) {
        self.graph = graph
        self.delays = SeededRandom(seed: delays)
        self.holdsBack = holdsBack
        var random = SeededRandom(seed: graph)
        let count = 2 + random.below(4)
        for index in 0..<count {
            var node = Node(name: "n\(index)", state: random.next())
            for other in 0..<count where other != index && random.below(2) == 0 { node.subscribed.insert("/n\(other)") }
            for topic in ["/fix", "/odometry"] where random.below(3) > 0 { node.subscribed.insert(topic) }
            if random.below(2) == 0 {
                _ = node.timers.add(
                    due: NodeTime(nanoseconds: Int64(random.below(50))),
                    every: .nanoseconds(20 + random.below(100)))
            }
            nodes.append(node)
        }
        // The last node is a recorder and receives everything.
        nodes[count - 1].subscribed = Set(["/fix", "/odometry"] + (0..<count - 1).map { "/n\($0)" })
    }

    /// Plays 20 instants and returns the messages that each node has handled, in order.
    mutating func run() -> [[UInt64]] {
        var random = SeededRandom(seed: graph &+ 1)
        var coordinator = LockstepCoordinator(
            session: UInt64(Self.player),
            participants: nodes.map { LockstepCoordinator.Participant(name: $0.name, topics: $0.subscribed) },
            points: [])
        let everybody =
            nodes.indices.map { LockstepPoint(topic: "/n\($0)", bootID: boot($0), sequence: 0, publisher: "n\($0)") }
            + ["/fix", "/odometry"].map {
                LockstepPoint(topic: $0, bootID: UInt64(Self.player), sequence: 0, publisher: "player")
            }
        if holdsBack {
            for index in nodes.indices {
                try? nodes[index].tracker.open(
                    LockstepRequest(.begin, session: UInt64(Self.player), points: everybody))
                _ = nodes[index].tracker.next(isIdle: true, now: nil) { _ in true }
            }
        }
        var sequences: [String: UInt64] = [:]
        var time: Int64 = 0
        for _ in 0..<20 {
            let target = time + 40 + Int64(random.below(60))
            while time < target {
                let timer = nodes.compactMap(\.timers.next).min()?.nanoseconds ?? target
                time = min(target, max(timer, time + 1))
                var points: [LockstepPoint] = []
                if time == target {
                    for topic in ["/fix", "/odometry"] {
                        for _ in 0..<random.below(3) {
                            sequences[topic, default: 0] += 1
                            let sequence = sequences[topic] ?? 0
                            send(
                                Message(
                                    publisher: Self.player, topic: topic, sequence: sequence, value: random.next(),
                                    hops: 3))
                            points.append(
                                LockstepPoint(
                                    topic: topic, bootID: UInt64(Self.player), sequence: sequence, publisher: "player"))
                        }
                    }
                }
                let step = coordinator.step(to: SimulatedTime(nanoseconds: time), epoch: 0, points: points)
                guard settle(&coordinator, step) else { return [] }
                steps += 1
            }
        }
        return nodes.map(\.log)
    }

    private func boot(_ node: Int) -> UInt64 { UInt64(node) &* 7_919 % 101 + 1 }

    private mutating func later(_ event: Event, at moment: UInt64) {
        order += 1
        agenda.append((moment, order, event))
    }

    private mutating func send(_ message: Message) {
        for index in nodes.indices where nodes[index].subscribed.contains(message.topic) {
            // One connection keeps the order of its messages, as in ZeroMQ; different connections do not.
            let link = message.publisher * 10_000 + index
            let arrival = max(clock + UInt64(delays.below(1_000)), lastArrival[link] ?? 0)
            lastArrival[link] = arrival
            later(.message(message, to: index), at: arrival)
        }
    }

    /// Runs the network until the step is complete; returns false if it never completes.
    private mutating func settle(
        _ coordinator: inout LockstepCoordinator, _ first: [LockstepCoordinator.Effect]
    ) -> Bool {
        var isDone = false
        func apply(_ effects: [LockstepCoordinator.Effect], _ model: inout LockstepModel) {
            for effect in effects {
                switch effect {
                case .call(let name, let request):
                    let index = model.nodes.firstIndex { $0.name == name } ?? 0
                    model.later(.call(request, to: index), at: model.clock + UInt64(model.delays.below(1_000)))
                case .stepped: isDone = true
                case .failed: model.agenda = []
                }
            }
        }
        apply(first, &self)
        while !isDone {
            guard
                let next = agenda.indices.min(by: {
                    (agenda[$0].at, agenda[$0].order) < (agenda[$1].at, agenda[$1].order)
                })
            else { return false }
            let (at, _, event) = agenda.remove(at: next)
            clock = max(clock, at)
            switch event {
            case .message(let message, let index):
                let bootID = message.publisher == Self.player ? UInt64(Self.player) : boot(message.publisher)
                let now = nodes[index].tracker.take(
                    message, topic: message.topic, bootID: bootID, sequence: message.sequence)
                if let now { handle(now, at: index) }
                drive(index)
            case .call(let request, let index):
                var request = request
                if !holdsBack { request.phase = .plain; request.time = nil }
                do { try nodes[index].tracker.open(request) } catch { return false }
                if !holdsBack { nodes[index].now = request.time ?? nodes[index].now }
                drive(index)
            case .work(let index):
                nodes[index].isWorking = false
                if !nodes[index].work.isEmpty { publish(nodes[index].work.removeFirst(), from: index) }
                startWork(index)
                drive(index)
            case .answer(let answer, let index):
                apply(coordinator.answered(nodes[index].name, answer), &self)
            }
        }
        return true
    }

    /// Performs the tracker's actions, as the shell does.
    private mutating func drive(_ index: Int) {
        while true {
            let isIdle = !nodes[index].isWorking && nodes[index].work.isEmpty
            if isIdle, let now = nodes[index].now,
                let timer = nodes[index].timers.takeDue(
                    at: NodeTime(nanoseconds: now.nanoseconds), skipsMissed: false)
            {
                handle(
                    Message(
                        publisher: index, topic: "timer", sequence: 0, value: UInt64(timer.due.nanoseconds), hops: 2),
                    at: index)
                continue
            }
            let topics = nodes[index].subscribed
            switch nodes[index].tracker.next(isIdle: isIdle, now: nodes[index].now, isSubscribed: topics.contains) {
            case .setTime(let time, _): nodes[index].now = time
            case .handle(let message): handle(message, at: index)
            case .answer:
                let points = nodes[index].published.keys.sorted().map {
                    LockstepPoint(
                        topic: $0, bootID: boot(index), sequence: nodes[index].published[$0] ?? 0,
                        publisher: nodes[index].name)
                }
                let answer = LockstepCoordinator.Answer(
                    published: points,
                    nextTimer: nodes[index].timers.next.map { SimulatedTime(nanoseconds: $0.nanoseconds) },
                    lost: nodes[index].tracker.lost)
                later(.answer(answer, from: index), at: clock + UInt64(delays.below(1_000)))
            case .wait: return
            }
        }
    }

    /// A node's handling of a message: its state depends on all messages handled and their order.
    private mutating func handle(_ message: Message, at index: Int) {
        let state = mix(nodes[index].state ^ message.value &+ message.sequence)
        nodes[index].state = state
        nodes[index].log.append(state)
        guard message.hops > 0 else { return }
        let answer = Message(
            publisher: index, topic: "/n\(index)", sequence: 0, value: state, hops: message.hops - 1)
        switch state % 4 {
        case 0: break
        case 1: publish(answer, from: index)
        case 2:
            publish(answer, from: index)
            publish(Message(publisher: index, topic: answer.topic, sequence: 0, value: ~state, hops: 0), from: index)
        default:
            nodes[index].work.append(answer)
            startWork(index)
        }
    }

    private mutating func startWork(_ index: Int) {
        guard !nodes[index].isWorking, !nodes[index].work.isEmpty else { return }
        nodes[index].isWorking = true
        later(.work(node: index), at: clock + UInt64(delays.below(5_000)))
    }

    private mutating func publish(_ message: Message, from index: Int) {
        var message = message
        nodes[index].published[message.topic, default: 0] += 1
        message.sequence = nodes[index].published[message.topic] ?? 0
        send(message)
    }

    private func mix(_ value: UInt64) -> UInt64 {
        var random = SeededRandom(seed: value)
        return random.next()
    }
}
