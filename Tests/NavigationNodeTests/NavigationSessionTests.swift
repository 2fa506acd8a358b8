import Foundation
import NavBag
import NavDirections
import NavGeo
import NavKit
import NavMap
import NavMatching
import NavMessages
import NavNavigator
import NavPositioning
import NavRecording
import NavReplay
import NavSimulation
import NavTestKit
import NavTestSupport
import NavTestSystem
import NavWire
import NavigationNode
import Testing

/// The core behind its conversion of incoming and outgoing messages.
struct NavigationSessionTests {
    /// Runs fixes through a session that receives routes immediately, and returns the publications of each fix.
    private func run(_ fixes: [GnssFix], _ configuration: NavigationConfiguration = Helsinki.configuration) throws
        -> [[OutgoingMessage]]
    {
        let map = try Helsinki.map.get()
        let session = NavigationSession(map: map, configuration: configuration, nodeName: "test")
        let planner = RoutePlanner()
        return fixes.enumerated().map { index, fix in
            var outcomes = [session.handle(fix, sequence: UInt64(index + 1))]
            var messages: [OutgoingMessage] = []
            while !outcomes.isEmpty {
                let outcome = outcomes.removeFirst()
                messages += outcome.messages
                for query in outcome.queries {
                    outcomes.append(session.handle(planner.answer(query, on: map), to: query))
                }
            }
            return messages
        }
    }

    private func all<M: Message>(_ type: M.Type, in messages: [[OutgoingMessage]]) -> [M] {
        messages.joined().compactMap { $0.message as? M }
    }

    @Test func everyEventIsJournaledBeforeItsEffects() throws {
        let drive = try Helsinki.drive.get()
        let messages = try run(drive)
        for said in messages { #expect(said.first?.topic == "/nav/journal") }
        let journal = all(JournalEntry.self, in: messages)
        #expect(journal.compactMap(\.entrySequence) == Array(1...UInt64(journal.count)))
        let version = try Helsinki.map.get().graph.mapVersion
        guard case .start(let start)? = journal[0].event, case .command(let command)? = journal[1].event else {
            Issue.record("the journal begins with \(journal.prefix(2))")
            return
        }
        #expect(start.node == "test" && start.mapVersion == version)
        #expect(start.configuration?.contains("reroute.cooldown_s: ") == true)
        #expect(command.caller == "configuration")
        let fixes = journal.compactMap { entry -> GnssFix? in
            if case .fix(let fix)? = entry.event { fix } else { nil }
        }
        #expect(fixes == drive)
        // Every received answer is journaled, one per requested route.
        let answers = journal.filter { if case .routeAnswer? = $0.event { true } else { false } }
        #expect(answers.count >= 2)
    }

    @Test func publishedRouteHasCountryTimesTollsAndRestrictions() throws {
        let routes = all(Route.self, in: try run(try Helsinki.drive.get()))
        let route = try #require(routes.first { $0.geometry != nil })
        let summary = try #require(route.summary)
        #expect(summary.countries == ["FI"])
        #expect(summary.durationTypicalS == summary.durationS && summary.trafficDelayS == nil)
        #expect(summary.toll?.gateCount == 0 && summary.toll?.totalLengthM == 0)
        #expect(summary.ferryLengthM == 0 && summary.ferries.isEmpty)
        #expect(summary.countryPassages.map(\.country) == ["FI"])
        #expect(summary.countryPassages.first?.routeOffsetM == 0)
        #expect(summary.countryPassages.first?.drivingSide == .right)
        for restriction in summary.restrictions {
            #expect(restriction.violated == false && (restriction.firstPoint ?? .max) < (restriction.lastPoint ?? 0))
            #expect((restriction.wayId ?? 0) > 0)
        }
        for leg in route.legs {
            let annotation = try #require(leg.annotation)
            #expect(annotation.nodeIds.count == annotation.wayIds.count + 1)
            #expect(annotation.congestion.isEmpty && !annotation.speedLimits.isEmpty)
        }
        #expect(route.edgeIds.count == route.edgeFirstPoints.count && !route.edgeIds.isEmpty)
    }

    @Test func outagePredictsPositionsAndJournalsTimers() throws {
        let map = try Helsinki.map.get()
        let session = NavigationSession(map: map, configuration: Helsinki.configuration, nodeName: "test")
        let drive = try Helsinki.drive.get().prefix(40)
        for (index, fix) in drive.enumerated() { _ = session.handle(fix, sequence: UInt64(index + 1)) }
        let last = try #require(session.due)
        // The odometry reports that the vehicle continues, slightly to the left.
        let said = [-1.2, 0].map { second in
            let stamp = last.advanced(bySeconds: second).nanoseconds
            return session.handle(VehicleOdometry(stampNs: stamp, speedMps: 8, yawRateRadps: 0.01), sequence: 7)
        }
        let messages = (said + [session.pass(to: last.advanced(bySeconds: 5))]).flatMap(\.messages)
        let events = messages.compactMap { $0.message as? NavMessages.SimulationEvent }
        #expect(events.map(\.phase) == [.willBegin, .began])
        #expect(events.allSatisfy { $0.reason == .poorGnss && $0.pose != nil })
        let positions = messages.compactMap { $0.message as? NavMessages.MatchedPosition }
        #expect(positions.count >= 4)
        #expect(positions.allSatisfy { $0.source == .predicted && $0.raw == nil && $0.ageS != nil })
        #expect(zip(positions, positions.dropFirst()).allSatisfy { ($0.alongSigmaM ?? 0) <= ($1.alongSigmaM ?? 0) })
        let entries = messages.compactMap { ($0.message as? JournalEntry)?.event }
        #expect(entries.contains { if case .odometry = $0 { true } else { false } })
        #expect(entries.count { if case .timer = $0 { true } else { false } } >= 4)
    }

    @Test func odometryKeepsItsSigns() throws {
        let back = try #require(
            Odometry(VehicleOdometry(stampNs: 5, speedMps: 2, yawRateRadps: 0.1, reverse: true, standstill: false)))
        #expect(back.speed == -2 && back.turnRate == -0.1 && !back.isStationary)
        #expect(Odometry(VehicleOdometry(speedMps: 2)) == nil)
    }

