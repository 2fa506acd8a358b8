import Foundation
import NavBag
import NavBus
import NavGeo
import NavKit
import NavMessages
import NavNavigator
import NavRecording
import NavReplay
import NavRouting
import NavSimulation
import NavStorage
import NavTestBus
import NavTestKit
import NavWire
import NavigationNode
import Testing

/// Trips that are resumed after a restart.
@Suite struct TripFileTests {
    /// A session that receives answers immediately, and the trip that it saves.
    private struct SessionHarness {
        let session: NavigationSession
        var said: [OutgoingMessage] = []
        var trip: SavedTrip?
        private let planner = RoutePlanner()
        private var number: UInt64 = 0

        init(_ configuration: NavigationConfiguration, resuming trip: SavedTrip? = nil) throws {
            session = NavigationSession(
                map: try Helsinki.map.get(), configuration: configuration, nodeName: "test", resuming: trip)
        }

        mutating func drive(_ fixes: some Sequence<GnssFix>) throws {
            let map = try Helsinki.map.get()
            for fix in fixes {
                number += 1
                var outcomes = [session.handle(fix, sequence: number)]
                while !outcomes.isEmpty {
                    let outcome = outcomes.removeFirst()
                    said += outcome.messages
                    if let kept = outcome.trip { trip = kept }
                    outcomes += outcome.queries.map { session.handle(planner.answer($0, on: map), to: $0) }
                }
            }
        }

        func all<M: Message>(_ type: M.Type) -> [M] { said.compactMap { $0.message as? M } }
    }

    private static var configuration: NavigationConfiguration {
        var configuration = Helsinki.configuration
        configuration.tripFile = "/kept"
        return configuration
    }

    private static func keptTrip() throws -> SavedTrip {
        var seat = try SessionHarness(configuration)
        try seat.drive(try Helsinki.drive.get().prefix(100))
        return try #require(seat.trip)
    }

    @Test func resumedTripFollowsItsRoute() throws {
        let drive = try Helsinki.drive.get()
        var first = try SessionHarness(Self.configuration)
        try first.drive(drive.prefix(100))
        let kept = try #require(first.trip)
        var second = try SessionHarness(Self.configuration, resuming: kept)
        try second.drive(drive.dropFirst(103))
        let route = try #require(second.all(NavMessages.Route.self).first)
        let before = try #require(first.all(NavMessages.Route.self).last)
        #expect(route.reason == .resumed && route.routeId == before.routeId && route.sessionId == before.sessionId)
        #expect(route.edgeIds == before.edgeIds)
        let ids = Set(second.all(NavMessages.RouteProgress.self).compactMap(\.sessionId))
        #expect(ids == [before.sessionId ?? 0])
        // The deviation occurs later in the drive, so its route has the next number.
        let last = try #require(second.all(NavMessages.Route.self).last { $0.geometry != nil })
        #expect(last.reason == .rerouted && (last.routeId ?? 0) > (before.routeId ?? 0))
        #expect(second.trip == nil, "no trip is saved after the arrival")
    }

    @Test func tripThatWasSavedWithAViaAtItsEndIsResumed() throws {
        let drive = try Helsinki.drive.get()
        var kept = try Self.keptTrip()
        let end = try #require(kept.order?.waypoints.indices.last)
        kept.order?.waypoints[end].kind = .via
        var second = try SessionHarness(Self.configuration, resuming: kept)
        try second.drive(drive.dropFirst(103).prefix(5))
        let route = try #require(second.all(NavMessages.Route.self).first)
        #expect(route.reason == .resumed && route.edgeIds == kept.route?.edgeIds)
    }

    @Test func resumedRouteIsMappedForTheCurrentTime() throws {
        var kept = try Self.keptTrip()
        kept.order?.options = NavMessages.RouteOptions(departureNs: 1_767_654_000_000_000_000)
        var wanted: [RoutePreferences] = []
        let trip = try TripSnapshot(
            kept, node: NavRouting.VehicleProfile(), minutesAheadOfUTC: 0, on: try Helsinki.map.get()
        ) { _, preferences throws(RouteFailure) in
            wanted.append(preferences)
            throw RouteFailure(code: .noRoute, message: "not needed")
        }
        #expect(wanted.map(\.options.departure) == [nil])
        #expect(trip.order.preferences.options.departure != nil)
    }

