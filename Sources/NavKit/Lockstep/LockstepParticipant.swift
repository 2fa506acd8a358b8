package import NavBus
import NavGeo
package import NavMessages

/// A node's part in lockstep playback: it filters the loop's messages and answers `navbus.v1.Node/Barrier`.
///
/// It belongs to the node's thread. Use ``turn(waiting:isIdle:handle:event:)`` as the loop. A loop that polls the bus itself passes every
/// delivery to ``take(_:)``, and calls ``run(isIdle:handle:event:)`` whenever no more messages are waiting.
package final class LockstepParticipant {
    private let bus: any Bus
    private let clock: NodeClock
    private let waker: Waker
    private var tracker = BarrierTracker<Delivery>()
    private var call: UnaryCall<BarrierResponse>?
    private var phase = LockstepRequest.Phase.plain
    private var nextLook = MonotonicInstant(nanoseconds: 0)
    private let warn: (String) -> Void

    /// Returns the topics that the node is subscribed to.
    package var subscribed: () -> Set<String> = { [] }
    /// Returns whether the node will subscribe to a topic as soon as it finds its publisher; a playback must wait for that.
    package var wants: (String) -> Bool = { _ in false }
    package var publications: () -> [Publication] = { [] }
    /// Returns the live nodes of the bus, name by boot id; nil when they cannot be determined.
    package var nodes: () -> [UInt64: String]? = { nil }

    private var expected: Set<String> = []

    package init(_ bus: any Bus, clock: NodeClock, warn: @escaping (String) -> Void = { _ in }) {
        self.bus = bus
        self.clock = clock
        self.warn = warn
        waker = bus.makeWaker()
    }

    /// Whether a wave is being handled, as opposed to the messages left at the end.
    package var isInWave: Bool { phase == .wave && tracker.isOpen }

    /// Whether the node takes part in a playback now.
    package var isInLockstep: Bool { tracker.session != nil }

    /// Records a message; returns it when it must be handled at once.
    package func take(_ delivery: Delivery) -> Delivery? {
        tracker.take(
            delivery, topic: delivery.topic, bootID: delivery.header.bootID, sequence: delivery.header.sequence)
    }

    /// Opens a barrier, which is answered later.
    package func barrier(_ request: BarrierRequest, _ call: UnaryCall<BarrierResponse>) throws {
        let phase = LockstepRequest.Phase(request.phase)
        guard clock.isSimulated || phase == .plain else {
            throw NodeError(
                .invalid, "'\(bus.name)' uses the machine's clock: start it with sim_time: true for lockstep")
        }
        if phase == .begin, let session = tracker.session, session != request.session { leaveIfPlayerIsGone(session) }
        do throws(BarrierTracker<Delivery>.Refusal) {
            try tracker.open(LockstepRequest(request))
        } catch {
            throw NodeError(.invalid, text(of: error))
        }
        self.call = call
        self.phase = phase
        if phase == .begin { expected = subscribed().union(request.points.compactMap(\.topic).filter(wants)) }
        call.onCancel = { [weak self] in
            self?.tracker.cancel()
            self?.call = nil
        }
        // The call arrived during a poll; the wake-up makes the loop handle the messages that the barrier releases.
        waker.wake()
    }

    private func text(of refusal: BarrierTracker<Delivery>.Refusal) -> String {
        switch refusal {
        case .busy: "'\(bus.name)' has a pending barrier"
        case .otherSession(let player):
            "'\(bus.name)' takes part in the playback of \(nodes()?[player].map { "'\($0)'" } ?? "another player")"
        case .noSession: "'\(bus.name)' takes part in no playback: it was restarted, or has abandoned the player"
        }
    }

    /// Runs one iteration of a node's loop: waits for messages, takes all that have arrived, and does the work that is
    /// possible now.
    ///
    /// - Parameter handle: handles one message; the second argument states whether the message belongs to a wave.
    package func turn(
        waiting timeout: Duration, isIdle: () -> Bool, handle: (Delivery, Bool) -> Void, event: (ClockEvent) -> Void
    ) throws(BusError) {
        var delivery = try bus.poll(timeout: timeout)
        for _ in 0..<Self.batch {
            guard let arrived = delivery else { break }
            if let passed = take(arrived) { handle(passed, false) }
            delivery = try bus.poll(timeout: .zero)
        }
        // A message read after the batch precedes the messages that the barrier releases.
        if let arrived = delivery, let passed = take(arrived) { handle(passed, false) }
        run(isIdle: isIdle, handle: { handle($0, true) }, event: event)
    }

    /// The most messages of one iteration, so that a flood does not block the node's other work.
    private static let batch = 1_024

    /// Does the work that is possible now: timers and messages that a barrier releases, and the barrier's answer.
    ///
    /// - Parameters:
    ///   - isIdle: whether the node has no unfinished work caused by messages or timers.
    ///   - handle: handles one message.
    ///   - event: receives each change of the node's time, before any message of the new time.
    package func run(isIdle: () -> Bool, handle: (Delivery) -> Void, event: (ClockEvent) -> Void) {
        if isInLockstep { lookForPlayer() }
        while true {
            let idle = isIdle()
            if idle, isInLockstep, clock.runDueTimer() { continue }
            let topics = isInLockstep ? expected : subscribed()
            switch tracker.next(isIdle: idle, now: clock.moment?.time, isSubscribed: { topics.contains($0) }) {
            case .setTime(let time, let epoch):
                if let session = tracker.session,
                    let happened = clock.reach(time, epoch: epoch, player: session)
                {
                    event(happened)
                }
            case .handle(let delivery): handle(delivery)
            case .answer: answer()
            case .wait: return
            }
        }
    }

    private func answer() {
        guard let call else { return }
        self.call = nil
        var response = BarrierResponse(lostCount: tracker.lost == 0 ? nil : tracker.lost)
        let statistics = bus.statistics
        if phase == .begin {
            for publication in publications() {
                response.published.append(
                    BarrierPoint(
                        topic: publication.topic, bootId: bus.bootID,
                        sequence: statistics[topic: publication.topic]?.published ?? 0, publisher: bus.name,
                        subscriberCount: UInt32(clamping: (try? bus.subscriberCount(of: publication)) ?? 0)))
            }
            response.subscribed = expected.sorted()
        } else {
            for topic in statistics.topics where topic.published > 0 {
                response.published.append(
                    BarrierPoint(
                        topic: topic.topic, bootId: bus.bootID, sequence: topic.published, publisher: bus.name))
            }
        }
        response.nextTimerNs = clock.isSimulated ? clock.nextTimer?.nanoseconds : nil
        call.finish(response)
    }

    /// Checks once a second whether the player is alive, so that the node does not wait for a dead one.
    private func lookForPlayer() {
        let now = MonotonicClock.now()
        guard now >= nextLook, let session = tracker.session else { return }
        nextLook = now + .seconds(1)
        leaveIfPlayerIsGone(session)
    }

    private func leaveIfPlayerIsGone(_ session: UInt64) {
        guard let nodes = nodes(), nodes[session] == nil else { return }
        warn("the player of the lockstep playback has left: continuing without it")
        tracker.leave()
    }
}

