import NavBus
import NavGeo
import NavKit
import NavMessages
import NavTestBus
import Testing

/// The two state machines of the barrier, separately and together.
struct LockstepTests {
    @Test(arguments: 0..<40 as Range<UInt64>)
    func handledMessagesDoNotDependOnNetworkDelays(graph: UInt64) {
        var first = LockstepModel(graph: graph, delays: 1)
        let expected = first.run()
        #expect(!expected.isEmpty && expected.contains { !$0.isEmpty }, "graph \(graph) did not finish")
        for delays in 2..<6 as Range<UInt64> {
            var other = LockstepModel(graph: graph, delays: delays)
            #expect(other.run() == expected, "graph \(graph), delays \(delays)")
        }
    }

    @Test func withoutTheBarrierTheOrderDependsOnTheNetwork() {
        let differing = (0..<40 as Range<UInt64>).count { graph in
            var one = LockstepModel(graph: graph, delays: 1, holdsBack: false)
            var other = LockstepModel(graph: graph, delays: 2, holdsBack: false)
            return one.run() != other.run()
        }
        #expect(differing > 20)
    }

    // MARK: The node's side

    private typealias Tracker = BarrierTracker<String>

    private func point(_ topic: String, _ sequence: UInt64, _ publisher: String) -> LockstepPoint {
        LockstepPoint(topic: topic, bootID: Self.boots[publisher] ?? 0, sequence: sequence, publisher: publisher)
    }

    private static let boots: [String: UInt64] = ["player": 9, "a": 5, "b": 1]

    private func take(_ tracker: inout Tracker, _ topic: String, _ sequence: UInt64, _ publisher: String) -> String? {
        tracker.take(
            "\(publisher)\(topic)\(sequence)", topic: topic, bootID: Self.boots[publisher] ?? 77, sequence: sequence)
    }

    /// Returns all messages that the tracker releases before it waits; "answer" stands for the answer.
    private func drain(_ tracker: inout Tracker, subscribed: Set<String> = ["/x", "/y"]) -> [String] {
        var done: [String] = []
        while true {
            switch tracker.next(isIdle: true, now: nil, isSubscribed: subscribed.contains) {
            case .setTime(let time, let epoch): done.append("time \(time.nanoseconds) of \(epoch)")
            case .handle(let text): done.append(text)
            case .answer: done.append("answer")
            case .wait: return done
            }
        }
    }

    private func begun(_ points: [LockstepPoint]? = nil) throws -> Tracker {
        var tracker = Tracker()
        try tracker.open(
            LockstepRequest(
                .begin, session: 9,
                points: points ?? [
                    point("/x", 0, "player"), point("/x", 0, "a"), point("/y", 0, "a"), point("/y", 0, "b"),
                ]
            ))
        #expect(drain(&tracker) == ["answer"])
        return tracker
    }

    @Test func messagesAreNotHeldOutsideAPlayback() {
        var tracker = Tracker()
        #expect(take(&tracker, "/x", 1, "player") == "player/x1")
        #expect(drain(&tracker) == [])
    }

    @Test func heldMessagesAreOrderedByPublisher() throws {
        var tracker = try begun()
        for (topic, sequence, publisher) in [
            ("/x", 1, "player"), ("/y", 1, "b"), ("/y", 1, "a"), ("/x", 1, "a"),
        ] as [(String, UInt64, String)] {
            #expect(take(&tracker, topic, sequence, publisher) == nil)
        }
        #expect(drain(&tracker) == [])
        try tracker.open(
            LockstepRequest(
                .wave, session: 9,
                points: [point("/y", 1, "b"), point("/x", 1, "player"), point("/x", 1, "a"), point("/y", 1, "a")],
                time: SimulatedTime(nanoseconds: 7), epoch: 3))
        #expect(drain(&tracker) == ["time 7 of 3", "a/y1", "a/x1", "b/y1", "player/x1", "answer"])
    }