    @Test func longNamesOfASavedTripAreShortened() throws {
        let drive = try Helsinki.drive.get()
        var kept = try Self.keptTrip()
        let name = String(repeating: "ä", count: 10_000)
        for index in kept.order?.waypoints.indices ?? 0..<0 { kept.order?.waypoints[index].name = name }
        for index in kept.route?.waypoints.indices ?? 0..<0 { kept.route?.waypoints[index].name = name }
        var second = try SessionHarness(Self.configuration, resuming: kept)
        try second.drive(drive.dropFirst(103).prefix(5))
        let route = try #require(second.all(NavMessages.Route.self).first)
        #expect(route.reason == .resumed && route.edgeIds == kept.route?.edgeIds)
        #expect(route.waypoints.last?.name == String(repeating: "ä", count: 512))
        #expect(second.all(NavigationState.self).last?.destination?.name?.utf8.count == 1_024)
    }

    @Test func tripThatCannotBeResumedFailsWithItsReason() throws {
        let kept = try Self.keptTrip()
        var (aimless, last) = (kept, kept)
        aimless.order = nil
        last.routeId = .max
        for (trip, reason) in [
            (aimless, "the saved trip has no destination"),
            (last, "the saved trip's route_id 18446744073709551615 is not within 0 ... 9223372036854775807"),
        ] {
            let session = try SessionHarness(Self.configuration, resuming: trip).session
            let outcome = session.handle(try Helsinki.drive.get()[103], sequence: 1)
            guard outcome.replies.count == 1, case .failed(let failure) = outcome.replies[0].reply else {
                Issue.record("\(outcome.replies)")
                continue
            }
            #expect(outcome.replies[0].call == 0 && failure.message == reason)
        }
    }

    @Test func resumedOnBoardRouteUsesCurrentTraffic() throws {
        let drive = try Helsinki.drive.get()
        var first = try SessionHarness(Self.configuration)
        try first.drive(drive.prefix(100))
        let before = try #require(first.all(NavMessages.Route.self).last)
        for (provider, factor) in [(NavMessages.RouteProvider.onBoard, 1.0), (.online, 3.0), (.external, 3.0)] {
            var kept = try #require(first.trip)
            kept.route?.provider = provider
            // Durations with the traffic of the previous run.
            for leg in before.legs.indices {
                let durations = before.legs[leg].annotation?.durationsS ?? []
                kept.route?.legs[leg].durationS = before.legs[leg].durationS.map { $0 * 3 }
                kept.route?.legs[leg].annotation?.durationsS = durations.map { $0 * 3 }
            }
            var second = try SessionHarness(Self.configuration, resuming: kept)
            try second.drive(drive.dropFirst(103).prefix(5))
            let route = try #require(second.all(NavMessages.Route.self).first)
            #expect(route.reason == .resumed && route.provider == provider)
            let (now, then) = (route.summary?.durationS ?? 0, before.summary?.durationS ?? 0)
            #expect(abs(now - factor * then) < 0.02 * then, "\(provider): \(now) s, it was \(then) s")
            #expect(route.options != nil && route.options == before.options, "\(provider)")
        }
    }

    @Test func newDestinationReplacesConfiguredTripButNotRequestedTrip() throws {
        var kept = try Self.keptTrip()
        #expect(kept.configured == Helsinki.to.text)
        var other = Self.configuration
        other.destination = Helsinki.from
        var seat = try SessionHarness(other, resuming: kept)
        try seat.drive(try Helsinki.drive.get().dropFirst(103).prefix(3))
        #expect(seat.all(NavMessages.Route.self).last?.reason == .started)
        kept.configured = nil
        seat = try SessionHarness(other, resuming: kept)
        try seat.drive(try Helsinki.drive.get().dropFirst(103).prefix(3))
        #expect(seat.all(NavMessages.Route.self).map(\.reason) == [.resumed])
    }

    @Test func aResumedDriveIsReproducedBitForBit() throws {
        let drive = try Helsinki.drive.get()
        let kept = try Self.keptTrip()
        try withTemporaryFolder { folder in
            var seat = try SessionHarness(Self.configuration, resuming: kept)
            try seat.drive(drive.dropFirst(103))
            let bag = folder + "/drive.mcap"
            var log = MessageLog(try BagWriter(path: bag, overwrite: true))
            for message in seat.said {
                try log.write(
                    message.message, topic: message.topic, logTime: message.stamp.nanoseconds,
                    publishTime: message.stamp.nanoseconds)
            }
            try log.close()
            let tiles = try Helsinki.buildTiles(in: folder)
            var none: MessageLog<FileSink>?
            let summary = try JournalReplay(bag: bag, tiles: tiles).run(into: &none)
            #expect(summary.difference == nil)
            #expect(summary.events > 200)
        }
    }

