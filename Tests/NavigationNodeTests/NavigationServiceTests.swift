import Glibc
import Logging
import NavBus
import NavConfig
import NavGeo
import NavKit
import NavMessages
import NavRecording
import NavReplay
import NavTestBus
import NavWire
import NavigationNode
import Testing

/// The Navigation service and the owner's policy, tested with messages.
struct NavigationServiceTests {
    private static var destination: Waypoint {
        Waypoint(latitude: Helsinki.to.latitude, longitude: Helsinki.to.longitude)
    }

    @Test func previewStaysOpenUntilARouteIsSelected() async throws {
        let drive = try Helsinki.drive.get()
        let table = try ServiceTable()
        let order = CalculateRouteRequest(
            waypoints: [Self.destination], options: RouteOptions(alternatives: 2), preview: true)
        let early = try await table.routes(order)
        #expect(early.last?.error?.code == .noPosition)
        try await table.drive(drive.prefix(5))

        let found = try #require(try await table.routes(order).last?.routes)
        #expect((1...3).contains(found.count) && found.allSatisfy { $0.options?.alternatives == 2 })
        #expect(try table.messages("/nav/state", as: NavigationState.self).last?.phase == .preview)
        let refused = try await table.call(
            NavigationService.selectPreview, SelectPreviewRequest(index: UInt32(found.count)))
        #expect(refused.error?.code == .notFound)
        let last = UInt32(found.count - 1)
        _ = try await table.call(NavigationService.selectPreview, SelectPreviewRequest(index: last))
        try await table.drive(drive.dropFirst(5).prefix(5))
        let preview = try #require(try table.messages("/nav/preview", as: RoutePreview.self).last)
        #expect(preview.activeIndex == last && preview.routes.count == found.count)

        let started = try await table.call(NavigationService.startNavigation, StartNavigationRequest())
        // A route id is unique for as long as the node runs, even if the route was only previewed.
        #expect(started.error == nil && !found.map(\.routeId).contains(started.routeId))
        #expect(try table.messages("/nav/preview", as: RoutePreview.self).last?.routes.isEmpty == true)
        let route = try #require(try table.messages("/nav/route", as: Route.self).last)
        #expect(route.edgeIds == found[Int(last)].edgeIds && route.reason == .started)
        #expect(route.options?.alternatives == 2)
        let state = try await table.call(NavigationService.getState, GetStateRequest(includeRoute: true))
        #expect(state.state?.phase == .guidance && state.route?.edgeIds == route.edgeIds)
        let again = try await table.call(NavigationService.startNavigation, StartNavigationRequest())
        #expect(again.error?.code == .wrongState)
        let stopped = try await table.call(NavigationService.stopNavigation, StopNavigationRequest())
        #expect(stopped.sessionId == started.sessionId)
    }

