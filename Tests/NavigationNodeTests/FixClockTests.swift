import NavBus
import NavGeo
import NavKit
import NavMatching
import NavMessages
import NavNavigator
import NavRecording
import NavReplay
import NavWire
import NavigationNode
import Testing

/// The fix time of a live node: monotonic, and corrected by the next fix.
@Suite struct FixClockTests {
    private static let second: Int64 = 1_000_000_000

    /// A node's loop without a bus, which receives fixes and requests positions ten times a second.
    private struct Loop {
        let session: NavigationSession
        var clock = FixClock()
        var said: [OutgoingMessage] = []
        var number: UInt64 = 0

        init() throws {
            session = NavigationSession(
                map: try Helsinki.map.get(), configuration: NavigationConfiguration(), nodeName: "test")
        }

        mutating func take(_ fix: GnssFix, at now: Int64) {
            number += 1
            let outcome = session.handle(fix, sequence: number, arrival: now)
            if let stamp = outcome.counted { clock.note(stamp, at: now) }
            said += outcome.messages
        }

        mutating func turn(at now: Int64, isInboxEmpty: Bool) {
            guard clock.turn(now, isInboxEmpty: isInboxEmpty) == nil else { return }
            defer { clock.rest(until: now + 100_000_000, from: now) }
            guard session.due != nil, let overdue = clock.overdueSince(now) else { return }
            said += session.pass(to: overdue, newestOnly: true).messages
        }

        /// Delivers fixes at the given seconds and ends a second after the last one; `isRunning` says when the process
        /// is running.
        mutating func run(_ arrivals: [(at: Double, fix: GnssFix)], isRunning: (Double) -> Bool = { _ in true }) {
            var waiting = arrivals[...]
            let end = (arrivals.last?.at ?? 0) + 1
            for tenth in 0...Int(end * 10) {
                let now = Double(tenth) / 10
                guard isRunning(now) else { continue }
                let ns = Int64(tenth) * 100_000_000
                // The loop takes one message per turn.
                turn(at: ns, isInboxEmpty: waiting.first.map { $0.at > now } ?? true)
                while let next = waiting.first, next.at <= now {
                    waiting = waiting.dropFirst()
                    take(next.fix, at: ns)
                    turn(at: ns, isInboxEmpty: false)
                }
            }
        }

        var positions: [NavMessages.MatchedPosition] {
            said.compactMap { $0.message as? NavMessages.MatchedPosition }
        }
        var predicted: Int { positions.count { $0.source == .predicted } }
        var simulations: [SimulationPhase] {
            said.compactMap { ($0.message as? NavMessages.SimulationEvent)?.phase }
        }
        var rejections: [FixRejected] { said.compactMap { $0.message as? FixRejected } }
    }

    private static func fixes(_ count: Int) throws -> [GnssFix] {
        try Helsinki.drive.get().prefix(count).map {
            var fix = $0
            fix.receiveStampNs = nil
            return fix
        }
    }

    @Test func stallEndsWithTheNextFixes() throws {
        var loop = try Loop()
        // The player stalls for 3.5 s and then sends everything at once.
        let fixes = try Self.fixes(100)
        loop.run(
            fixes.enumerated().map { (at: (20..<24).contains($0.offset) ? 23.5 : Double($0.offset), fix: $0.element) })
        let after = loop.positions.filter { ($0.stampNs ?? 0) > (fixes[28].stampNs ?? 0) }
        #expect(after.count > 60 && after.allSatisfy { $0.source != .predicted })
        #expect((1..<4).contains(loop.predicted))
        #expect(loop.simulations == [.willBegin, .began, .willEnd, .ended])
    }

    @Test func latencyStepIsAbsorbedByTheNextFixes() throws {
        var loop = try Loop()
        let fixes = try Self.fixes(100)
        loop.run(fixes.enumerated().map { (at: Double($0.offset) + ($0.offset < 20 ? 0.1 : 4.1), fix: $0.element) })
        let after = loop.positions.filter { ($0.stampNs ?? 0) > (fixes[28].stampNs ?? 0) }
        #expect(after.count > 60 && after.allSatisfy { $0.source != .predicted })
        #expect(loop.rejections.isEmpty)
    }

    /// At 20 times the speed, half a second of waiting would skip ten seconds of the drive.
    @Test(arguments: [false, true])
    func predictionsResumeAfterAStallOnceTheInboxIsEmpty(isPlayback: Bool) {
        var clock = FixClock()
        #expect(clock.turn(0, isInboxEmpty: true, isPlayback: isPlayback) == nil)
        clock.rest(until: Self.second / 10, from: 0)
        let resumed = 5 * Self.second
        // Messages that arrived during the stall are handled first, however long this takes.
        #expect(clock.turn(resumed, isInboxEmpty: false, isPlayback: isPlayback) != nil)
        for step in 1...9 as ClosedRange<Int64> {
            clock.rest(until: .max, from: resumed)
            let now = resumed + step * Self.second / 10
            let settled = resumed + Self.second * 3 / 10
            #expect(clock.turn(now, isInboxEmpty: false, isPlayback: isPlayback) == max(now, settled))
        }
        #expect(clock.turn(resumed + Self.second, isInboxEmpty: true, isPlayback: isPlayback) == nil)
        // Messages may still be arriving in an inbox that is empty right after the stall.
        clock.rest(until: resumed + Self.second, from: resumed + Self.second)
        let again = resumed + 10 * Self.second
        let wake = clock.turn(again, isInboxEmpty: true, isPlayback: isPlayback)
        #expect(wake.map { $0 - again <= Self.second * 3 / 10 } == true)
        clock.rest(until: again + Self.second * 3 / 10, from: again)
        #expect(clock.turn(again + Self.second * 3 / 10, isInboxEmpty: true, isPlayback: isPlayback) == nil)
    }

