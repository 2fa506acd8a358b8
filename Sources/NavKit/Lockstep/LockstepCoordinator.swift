package import NavGeo

/// The player's side of lockstep playback: the requests to the participants, and the end of each step.
///
/// It has no socket and no clock.
///
/// A step is a moment of simulated time with the messages that the player published for it. Its first wave goes to
/// every participant. The messages that participants publish in response form the next wave, which goes to their
/// subscribers. The step ends when no participant subscribes to anything published in the last wave.
package struct LockstepCoordinator {
    /// A node that takes part.
    package struct Participant: Sendable, Hashable {
        package var name: String
        package var topics: Set<String>

        package init(name: String, topics: Set<String>) { (self.name, self.topics) = (name, topics) }
    }

    /// The answer of a participant that has finished its wave.
    package struct Answer: Sendable, Hashable {
        package var published: [LockstepPoint]
        package var nextTimer: SimulatedTime?
        package var lost: UInt64

        package init(published: [LockstepPoint] = [], nextTimer: SimulatedTime? = nil, lost: UInt64 = 0) {
            (self.published, self.nextTimer, self.lost) = (published, nextTimer, lost)
        }
    }

    package enum Effect: Sendable, Hashable {
        /// Call a participant; exactly one ``answered(_:_:)`` or ``failed(_:_:)`` must follow.
        case call(String, LockstepRequest)
        /// The step is done and nothing is left to handle.
        ///
        /// `nextTimer` is when the first timer of any participant is due.
        case stepped(nextTimer: SimulatedTime?)
        /// The playback cannot continue with all participants.
        case failed(Failure)
    }

    /// A reason why a playback is not reproducible.
    package enum Failure: Error, Sendable, Hashable {
        /// A participant died, refused, or did not answer in time.
        case participant(String, String)
        /// A participant missed messages.
        case lost(String, UInt64)
        /// Participants answer each other endlessly at one moment.
        case endless([String])
    }

    private struct Key: Hashable {
        let topic: String
        let bootID: UInt64
    }

    /// The most waves of a step, because a cycle of nodes that answer each other at once would never end.
    package static let maximumWaves = 1_000

    private let session: UInt64
    private var participants: [Participant]
    private var reached: [Key: UInt64] = [:]
    private var fresh: [Key: LockstepPoint] = [:]
    private var timers: [String: SimulatedTime] = [:]
    private var waiting: Set<String> = []
    private var time = SimulatedTime(nanoseconds: 0)
    private var epoch: UInt32 = 0
    private var waves = 0

    /// - Parameter points: the messages published before the first step, which belong to no step.
    package init(session: UInt64, participants: [Participant], points: [LockstepPoint]) {
        self.session = session
        self.participants = participants.sorted { $0.name < $1.name }
        for point in points { reached[Key(topic: point.topic, bootID: point.bootID)] = point.sequence }
    }

    package var names: [String] { participants.map(\.name) }

    /// Begins a step; the previous one must be done.
    package mutating func step(to time: SimulatedTime, epoch: UInt32, points: [LockstepPoint]) -> [Effect] {
        (self.time, self.epoch, waves) = (time, epoch, 0)
        for point in points { note(point) }
        return wave(toAll: true)
    }

    /// Handles a participant's answer to its wave.
    package mutating func answered(_ name: String, _ answer: Answer) -> [Effect] {
        guard waiting.remove(name) != nil else { return [] }
        guard answer.lost == 0 else { return [.failed(.lost(name, answer.lost))] }
        timers[name] = answer.nextTimer
        for point in answer.published { note(point) }
        return waiting.isEmpty ? wave(toAll: false) : []
    }

    /// Handles a participant's failure to answer.
    package mutating func failed(_ name: String, _ reason: String) -> [Effect] {
        guard waiting.contains(name) else { return [] }
        return [.failed(.participant(name, reason))]
    }

    /// Continues without a participant.
    package mutating func leaveOut(_ name: String) -> [Effect] {
        participants.removeAll { $0.name == name }
        timers[name] = nil
        return waiting.remove(name) != nil && waiting.isEmpty ? wave(toAll: false) : []
    }

    private mutating func note(_ point: LockstepPoint) {
        let key = Key(topic: point.topic, bootID: point.bootID)
        guard point.sequence > reached[key] ?? 0 else { return }
        reached[key] = point.sequence
        if participants.contains(where: { $0.topics.contains(point.topic) }) { fresh[key] = point }
    }

    private mutating func wave(toAll: Bool) -> [Effect] {
        let points = fresh.values.sorted { ($0.publisher, $0.topic, $0.bootID) < ($1.publisher, $1.topic, $1.bootID) }
        fresh = [:]
        guard toAll || !points.isEmpty else { return [.stepped(nextTimer: timers.values.min())] }
        waves += 1
        guard waves <= Self.maximumWaves else { return [.failed(.endless(points.map(\.topic)))] }
        let topics = Set(points.map(\.topic))
        let called = participants.filter { toAll || !$0.topics.isDisjoint(with: topics) }
        waiting = Set(called.map(\.name))
        guard !called.isEmpty else { return [.stepped(nextTimer: timers.values.min())] }
        return called.map { participant in
            .call(
                participant.name,
                LockstepRequest(
                    .wave, session: session, points: points.filter { participant.topics.contains($0.topic) },
                    time: time, epoch: epoch))
        }
    }
}