    @Test func fixWithoutTimeUsesItsMessageStamp() async throws {
        let table = try ServiceTable()
        let before = try await table.call(NavigationService.getState, GetStateRequest())
        #expect(before.state?.phase == .idle && before.position == nil)
        let drive = try Helsinki.drive.get().prefix(5)
        for fix in drive {
            var timeless = fix
            timeless.timestamp = nil
            try await table.publish(timeless, stampNs: try #require(fix.stampNs))
        }
        let positions = try table.messages("/nav/position", as: MatchedPosition.self)
        #expect(positions.map(\.stampNs) == drive.map(\.stampNs))
    }

    @Test func derivedMessagesHaveTheStampOfTheirFixInTheHeader() async throws {
        let table = try ServiceTable([("destination", Helsinki.to.text)])
        let drive = try Helsinki.drive.get().prefix(60)
        // The node handles each fix 0.1 s after its time.
        for fix in drive { try await table.publish(fix, stampNs: try #require(fix.stampNs) + 100_000_000) }
        func stamps(_ topic: String) -> [Int64] {
            table.heard.filter { $0.topic == topic }.map(\.header.stampNanoseconds)
        }
        let stampsOfFixes = drive.compactMap(\.stampNs)
        #expect(stamps("/nav/position") == stampsOfFixes)
        for topic in ["/nav/progress", "/nav/instruction/visual", "/nav/instruction/spoken"] {
            #expect(!stamps(topic).isEmpty && Set(stamps(topic)).isSubset(of: stampsOfFixes), "\(topic)")
        }
    }

    @Test func routeIdSelectsThatRoute() async throws {
        let table = try ServiceTable()
        try await table.drive(try Helsinki.drive.get().prefix(5))
        // Unless it is declined, a preview opens.
        let order = CalculateRouteRequest(waypoints: [Self.destination], options: RouteOptions(alternatives: 2))
        let found = try #require(try await table.routes(order).last?.routes)
        let named = try #require(found.last)
        let missing = try await table.call(
            NavigationService.selectPreview, SelectPreviewRequest(index: 0, routeId: 777))
        #expect(missing.error?.code == .notFound)
        let refused = try await table.call(NavigationService.startNavigation, StartNavigationRequest(routeId: 777))
        #expect(refused.error?.code == .notFound)
        let started = try await table.call(
            NavigationService.startNavigation, StartNavigationRequest(index: 0, routeId: named.routeId))
        #expect(started.error == nil)
        let route = try #require(try table.messages("/nav/route", as: Route.self).last)
        #expect(route.edgeIds == named.edgeIds && route.options?.language == "en")
        let faster = try await table.call(
            NavigationService.acceptFasterRoute, AcceptFasterRouteRequest(routeId: route.routeId))
        #expect(faster.error?.code == .notFound)
    }

    @Test func missingAlternativesAreReportedWithTheRoutes() async throws {
        let table = try ServiceTable()
        let drive = try Helsinki.drive.get()
        try await table.drive(drive.prefix(5))
        // To a place just ahead, only one route is sensible.
        let near = try #require(drive.dropFirst(20).first)
        let order = CalculateRouteRequest(
            waypoints: [Waypoint(latitude: near.latitude, longitude: near.longitude)],
            options: RouteOptions(alternatives: 2), preview: false)
        let answer = try #require(try await table.routes(order).last)
        #expect(answer.routes.count == 1 && answer.error?.code == .notFound)
        #expect(answer.error?.message == "0 of 2 alternatives found")
    }

    @Test func unsupportedOptionIsRejectedByName() async throws {
        let table = try ServiceTable()
        try await table.drive(try Helsinki.drive.get().prefix(5))
        for (options, name) in [
            (RouteOptions(language: "sv"), "'sv' is not supported; supported are de, en, en-GB"),
            (RouteOptions(language: ""), "language"), (RouteOptions(alternatives: 3), "alternatives"),
        ] {
            let order = CalculateRouteRequest(waypoints: [Self.destination], options: options, preview: false)
            let error = try #require(try await table.routes(order).last?.error)
            #expect(error.code == .invalidRequest && error.message?.contains(name) == true)
        }
    }

    @Test func invalidVehicleValueIsRejectedByName() async throws {
        let table = try ServiceTable()
        try await table.drive(try Helsinki.drive.get().prefix(5))
        for (options, name) in [
            (RouteOptions(vehicle: VehicleProfile(heightM: -1)), "height_m"),
            (RouteOptions(vehicle: VehicleProfile(maxSpeedMps: 0)), "max_speed_mps"),
            (RouteOptions(vehicle: VehicleProfile(weightKg: 3)), "weight_kg is not within 100.0 ... 200000.0"),
            (RouteOptions(departureNs: -5), "departure_ns"),
            (RouteOptions(departureNs: .max), "departure_ns is not within the years 1970 ... 2199"),
            (RouteOptions(avoid: [.tolls, .unspecified]), "avoid[1]: AVOID_FEATURE_UNSPECIFIED"),
        ] {
            let order = CalculateRouteRequest(waypoints: [Self.destination], options: options, preview: false)
            let error = try #require(try await table.routes(order).last?.error)
            #expect(error.code == .invalidRequest && error.message?.contains(name) == true)
        }
        for (course, tolerance, name) in [(7.0, 0.5, "course"), (-0.1, 0.5, "course"), (1, 4, "course_tolerance_rad")] {
            var destination = Self.destination
            (destination.course, destination.courseToleranceRad) = (course, tolerance)
            let order = CalculateRouteRequest(waypoints: [destination], preview: false)
            let error = try #require(try await table.routes(order).last?.error)
            #expect(error.code == .invalidRequest && error.message?.contains("waypoints[0].\(name)") == true)
        }
        for (waypoint, name) in [
            (Waypoint(kind: .via), "kind: the last waypoint"), (Waypoint(radiusM: -1), "radius_m"),
        ] {
            var destination = waypoint
            (destination.latitude, destination.longitude) = (Self.destination.latitude, Self.destination.longitude)
            let order = CalculateRouteRequest(waypoints: [Self.destination, destination], preview: false)
            let error = try #require(try await table.routes(order).last?.error)
            #expect(error.code == .invalidRequest)
            #expect(error.message?.hasPrefix("waypoints[1].\(name)") == true, "\(error.message ?? "")")
        }
        for (simulate, factor) in [(true, 0), (true, 20), (true, -1), (false, 2)] as [(Bool, Double)] {
            let request = SetRouteRequest(
                target: .calculate(CalculateRouteRequest(waypoints: [Self.destination])), simulate: simulate,
                simulateSpeedFactor: factor)
            let set = try await table.call(NavigationService.setRoute, request)
            #expect(set.error?.message?.contains("simulate_speed_factor") == true)
        }
    }

    @Test func longTextIsRejectedByNameAndTopicsContinue() async throws {
        let table = try ServiceTable()
        try await table.drive(try Helsinki.drive.get().prefix(5))
        func order(_ size: Int) -> CalculateRouteRequest {
            var destination = Self.destination
            // Each character has two bytes, both of which count towards the limit.
            destination.name = String(repeating: "ä", count: size / 2)
            return CalculateRouteRequest(waypoints: [destination])
        }
        let long = try await table.call(NavigationService.setRoute, SetRouteRequest(target: .calculate(order(1_026))))
        #expect(long.error?.code == .invalidRequest)
        #expect(long.error?.message == "waypoints[0].name has 1026 bytes of UTF-8, more than 1024")
        var origin = order(100)
        origin.origin = order(2_000).waypoints[0]
        let start = try await table.call(NavigationService.setRoute, SetRouteRequest(target: .calculate(origin)))
        #expect(start.error?.message?.hasPrefix("origin.name has 2000 bytes") == true)

        let set = try await table.call(NavigationService.setRoute, SetRouteRequest(target: .calculate(order(1_024))))
        #expect(set.error == nil)
        let state = try #require(try table.messages("/nav/state", as: NavigationState.self).last)
        #expect(state.phase == .guidance && state.destination?.name?.utf8.count == 1_024)
        var route = try #require(try table.messages("/nav/route", as: Route.self).last)
        route.waypoints[1].name? += "x"
        let given = try await table.call(NavigationService.setRoute, SetRouteRequest(target: .route(route)))
        #expect(given.error?.code == .invalidRequest)
        #expect(given.error?.message == "route.waypoints[1].name has 1025 bytes of UTF-8, more than 1024")

        let language = RouteOptions(language: String(repeating: "x", count: 100_000))
        let refused = try await table.call(NavigationService.reroute, RerouteRequest(options: language))
        #expect(refused.error?.message == "options.language has 100000 bytes of UTF-8, more than 64")
    }

    @Test func calculatedRouteHasItsStampAndArrivalTime() async throws {
        let table = try ServiceTable()
        let drive = try Helsinki.drive.get()
        try await table.drive(drive.prefix(5))
        let order = CalculateRouteRequest(waypoints: [Self.destination], preview: false)
        let route = try #require(try await table.routes(order).last?.routes.first)
        let stamp = try #require(route.stampNs)
        let arrival = try #require(route.summary?.etaNs)
        let duration = try #require(route.summary?.durationS)
        #expect(abs(Double(arrival - stamp) / 1e9 - duration) < 0.01)

        let departure = stamp + 86_400_000_000_000
        let tomorrow = CalculateRouteRequest(
            waypoints: [Self.destination], options: RouteOptions(departureNs: departure), preview: false)
        let later = try #require(try await table.routes(tomorrow).last?.routes.first)
        #expect(later.options?.departureNs == departure)
        #expect(abs(Double(try #require(later.summary?.etaNs) - departure) / 1e9 - duration) < 0.01)
    }

    @Test(arguments: [(0, 0, [0, 1]), (1, 0, [0, 0.5, 1]), (0, 1, [0, 0.5, 1])] as [(Int, UInt32, [Double])])
    func calculationProgressFollowsItsSearches(stops: Int, alternatives: UInt32, wanted: [Double]) async throws {
        let table = try ServiceTable()
        try await table.drive(try Helsinki.drive.get().prefix(5))
        let stop = Waypoint(
            latitude: (Helsinki.from.latitude + Helsinki.to.latitude) / 2,
            longitude: (Helsinki.from.longitude + Helsinki.to.longitude) / 2)
        let order = CalculateRouteRequest(
            waypoints: Array(repeating: stop, count: stops) + [Self.destination],
            options: RouteOptions(alternatives: alternatives), preview: false)
        let answers = try await table.routes(order)
        #expect(answers.compactMap(\.progress) == wanted)
        #expect(answers.dropLast().allSatisfy(\.routes.isEmpty) && answers.last?.routes.isEmpty == false)
    }

    @Test func stepsJoinAtLegsAndAddUpToTheirDurations() async throws {
        let table = try ServiceTable()
        try await table.drive(try Helsinki.drive.get().prefix(5))
        // Starts and stops anywhere along roads, even where the line passes a point twice.
        for share in stride(from: 0.1, through: 0.9, by: 0.1) {
            let stop = Waypoint(
                latitude: Helsinki.from.latitude + (Helsinki.to.latitude - Helsinki.from.latitude) * share,
                longitude: Helsinki.from.longitude + (Helsinki.to.longitude - Helsinki.from.longitude) * share)
            let order = CalculateRouteRequest(waypoints: [stop, Self.destination], preview: false)
            let route = try #require(try await table.routes(order).last?.routes.first)
            for leg in route.legs {
                let steps = leg.steps
                #expect(steps.first?.firstPoint == leg.firstPoint && steps.last?.lastPoint == leg.lastPoint)
                for (step, next) in zip(steps, steps.dropFirst()) { #expect(step.lastPoint == next.firstPoint) }
                for step in steps {
                    let range = (step.firstPoint ?? 0)...(step.lastPoint ?? 0)
                    #expect(step.intersections.allSatisfy { range.contains($0.point ?? 0) })
                }
                let sum = steps.reduce(0) { $0 + ($1.durationS ?? 0) }
                #expect(abs(sum - (leg.durationS ?? 0)) < 0.01)
            }
        }
    }

    @Test func viaWithinASegmentAddsNeitherNodeNorStop() async throws {
        let table = try ServiceTable()
        let drive = try Helsinki.drive.get()
        try await table.drive(drive.prefix(5))
        func found(_ places: [Waypoint]) async throws -> Route {
            let order = CalculateRouteRequest(waypoints: places, preview: false)
            return try #require(try await table.routes(order).last?.routes.first)
        }
        let direct = try await found([Self.destination])
        let annotation = try #require(direct.legs.first?.annotation)
        let line = try #require(direct.geometry?.corners)
        let longest = try #require(
            annotation.distancesM.indices.dropFirst().dropLast().max {
                annotation.distancesM[$0] < annotation.distancesM[$1]
            })
        let via = Waypoint(
            latitude: (line[longest].latitude + line[longest + 1].latitude) / 2,
            longitude: (line[longest].longitude + line[longest + 1].longitude) / 2, kind: .via)

        let route = try await found([via, Self.destination])
        #expect(route.legs.count == 1)
        let nodes = try #require(route.legs.first?.annotation?.nodeIds)
        #expect(nodes == annotation.nodeIds[...longest] + [0] + annotation.nodeIds[(longest + 1)...])
        let place = try #require(route.geometry?.corners?[longest + 1])
        let middle = NavGeo.Coordinate(latitude: via.latitude ?? 0, longitude: via.longitude ?? 0)
        #expect(Geodesy.distance(place, middle) < 1)

        let set = try await table.call(NavigationService.setRoute, SetRouteRequest(target: .route(route)))
        #expect(set.error == nil)
        let given = try #require(try table.messages("/nav/route", as: Route.self).last)
        #expect(given.legs.first?.annotation?.nodeIds.filter { $0 != 0 } == annotation.nodeIds)
        try await table.drive(drive.dropFirst(5).prefix(3))
        let progress = try #require(try table.messages("/nav/progress", as: RouteProgress.self).last)
        #expect(progress.waypointsRemaining == 1)
    }

    @Test func requestedUnitsAreSpokenAndReported() async throws {
        let drive = try Helsinki.drive.get()
        for (asked, spoken, words) in [
            (UnitSystem.unspecified, UnitSystem.metric, ["metre"]), (.metric, .metric, ["metre"]),
            (.imperial, .imperial, ["feet", "mile"]),
        ] {
            let table = try ServiceTable()
            try await table.drive(drive.prefix(3))
            let order = CalculateRouteRequest(
                waypoints: [Self.destination], options: RouteOptions(units: asked), preview: false)
            let found = try #require(try await table.routes(order).last?.routes.first)
            #expect(found.options?.units == spoken)
            let set = try await table.call(NavigationService.setRoute, SetRouteRequest(target: .calculate(order)))
            #expect(set.error == nil)
            #expect(try table.messages("/nav/route", as: Route.self).last?.options?.units == spoken)
            try await table.drive(drive.dropFirst(3).prefix(60))
            let said = try table.messages("/nav/instruction/spoken", as: SpokenInstruction.self).compactMap(\.text)
            let distances = said.filter { text in ["metre", "feet", "mile", "yard"].contains { text.contains($0) } }
            #expect(!distances.isEmpty, "\(said)")
            #expect(distances.allSatisfy { text in words.contains { text.contains($0) } }, "\(asked): \(said)")
        }
    }

    @Test func externalRouteKeepsItsOptions() async throws {
        let table = try ServiceTable()
        try await table.drive(try Helsinki.drive.get().prefix(3))
        let order = CalculateRouteRequest(waypoints: [Self.destination], preview: false)
        var route = try #require(try await table.routes(order).last?.routes.first)
        route.options = RouteOptions(avoid: [.ferries], alternatives: 5, language: "sv", units: .imperial)
        let set = try await table.call(NavigationService.setRoute, SetRouteRequest(target: .route(route)))
        #expect(set.error == nil)
        let options = try #require(try table.messages("/nav/route", as: Route.self).last?.options)
        #expect(options.avoid == [.ferries] && options.units == .imperial)
        #expect(options.language == "en" && options.alternatives == nil)
        route.options?.language = "fi-FI"
        let again = try await table.call(NavigationService.setRoute, SetRouteRequest(target: .route(route)))
        #expect(again.error == nil)
        #expect(try table.messages("/nav/route", as: Route.self).last?.options?.language == "fi")
    }

    @Test func aPublishedRouteCanBeSetAgain() async throws {
        let drive = try Helsinki.drive.get()
        let table = try ServiceTable()
        try await table.drive(drive.prefix(3))
        let set = try await table.call(
            NavigationService.setRoute,
            SetRouteRequest(target: .calculate(CalculateRouteRequest(waypoints: [Self.destination]))))
        #expect(set.error == nil && set.routeId == 1)
        let route = try #require(try table.messages("/nav/route", as: Route.self).last)
        let same = try await table.call(NavigationService.setRoute, SetRouteRequest(target: .route(route)))
        #expect(same.error == nil)
        #expect(try table.messages("/nav/route", as: Route.self).last?.edgeIds == route.edgeIds)
        let nothing = try await table.call(NavigationService.setRoute, SetRouteRequest(target: .route(Route())))
        #expect(nothing.error?.code == .invalidRequest)
    }

    @Test func placeOutsideTheMapFailsPermanentlyForEachMethod() async throws {
        let table = try ServiceTable()
        try await table.drive(try Helsinki.drive.get().prefix(3))
        let start = Waypoint(latitude: Helsinki.from.latitude, longitude: Helsinki.from.longitude)
        let nowhere = Waypoint(latitude: 10, longitude: 10)
        var errors: [ErrorInfo?] = []
        for origin in [nil, start] {
            let order = CalculateRouteRequest(origin: origin, waypoints: [nowhere], preview: false)
            errors.append(try await table.routes(order).last?.error)
            errors.append(
                try await table.call(NavigationService.setRoute, SetRouteRequest(target: .calculate(order))).error)
            let path = RouteCoverageRequest(waypoints: [origin, nowhere].compactMap { $0 })
            errors.append(try await table.call(NavigationService.coverage, path).error)
        }
        #expect(errors.allSatisfy { $0?.code == .noRoadNearby && $0?.retryable == false }, "\(errors)")
    }

    @Test func givenRouteThatCannotBeGuidedIsRefused() async throws {
        let table = try ServiceTable()
        try await table.drive(try Helsinki.drive.get().prefix(3))
        let order = CalculateRouteRequest(waypoints: [Self.destination], preview: false)
        let route = try #require(try await table.routes(order).last?.routes.first)
        let line = try #require(route.geometry?.corners)
        func refusal(_ change: (inout Route) -> Void) async throws -> String {
            var changed = route
            change(&changed)
            let set = try await table.call(NavigationService.setRoute, SetRouteRequest(target: .route(changed)))
            #expect(set.error?.code == .invalidRequest)
            return set.error?.message ?? ""
        }
        let end = route.waypoints.count - 1
        func via(_ share: Double) -> Waypoint {
            let place = line[Int(Double(line.count - 1) * share)]
            return Waypoint(latitude: place.latitude, longitude: place.longitude, kind: .via)
        }
        let far = try await refusal { $0.waypoints[end].latitude? += 0.02 }
        #expect(far.contains("waypoints[\(end)] is 2") && far.contains("more than 500 m"))
        let disordered = try await refusal { $0.waypoints.insert(contentsOf: [via(0.9), via(0.1)], at: 1) }
        #expect(disordered.contains("waypoints["), "\(disordered)")
        #expect(try await refusal { $0.waypoints[end].kind = .via }.contains("cannot be a VIA"))
        #expect(try await refusal { $0.legs[0].firstPoint = 1 }.contains("cover the geometry"))
        #expect(try await refusal { $0.legs[0].lastPoint = UInt32(line.count - 2) }.contains("cover the geometry"))
        let low = VehicleProfile(heightM: -2)
        #expect(try await refusal { $0.options = RouteOptions(vehicle: low) }.contains("height_m"))
        #expect(try await refusal { $0.options = RouteOptions(departureNs: -1) }.contains("departure_ns"))
        let many = try await refusal { $0.waypoints = Array(repeating: via(0.5), count: 102) }
        #expect(many.contains("more than a start and 100"))
        #expect(try await refusal { $0.waypoints = [via(0.5)] }.contains("one waypoint is not enough"))
        let uneven = try await refusal { $0.geometry?.lonDeltasE7.removeLast() }
        #expect(uneven == "route.geometry has \(line.count) latitudes and \(line.count - 1) longitudes")
        let outside = try await refusal { $0.geometry?.latDeltasE7[2] = 1_000_000_000 }
        #expect(outside.hasPrefix("route.geometry: point 2 is outside the world"))
        #expect(try await refusal { $0.geometry = nil }.contains("two points or more"))
        let segments = line.count - 1
        let short = try await refusal { $0.legs[0].annotation?.durationsS.removeLast() }
        #expect(
            short
                == "leg 0 of the route: annotation.durations_s has \(segments - 1) entries: \(segments) segments need "
                + "\(segments), or none")
        let long = try await refusal { $0.legs[0].annotation?.nodeIds.append(7) }
        #expect(
            long.contains("annotation.node_ids has \(segments + 2) entries: \(segments) segments need \(segments + 1)"))
        let hasty = try await refusal { $0.legs[0].durationS = 1 }
        #expect(hasty.hasPrefix("route.legs[0].duration_s is 1 s, but its annotation.durations_s sum to "), "\(hasty)")
        let negative = try await refusal { $0.legs[0].annotation?.durationsS[0] = -1 }
        #expect(negative.hasPrefix("route.legs[0].annotation.durations_s is not within 0 ..."), "\(negative)")
        let past = try await refusal {
            $0.legs = []
            $0.summary?.durationS = -5
        }
        #expect(past.hasPrefix("route.summary.duration_s is not within 0 ..."), "\(past)")
        var bare = route
        bare.legs[0].durationS = nil
        let summed = try await table.call(NavigationService.setRoute, SetRouteRequest(target: .route(bare)))
        #expect(summed.error == nil)
        let taken = try #require(try table.messages("/nav/route", as: Route.self).last?.legs[0].durationS)
        let given = (route.legs[0].annotation?.durationsS ?? []).reduce(0) { $0 + Double($1) }
        #expect(abs(taken - given) < 0.02 * given + 1, "\(taken) s instead of \(given) s")
        bare.legs[0].annotation?.durationsS = []
        bare.legs[0].annotation?.wayIds = []
        #expect(
            try await table.call(NavigationService.setRoute, SetRouteRequest(target: .route(bare))).error == nil)
    }

