import Logging
import NavBus
import NavConfig
import NavGeo
import NavMessages
import NavNodes
import Testing

/// The Navigation service and the policy of the vehicle's owner, between messages.
struct NavigationServiceTests {
    /// A node with a caller and, if need be, an owner at its side.
    private final class Table {
        let network = InProcessNetwork(pipeDepth: 100_000)
        let caller: InProcessBus
        let owner: InProcessBus
        let out: NodeLink
        let node: NodeRunner<NavigationNode>
        let tiles: Tiles
        private(set) var heard: [Delivery] = []

        init(_ settings: [(String, String)] = [], owner provider: (any PolicyServiceProvider)? = nil) throws {
            tiles = try Tiles()
            let quiet = NodeLog(node: "test", level: .critical)
            caller = try InProcessBus(name: "caller", network: network)
            owner = try InProcessBus(name: "owner", network: network)
            out = NodeLink(try InProcessBus(name: "source", network: network), log: quiet)
            let overrides = ["tiles=\(tiles.path)"] + settings.map { "\($0)=\($1)" }
            let configuration = try ConfigLoader.load(
                NavigationConfiguration.self, file: nil, overrides: overrides)
            if let provider { try owner.serve(PolicyService.served(by: provider)) }
            // The time is the drive's: that of a machine that stalls would go ahead of it.
            var run = RunConfiguration(configuration)
            run.kit.simTime = true
            node = try NodeRunner<NavigationNode>(
                try InProcessBus(name: "navigation-node", network: network), configuration: run, log: quiet)
            try out.advertise(["/clock", "/gnss/fix"])
            _ = try caller.subscribe(
                matching: TopicFilter(include: ["/nav/*"]), qos: .keepLast(100_000), maximumPayloadSize: 1 << 22)
            tell(try Helsinki.drive.get().first?.stampNs ?? 0)
        }

        private func tell(_ time: Int64) {
            out.publish(Clock(stampNs: time), on: "/clock", stamp: NavGeo.Timestamp(nanoseconds: time))
        }

        deinit { node.finish() }

        func turn() throws {
            try node.step(waiting: .zero)
            while try owner.poll(timeout: .zero) != nil {}
            while let delivery = try caller.poll(timeout: .zero) { heard.append(delivery) }
        }

        /// Goes on until nothing is under way.
        func settle() async throws {
            for _ in 0..<4 { try turn() }
            while node.node.pendingCount > 0 {
                try await Task.sleep(for: .milliseconds(5))
                try turn()
            }
            for _ in 0..<4 { try turn() }
        }

        func drive(_ fixes: some Sequence<GnssFix>) async throws {
            for fix in fixes {
                tell(fix.stampNs ?? 0)
                out.publish(fix, on: "/gnss/fix", stamp: NavGeo.Timestamp(nanoseconds: fix.stampNs ?? 0))
                try await settle()
            }
        }

        func call<Request, Response>(
            _ method: UnaryMethod<Request, Response>, _ request: Request
        ) async throws -> Response {
            var answer: Result<Response, CallStatus>?
            try caller.call(method, request, options: CallOptions(timeout: .seconds(60))) { answer = $0 }
            while answer == nil { try await settle() }
            return try #require(answer).get()
        }

        func routes(_ request: CalculateRouteRequest) async throws -> [CalculateRouteResponse] {
            var answers: [CalculateRouteResponse] = []
            var end: CallStatus?
            try caller.call(NavigationService.calculateRoute, request, options: CallOptions(timeout: .seconds(60))) {
                switch $0 {
                case .response(let response): answers.append(response)
                case .end(let status): end = status
                }
            }
            while end == nil { try await settle() }
            #expect(end?.code == .ok)
            return answers
        }

        func messages<Content: Message>(_ topic: String, as type: Content.Type) throws -> [Content] {
            try heard.filter { $0.topic == topic }.map { try Content(decoding: $0.payload.bytes) }
        }
    }

    private static var destination: Waypoint {
        Waypoint(latitude: Helsinki.to.latitude, longitude: Helsinki.to.longitude)
    }

