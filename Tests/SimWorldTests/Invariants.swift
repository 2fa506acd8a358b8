import NavNavigator

/// A violated rule.
struct Violation: Error, CustomStringConvertible {
    var rule: String
    /// The observation that violates the rule.
    var what: String

    var description: String { "\"\(rule)\" is violated: \(what)" }
}

/// An invariant of the navigator's inputs and outputs.
protocol Invariant: SendableMetatype {
    static var rule: String { get }
    init()
    /// Checks a step and returns the violation; nil when the rule is kept.
    mutating func violation(_ step: SimStep) -> String?
}

/// All invariants.
struct Invariants {
    /// The list, one rule per type.
    static var all: [any Invariant.Type] {
        [
            EventsAreCounted.self,
            TimeGoesOn.self,
            TimersMoveOn.self,
            PredictionsGiveWay.self,
            NumbersAreSound.self,
            // The trip.
            RoutesAreNumbered.self,
            DestinationIsKept.self,
            RemainingNeverGrows.self,
            ProgressKeepsComing.self,
            ArrivalsOncePerStop.self,
            NothingFinalIsExpected.self,
            ArrivalsAreThere.self,
            StateTellsTheTruth.self,
            // Publications.
            InstructionsOnce.self,
            SilentOffRoute.self,
            InstructionsGoForward.self,
            // Requests.
            OneRequestPerPurpose.self,
            RequestsEndInTime.self,
            CallsAreAnsweredOnce.self,
            QuestionsAreDecidedOnce.self,
            QuestionsEndWithTheirRoute.self,
            LateAnswersChangeNothing.self,
            // Sequences that must end.
            ReroutesEnd.self,
            SwitchesEnd.self,
            FasterRoutesEnd.self,
            RefreshesEnd.self,
            PredictionsEnd.self,
            // Offers.
            AlternativesAreOthers.self,
            PreviewsAreSound.self,
            TilesAreNamed.self,
        ]
    }

    private var rules: [any Invariant] = all.map { $0.init() }

    init() {}

    /// Checks a step against all rules.
    mutating func check(_ step: SimStep) throws(Violation) {
        for index in rules.indices {
            if let what = rules[index].violation(step) {
                throw Violation(rule: type(of: rules[index]).rule, what: what)
            }
        }
    }
}

extension SimStep {
    /// The publications of the step, in order.
    var publications: [(context: EventContext, what: Publication)] {
        effects.compactMap { if case .publish(let context, let what) = $0 { (context, what) } else { nil } }
    }
}
