import NavGeo
import NavGuidance
import NavMatching
import NavNavigator
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

@Suite struct GuidanceTests {
    @Test func instructionIsNotGivenAfterALaterOne() throws {
        let town = try Town.grid()
        var config = NavigatorConfig()
        config.policy.asked = [.reviseInstruction]
        config.policy.deadline = 1_000
        var ride = Ride(town.map, config: config)
        ride.command(.setRoute(try town.plan("FGHC")))
        ride.drive(try town.fixes("FGHC").dropLast(10))
        let questions = ride.questions
        #expect(questions.count > 3)
        // The owner answers the last request first.
        for request in questions.reversed() {
            ride.send(.policyAnswer(requestID: request.requestID, PolicyAnswer(verdict: true)))
        }
        #expect(ride.spoken.count == 1)
    }

    @Test func progressNamesOnlyInstructionsThatWereGiven() throws {
        let town = try Town.grid()
        var config = NavigatorConfig()
        config.policy.asked = [.reviseInstruction]
        config.policy.deadline = 1_000
        var ride = Ride(town.map, config: config)
        ride.command(.setRoute(try town.plan("FGHC")))
        var isSuppressed = true
        var answered = 0
        for fix in try town.fixes("FGHC").dropLast(10) {
            ride.drive(fix)
            for request in ride.questions.dropFirst(answered) {
                let words = RevisedInstruction(isSuppressed: isSuppressed)
                ride.send(
                    .policyAnswer(
                        requestID: request.requestID, PolicyAnswer(verdict: true, content: .instruction(words))))
            }
            answered = ride.questions.count
            // The owner suppresses the first instructions only.
            if answered >= 2 { isSuppressed = false }
            let given = ride.told.compactMap { _, what -> InstructionID? in
                switch what {
                case .visual(let visual, _, _): visual?.id
                case .spoken(let spoken, _, _): spoken.id
                default: nil
                }
            }
            let progress = try #require(ride.progress.last)
            for named in [progress.visualInstruction, progress.spokenInstruction].compactMap({ $0 }) {
                #expect(given.contains(named))
            }
        }
        #expect(answered > 3 && ride.progress.contains { $0.visualInstruction == nil && $0.spokenInstruction == nil })
        #expect(ride.progress.last?.spokenInstruction != nil)
    }

    /// If it stayed, the previous banner would show a completed maneuver.
    @Test func suppressedBannerClearsThePreviousOne() throws {
        let town = try Town.grid()
        var config = NavigatorConfig()
        config.policy.asked = [.reviseInstruction]
        config.policy.deadline = 1_000
        var ride = Ride(town.map, config: config)
        ride.command(.setRoute(try town.plan("FGHC")))
        var answered = 0
        var banners = 0
        for fix in try town.fixes("FGHC").dropLast(10) {
            ride.drive(fix)
            for request in ride.questions.dropFirst(answered) {
                var words = RevisedInstruction()
                if case .reviseInstruction(.visual, _, _) = request.question {
                    words = RevisedInstruction(isSuppressed: banners > 0)
                    banners += 1
                }
                ride.send(
                    .policyAnswer(
                        requestID: request.requestID, PolicyAnswer(verdict: true, content: .instruction(words))))
            }
            answered = ride.questions.count
        }
        let shown = ride.told.compactMap { _, what -> Bool? in
            if case .visual(let visual, _, _) = what { visual != nil } else { nil }
        }
        #expect(banners > 1 && shown == [true, false])
        #expect(ride.progress.contains { $0.visualInstruction != nil })
        #expect(ride.progress.last?.visualInstruction == nil)
    }