extension LockstepRequest.Phase {
    init(_ phase: BarrierPhase?) {
        switch phase {
        case .begin: self = .begin
        case .wave: self = .wave
        case .end: self = .end
        default: self = .plain
        }
    }

    var message: BarrierPhase? {
        switch self {
        case .plain: nil
        case .begin: .begin
        case .wave: .wave
        case .end: .end
        }
    }
}

extension LockstepPoint {
    init?(_ point: BarrierPoint) {
        guard let topic = point.topic, let bootID = point.bootId else { return nil }
        self.init(topic: topic, bootID: bootID, sequence: point.sequence ?? 0, publisher: point.publisher ?? "")
    }

    var message: BarrierPoint {
        BarrierPoint(topic: topic, bootId: bootID, sequence: sequence, publisher: publisher)
    }
}

extension LockstepRequest {
    init(_ request: BarrierRequest) {
        self.init(
            Phase(request.phase), session: request.session ?? 0, points: request.points.compactMap(LockstepPoint.init),
            time: request.stampNs.map { SimulatedTime(nanoseconds: $0) }, epoch: request.epoch ?? 0)
    }

    var message: BarrierRequest {
        BarrierRequest(
            points: points.map(\.message), stampNs: time?.nanoseconds, epoch: epoch, phase: phase.message,
            session: session)
    }
}
