import NavNavigator

/// A rule that did not hold.
struct Breach: Error, CustomStringConvertible {
    /// What always holds.
    var rule: String
    /// What was seen instead.
    var what: String

    var description: String { "\"\(rule)\" is violated: \(what)" }
}

/// Something that always holds of what goes in and what comes out, whatever happens.
protocol Invariant: SendableMetatype {
    /// In words.
    static var rule: String { get }
    init()
    /// Takes a step in; what is wrong with it, nil when it holds.
    mutating func breach(_ step: SimStep) -> String?
}

/// Everything that always holds.
struct Invariants {
    /// The list, one rule a type.
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
            // What is told.
            InstructionsOnce.self,
            SilentOffRoute.self,
            InstructionsGoForward.self,
            // What is asked for.
            OneRequestPerPurpose.self,
            RequestsEndInTime.self,
            CallsAreAnsweredOnce.self,
            QuestionsAreDecidedOnce.self,
            QuestionsEndWithTheirRoute.self,
            LateAnswersChangeNothing.self,
            // What begins has its end.
            ReroutesEnd.self,
            SwitchesEnd.self,
            FasterRoutesEnd.self,
            RefreshesEnd.self,
            PredictionsEnd.self,
            // What is offered.
            AlternativesAreOthers.self,
            PreviewsAreSound.self,
            TilesAreNamed.self,
        ]
    }

    private var rules: [any Invariant] = all.map { $0.init() }

    init() {}

    /// Takes a step in.
    mutating func check(_ step: SimStep) throws(Breach) {
        for index in rules.indices {
            if let what = rules[index].breach(step) {
                throw Breach(rule: type(of: rules[index]).rule, what: what)
            }
        }
    }
}

extension SimStep {
    /// What was published, in order.
    var publications: [(context: EventContext, what: Publication)] {
        effects.compactMap { if case .publish(let context, let what) = $0 { (context, what) } else { nil } }
    }
}
