import NavBag
import NavKit
import NavMessages
import NavRecording
import NavReplay
import NavTestKit
import NavigationNode
import Testing

/// Replays of partial drives, whose bags lack the beginning of the trip.
struct RecordedTripTests {
    /// The published messages of a replay.
    private struct Publications: ReplayOutput {
        static let takesInput = false
        var messages: [any Message] = []

        mutating func write(
            _ message: any Message, topic: String, logTime: Int64, publishTime: Int64
        ) throws(BagError) {
            messages.append(message)
        }

        mutating func write(
            recorded message: BagMessage, topic: String, type: String, logTime: Int64
        ) throws(BagError) {}

        var routes: [Route] { messages.compactMap { $0 as? Route } }
    }

    /// Copies the rest of a bag, after the latched values of its trip.
    private static func cut(_ whole: String, from start: UInt64, to part: String) throws {
        let reader = try BagReader(path: whole)
        let latched = try reader.lastMessages(of: ["/nav/route", "/nav/state"], before: start)
        var messages = latched.sorted { $0.key < $1.key }.map(\.value)
        var cursor = reader.messages(BagQuery(start: start))
        while let message = try cursor.next() { messages.append(message) }
        var log = MessageLog(try BagWriter(path: part))
        for message in messages {
            let channel = try #require(reader.index.channel(message.channelID))
            let type = try #require(reader.index.schema(channel.schemaID)).name
            try log.write(
                recorded: message, topic: channel.topic, type: type,
                logTime: Int64(clamping: max(message.logTime, start)))
        }
        try log.close()
    }