    @Test func changedThresholdIsJournaled() throws {
        let map = try Helsinki.map.get()
        let session = NavigationSession(map: map, configuration: Helsinki.configuration, nodeName: "test")
        var changed = Helsinki.configuration
        changed.navigator.rerouteCooldown = 7
        changed.navigator.rerouteDetect = false
        _ = session.handle(try #require(try Helsinki.drive.get().first), sequence: 1)
        let outcome = session.reconfigure(changed)
        let entries = outcome.messages.compactMap { ($0.message as? JournalEntry)?.event }
        #expect(
            entries == [
                .parameter(ParameterChange(key: "reroute.detect", value: "false")),
                .parameter(ParameterChange(key: "reroute.cooldown_s", value: "7")),
            ])
        #expect(session.reconfigure(changed).messages.isEmpty)
    }

    @Test func driveReachesItsDestinationAfterOneReroute() throws {
        let messages = try run(try Helsinki.drive.get())
        let phases = all(NavMessages.RerouteEvent.self, in: messages).compactMap(\.phase)
        #expect(phases == [.willReroute, .fetching, .fetched, .applied])
        let arrivals = all(NavMessages.ArrivalEvent.self, in: messages).filter { $0.phase == .arrived }
        #expect(arrivals.count == 1 && arrivals.first?.isDestination == true)
        let routes = all(NavMessages.Route.self, in: messages).filter { $0.geometry != nil }
        #expect(routes.compactMap(\.reason).prefix(2) == [.started, .rerouted])
        #expect(Set(routes.compactMap(\.routeId)).count == routes.count, "a route id was used twice")
        #expect(!all(SpokenInstruction.self, in: messages).isEmpty)
        #expect(!all(VisualInstruction.self, in: messages).isEmpty)
    }

