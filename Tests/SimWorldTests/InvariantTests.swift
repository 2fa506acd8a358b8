import NavGeo
import NavGuidance
import NavMatching
import NavNavigator
import NavPositioning
import NavRouting
import Testing

/// Each rule detects a violation: simulated drives keep the rule, and the same drives with one change violate it.
@Suite struct InvariantTests {
    /// A rule with a breaking change, which edits a step of a drive and returns whether it was possible.
    struct Break: Sendable, CustomTestStringConvertible {
        let rule: any Invariant.Type
        let edit: @Sendable (inout SimStep, Int) -> Bool

        var testDescription: String { "\(rule)" }

        init(_ rule: any Invariant.Type, _ edit: @escaping @Sendable (inout SimStep, Int) -> Bool) {
            self.rule = rule
            self.edit = edit
        }

        /// Changes publications: nil leaves a publication unchanged.
        static func told(
            _ rule: any Invariant.Type, _ change: @escaping @Sendable (Publication, Int) -> [Publication]?
        ) -> Break {
            Break(rule) { step, index in
                step.change { effect in
                    guard case .publish(let context, let what) = effect, let other = change(what, index) else {
                        return nil
                    }
                    return other.map { .publish(context, $0) }
                }
            }
        }

        /// Changes effects: nil leaves an effect unchanged.
        static func done(_ rule: any Invariant.Type, _ change: @escaping @Sendable (Effect) -> [Effect]?) -> Break {
            Break(rule) { step, _ in step.change(change) }
        }
    }

    static let breaks: [Break] = [
        .done(EventsAreCounted.self) { effect in
            guard case .publish(var context, let what) = effect else { return nil }
            context.eventSequence += 1
            return [.publish(context, what)]
        },
        .told(TimeGoesOn.self) { what, index in
            guard case .position(var position) = what else { return nil }
            position.fix.stamp = SimWorld.start.advanced(bySeconds: -Double(index))
            return [.position(position)]
        },
        Break(TimersMoveOn.self) { step, _ in
            guard case .timer = step.event.kind else { return false }
            step.due = step.event.stamp
            return true
        },
        Break(PredictionsGiveWay.self) { step, _ in
            guard case .fix(let fix) = step.event.kind, step.lastFix == fix.stamp else { return false }
            return step.change { effect in
                guard case .publish(let context, .position(var position)) = effect else { return nil }
                position.prediction = .alongRoute
                return [.publish(context, .position(position))]
            }
        },
        .told(NothingFinalIsExpected.self) { what, _ in
            guard case .position(var position) = what else { return nil }
            (position.evidence, position.prediction) = (.expected, .alongRoute)
            return [.position(position)]
        },
        Break(ArrivalsAreThere.self) { step, _ in
            step.truth.latitude += 0.1
            return step.change { effect in
                guard case .publish(let context, .position(var position)) = effect else { return nil }
                position.prediction = .odometry
                return [.publish(context, .position(position))]
            }
        },
        .told(NumbersAreSound.self) { what, _ in
            guard case .progress(var progress) = what else { return nil }
            progress.durationRemaining = .nan
            return [.progress(progress)]
        },
        .done(RoutesAreNumbered.self) { effect in
            guard case .publish(var context, .route(let plan?, .rerouted)) = effect else { return nil }
            context.routeID += 1
            return [.publish(context, .route(plan, .rerouted))]
        },
        .told(DestinationIsKept.self) { what, _ in
            guard case .route(var plan?, .rerouted) = what else { return nil }
            plan.route.waypoints[plan.route.waypoints.count - 1].waypoint.coordinate.latitude += 0.001
            return [.route(plan, .rerouted)]
        },
        .told(RemainingNeverGrows.self) { what, index in
            guard case .progress(var progress) = what else { return nil }
            progress.distanceRemaining = Double(index)
            return [.progress(progress)]
        },
        .told(ProgressKeepsComing.self) { what, _ in if case .progress = what { [] } else { nil } },
        .told(ArrivalsOncePerStop.self) { what, _ in
            guard case .arrival(let event) = what, event.phase == .arrived else { return nil }
            return [what, what]
        },
        .told(StateTellsTheTruth.self) { what, _ in
            guard case .state(var state) = what else { return nil }
            state.isRerouting.toggle()
            return [.state(state)]
        },
        .told(InstructionsOnce.self) { what, _ in if case .spoken = what { [what, what] } else { nil } },
        .told(SilentOffRoute.self) { what, _ in
            guard case .progress(var progress) = what else { return nil }
            progress.deviation.state = .offRoute
            return [.progress(progress)]
        },
        .told(InstructionsGoForward.self) { what, index in
            guard case .visual(var visual?, let distance, let duration) = what else { return nil }
            visual.id.step = 1_000_000 - index
            return [.visual(visual, distance: distance, duration: duration)]
        },
        .done(OneRequestPerPurpose.self) { effect in
            guard case .requestRoute(var query) = effect, query.purpose == .reroute else { return nil }
            query.requestID += 1_000_000
            return [effect, .requestRoute(query)]
        },
        Break(RequestsEndInTime.self) { step, _ in
            step.due = nil
            return true
        },
        .done(CallsAreAnsweredOnce.self) { effect in if case .reply = effect { [effect, effect] } else { nil } },
        .told(QuestionsAreDecidedOnce.self) { what, _ in
            guard case .policyDecision(let decision) = what, decision.requestID > 0 else { return nil }
            return [what, what]
        },
        Break(QuestionsEndWithTheirRoute.self) { step, _ in
            guard case .policyAnswer = step.event.kind else { return false }
            step.event.kind = .timer
            return true
        },
        Break(LateAnswersChangeNothing.self) { step, _ in
            guard case .routeAnswer(let id, let answer) = step.event.kind else { return false }
            step.event.kind = .routeAnswer(requestID: id + 1_000_000, answer)
            return true
        },
        .told(ReroutesEnd.self) { what, _ in
            guard case .reroute(let event) = what, case .applied = event.phase, !event.isProactive else { return nil }
            return []
        },
        .told(SwitchesEnd.self) { what, _ in
            guard case .alternativeSwitch(let event) = what, case .taken = event.phase else { return nil }
            return []
        },
        .told(FasterRoutesEnd.self) { what, _ in
            guard case .fasterRoute(let event) = what else { return nil }
            if case .detected = event.phase { return nil }
            return []
        },
        .told(RefreshesEnd.self) { what, _ in
            guard case .refresh(let event) = what, case .refreshed = event.phase else { return nil }
            return []
        },
        .told(PredictionsEnd.self) { what, _ in
            guard case .simulation(let event) = what, event.phase == .began else { return nil }
            return []
        },
        .told(AlternativesAreOthers.self) { what, _ in
            guard case .alternatives(var update) = what, let first = update.added.first else { return nil }
            update.added.append(first)
            return [.alternatives(update)]
        },
        .told(PreviewsAreSound.self) { what, _ in
            guard case .preview(var preview) = what else { return nil }
            preview.active = 3
            return [.preview(preview)]
        },
        .done(TilesAreNamed.self) { effect in if case .needTiles = effect { [] } else { nil } },
    ]