    @Test func stoppedProcessPublishesNoPredictionsForThePast() throws {
        var loop = try Loop()
        // While the process was stopped for a minute, only the last ten fixes were queued.
        let fixes = try Self.fixes(120)
        let arrivals = fixes.enumerated().filter { !(20..<70).contains($0.offset) }
        loop.run(arrivals.map { (at: Double($0.offset), fix: $0.element) }) { !(20.05..<79.95).contains($0) }
        #expect(loop.predicted == 0)
        #expect(loop.positions.count > 60)
    }

    @Test func futureFixWithoutReceiveStampIsRejected() throws {
        var loop = try Loop()
        var fixes = try Self.fixes(40)
        fixes[20].stampNs? += 10 * Self.second
        loop.run(fixes.enumerated().map { (at: Double($0.offset), fix: $0.element) })
        #expect(loop.rejections.map(\.reason) == [.future])
        #expect(loop.predicted == 0 && loop.positions.count == 39)
    }

    @Test(arguments: [7.0, -7, 3_600]) func hostClockStepDoesNotAffectPositions(leap: Double) throws {
        var loop = try Loop()
        var fixes = try Self.fixes(60)
        for index in fixes.indices {
            let step = index < 20 ? 0 : Int64(leap * 1e9)
            fixes[index].receiveStampNs = fixes[index].stampNs.map { $0 + 100_000_000 + step }
        }
        loop.run(fixes.enumerated().map { (at: Double($0.offset), fix: $0.element) })
        #expect(loop.rejections.isEmpty && loop.predicted == 0 && loop.positions.count == 60)
    }

    @Test func receiverClockStepIsAcceptedAfterThreeFixes() throws {
        var loop = try Loop()
        var fixes = try Self.fixes(60)
        for index in 20..<60 { fixes[index].stampNs? += 3_600 * Self.second }
        loop.run(fixes.enumerated().map { (at: Double($0.offset), fix: $0.element) })
        #expect(loop.rejections.count == 2)
        #expect(loop.positions.suffix(30).allSatisfy { $0.source != .predicted })
    }

    @Test func fixesStampedOnArrivalAreReproduced() throws {
        var loop = try Loop()
        var fixes = try Self.fixes(60)
        fixes[15].stampNs? += 10 * Self.second
        let arrivals = fixes.enumerated().filter { !(30..<40).contains($0.offset) }
        loop.run(arrivals.map { (at: Double($0.offset), fix: $0.element) })
        #expect(loop.predicted > 3)
        // Replayed event by event, as from the journal.
        let again = NavigationSession(
            map: try Helsinki.map.get(), configuration: NavigationConfiguration(), nodeName: "test")
        var said: [OutgoingMessage] = []
        for message in loop.said {
            guard let entry = message.message as? JournalEntry else { continue }
            switch entry.event {
            case .fix(let fix):
                said += again.handle(fix, sequence: entry.causeSequence ?? 0, arrival: entry.monotonicNs).messages
            case .timer: said += again.fireTimer(recordedAt: NavGeo.Timestamp(nanoseconds: entry.stampNs ?? 0)).messages
            default: break
            }
        }
        #expect(said.map { $0.message.encoded() } == loop.said.map { $0.message.encoded() })
    }

    @Test func routeWithOriginIsFoundBeforeTheFirstFix() throws {
        let map = try Helsinki.map.get()
        let session = NavigationSession(map: map, configuration: NavigationConfiguration(), nodeName: "test")
        func place(_ place: NavGeo.Coordinate) -> NavMessages.Waypoint {
            NavMessages.Waypoint(latitude: place.latitude, longitude: place.longitude)
        }
        let request = CalculateRouteRequest(origin: place(Helsinki.from), waypoints: [place(Helsinki.to)])
        let now = NavGeo.Timestamp(nanoseconds: Helsinki.start)
        let asked = session.handle(
            .setRoute(SetRouteRequest(target: .calculate(request))), call: 1, caller: "call", at: now)
        let query = try #require(asked.queries.first)
        let answered = session.handle(RoutePlanner().answer(query, on: map), to: query)
        guard case .following? = answered.replies.first?.reply else {
            Issue.record("\(answered.replies)")
            return
        }
    }

    /// Without an origin the route waits for the first fix, even if a threshold changes meanwhile.
    @Test func routeWithoutOriginWaitsForTheFirstFix() throws {
        let map = try Helsinki.map.get()
        let session = NavigationSession(map: map, configuration: NavigationConfiguration(), nodeName: "test")
        let goal = NavMessages.Waypoint(latitude: Helsinki.to.latitude, longitude: Helsinki.to.longitude)
        let request = SetRouteRequest(target: .calculate(CalculateRouteRequest(waypoints: [goal])))
        let now = NavGeo.Timestamp(nanoseconds: Helsinki.start)
        let asked = session.handle(.setRoute(request), call: 1, caller: "call", at: now)
        #expect(asked.queries.isEmpty && asked.replies.map { $0.reply } == [.awaitingPosition])
        // The call has been answered and ends.
        _ = session.callEnded(1)
        var changed = NavigationConfiguration()
        changed.navigator.rerouteCooldown = 7
        _ = session.reconfigure(changed)
        let first = session.handle(try #require(try Helsinki.drive.get().first), sequence: 1, arrival: 1)
        let query = try #require(first.queries.first)
        let answered = session.handle(RoutePlanner().answer(query, on: map), to: query)
        #expect(answered.messages.contains { $0.topic == "/nav/route" })
    }
}