    /// The main maneuver is not the one that follows, so the sub line must not show it.
    @Test func addedSubLineHasOnlyTheOwnersManeuver() throws {
        let town = try Town.grid()
        let maneuver = RevisedInstruction.SubManeuver(type: .rotary, modifier: .left, roundaboutExit: 3)
        for given in [nil, maneuver] {
            var config = NavigatorConfig()
            config.policy.asked = [.reviseInstruction]
            config.policy.deadline = 1_000
            var ride = Ride(town.map, config: config)
            ride.command(.setRoute(try town.plan("FGHC")))
            ride.drive(try town.fixes("FGHC").prefix(3))
            let request = try #require(
                ride.questions.first {
                    if case .reviseInstruction(.visual(let visual), _, _) = $0.question { return visual.sub == nil }
                    return false
                })
            let line = RevisedInstruction.Line(
                text: "Then", components: [.text("Then")], abbreviations: [BannerAbbreviation("T", priority: 0)])
            let words = RevisedInstruction(
                .visual(primary: nil, secondary: nil, sub: line, subManeuver: given, lanes: []))
            ride.send(
                .policyAnswer(
                    requestID: request.requestID, PolicyAnswer(verdict: true, content: .instruction(words))))
            let shown = try #require(
                ride.told.compactMap { _, what -> VisualInstruction? in
                    if case .visual(let visual, _, _) = what { visual } else { nil }
                }.last)
            #expect(shown.sub?.text == "Then" && shown.sub?.abbreviations == [BannerAbbreviation("T", priority: 0)])
            #expect(shown.sub?.type == given?.type && shown.sub?.modifier == given?.modifier)
            #expect(shown.sub?.roundaboutExit == given?.roundaboutExit && shown.primary.type != nil)
        }
    }

    @Test func withoutARouteEachFixGivesOnlyAPosition() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        let fixes = try town.fixes("FGHI")
        ride.drive(fixes)
        #expect(ride.positions == fixes.count)
        #expect(ride.phases == [.freeDrive])
        #expect(ride.told.count == fixes.count + 1)
        #expect(ride.told.allSatisfy { $0.context.sessionID == 0 && $0.context.routeID == 0 })
    }

    @Test(arguments: [1.0, 5, 10], [1, 2, 3, 4] as [UInt64])
    func noisyDriveAlongTheRouteIsNeverOffRoute(rate: Double, seed: UInt64) throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.setRoute(try town.plan("FGBCHMNO")))
        ride.drive(try town.fixes("FGBCHMNO", rate: rate, .urban, seed: seed))
        #expect(ride.reroutes.isEmpty)
        #expect(!ride.deviations.contains(.offRoute) && !ride.deviations.contains(.wrongWay))
        #expect(ride.story == ["ROUTE(set)", "APPROACHING", "ARRIVED"])
        let following = ride.progress.count { $0.deviation.state == .onRoute }
        #expect(Double(following) > 0.9 * Double(ride.progress.count))
    }

    @Test func progressValuesDecreaseAndAddUp() throws {
        let town = try Town.grid()
        let route = try town.map.route([town.waypoint("FG"), town.waypoint("CH"), town.waypoint("DE")])
        var ride = Ride(town.map)
        ride.command(.setRoute(RoutePlan(route, on: town.snapshot)))
        ride.drive(SeededDrive(town.snapshot.metric, route: route, environment: .open).map(\.fixes) ?? [])
        let progress = ride.progress
        let first = try #require(progress.first)
        #expect(abs(first.distanceRemaining - route.length) < 30)
        #expect(abs(first.durationRemaining - route.duration) < 5)
        for (before, after) in zip(progress, progress.dropFirst()) {
            #expect(after.offset >= before.offset)
            #expect(after.distanceRemaining <= before.distanceRemaining)
            #expect(after.durationRemaining <= before.durationRemaining)
            if before.leg == after.leg {
                #expect(after.legDistanceRemaining <= before.legDistanceRemaining)
                #expect(after.step >= before.step)
            } else {
                #expect(after.leg == before.leg + 1 && after.step == 0)
            }
        }
        for state in progress {
            let leg = route.legs[state.leg]
            #expect(abs(state.offset + state.distanceRemaining - route.length) < 1e-6)
            #expect(state.legDistanceRemaining <= leg.length + 1e-6)
            #expect(state.stepDistanceRemaining <= state.legDistanceRemaining + 1e-6)
            #expect(state.stepDurationRemaining <= state.legDurationRemaining + 1e-6)
            let later = route.legs[(state.leg + 1)...].reduce(0) { $0 + $1.length }
            #expect(abs(state.legDistanceRemaining + later - state.distanceRemaining) < 0.1)
            let laterDuration = route.legs[(state.leg + 1)...].reduce(0) { $0 + $1.duration }
            #expect(abs(state.legDurationRemaining + laterDuration - state.durationRemaining) < 0.1)
            #expect(state.waypointsRemaining == route.legs.count - state.leg)
        }
    }

    @Test func arrivalIsNotAnnouncedShortlyBeforeItHappens() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        // After 80 m, too close to the departure for "You will arrive" before the arrival.
        ride.command(.navigate([try town.waypoint("FG", 0.7)]))
        ride.drive(try town.fixes("FGH"))
        #expect(ride.arrivals.last?.phase == .arrived)
        #expect(ride.spoken.last?.hasPrefix("You have arrived") == true)
        #expect(!ride.spoken.contains { $0.hasPrefix("You will arrive") }, "\(ride.spoken)")
    }

    @Test func everyInstructionIsGivenOnce() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.setRoute(try town.plan("FGBCHMNO")))
        ride.drive(try town.fixes("FGBCHMNO", .open))
        var seen: Set<InstructionID> = []
        for (_, what) in ride.told {
            switch what {
            case .visual(let visual?, _, _): #expect(seen.insert(visual.id).inserted)
            case .spoken(let spoken, _, _): #expect(seen.insert(spoken.id).inserted)
            default: break
            }
        }
        #expect(ride.spoken.contains { $0.contains("Turn left onto Second Avenue") })
        #expect(ride.spoken.contains { $0.contains("turn right onto North Street") })
        #expect(ride.spoken.count >= 7)
    }

    @Test func approachIsPublishedOnEachFixAndBeginsOnce() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.setRoute(try town.plan("FGHI")))
        ride.drive(try town.fixes("FGHI"))
        let approaches = ride.arrivals.filter {
            $0.phase == .approaching(isFirst: true) || $0.phase == .approaching(isFirst: false)
        }
        #expect(approaches.count { $0.phase == .approaching(isFirst: true) } == 1)
        #expect(approaches.first?.phase == .approaching(isFirst: true))
        #expect(approaches.count > 10)
        #expect(approaches.allSatisfy { $0.durationRemaining <= 30 })
        for (before, after) in zip(approaches, approaches.dropFirst()) {
            #expect(after.distanceRemaining <= before.distanceRemaining)
        }
    }

    @Test func eachStopIsReachedOnceAndTheNextLegFollows() throws {
        let town = try Town.grid()
        let route = try town.map.route([
            town.waypoint("FG"), town.waypoint("BC"), town.waypoint("HM"), town.waypoint("NO"),
        ])
        var ride = Ride(town.map)
        ride.command(.setRoute(RoutePlan(route, on: town.snapshot)))
        ride.drive(SeededDrive(town.snapshot.metric, route: route, environment: .urban, seed: 5).map(\.fixes) ?? [])
        #expect(
            ride.story == [
                "ROUTE(set)", "APPROACHING", "ARRIVED(1)", "LEG_STARTED(1)", "APPROACHING", "ARRIVED(2)",
                "LEG_STARTED(2)", "APPROACHING", "ARRIVED",
            ])
        #expect(ride.arrivals.last?.isDestination == true)
        #expect(ride.phases.last == .guidance(.complete))
        #expect(ride.reroutes.isEmpty)
    }

    @Test func stopPassedBetweenTwoFixesIsReached() throws {
        let town = try Town(
            "A-------------------B", ways: ["AB": ["highway": "motorway", "name": "Motorway", "oneway": "yes"]])
        let route = try town.map.route([town.waypoint("AB", 0.1), town.waypoint("AB", 0.5), town.waypoint("AB", 0.9)])
        for phase in 0..<8 {
            var ride = Ride(town.map)
            ride.command(.setRoute(RoutePlan(route, on: town.snapshot)))
            for second in 0..<18 {
                let share = 0.1 + (Double(second) * 100 + Double(phase) * 12) / 2_000
                ride.drive(
                    Fix(
                        stamp: SeededDrive.start.advanced(bySeconds: Double(second) * 3),
                        coordinate: try town.place("AB", share), horizontalSigma: 3, speed: 33.3, course: .pi / 2,
                        type: .fix3D))
            }
            #expect(ride.story.filter { $0.hasPrefix("ARRIVED") } == ["ARRIVED(1)", "ARRIVED"], "phase \(phase)")
            #expect(ride.reroutes.isEmpty)
        }
    }

    @Test func withoutAutomaticAdvanceTheTripWaitsAtAStopForACommand() throws {
        let town = try Town.grid()
        var config = NavigatorConfig()
        config.legsAutoAdvance = false
        var ride = Ride(town.map, config: config)
        let route = try town.map.route([town.waypoint("FG"), town.waypoint("GH"), town.waypoint("HI")])
        ride.command(.setRoute(RoutePlan(route, on: town.snapshot)))
        ride.command(.advanceLeg())
        #expect(ride.arrivals.isEmpty)
        let first = try town.fixes("FGH")
        ride.drive(first)
        #expect(ride.story == ["ROUTE(set)", "APPROACHING", "ARRIVED(1)", "HELD"])
        #expect(ride.states.last?.isHeld == true)
        let standing = town.standing(at: try town.place("GH"), seconds: 30, after: first.last)
        let before = ride.progress.count
        ride.drive(standing)
        #expect(ride.progress.count == before + 30)
        ride.command(.advanceLeg())
        ride.command(.advanceLeg())
        #expect(ride.story.suffix(1) == ["LEG_STARTED(1)"])
        #expect(ride.states.last?.isHeld == false && ride.states.last?.leg == 1)
        ride.drive(try town.fixes("GHI", after: standing.last))
        #expect(ride.story.suffix(2) == ["APPROACHING", "ARRIVED"])
        #expect(ride.reroutes.isEmpty)
    }

    @Test func waitingTripIsNotReroutedAndResumesAtTheVehicle() throws {
        let town = try Town.grid()
        var config = NavigatorConfig()
        config.legsAutoAdvance = false
        var ride = Ride(town.map, config: config)
        let route = try town.map.route([town.waypoint("FG"), town.waypoint("GH"), town.waypoint("IJ")])
        ride.command(.setRoute(RoutePlan(route, on: town.snapshot)))
        let fixes = try town.fixes("FGHIJ")
        let beyond = try town.place("HI", 0.3).longitude
        let middle = try #require(fixes.firstIndex { $0.coordinate.longitude > beyond })
        ride.drive(fixes[..<middle])
        #expect(ride.states.last?.isHeld == true)
        #expect(ride.reroutes.isEmpty)
        // The progress stays at the stop; the displayed position is that of the vehicle.
        let held = try #require(ride.progress.last)
        #expect(held.leg == 0 && abs(held.legDistanceRemaining) < 1 && held.isSnapped)
        #expect(Geodesy.distance(held.snapped, fixes[middle - 1].coordinate) < 20)
        #expect(held.edge != nil && held.attributes != nil)
        #expect(ride.phases.last == .guidance(.tracking))
        ride.command(.advanceLeg())
        ride.drive(fixes[middle...])
        #expect(ride.story.suffix(2) == ["APPROACHING", "ARRIVED"])
        #expect(ride.reroutes.isEmpty)
    }

    @Test func afterTheArrivalOnlyPositionsArePublished() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        ride.command(.setRoute(try town.plan("FGH")))
        let fixes = try town.fixes("FGHI")
        ride.drive(fixes)
        let arrival = try #require(
            ride.told.firstIndex { if case .arrival(let event) = $0.what { event.phase == .arrived } else { false } })
        for (_, what) in ride.told[(arrival + 1)...] {
            switch what {
            case .position, .state: break
            default: Issue.record("published after the arrival: \(what)")
            }
        }
        #expect(ride.phases.last == .guidance(.complete))
    }

    @Test func progressOfAnArrivalHasItsInstructions() throws {
        let town = try Town(
            """
            A-----------------------------------B
            |                                   |
            C-----------------------------------D
            """, grid: 14,
            ways: [
                "AB": Town.road("North Street", ["oneway": "yes"]), "BD": Town.road("East Avenue"),
                "DC": Town.road("South Street", ["oneway": "yes"]), "CA": Town.road("West Avenue"),
            ])
        var ride = Ride(town.map)
        // On the map the place is on South Street; the vehicle passes it on North Street and parks beside it.
        ride.command(.navigate([Waypoint(try town.place("DC", 0.5, right: 13))]))
        let course = try town.map.bearing("A", "B")
        for second in 0..<24 {
            ride.drive(
                Fix(
                    stamp: SeededDrive.start.advanced(bySeconds: Double(second)),
                    coordinate: try town.place("AB", 0.1 + 0.015 * Double(second)), horizontalSigma: 3, speed: 7.5,
                    course: course, type: .fix3D, sequence: UInt64(second)))
        }
        let parked = try town.place("AB", 0.5, right: 7)
        for second in 24..<40 {
            ride.drive(
                Fix(
                    stamp: SeededDrive.start.advanced(bySeconds: Double(second)), coordinate: parked,
                    horizontalSigma: 3, speed: 0, type: .fix3D, sequence: UInt64(second)))
        }
        var progress: RouteProgress?
        var (said, shown): (InstructionID?, InstructionID?)
        for (_, what) in ride.told {
            switch what {
            case .progress(let new): progress = new
            case .spoken(let spoken, _, _): said = spoken.id
            case .visual(let visual, _, _): shown = visual?.id
            default: break
            }
        }
        #expect(ride.arrivals.last?.phase == .arrived && ride.spoken.last?.hasPrefix("You have arrived") == true)
        #expect(said != nil && progress?.spokenInstruction == said)
        #expect(shown != nil && progress?.visualInstruction == shown)
    }

    @Test func routeThatEndsAtItsStartArrivesImmediately() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        let here = try town.place("GH")
        ride.command(.navigate([Waypoint(here)]))
        ride.drive(town.standing(at: here, seconds: 3))
        #expect(ride.story.contains("ARRIVED"))
    }
}