    @Test func progressRefersToItsFixAndRoute() throws {
        let messages = try run(try Helsinki.drive.get())
        var route: UInt64?
        var events: [UInt64] = []
        for (index, said) in messages.enumerated() {
            for message in said {
                if let new = message.message as? NavMessages.Route { route = new.routeId }
                guard let progress = message.message as? NavMessages.RouteProgress else { continue }
                #expect(progress.causeSequence == UInt64(index + 1))
                #expect(progress.routeId == route)
                events.append(progress.eventSequence ?? 0)
            }
        }
        #expect(events.count > 300)
        #expect(zip(events, events.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test func withoutADestinationThereIsNoRoute() throws {
        let messages = try run(try Helsinki.drive.get(), NavigationConfiguration())
        #expect(all(NavMessages.Route.self, in: messages).allSatisfy { $0.geometry == nil })
        #expect(all(NavMessages.RouteProgress.self, in: messages).isEmpty)
        #expect(all(MatchedPosition.self, in: messages).count == messages.count)
    }

    @Test func fixWithoutTimeIsDroppedAndWithoutPositionRejected() throws {
        let drive = try Helsinki.drive.get()
        var timeless = drive[0]
        timeless.timestamp = nil
        var placeless = drive[1]
        (placeless.latitude, placeless.longitude) = (nil, nil)
        let messages = try run([timeless, placeless, drive[2]])
        #expect(messages[0].isEmpty)
        #expect(messages[1].contains { $0.topic == "/nav/fix_rejected" })
        #expect(messages[2].contains { $0.topic == "/nav/position" })
    }

    @Test func hostileFixesNeitherTrapNorAffectTheDrive() throws {
        let drive = try Helsinki.drive.get()
        var random = SeededRandom(seed: 99)
        let numbers: [Double?] = [nil, .nan, .infinity, -.infinity, 1e308, -1e308, 90, -90, 180, 1e-300, -0.0, 91]
        var fixes: [GnssFix] = []
        for fix in drive {
            fixes.append(fix)
            var hostile = fix
            func pick() -> Double? { numbers[random.below(numbers.count)] }
            (hostile.latitude, hostile.longitude) = (pick(), pick())
            (hostile.speed, hostile.course, hostile.heading) = (pick(), pick(), pick())
            (hostile.hdop, hostile.horizontalAccuracyM, hostile.altitude) = (pick(), pick(), pick())
            fixes.append(hostile)
        }
        let messages = try run(fixes)
        for message in messages.joined() {
            #expect(!message.message.encoded().isEmpty || message.topic == "/nav/route")
        }
        #expect(all(NavMessages.ArrivalEvent.self, in: messages).contains { $0.phase == .arrived })
    }

    @Test(arguments: [Int64.min, -1, 0, Int64.max])
    func hostileStampsDoNotTrap(stamp: Int64) throws {
        var fixes = try Array(Helsinki.drive.get().prefix(40))
        fixes[20].stampNs = stamp
        #expect(try run(fixes).count == 40)
        fixes[0].stampNs = stamp
        #expect(try run(fixes).count == 40)
    }

    @Test func clockJumpCancelsPendingRequests() throws {
        let map = try Helsinki.map.get()
        var configuration = NavigationConfiguration()
        configuration.navigator.policy.asked = [.shouldDiscardFix]
        let session = NavigationSession(map: map, configuration: configuration, nodeName: "test")
        let drive = try Helsinki.drive.get()
        _ = session.handle(drive[0], sequence: 1)
        var bad = drive[1]
        bad.horizontalAccuracyM = 500
        let asked = session.handle(bad, sequence: 2).questions.map(\.request.requestID)
        #expect(asked.count == 1)
        let goal = NavMessages.Waypoint(latitude: Helsinki.to.latitude, longitude: Helsinki.to.longitude)
        let now = NavGeo.Timestamp(nanoseconds: Helsinki.start)
        let request = CalculateRouteRequest(waypoints: [goal], preview: false)
        let queries = session.handle(.calculateRoute(request), call: 7, caller: "call", at: now).queries
        let outcome = session.startOver(at: now)
        #expect(outcome.withdrawn == asked && outcome.cancelled == queries.map(\.requestID))
        guard case (7, .failed(let failure))? = outcome.replies.first else {
            Issue.record("\(outcome.replies)")
            return
        }
        #expect(outcome.replies.count == 1 && failure.code == .cancelled)
    }