    @Test func partOfADriveResumesItsTrip() throws {
        try withTemporaryFolder { folder in
            let (drive, map) = (try Helsinki.drive.get(), try Helsinki.map.get())
            let (whole, part) = (folder + "/whole.mcap", folder + "/part.mcap")
            var log = MessageLog(try BagWriter(path: whole))
            let complete = try Replay(map: map, configuration: Helsinki.configuration)
                .run(RecordedFixes(drive), into: &log)
            try log.close()
            try Self.cut(whole, from: UInt64(clamping: try #require(drive[103].stampNs)), to: part)

            let trace = try TraceInput(path: part)
            let trip = try #require(trace.others?.tripUnderWay)
            #expect(trip.fix == 0 && trace.fixes.count == drive.count - 103)
            var resumed = Publications()
            let summary = try Replay(map: map, configuration: NavigationConfiguration())
                .run(trace.fixes, others: trace.others, into: &resumed)
            let route = try #require(resumed.routes.first)
            #expect(route.reason == .resumed && route.routeId == trip.trip.routeId)
            #expect(route.edgeIds == trip.trip.route?.edgeIds && !route.edgeIds.isEmpty)
            #expect(summary.reroutes == complete.reroutes && summary.arrivals == complete.arrivals, "\(summary)")
            #expect(summary.commands == 0 && trace.noteOfMissingGuidance(routes: summary.routes, option: "--to") == nil)

            // A configured destination is that of the replay.
            var configured = Publications()
            _ = try Replay(map: map, configuration: Helsinki.configuration)
                .run(trace.fixes, others: trace.others, into: &configured)
            #expect(configured.routes.first?.reason == .started)
            // Without the trip no message refers to a route, and a note reports this.
            var free = Publications()
            let unguided = try Replay(map: map, configuration: NavigationConfiguration())
                .run(trace.fixes, others: trace.others?.withoutCommands, into: &free)
            #expect(unguided.routes == 0 && trace.noteOfMissingGuidance(routes: unguided.routes, option: "--to") != nil)
            // The journal of the whole drive contains the beginning of the trip.
            let beginning = try #require(try TraceInput(path: whole).others)
            #expect(beginning.configuredTrip != nil && beginning.tripUnderWay == nil)
        }
    }

    // MARK: The first route and its state

    /// A route to two stops, with a via before the first.
    private static let route = Route(
        stampNs: 50, sessionId: 1, routeId: 3,
        geometry: Polyline((0...3).map { (latitude: 60 + Double($0), longitude: 25) }),
        legs: [RouteLeg(waypointIndex: 2), RouteLeg(waypointIndex: 3)],
        waypoints: (0...3).map { Waypoint(latitude: 60 + Double($0), longitude: 25, kind: $0 == 1 ? .via : .stop) })

    private static func state(
        route: UInt64 = 3, leg: UInt32 = 0, isHeld: Bool = false, _ guidance: GuidanceState = .tracking
    ) -> NavigationState {
        NavigationState(routeId: route, phase: .guidance, guidance: guidance, legIndex: leg, isHeld: isHeld)
    }

    private static func setRoute(at stamp: Int64) -> JournalEntry {
        let command = NavigationCommand(callId: 1, caller: "call", request: .setRoute(SetRouteRequest()))
        return JournalEntry(stampNs: stamp, event: .command(command))
    }

    /// Returns the trip of a bag that contains messages before a fix.
    private static func trip(_ messages: [any Message]) throws -> SavedTrip? {
        try withTemporaryFolder { folder in
            var log = MessageLog(try BagWriter(path: folder + "/a.mcap"))
            for message in messages {
                let topic =
                    switch message {
                    case is Route: "/nav/route"
                    case is NavigationState: "/nav/state"
                    default: "/nav/journal"
                    }
                try log.write(message, topic: topic, logTime: 100, publishTime: 50)
            }
            let fix = GnssFix(latitude: 60.5, longitude: 25)
            try log.write(fix, topic: "/gnss/fix", logTime: 100, publishTime: 100)
            try log.close()
            return try TraceInput(path: folder + "/a.mcap").others?.tripUnderWay?.trip
        }
    }

    @Test func savedTripHasTheRemainingWaypoints() throws {
        let cases: [(messages: [any Message], ahead: [Double])] = [
            ([Self.route], [61, 62, 63]), ([Self.route, Self.state()], [61, 62, 63]),
            ([Self.route, Self.state(leg: 1)], [63]),
            // A recorder that starts during the trip may receive the state first.
            ([Self.state(leg: 1), Self.route], [63]),
            ([Self.route, Self.state(isHeld: true)], [63]),
            // Only the first state is as old as the route, so later states are ignored.
            ([Self.route, Self.state(), Self.state(leg: 1)], [61, 62, 63]),
            ([Self.route, Self.state(route: 2, leg: 1)], [61, 62, 63]),
            // A damaged state refers to a leg that does not exist.
            ([Self.route, Self.state(leg: .max, isHeld: true)], [61, 62, 63]),
            ([Self.route, Self.setRoute(at: 60)], [61, 62, 63]),
        ]
        for (messages, ahead) in cases {
            let trip = try #require(try Self.trip(messages), "\(messages)")
            #expect(trip.order?.waypoints.compactMap(\.latitude) == ahead, "\(messages)")
            #expect(trip.routeId == 3 && trip.sessionId == 1 && trip.route?.waypoints.count == 4)
        }
        let held = try #require(try Self.trip([Self.route, Self.state(isHeld: true)]))
        #expect(held.legIndex == 0 && held.atStop == true && held.held == true)
    }

    @Test func bagWithoutATripUnderWayHasNone() throws {
        let cases: [[any Message]] = [
            [], [Self.state()],
            // After an arrival the completed route is still the last published one.
            [Self.route, Self.state(leg: 1, .complete)],
            [Self.route, NavigationState(routeId: 3, phase: .preview)],
            // A route without geometry signals the end of guidance.
            [Route(stampNs: 50, sessionId: 1)], [Route(stampNs: 50, geometry: Self.route.geometry)],
            // The route was set by a recorded command.
            [Self.setRoute(at: 40), Self.route], [Self.route, Self.setRoute(at: 50)],
        ]
        for messages in cases { #expect(try Self.trip(messages) == nil, "\(messages)") }
    }

    @Test func routeThatCannotBeReadIsIgnored() throws {
        try withTemporaryFolder { folder in
            var log = MessageLog(try BagWriter(path: folder + "/a.mcap"))
            try log.write(
                [0xff], topic: "/nav/route", type: Route.fullName, sequence: 1, logTime: 100, publishTime: 50)
            try log.write(
                GnssFix(latitude: 60.5, longitude: 25), topic: "/gnss/fix", logTime: 100,
                publishTime: 100)
            try log.write(Self.route, topic: "/nav/route", logTime: 200, publishTime: 200)
            try log.close()
            let trip = try #require(try TraceInput(path: folder + "/a.mcap").others?.tripUnderWay)
            #expect(trip.fix == 1 && trip.trip.routeId == 3)
        }
    }
}
