import NavGeo
import NavGuidance
import NavMap
import NavMatching
import NavNavigator
import NavPositioning
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

/// Random events of every kind, with which the core never traps and keeps its invariants.
@Suite struct FuzzTests {
    private struct Monkey {
        let town: Town
        let planner = Planner()
        let maps: [MapSnapshot]
        var random: SeededRandom
        var stamp = SeededDrive.start
        var place: Coordinate
        var course = 0.0
        var known: [RouteQuery] = []
        var script: [Fix] = []
        var questions: [PolicyRequest] = []
        var offered: [UInt64] = []

        init(_ town: Town, seed: UInt64) {
            self.town = town
            random = SeededRandom(seed: seed)
            place = TestPlaces.insideTiles
            let empty = RoadGraph(tiles: [], mapVersion: town.map.graph.mapVersion)
            maps = [town.snapshot, MapSnapshot(graph: town.map.graph), MapSnapshot(graph: empty)]
        }

        mutating func chance(_ share: Double) -> Bool { random.uniform() < share }

        mutating func number() -> Double {
            let odd = [
                Double.nan, .infinity, -.infinity, 0, -0.0, 1e308, -1e308, .leastNonzeroMagnitude, 1e18, -1, 90, 180,
                360, 720,
            ]
            return odd[Int(random.uniform() * Double(odd.count))]
        }

        mutating func somewhere() -> Coordinate {
            if chance(0.02) { return Coordinate(latitude: number(), longitude: number()) }
            if chance(0.02) {
                return Coordinate(latitude: random.uniform() * 180 - 90, longitude: random.uniform() * 360 - 180)
            }
            return LocalFrame(origin: TestPlaces.insideTiles)
                .coordinate(
                    of: LocalPoint(east: random.uniform() * 2_000 - 1_000, north: random.uniform() * 1_400 - 700))
        }

        mutating func fix() -> Fix {
            if !script.isEmpty, !chance(0.01) {
                var fix = script.removeFirst()
                stamp = stamp.advanced(bySeconds: 1)
                fix.stamp = stamp
                place = fix.coordinate
                return fix
            }
            if script.isEmpty, chance(0.2) {
                let route = try? town.map.route([Waypoint(place), Waypoint(somewhere())])
                script =
                    route.flatMap {
                        SeededDrive(town.snapshot.metric, route: $0, environment: .urban, seed: random.next())
                    }?.fixes ?? []
            }
            let seconds = chance(0.05) ? number() : chance(0.1) ? random.uniform() * -20 : random.uniform() * 3
            stamp =
                chance(0.001) ? Timestamp(nanoseconds: chance(0.5) ? .max : .min) : stamp.advanced(bySeconds: seconds)
            if chance(0.01) { stamp = SeededDrive.start }
            place = chance(0.03) ? somewhere() : place
            let speed: Double? = chance(0.2) ? nil : chance(0.05) ? number() : random.uniform() * 30
            let course: Double? = chance(0.2) ? nil : chance(0.05) ? number() : random.uniform() * 7
            let sigma: Double? = chance(0.2) ? nil : chance(0.05) ? number() : random.uniform() * 30
            let types = FixType.allCases
            var fix = Fix(
                stamp: stamp, coordinate: place, horizontalSigma: sigma, speed: speed, course: course, hdop: sigma,
                type: types[Int(random.uniform() * Double(types.count))])
            if chance(0.3) { fix.received = chance(0.05) ? somewhen() : stamp.advanced(bySeconds: random.uniform()) }
            if chance(0.1) { fix.receiver = UInt8(random.uniform() * 6) }
            if chance(0.02) { fix.spoofing = alarm() }
            if chance(0.02) { fix.jamming = alarm() }
            if chance(0.02) { fix.integrity = alarm() }
            if chance(0.05) { fix.protectionLevel = number() }
            return fix
        }

        mutating func alarm() -> SignalAlarm { SignalAlarm.allCases[Int(random.uniform() * 3)] }

        mutating func somewhen() -> Timestamp { Timestamp(nanoseconds: Int64(bitPattern: random.next())) }

        mutating func odometry() -> Odometry {
            func maybe(_ value: Double) -> Double? { chance(0.2) ? nil : chance(0.05) ? number() : value }
            return Odometry(
                stamp: chance(0.01) ? somewhen() : stamp.advanced(bySeconds: random.uniform()),
                speed: maybe(random.uniform() * 30 - 3), speedSigma: maybe(random.uniform()),
                turnRate: maybe(random.uniform() - 0.5), turnRateSigma: maybe(random.uniform()),
                isStationary: chance(0.05))
        }