    @Test func waveWaitsForItsMessagesAndHoldsLaterOnes() throws {
        var tracker = try begun()
        #expect(take(&tracker, "/x", 1, "player") == nil)
        try tracker.open(LockstepRequest(.wave, session: 9, points: [point("/x", 2, "player")]))
        #expect(drain(&tracker) == [])
        #expect(take(&tracker, "/y", 1, "a") == nil)
        #expect(take(&tracker, "/x", 2, "player") == nil)
        #expect(drain(&tracker) == ["player/x1", "player/x2", "answer"])
        // The next wave lists the messages that arrived early.
        try tracker.open(LockstepRequest(.wave, session: 9, points: [point("/y", 1, "a")]))
        #expect(drain(&tracker) == ["a/y1", "answer"])
    }

    @Test func unsubscribedTopicsAreNotAwaited() throws {
        var tracker = try begun()
        try tracker.open(LockstepRequest(.wave, session: 9, points: [point("/other", 5, "player")]))
        #expect(drain(&tracker) == ["answer"])
    }

    @Test func pendingWorkDelaysTheNextMessageAndTheAnswer() throws {
        var tracker = try begun()
        for sequence in 1...2 as ClosedRange<UInt64> { _ = take(&tracker, "/x", sequence, "player") }
        try tracker.open(LockstepRequest(.wave, session: 9, points: [point("/x", 2, "player")]))
        guard case .handle("player/x1") = tracker.next(isIdle: true, now: nil, isSubscribed: { _ in true }) else {
            Issue.record("the first message is not released first")
            return
        }
        guard case .wait = tracker.next(isIdle: false, now: nil, isSubscribed: { _ in true }) else {
            Issue.record("a busy node gets another message")
            return
        }
        #expect(drain(&tracker) == ["player/x2", "answer"])
    }

    @Test func aGapCountsAsLossAndEarlierMessagesDoNot() throws {
        var tracker = try begun([point("/x", 5, "player")])
        #expect(take(&tracker, "/x", 4, "player") == "player/x4")
        #expect(take(&tracker, "/x", 6, "player") == nil)
        #expect(tracker.lost == 0)
        #expect(take(&tracker, "/x", 9, "player") == nil)
        #expect(tracker.lost == 2)
    }

    @Test func messagesOfNonParticipantsAreNotHeld() throws {
        var tracker = try begun()
        #expect(take(&tracker, "/x", 1, "stranger") == "stranger/x1")
    }

    @Test func heldMessagesAreReleasedAtTheEndOrWithADeadPlayer() throws {
        var ended = try begun()
        _ = take(&ended, "/x", 1, "player")
        try ended.open(LockstepRequest(.end, session: 9))
        #expect(drain(&ended) == ["player/x1", "answer"])
        #expect(ended.session == nil && take(&ended, "/x", 2, "player") == "player/x2")

        var left = try begun()
        _ = take(&left, "/x", 1, "player")
        try left.open(LockstepRequest(.wave, session: 9, points: [point("/x", 8, "player")]))
        left.leave()
        #expect(!left.isOpen && drain(&left) == ["player/x1"])
        #expect(take(&left, "/x", 2, "player") == "player/x2")
    }