    @Test func aRouteIsChosenBeforeTheStartAndNothingElseEndsTheChoice() async throws {
        let drive = try Helsinki.drive.get()
        let table = try Table()
        let order = CalculateRouteRequest(
            waypoints: [Self.destination], options: RouteOptions(alternatives: 2), preview: true)
        let early = try await table.routes(order)
        #expect(early.last?.error?.code == .noPosition)
        try await table.drive(drive.prefix(5))

        let found = try #require(try await table.routes(order).last?.routes)
        #expect((1...3).contains(found.count))
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
        #expect(started.error == nil && started.routeId == 1)
        #expect(try table.messages("/nav/preview", as: RoutePreview.self).last?.routes.isEmpty == true)
        let route = try #require(try table.messages("/nav/route", as: Route.self).last)
        #expect(route.edgeIds == found[Int(last)].edgeIds && route.reason == .started)
        let state = try await table.call(NavigationService.getState, GetStateRequest(includeRoute: true))
        #expect(state.state?.phase == .guidance && state.route?.edgeIds == route.edgeIds)
        let again = try await table.call(NavigationService.startNavigation, StartNavigationRequest())
        #expect(again.error?.code == .wrongState)
        let stopped = try await table.call(NavigationService.stopNavigation, StopNavigationRequest())
        #expect(stopped.sessionId == started.sessionId)
    }

    @Test func aPublishedRouteCanBeSetAgain() async throws {
        let drive = try Helsinki.drive.get()
        let table = try Table()
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

    private final class Owner: PolicyServiceProvider {
        var answers: [PolicyVerdict]
        private(set) var asked = 0

        init(_ answers: [PolicyVerdict]) { self.answers = answers }

        func shouldReroute(_ request: ShouldRerouteRequest, _ call: UnaryCall<PolicyAnswer>) throws {
            asked += 1
            call.finish(PolicyAnswer(verdict: answers.isEmpty ? .yes : answers.removeFirst(), reason: "so", holdS: 3))
        }
        func rerouteOptions(_ request: RerouteOptionsRequest, _ call: UnaryCall<RerouteOptionsAnswer>) throws {
            throw CallStatus(.unimplemented, "")
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
            call.finish(ReviseInstructionAnswer(instruction: .spoken(SpokenInstruction(text: "Hark!"))))
        }
    }

    @Test func theOwnerDecidesAndWhatItDoesNotDecideIsAsUsual() async throws {
        let owner = Owner([.no, .yes])
        let table = try Table(
            [
                ("destination", Helsinki.to.text), ("policy.deadline_s", "5"),
                ("policy.ask", "should_reroute,reroute_options,revise_instruction"),
            ], owner: owner)
        try await table.drive(try Helsinki.drive.get())
        #expect(owner.asked == 2)
        let decisions = try table.messages("/nav/policy/decision", as: PolicyDecision.self)
        let reroutes = decisions.filter { $0.kind == .shouldReroute }
        #expect(reroutes.map(\.verdict) == [.no, .yes] && reroutes.allSatisfy { $0.decidedBy == .client })
        #expect(decisions.first { $0.kind == .rerouteOptions }?.decidedBy == .unavailable)
        #expect(
            try table.messages("/nav/reroute", as: RerouteEvent.self).compactMap(\.phase)
                == [.willReroute, .fetching, .fetched, .applied])
        let spoken = try table.messages("/nav/instruction/spoken", as: SpokenInstruction.self)
        #expect(spoken.count > 3 && spoken.allSatisfy { $0.text == "Hark!" })
    }

    @Test func anAbsentOwnerChangesNothingButTheDecider() async throws {
        let table = try Table([("destination", Helsinki.to.text), ("policy.ask", "all")])
        try await table.drive(try Helsinki.drive.get())
        let decisions = try table.messages("/nav/policy/decision", as: PolicyDecision.self)
        #expect(!decisions.isEmpty && decisions.allSatisfy { $0.decidedBy == .unavailable || $0.decidedBy == .timeout })
        #expect(
            try table.messages("/nav/reroute", as: RerouteEvent.self).compactMap(\.phase)
                == [.willReroute, .fetching, .fetched, .applied])
        #expect(try table.messages("/nav/arrival", as: ArrivalEvent.self).contains { $0.phase == .arrived })
    }
}