    @Test func unboundedGrowthIsDetected() {
        #expect(
            StateIsBounded.violation(["questions.all": 64, "alternatives.kept.own": 60, "trip.times.edges": 900]) == nil
        )
        #expect(StateIsBounded.violation(["questions.all": 65]) != nil)
        #expect(StateIsBounded.violation(["alternatives.kept": 3]) != nil)
        #expect(StateIsBounded.violation(["positioning.healthMonitor.seen": 65]) != nil)
    }

    @Test func footprintCoversTheWholeNavigator() throws {
        // A world that ends during a trip is used.
        var world = try SimWorld(seed: 3)
        try world.run { _, _ in }
        let counts = Footprint(world.navigator).counts
        #expect(counts["questions.all"] != nil && counts["routes.all"] != nil)
        #expect(counts.keys.contains { $0.hasPrefix("trip.") }, "the footprint includes the trip")
    }

    @Test func everyRuleHasABreakingChange() {
        #expect(Invariants.all.map { "\($0)" }.sorted() == Self.breaks.map { "\($0.rule)" }.sorted())
    }

    /// Drives until a step can be changed, and checks the drive with and without the change.
    @Test(arguments: breaks) func breakingChangeIsDetected(_ broken: Break) throws {
        for seed in UInt64(1)...300 {
            var (sound, other) = (broken.rule.init(), broken.rule.init())
            var (index, isChanged) = (0, false)
            var (unsound, found): (String?, String?)
            var world = try SimWorld(seed: seed)
            try world.run { step, _ in
                index += 1
                unsound = unsound ?? sound.violation(step)
                var step = step
                if broken.edit(&step, index) { isChanged = true }
                found = found ?? other.violation(step)
            }
            guard isChanged, found != nil || seed > 60 else { continue }
            #expect(unsound == nil, "seed \(seed)")
            #expect(found != nil, "seed \(seed)")
            return
        }
        Issue.record("no drive contains the step to change")
    }
}

extension SimStep {
    /// Changes effects (nil leaves an effect unchanged) and returns whether one was changed.
    fileprivate mutating func change(_ change: (Effect) -> [Effect]?) -> Bool {
        var isChanged = false
        effects = effects.flatMap { effect in
            guard let other = change(effect) else { return [effect] }
            isChanged = true
            return other
        }
        return isChanged
    }
}
