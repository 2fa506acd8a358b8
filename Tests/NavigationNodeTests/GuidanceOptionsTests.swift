import NavBag
import NavGeo
import NavMessages
import NavNavigator
import NavRecording
import NavReplay
import NavRouting
import NavTestKit
import NavWire
import NavigationNode
import Testing

/// Route options in requests and answers during a trip.
struct GuidanceOptionsTests {
    private static let destination = NavMessages.Waypoint(
        latitude: Helsinki.to.latitude, longitude: Helsinki.to.longitude)

    @Test func optionsWithoutAMeaningDuringGuidanceAreRefusedByName() async throws {
        let table = try ServiceTable()
        try await table.drive(try Helsinki.drive.get().prefix(3))
        func set(_ options: NavMessages.RouteOptions) async throws -> ErrorInfo? {
            let order = CalculateRouteRequest(waypoints: [Self.destination], options: options)
            return try await table.call(NavigationService.setRoute, SetRouteRequest(target: .calculate(order))).error
        }
        let others = try await set(NavMessages.RouteOptions(alternatives: 2))
        #expect(others?.code == .invalidRequest)
        #expect(others?.message?.hasPrefix("calculate.options.alternatives: ") == true)
        // Zero alternatives match what SetRoute returns, and a departure selects the rules for certain hours.
        let departure = Helsinki.start
        #expect(try await set(NavMessages.RouteOptions(alternatives: 0, departureNs: departure)) == nil)
        for (options, name) in [
            (NavMessages.RouteOptions(alternatives: 1), "options.alternatives: "),
            (NavMessages.RouteOptions(departureNs: departure + 1), "options.departure_ns: "),
        ] {
            let answer = try await table.call(NavigationService.reroute, RerouteRequest(options: options))
            #expect(answer.requestId == nil && answer.error?.code == .invalidRequest)
            #expect(answer.error?.message?.hasPrefix(name) == true, "\(answer)")
            let owner = RerouteOptionsAnswer(options: options)
            let vehicle = NavRouting.VehicleProfile()
            let refusal = #expect(throws: RouteFailure.self) {
                try NavNavigator.PolicyAnswer(owner, node: vehicle, of: RoutePreferences())
            }
            #expect(refusal?.message.hasPrefix(name) == true)
            // A recorded answer was accepted when it was recorded.
            let recorded = NavNavigator.PolicyAnswer(
                recorded: NavMessages.PolicyDecision(content: .rerouteOptions(owner)), as: nil, node: vehicle)
            #expect(recorded.content != nil)
        }
    }

    @Test func publishedOptionsMayBeSentBack() async throws {
        let table = try ServiceTable([("alternatives.enabled", "false")])
        try await table.drive(try Helsinki.drive.get().prefix(3))
        let wishes = NavMessages.RouteOptions(alternatives: 2, departureNs: Helsinki.start)
        let found = try await table.routes(CalculateRouteRequest(waypoints: [Self.destination], options: wishes))
        #expect(found.contains { !$0.routes.isEmpty })
        let started = try await table.call(NavigationService.startNavigation, StartNavigationRequest())
        #expect(started.error == nil)
        // A reroute keeps them, too.
        for attempt in 1...2 {
            let routes = try table.messages("/nav/route", as: NavMessages.Route.self).filter { $0.geometry != nil }
            var options = try #require(routes.last?.options)
            #expect(options.alternatives == 2 && options.departureNs == Helsinki.start, "attempt \(attempt)")
            options.avoid.append(.tolls)
            let answer = try await table.call(NavigationService.reroute, RerouteRequest(options: options))
            #expect(answer.requestId != nil && answer.error == nil, "\(answer)")
            try await table.drive(try Helsinki.drive.get().dropFirst(3 * attempt).prefix(3))

            let owner = RerouteOptionsAnswer(options: options)
            let vehicle = NavRouting.VehicleProfile()
            var preferences = RoutePreferences()
            (preferences.alternatives, preferences.departure) = (2, NavGeo.Timestamp(nanoseconds: Helsinki.start))
            #expect(try NavNavigator.PolicyAnswer(owner, node: vehicle, of: preferences).content != nil)
        }
        let reroutes = try table.messages("/nav/reroute", as: RerouteEvent.self)
        #expect(reroutes.count { $0.phase == .applied } == 2)
    }

    @Test func recordedCommandsWithUnsupportedOptionsAreReplayed() throws {
        let order = CalculateRouteRequest(
            waypoints: [Self.destination], options: NavMessages.RouteOptions(alternatives: 1))
        let requests: [Int: NavigationCommand.Request] = [
            3: .setRoute(SetRouteRequest(target: .calculate(order))),
            20: .reroute(RerouteRequest(options: NavMessages.RouteOptions(departureNs: Helsinki.start))),
        ]
        try withTemporaryFolder { folder in
            var input = MessageLog(try BagWriter(path: folder + "/in.mcap", overwrite: true))
            for (index, fix) in try Helsinki.drive.get().prefix(40).enumerated() {
                let stamp = fix.stampNs ?? 0
                if let request = requests[index] {
                    let command = NavigationCommand(callId: UInt64(index), caller: "call", request: request)
                    try input.write(
                        JournalEntry(stampNs: stamp, event: .command(command)), topic: "/nav/journal", logTime: stamp,
                        publishTime: stamp)
                }
                try input.write(fix, topic: "/gnss/fix", logTime: stamp, publishTime: stamp)
            }
            try input.close()
            let trace = try TraceInput(path: folder + "/in.mcap")
            var log = MessageLog(try BagWriter(path: folder + "/out.mcap", overwrite: true))
            let summary = try Replay(map: try Helsinki.map.get(), configuration: NavigationConfiguration())
                .run(trace.fixes, others: trace.others, into: &log)
            try log.close()
            #expect(summary.commands == 2 && summary.routes >= 2 && summary.reroutes >= 1, "\(summary)")

            let tiles = try Helsinki.buildTiles(in: folder)
            var none: MessageLog<FileSink>?
            let again = try JournalReplay(bag: folder + "/out.mcap", tiles: tiles).run(into: &none)
            #expect(again.difference == nil && again.events > 40)
        }
    }
}