    @Test func hugeCourseOfAGivenRouteDoesNotEndTheNode() async throws {
        let table = try ServiceTable()
        try await table.drive(try Helsinki.drive.get().prefix(3))
        let order = CalculateRouteRequest(waypoints: [Self.destination], preview: false)
        var route = try #require(try await table.routes(order).last?.routes.first)
        let end = route.waypoints.count - 1
        (route.waypoints[end].course, route.waypoints[end].courseToleranceRad) = (1e20, 0)
        let set = try await table.call(NavigationService.setRoute, SetRouteRequest(target: .route(route)))
        #expect(set.error == nil)
        let rerouted = try await table.call(NavigationService.reroute, RerouteRequest())
        // The message of a failed search would contain the course.
        #expect(rerouted.requestId != nil)
        try await table.drive(try Helsinki.drive.get().dropFirst(3).prefix(3))
        #expect(try await table.call(NavigationService.getState, GetStateRequest()).state != nil)
    }

    private final class Owner: PolicyServiceProvider {
        var answers: [PolicyVerdict]
        let hold: Double
        /// The failures of the first instruction revisions.
        var failures: [CallStatus] = []
        private(set) var asked = 0

        init(_ answers: [PolicyVerdict], hold: Double = 3) { (self.answers, self.hold) = (answers, hold) }