    /// The policy node answers a request that was sent on the old clock.
    @Test func answerAfterTheClockWasSetHasTheTimeOfTheNewClock() throws {
        let map = try Helsinki.map.get()
        var configuration = Helsinki.configuration
        configuration.navigator.policy.asked = [.reviseInstruction]
        configuration.navigator.policy.deadline = 10
        let session = NavigationSession(map: map, configuration: configuration, nodeName: "test")
        let planner = RoutePlanner()
        var questions: [NavNavigator.PolicyRequest] = []
        var sequence: UInt64 = 0
        func take(_ fix: GnssFix) {
            sequence += 1
            var outcomes = [session.handle(fix, sequence: sequence)]
            while !outcomes.isEmpty {
                let outcome = outcomes.removeFirst()
                questions += outcome.questions.map(\.request)
                outcomes += outcome.queries.map { session.handle(planner.answer($0, on: map), to: $0) }
            }
        }
        let drive = try Helsinki.drive.get()
        func takeSetBack(_ fixes: some Sequence<GnssFix>) {
            for fix in fixes {
                var fix = fix
                fix.stampNs = fix.stampNs.map { $0 - 3_600_000_000_000 }
                fix.receiveStampNs = fix.receiveStampNs.map { $0 - 3_600_000_000_000 }
                take(fix)
            }
        }
        for fix in drive.prefix(6) { take(fix) }
        let question = try #require(questions.last)
        takeSetBack(drive[6..<10])
        let now = try #require(session.time)
        #expect(question.stamp.seconds(since: now) > 3_500)
        let outcome = session.handle(NavNavigator.PolicyAnswer(verdict: true), to: question)
        let decision = try #require(outcome.messages.compactMap { $0.message as? NavMessages.PolicyDecision }.first)
        #expect(decision.decidedBy == .client && abs((decision.stampNs ?? 0) - now.nanoseconds) < 10_000_000_000)
        // No stored time is of the old clock.
        takeSetBack(drive[10..<30])
        let end = try #require(session.time)
        for (path, moment) in StoredValues.moments(in: session) {
            #expect(abs(moment.seconds(since: end)) < 1_800, "\(path) has a time of the old clock")
        }
    }

    @Test func replayPublishesTheSameAsTheSession() throws {
        let drive = try Helsinki.drive.get()
        var log = MessageLog(try MCAPWriter(MemorySink()))
        var done: [Int] = []
        let summary = try Replay(map: try Helsinki.map.get(), configuration: Helsinki.configuration)
            .run(RecordedFixes(drive), into: &log) { done.append($0) }
        let messages = try run(drive)
        #expect(summary.fixes == drive.count && done == Array(1...drive.count))
        #expect(summary.messages == drive.count + messages.joined().count)
        #expect(log.messageCount == UInt64(summary.messages))
        #expect(summary.reroutes == 1 && summary.arrivals == 1 && summary.rejected == 0)
    }

    @Test func replayOfAConfigurationWithAnOnlineProviderIsTheSame() throws {
        let (map, drive) = (try Helsinki.map.get(), RecordedFixes(try Helsinki.drive.get()))
        try withTemporaryFolder { folder in
            func replay(_ url: String) throws -> Data {
                var configuration = Helsinki.configuration
                configuration.online.directions.url = url
                let path = folder + "/drive.mcap"
                var log = MessageLog(try BagWriter(path: path, overwrite: true))
                let summary = try Replay(map: map, configuration: configuration).run(drive, into: &log)
                try log.close()
                #expect(summary.reroutes == 1)
                return try Data(contentsOf: URL(fileURLWithPath: path))
            }
            let plain = try replay("")
            #expect(try replay("https://provider.example") == plain)
        }
    }
}