        mutating func plan() -> RoutePlan? {
            let count = 2 + Int(random.uniform() * 4)
            let stops = (0..<count).map { _ in Waypoint(somewhere(), isStop: chance(0.6)) }
            return (try? town.map.route(stops)).map { RoutePlan($0, on: town.snapshot) }
        }

        mutating func answer(_ query: RouteQuery) -> RouteAnswer {
            if chance(0.3) {
                let codes: [RouteFailure.Code] = [.noRoute, .tilesNeeded, .invalidRequest, .cancelled, .internal]
                return .failed(
                    RouteFailure(
                        code: codes[Int(random.uniform() * 5)], message: "so",
                        missingTiles: chance(0.5) ? [town.map.tiles[0].id] : []))
            }
            if chance(0.1), let plan = plan() { return .found(FoundRoutes(main: plan)) }
            return planner.answer(query, on: town.snapshot)
        }

        mutating func config() -> NavigatorConfig {
            var config = NavigatorConfig()
            config.rerouteDetect = random.uniform() < 0.8
            config.deviationDebounce = random.uniform() * 10
            config.deviationMaximumDistance = 10 + random.uniform() * 90
            config.rerouteMinimumCommitTime = chance(0.3) ? random.uniform() * 20 : 0
            config.alternatives.interval = 30
            config.faster.interval = 5
            config.faster.minimumRemaining = 10
            config.faster.minimumToManeuver = 1
            config.faster.minimumGain = chance(0.5) ? -1 : 0.1
            config.faster.minimumGainSeconds = chance(0.5) ? -1_000 : 0
            config.faster.approval = FasterRouteConfig.Approval.allCases[Int(random.uniform() * 3)]
            config.policy.asked = Set(PolicyKind.allCases.filter { _ in chance(0.3) })
            config.arrivalDwell = chance(0.3) ? random.uniform() * 3 : 0
            config.legsAutoAdvance = chance(0.5)
            return config
        }

        mutating func decision() -> PolicyAnswer {
            var content: PolicyAnswer.Content?
            if chance(0.2) {
                content = .reroute(chance(0.5) ? preferences() : nil, chance(0.5) ? [Waypoint(somewhere())] : [])
            }
            if chance(0.2) {
                content = .instruction(
                    RevisedInstruction(chance(0.5) ? .spoken(text: "x", ssml: nil) : nil, isSuppressed: chance(0.2)))
            }
            return PolicyAnswer(
                verdict: chance(0.2) ? nil : chance(0.5), decider: chance(0.9) ? .client : .unavailable,
                hold: chance(0.3) ? number() : nil, content: content)
        }

        mutating func preferences() -> RoutePreferences {
            var preferences = RoutePreferences()
            if chance(0.3) {
                preferences.options.initialManeuverAvoidance = chance(0.2) ? number() : random.uniform() * 300
            }
            if chance(0.1) { preferences.options.chosenRouteFactor = number() }
            return preferences
        }

        mutating func order() -> RouteOrder {
            RouteOrder(
                origin: chance(0.3) ? Waypoint(somewhere()) : nil,
                waypoints: (0..<Int(random.uniform() * 4)).map { _ in Waypoint(somewhere(), isStop: chance(0.8)) },
                preferences: preferences(), alternatives: chance(0.1) ? Int.min : Int(random.uniform() * 4))
        }

        mutating func command() -> NavigatorCommand {
            let drive = chance(0.1) ? SimulatedDrive(speedFactor: chance(0.3) ? number() : 3) : nil
            let index = chance(0.1) ? Int.max : Int(random.uniform() * 4) - 1
            switch random.uniform() {
            case ..<0.22: return .navigate(order(), drive)
            case ..<0.34: return plan().map { .setRoute($0, drive) } ?? .stop
            case ..<0.42: return .stop
            case ..<0.54: return .calculate(order(), isPreview: chance(0.8))
            case ..<0.57: return .selectPreview(.index(index))
            case ..<0.62: return .start(preview: chance(0.5) ? nil : .index(index), drive)
            case ..<0.72: return .reroute(chance(0.3) ? preferences() : nil)
            case ..<0.77: return .selectAlternative(offered.randomElement(using: &random) ?? random.next())
            case ..<0.80: return .acceptFasterRoute(chance(0.5))
            case ..<0.90: return .advanceLeg()
            case ..<0.95: return .skipWaypoint(chance(0.5) ? nil : index)
            default: return .refreshRoute
            }
        }