        func shouldReroute(_ request: ShouldRerouteRequest, _ call: UnaryCall<PolicyAnswer>) throws {
            asked += 1
            call.finish(
                PolicyAnswer(verdict: answers.isEmpty ? .yes : answers.removeFirst(), reason: "so", holdS: hold))
        }
        func rerouteOptions(_ request: RerouteOptionsRequest, _ call: UnaryCall<RerouteOptionsAnswer>) throws {
            throw CallStatus(.unimplemented, "this node takes no such decision")
        }
        func acceptReroute(_ request: AcceptRerouteRequest, _ call: UnaryCall<PolicyAnswer>) throws {
            throw CallStatus(.unimplemented, "")
        }
        func shouldTakeAlternative(_ request: ShouldTakeAlternativeRequest, _ call: UnaryCall<PolicyAnswer>) throws {
            throw CallStatus(.unimplemented, "")
        }
        func acceptFasterRoute(_ request: ShouldAcceptFasterRouteRequest, _ call: UnaryCall<PolicyAnswer>) throws {
            throw CallStatus(.unimplemented, "")
        }
        func shouldDiscardFix(_ request: ShouldDiscardFixRequest, _ call: UnaryCall<PolicyAnswer>) throws {
            throw CallStatus(.unimplemented, "")
        }
        func shouldPreventReroutesWhenArriving(
            _ request: ShouldPreventReroutesWhenArrivingRequest, _ call: UnaryCall<PolicyAnswer>
        ) throws { throw CallStatus(.unimplemented, "") }
        func shouldAdvanceLeg(_ request: ShouldAdvanceLegRequest, _ call: UnaryCall<PolicyAnswer>) throws {
            throw CallStatus(.unimplemented, "")
        }
        func reviseInstruction(_ request: ReviseInstructionRequest, _ call: UnaryCall<ReviseInstructionAnswer>) throws {
            if !failures.isEmpty { throw failures.removeFirst() }
            guard case .visual(var visual) = request.instruction else {
                call.finish(
                    ReviseInstructionAnswer(
                        instruction: .spoken(
                            SpokenInstruction(text: "Hark!", ssml: "<speak>!</speak>", language: "x-old"))))
                return
            }
            visual.secondary = InstructionText(text: "second")
            visual.sub = InstructionText(text: "third")
            visual.subManeuver = Maneuver(type: .rotary, modifier: .slightLeft, latitude: 1, roundaboutExit: 3)
            visual.maneuver = nil
            visual.drivingSide = .left
            visual.primary?.components = [
                InstructionComponent(kind: .shield, text: "E 12", abbreviation: "E12", abbreviationPriority: 1),
                InstructionComponent(kind: .delimiter, text: "/"),
            ]
            visual.lanes = [Lane(indications: [.left, .straight], valid: true, active: true, validIndication: .left)]
            visual.language = "x-old"
            call.finish(ReviseInstructionAnswer(instruction: .visual(visual)))
        }
    }