    @Test func incompleteAndForeignTripFilesAreRejected() throws {
        let trip = try Self.keptTrip()
        let bytes = try TripFile.bytes(trip)
        #expect(try TripFile.trip(bytes, "trip") == trip)
        var random = SeededRandom(seed: 7)
        func refuses(_ bytes: [UInt8], _ comment: Comment) {
            #expect(throws: NodeError.self, comment) { try TripFile.trip(bytes, "trip") }
        }
        for _ in 0..<200 { refuses(Array(bytes.prefix(random.below(bytes.count))), "cut off") }
        for _ in 0..<200 {
            var other = bytes
            other[random.below(bytes.count)] ^= UInt8(1 + random.below(255))
            refuses(other, "changed")
        }
        refuses([], "empty")
        refuses(Array(repeating: 0, count: 4_096), "zeros")
        refuses(bytes + [0], "longer")
        let text = String(decoding: bytes.prefix(14), as: UTF8.self)
        #expect(text == "navbus-trip 1 ")
        refuses(Array("navbus-trip 2 ".utf8) + bytes.dropFirst(14), "of a later form")
    }

    @Test func fileIsReplacedAtomicallyAndRemoved() throws {
        let trip = try Self.keptTrip()
        let waker = try InProcessBus(name: "test", network: InProcessNetwork()).makeWaker()
        try withTemporaryFolder { (folder: String) throws in
            let path = folder + "/trip"
            let file = TripFile(path: path, waker: waker)
            #expect(try file.load(maximumAge: 0, now: NavGeo.Timestamp(nanoseconds: 0)) == nil)
            _ = file.keep(trip)
            file.stop()
            #expect(try file.load(maximumAge: 0, now: NavGeo.Timestamp(nanoseconds: 0)) == trip && file.problem == nil)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["trip"])
            let second = TripFile(path: path, waker: waker)
            let number = second.keep(nil)
            second.stop()
            #expect(second.done == number)
            #expect(try second.load(maximumAge: 0, now: NavGeo.Timestamp(nanoseconds: 0)) == nil)
        }
    }

    @Test func tooOldTripIsNotResumed() throws {
        let trip = try Self.keptTrip()
        let waker = try InProcessBus(name: "test", network: InProcessNetwork()).makeWaker()
        try withTemporaryFolder { (folder: String) throws in
            let path = folder + "/trip"
            let file = TripFile(path: path, waker: waker)
            _ = file.keep(trip)
            file.stop()
            let kept = NavGeo.Timestamp(nanoseconds: try #require(Files.status(path)).modified)
            func after(days: Double) -> NavGeo.Timestamp { kept.advanced(bySeconds: days * 86_400) }
            #expect(try file.load(maximumAge: 86_400, now: after(days: 1)) == trip)
            #expect(try file.load(maximumAge: 0, now: after(days: 1_000)) == trip)
            // Before the machine's clock is set, the time is earlier than that of the file.
            #expect(try file.load(maximumAge: 86_400, now: NavGeo.Timestamp(nanoseconds: 0)) == trip)
            let refusal = #expect(throws: NodeError.self) { try file.load(maximumAge: 86_400, now: after(days: 2)) }
            #expect(refusal.map { "\($0)" }?.contains("48 h ago, more than state.max_age_s") == true)
            for (seconds, words) in [(3.0, "3 s ago"), (180, "3 min ago"), (7_200, "2 h ago")] {
                let refusal = #expect(throws: NodeError.self) {
                    try file.load(maximumAge: 2, now: kept.advanced(bySeconds: seconds))
                }
                #expect(refusal.map { "\($0)" }?.contains(words) == true)
            }
        }
    }

    @Test func missingFolderIsReportedWithoutFurtherEffect() throws {
        let waker = try InProcessBus(name: "test", network: InProcessNetwork()).makeWaker()
        let file = TripFile(path: "/no/such/folder/trip", waker: waker)
        let number = file.keep(try Self.keptTrip())
        file.stop()
        #expect(file.done == number)
        #expect(file.problem?.contains("/no/such/folder/trip") == true)
        #expect(try file.load(maximumAge: 0, now: NavGeo.Timestamp(nanoseconds: 0)) == nil)
    }
}