        mutating func event() -> NavigatorEvent {
            let dice = random.uniform()
            let kind: NavigatorEvent.Kind
            switch dice {
            case ..<0.70: kind = .fix(fix())
            case ..<0.85: kind = .odometry(odometry())
            case ..<0.90:
                kind = .timer
                stamp = stamp.advanced(bySeconds: random.uniform() * 3)
            case ..<0.95:
                if let query = known.randomElement(using: &random) {
                    kind = .routeAnswer(requestID: chance(0.1) ? random.next() : query.requestID, answer(query))
                } else {
                    kind = .routeAnswer(requestID: random.next(), .failed(RouteFailure(code: .noRoute, message: "")))
                }
            case ..<0.955: kind = .mapChanged(maps[Int(random.uniform() * Double(maps.count))])
            case ..<0.96: kind = .configured(config())
            case ..<0.965:
                if let request = questions.randomElement(using: &random) {
                    kind = .policyAnswer(requestID: chance(0.1) ? random.next() : request.requestID, decision())
                } else {
                    kind = .policyAnswer(requestID: random.next(), decision())
                }
            case ..<0.967: kind = .callEnded(UInt64(random.uniform() * 50))
            default: kind = .command(command(), call: chance(0.3) ? 0 : UInt64(1 + random.uniform() * 50))
            }
            let at = chance(0.01) ? Timestamp(nanoseconds: Int64(bitPattern: random.next())) : stamp
            return NavigatorEvent(stamp: at, causeSequence: random.next(), kind: kind)
        }
    }

    /// The invariants of all effects, whatever the events.
    private struct Invariants {
        var sequence: UInt64 = 0
        /// Causes of events so far; consequences of an answer, or of its absence, have the cause of the request.
        var causes: Set<UInt64> = []
        var hasRoute = false
        var route: (session: UInt64, id: UInt64) = (0, 0)
        var offset = 0.0
        /// The last offset that a fix confirmed by moving forward to it.
        var confirmed = 0.0
        var isComplete = false
        /// Pending requests by purpose.
        var inFlight: [RoutePurpose: [UInt64]] = [:]
        var questions: Set<UInt64> = []
        var reroutes = RerouteOrder()
        var switches = SwitchOrder()
        var fasterRoutes = FasterRouteOrder()
        var simulations = SimulationOrder()
        var alternatives: Set<UInt64> = []
        var lastRequest: UInt64 = 0
        var arrived: Set<Int> = []
        var state: NavigatorState?
        var stateContext: (UInt64, UInt64)?
        /// Counts of each kind of event, to detect a run that covers nothing.
        var (progress, applied, rejected, predicted) = (0, 0, 0, 0)
        var (shown, previews, asked) = (0, 0, 0)
        var known: Set<UInt64> = []

        mutating func check(_ effects: [Effect], of event: NavigatorEvent) throws {
            if case .routeAnswer(let id, _) = event.kind { end(id) }
            if case .policyAnswer(let id, _) = event.kind { questions.remove(id) }
            causes.insert(event.causeSequence)
            for effect in effects {
                try hold(reroutes.violation(effect))
                switch effect {
                case .requestRoute(let query):
                    // Several calculations may be pending; the trip itself requests one route at a time.
                    let greatest = query.purpose == .calculate ? 8 : 1
                    inFlight[query.purpose, default: []].append(query.requestID)
                    try #require(inFlight[query.purpose, default: []].count <= greatest)
                    try #require(inFlight[.start, default: []].isEmpty || inFlight[.reroute, default: []].isEmpty)
                    try #require(known.insert(query.requestID).inserted)
                    try #require((0...2).contains(query.alternatives))
                    lastRequest = query.requestID
                case .cancelRoute(let id): end(id)
                case .askPolicy(let request):
                    try #require(questions.insert(request.requestID).inserted)
                    try #require(questions.count <= 64)
                case .withdrawPolicy(let id): questions.remove(id)
                case .reply(let call, _): try #require(call != 0)
                case .qualified, .keepTrip: break
                case .needTiles(let tiles): try #require(!tiles.isEmpty)
                case .publish(let context, let what):
                    sequence += 1
                    try #require(context.eventSequence == sequence)
                    try #require(context.stamp == event.stamp && causes.contains(context.causeSequence))
                    try check(what, context)
                }
            }
        }