    @Test func policyNodeDecidesAndDefaultsApplyOtherwise() async throws {
        let owner = Owner([.no, .yes])
        let table = try ServiceTable(
            [
                ("destination", Helsinki.to.text), ("policy.deadline_s", "5"),
                ("policy.ask", "should_reroute,reroute_options,revise_instruction"),
            ], owner: owner)
        try await table.drive(try Helsinki.drive.get())
        #expect(owner.asked == 2)
        let decisions = try table.messages("/nav/policy/decision", as: PolicyDecision.self)
        let reroutes = decisions.filter { $0.kind == .shouldReroute }
        #expect(reroutes.map(\.verdict) == [.no, .yes] && reroutes.allSatisfy { $0.decidedBy == .client })
        let failed = try #require(decisions.first { $0.kind == .rerouteOptions })
        #expect(failed.decidedBy == .unavailable && failed.reason == "status 12: this node takes no such decision")
        #expect(
            try table.messages("/nav/reroute", as: RerouteEvent.self).compactMap(\.phase)
                == [.willReroute, .fetching, .fetched, .applied])
        let spoken = try table.messages("/nav/instruction/spoken", as: SpokenInstruction.self)
        #expect(spoken.count > 3 && spoken.allSatisfy { $0.text == "Hark!" && $0.ssml == "<speak>!</speak>" })
        #expect(spoken.allSatisfy { $0.language == "x-old" && $0.utteranceId != nil })
        let shown = try table.messages("/nav/instruction/visual", as: VisualInstruction.self).filter {
            $0.cleared != true
        }
        #expect(shown.count > 3)
        for banner in shown {
            #expect(
                banner.primary?.components.map(\.kind) == [.shield, .delimiter]
                    && banner.primary?.text?.isEmpty == false)
            #expect(banner.primary?.components.map(\.abbreviation) == ["E12", nil])
            #expect(banner.primary?.components.map(\.abbreviationPriority) == [1, nil])
            #expect(banner.secondary?.text == "second" && banner.language == "x-old")
            #expect(banner.sub?.text == "third")
            #expect(banner.subManeuver == Maneuver(type: .rotary, modifier: .slightLeft, roundaboutExit: 3))
            #expect(banner.maneuver?.type != nil && banner.drivingSide == .right)
        }
        let revisions = decisions.compactMap { decision -> VisualInstruction? in
            guard case .revisedInstruction(let answer)? = decision.content,
                case .visual(let visual)? = answer.instruction
            else { return nil }
            return visual
        }
        #expect(revisions.count >= shown.count)
        for revision in revisions {
            #expect(revision.primary?.components.map(\.abbreviation) == ["E12", nil])
            #expect(revision.subManeuver == Maneuver(type: .rotary, modifier: .slightLeft, roundaboutExit: 3))
        }
        for banner in shown {
            #expect(
                banner.lanes.map(\.validIndication) == [.left] && banner.lanes[0].indications == [.left, .straight])
        }
    }

    @Test func invalidPolicyAnswerCountsAsNone() async throws {
        for hold in [-5, Double.nan] {
            let owner = Owner([.no, .no, .no, .no], hold: hold)
            let table = try ServiceTable(
                [("destination", Helsinki.to.text), ("policy.deadline_s", "5"), ("policy.ask", "should_reroute")],
                owner: owner)
            try await table.drive(try Helsinki.drive.get())
            let decisions = try table.messages("/nav/policy/decision", as: PolicyDecision.self)
            let reroutes = decisions.filter { $0.kind == .shouldReroute }
            #expect(owner.asked == 1 && reroutes.map(\.decidedBy) == [.unavailable] && reroutes[0].verdict == .yes)
            #expect(reroutes[0].reason?.hasPrefix("status 13: its answer is invalid: ") == true)
        }
    }

    /// The call ends before it has an id.
    @Test func requestUnsupportedByThePolicyNodeIsDecidedAtOnce() async throws {
        let table = try ServiceTable([
            ("destination", Helsinki.to.text), ("policy.ask", "should_reroute"), ("policy.wait_ready_s", "0"),
        ])
        try table.owner.serve(
            ServiceDescription(name: PolicyService.name, methods: [MethodDescription("AcceptReroute")])
        ) { $0.finish([]) }
        try await table.drive(try Helsinki.drive.get())
        let decisions = try table.messages("/nav/policy/decision", as: PolicyDecision.self)
        let reroutes = decisions.filter { $0.kind == .shouldReroute }
        #expect(reroutes.map(\.decidedBy) == [.unavailable] && reroutes.first?.verdict == .yes)
        #expect(reroutes.first?.reason?.hasPrefix("status 12: ") == true)
        #expect(
            try table.messages("/nav/reroute", as: RerouteEvent.self).compactMap(\.phase)
                == [.willReroute, .fetching, .fetched, .applied])
    }

    /// Returns the warnings of a node that asks an owner during the drive.
    private func warnings(asking questions: String, _ owner: Owner) async throws -> String {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        let table = try ServiceTable(
            [("destination", Helsinki.to.text), ("policy.deadline_s", "5"), ("policy.ask", questions)],
            owner: owner, log: NodeLog(node: "test", level: .warning, output: ends[1]))
        try await table.drive(try Helsinki.drive.get())
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let size = read(ends[0], &bytes, bytes.count)
        return String(decoding: bytes[..<max(size, 0)], as: UTF8.self)
    }

    @Test func failureOfThePolicyNodeIsLoggedWhenItChanges() async throws {
        let owner = Owner([])
        owner.failures = [
            CallStatus(.internal, "first"), CallStatus(.internal, "second"), CallStatus(.notFound, "third"),
        ]
        let text = try await warnings(asking: "revise_instruction", owner)
        #expect(owner.failures.isEmpty)
        #expect(text.contains("status 13: first") && text.contains("status 5: third"), "\(text)")
        #expect(!text.contains("status 13: second"))
    }

    @Test func eachMethodOfThePolicyNodeThatFailsIsLoggedOnce() async throws {
        let owner = Owner([])
        // Distinct texts, because the log collapses repeated lines.
        owner.failures = (1...1_000).map { CallStatus(.internal, "failure \($0)") }
        // The options of the reroute fail between revisions that fail.
        let text = try await warnings(asking: "reroute_options,revise_instruction", owner)
        #expect(owner.failures.count < 990)
        let lines = text.split(separator: "\n")
        for method in ["reroute_options", "revise_instruction"] {
            #expect(lines.count { $0.contains("'\(method)'") } == 1, "\(text)")
        }
    }

    @Test func absentPolicyNodeChangesOnlyTheDecider() async throws {
        let table = try ServiceTable([
            ("destination", Helsinki.to.text), ("policy.ask", "all"), ("policy.wait_ready_s", "0.05"),
        ])
        try await table.drive(try Helsinki.drive.get())
        let decisions = try table.messages("/nav/policy/decision", as: PolicyDecision.self)
        #expect(!decisions.isEmpty && decisions.allSatisfy { $0.decidedBy == .unavailable || $0.decidedBy == .timeout })
        #expect(
            try table.messages("/nav/reroute", as: RerouteEvent.self).compactMap(\.phase)
                == [.willReroute, .fetching, .fetched, .applied])
        #expect(try table.messages("/nav/arrival", as: ArrivalEvent.self).contains { $0.phase == .arrived })
    }
}