    @Test func secondPlayerIsRejected() throws {
        var tracker = try begun()
        #expect(throws: Tracker.Refusal.otherSession(9)) {
            try tracker.open(LockstepRequest(.begin, session: 10))
        }
        try tracker.open(LockstepRequest(.wave, session: 9, points: [point("/x", 1, "player")]))
        #expect(throws: Tracker.Refusal.busy) { try tracker.open(LockstepRequest(.wave, session: 9)) }
        tracker.cancel()
        try tracker.open(LockstepRequest(.end, session: 9))
        var fresh = Tracker()
        #expect(throws: Tracker.Refusal.noSession) { try fresh.open(LockstepRequest(.wave, session: 9)) }
    }

    @Test func plainBarrierWaitsForMessagesAndTime() throws {
        var tracker = Tracker()
        try tracker.open(
            LockstepRequest(
                .plain, session: 0, points: [point("/x", 1, "player")], time: SimulatedTime(nanoseconds: 10)))
        #expect(drain(&tracker) == [])
        #expect(take(&tracker, "/x", 1, "player") == "player/x1")
        guard case .wait = tracker.next(isIdle: true, now: SimulatedTime(nanoseconds: 9), isSubscribed: { _ in true })
        else {
            Issue.record("the tracker does not wait for the time")
            return
        }
        guard
            case .answer = tracker.next(isIdle: true, now: SimulatedTime(nanoseconds: 10), isSubscribed: { _ in true })
        else {
            Issue.record("no answer")
            return
        }
    }

    // MARK: The player's side

    private func coordinator(_ topics: [String: Set<String>]) -> LockstepCoordinator {
        LockstepCoordinator(
            session: 9, participants: topics.map { LockstepCoordinator.Participant(name: $0.key, topics: $0.value) },
            points: [point("/y", 3, "a")])
    }

    private func called(_ effects: [LockstepCoordinator.Effect]) -> [String: [LockstepPoint]] {
        var calls: [String: [LockstepPoint]] = [:]
        for case .call(let name, let request) in effects { calls[name] = request.points }
        return calls
    }

    @Test func publicationsFormAnotherWaveForTheirSubscribers() {
        var coordinator = coordinator(["a": ["/x"], "b": ["/y"], "c": []])
        let time = SimulatedTime(nanoseconds: 1)
        let first = called(coordinator.step(to: time, epoch: 0, points: [point("/x", 1, "player")]))
        #expect(first == ["a": [point("/x", 1, "player")], "b": [], "c": []])
        #expect(coordinator.answered("b", .init()).isEmpty)
        #expect(coordinator.answered("c", .init(nextTimer: SimulatedTime(nanoseconds: 5))).isEmpty)
        // Messages published before the playback are not new.
        let second = called(coordinator.answered("a", .init(published: [point("/y", 4, "a"), point("/z", 9, "a")])))
        #expect(second == ["b": [point("/y", 4, "a")]])
        let done = coordinator.answered("b", .init(published: [point("/z", 1, "b")]))
        #expect(done == [.stepped(nextTimer: SimulatedTime(nanoseconds: 5))])
    }

    @Test func participantThatDiesOrLosesMessagesIsReported() {
        var coordinator = coordinator(["a": ["/x"], "b": ["/y"]])
        _ = coordinator.step(to: SimulatedTime(nanoseconds: 1), epoch: 0, points: [])
        #expect(coordinator.failed("a", "gone") == [.failed(.participant("a", "gone"))])
        #expect(coordinator.leaveOut("a").isEmpty)
        #expect(coordinator.answered("b", .init(lost: 2)) == [.failed(.lost("b", 2))])
        #expect(coordinator.names == ["b"])
    }

    @Test func endlessMessageLoopsAreDetected() {
        var coordinator = coordinator(["a": ["/y"], "b": ["/x"]])
        var effects = coordinator.step(to: SimulatedTime(nanoseconds: 1), epoch: 0, points: [point("/y", 9, "b")])
        _ = coordinator.answered("b", .init())
        var sequence: UInt64 = 10
        while case .call(let name, _)? = effects.first, sequence < 5_000 {
            sequence += 1
            effects = coordinator.answered(
                name, .init(published: [point(name == "a" ? "/x" : "/y", sequence, name)]))
        }
        #expect(effects == [.failed(.endless([sequence % 2 == 0 ? "/y" : "/x"]))])
    }

    // MARK: The player

    @Test func aStopEndsTheWaitForTheFirstAnswer() throws {
        let network = InProcessNetwork()
        let silent = try InProcessBus(name: "silent", network: network)
        var calls: [ServerCall] = []
        try silent.serve(ServiceDescription(NodeService.descriptor)) { calls.append($0) }
        var options = LockstepLeader.Options()
        options.names = ["silent"]
        let second: Int64 = 1_000_000_000
        let leader = LockstepLeader(
            try InProcessBus(name: "player", network: network), options: options, directory: nil,
            isStopped: { network.now.monotonicNanoseconds >= second }, warn: { _ in })
        try leader.begin([])
        #expect(calls.count == 1 && leader.participants.isEmpty)
        #expect(network.now.monotonicNanoseconds < 2 * second)
    }
}