        /// Expects an event's sequence numbers and stamps to be in order.
        private func hold(_ violation: String?) throws { try #require(violation == nil) }

        private mutating func end(_ id: UInt64) {
            for purpose in RoutePurpose.allCases { inFlight[purpose]?.removeAll { $0 == id } }
        }

        private mutating func check(_ what: Publication, _ context: EventContext) throws {
            switch what {
            case .route(let plan, .refreshed):
                // A refresh keeps the geometry, so nothing jumps.
                try #require(plan != nil && hasRoute)
            case .route(let plan, _):
                hasRoute = plan != nil
                route = (context.sessionID, context.routeID)
                (offset, confirmed) = (0, 0)
                isComplete = false
                arrived = []
            case .progress(let progress):
                self.progress += 1
                try #require(hasRoute && !isComplete)
                try #require((context.sessionID, context.routeID) == route)
                // Only a prediction may be corrected by a fix.
                let isMeasured = progress.position.prediction == nil && progress.position.evidence == .measured
                try #require(progress.offset >= (isMeasured ? confirmed : offset))
                if isMeasured, progress.offset > offset { confirmed = progress.offset }
                offset = progress.offset
                let numbers = [
                    progress.offset, progress.distanceRemaining, progress.durationRemaining,
                    progress.legDistanceRemaining, progress.legDurationRemaining, progress.stepDistanceRemaining,
                    progress.stepDurationRemaining, progress.deviation.distance,
                    progress.deviation.courseDifference ?? 0, progress.snappedBearing ?? 0,
                ]
                try #require(numbers.allSatisfy { $0.isFinite && $0 >= 0 })
                try #require(progress.leg < progress.legCount && progress.step < progress.stepCount)
                try #require(progress.snapped.isValid && progress.waypointsRemaining >= 1)
            case .visual(nil, _, _): break
            case .visual, .spoken: try #require(hasRoute)
            case .arrival(let event):
                try #require(hasRoute && !isComplete)
                if event.phase == .arrived {
                    try #require(arrived.insert(event.waypoint).inserted)
                    isComplete = event.isDestination
                }
            case .state(let new):
                // The message carries the session and the route.
                try #require(new != state || stateContext.map { $0 != (context.sessionID, context.routeID) } ?? true)
                (state, stateContext) = (new, (context.sessionID, context.routeID))
            case .fixRejected(_, let rejection):
                rejected += 1
                try #require((rejection.value ?? 0).isFinite)
            case .reroute(let event):
                if case .applied = event.phase { applied += 1 }
            case .alternatives(let update):
                for id in update.removed.map(\.id) { try #require(alternatives.remove(id) != nil) }
                for id in update.added { try #require(alternatives.insert(id).inserted) }
                try #require(alternatives == Set(update.alternatives.map(\.id)))
                for offered in update.alternatives {
                    let numbers = [offered.distanceToFork, offered.durationToFork, offered.distance, offered.duration]
                    try #require(numbers.allSatisfy { $0.isFinite && $0 >= 0 } && offered.durationDelta.isFinite)
                }
                shown += update.added.count
            case .alternativeSwitch(let event): try hold(switches.violation(event))
            case .fasterRoute(let event): try hold(fasterRoutes.violation(event))
            case .refresh(let event): try #require(event.delta.isFinite)
            case .preview(let preview):
                try #require(preview.routes.count <= 3 && preview.active >= 0)
                try #require(preview.routes.isEmpty || preview.active < preview.routes.count)
                previews += preview.routes.count
            case .policyRequest(let request): asked += request.requestID > 0 ? 1 : 0
            case .policyDecision(let decision): try #require(decision.latency >= 0)
            case .simulation(let event): try hold(simulations.violation(event))
            case .receiver(let change): try #require(change.old != change.new)
            case .position(let position):
                if position.prediction != nil { predicted += 1 }
                try #require(position.coordinate.isValid)
                if let road = position.road {
                    try #require(road.alongSigma.isFinite && road.crossSigma.isFinite && road.offset.isFinite)
                }
            }
        }
    }

    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func randomEventsKeepTheInvariants(seed: UInt64) throws {
        var monkey = Monkey(try Town.grid(), seed: seed)
        var config = NavigatorConfig()
        config.legsAutoAdvance = seed % 2 == 0
        let navigator = Navigator(map: monkey.town.snapshot, config: config)
        var invariants = Invariants()
        for step in 0..<8_000 {
            let event = monkey.event()
            let effects = navigator.handle(event)
            for effect in effects {
                switch effect {
                case .requestRoute(let query): monkey.known = monkey.known.suffix(3) + [query]
                case .askPolicy(let request): monkey.questions = monkey.questions.suffix(3) + [request]
                case .publish(_, .alternatives(let update)): monkey.offered = update.alternatives.map(\.id)
                default: break
                }
            }
            do { try invariants.check(effects, of: event) } catch {
                Issue.record("seed \(seed), step \(step): \(event.kind)")
                throw error
            }
        }
        // The random walk must have reached every part of the core.
        #expect(invariants.lastRequest > 20)
        #expect(invariants.progress > 100)
        #expect(invariants.applied > 0)
        #expect(invariants.rejected > 50)
        #expect(invariants.predicted > 20)
        #expect(invariants.asked > 5)
    }
}
