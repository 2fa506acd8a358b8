public import NavGeo
public import NavGuidance
public import NavMatching
public import NavPositioning
public import NavRouting

/// The kinds of decisions that the vehicle's owner may take.
public enum PolicyKind: String, Sendable, Hashable, CaseIterable {
    case shouldReroute = "should_reroute"
    case rerouteOptions = "reroute_options"
    case acceptReroute = "accept_reroute"
    case shouldTakeAlternative = "should_take_alternative"
    case acceptFasterRoute = "accept_faster_route"
    case shouldDiscardFix = "should_discard_fix"
    case shouldPreventReroutesWhenArriving = "should_prevent_reroutes_when_arriving"
    case shouldAdvanceLeg = "should_advance_leg"
    case reviseInstruction = "revise_instruction"

    /// Whether its decisions are published also when nobody was asked. Those of single fixes and instructions are not: they are many, and
    /// what is published of these tells as much.
    var isAlwaysTold: Bool {
        switch self {
        case .shouldReroute, .acceptReroute, .shouldTakeAlternative, .acceptFasterRoute,
            .shouldPreventReroutesWhenArriving, .shouldAdvanceLeg:
            true
        case .rerouteOptions, .shouldDiscardFix, .reviseInstruction: false
        }
    }
}

/// A decision that is to be taken, with what it is about.
public enum PolicyQuestion: Sendable, Equatable {
    case shouldReroute(RerouteEvent.Reason, DeviationState)
    /// With which preferences, and through which waypoints, is the new route asked for?
    case rerouteOptions(RerouteEvent.Reason, RoutePreferences, [Waypoint])
    /// May a new route come into force whose first maneuver is so near, seconds away?
    case acceptReroute(RoutePlan, RerouteEvent.Reason, maneuverIn: Double)
    /// May the alternative be taken that the vehicle turned onto?
    case shouldTakeAlternative(OfferedAlternative)
    case acceptFasterRoute(RoutePlan, FasterRouteGain)
    /// Is a fix that does not qualify to be left out?
    case shouldDiscardFix(Fix, FixRejection)
    /// Does leaving the route so near to the waypoint lead to no new one?
    case shouldPreventReroutesWhenArriving(waypoint: Int, RouteWaypoint)
    /// Does the next leg begin at the waypoint?
    case shouldAdvanceLeg(waypoint: Int, RouteWaypoint)
    case reviseInstruction(Instruction, distance: Double, duration: Double)

    public var kind: PolicyKind {
        switch self {
        case .shouldReroute: .shouldReroute
        case .rerouteOptions: .rerouteOptions
        case .acceptReroute: .acceptReroute
        case .shouldTakeAlternative: .shouldTakeAlternative
        case .acceptFasterRoute: .acceptFasterRoute
        case .shouldDiscardFix: .shouldDiscardFix
        case .shouldPreventReroutesWhenArriving: .shouldPreventReroutesWhenArriving
        case .shouldAdvanceLeg: .shouldAdvanceLeg
        case .reviseInstruction: .reviseInstruction
        }
    }
}

/// A question to the owner's policy, with the answer that it has without one.
public struct PolicyRequest: Sendable, Equatable {
    /// Comes back with the answer.
    public var requestID: UInt64
    public var question: PolicyQuestion
    /// The answer if none comes.
    public var standard: Bool
    /// By when the answer counts.
    public var deadline: Timestamp
    public var stamp: Timestamp
    /// Sequence of the message that led to it, 0 for none: the cause of what follows from the answer, and from the lack of one.
    public internal(set) var causeSequence: UInt64 = 0
}

public enum PolicyDecider: Sendable, Hashable, CaseIterable {
    case standard
    /// The owner's node.
    case client
    /// The default: the owner's node was silent past the deadline.
    case timeout
    /// The default: the owner's node was not reachable, or its answer was not valid.
    case unavailable
    /// The owner's node, in a drive that was recorded.
    case recorded
}

public struct RevisedInstruction: Sendable, Hashable {
    public struct Line: Sendable, Hashable {
        public var text: String
        public var components: [BannerComponent]

        public init(text: String, components: [BannerComponent]) {
            self.text = text
            self.components = components
        }
    }

    /// The replacing content. It counts only for an instruction of its kind.
    public enum Content: Sendable, Hashable {
        /// All that is shown; without a main line that of the instruction.
        case visual(primary: Line?, secondary: Line?, sub: Line?, lanes: [Lane])
        /// Text, nil for that of the instruction, and Speech Synthesis Markup Language, nil for that of the instruction or, with other text,
        /// for none.
        case spoken(text: String?, ssml: String?)
    }

    /// The replacing content; nil for none.
    public var content: Content?
    /// The language of the texts as a BCP 47 tag; nil for that of the instruction.
    public var language: String?
    public var isSuppressed: Bool

    /// Another content, or none at all.
    public init(_ content: Content? = nil, language: String? = nil, isSuppressed: Bool = false) {
        self.content = content
        self.language = language
        self.isSuppressed = isSuppressed
    }

    /// The instruction as it is told; a content of the other kind changes nothing.
    func applied(to instruction: Instruction) -> Instruction {
        switch (instruction, content) {
        case (.visual(var visual), .visual(let primary, let secondary, let sub, let lanes)):
            let own = visual.primary
            visual.primary = banner(primary, own) ?? own
            visual.secondary = banner(secondary, visual.secondary ?? own)
            visual.sub = banner(sub, visual.sub ?? own)
            visual.lanes = lanes
            visual.language = language
            return .visual(visual)
        case (.spoken(var spoken), .spoken(let text, let ssml)):
            spoken.ssml = ssml ?? (text == nil ? spoken.ssml : "")
            spoken.text = text ?? spoken.text
            spoken.language = language
            return .spoken(spoken)
        default: return instruction
        }
    }

    private func banner(_ line: Line?, _ own: Banner) -> Banner? {
        line.map { line in
            var banner = own
            (banner.text, banner.components) = (line.text, line.components)
            return banner
        }
    }
}

/// An answer to a ``PolicyRequest``.
public struct PolicyAnswer: Sendable, Equatable {
    /// The content that goes with a yes.
    public enum Content: Sendable, Equatable {
        /// Wishes for the new route and the waypoints that it is to lead through; none for those that it has.
        case reroute(RoutePreferences?, [Waypoint])
        case instruction(RevisedInstruction)
    }

    /// Yes or no; nil leaves it to the standard answer.
    public var verdict: Bool?
    public var decider: PolicyDecider
    public var reason: String
    /// Seconds for which a no is not questioned again; nil for the configured time.
    public var hold: Double?
    public var content: Content?
    /// Seconds from the question to the answer as the asker measured them; nil for the difference of the stamps, which are
    /// those of fixes.
    public var latency: Double?

    public init(
        verdict: Bool?, decider: PolicyDecider = .client, reason: String = "", hold: Double? = nil,
        content: Content? = nil, latency: Double? = nil
    ) {
        self.verdict = verdict
        self.decider = decider
        self.reason = reason
        self.hold = hold
        self.content = content
        self.latency = latency
    }
}

public struct PolicyDecision: Sendable, Equatable {
    /// The question's number; 0 when nobody was asked.
    public var requestID: UInt64
    public var kind: PolicyKind
    public var verdict: Bool
    public var answer: PolicyAnswer
    /// Seconds from the question to the decision.
    public var latency: Double
}

/// The configuration of policy requests: their kinds and deadlines.
public struct PolicyConfig: Sendable, Hashable {
    /// The kinds that the owner's node is asked.
    public var asked: Set<PolicyKind> = []
    /// The longest wait for an answer, seconds. 0.2: less than the time between two fixes, so that a decision is never a fix late.
    public var deadline = 0.2
    /// The same for the approval of a faster route, seconds. 10: a person may be behind it.
    public var approvalDeadline = 10.0
    /// Seconds beyond the deadline after which a question is decided here. The core's time goes with the fixes, whose stamps tell
    /// little of how long an answer has really had; where the one who asks watches the clock, it says first that the time is over.
    public var grace = 0.0
    /// The time that a no holds when the answer does not say, seconds. 10: judgement; about once a block in a town.
    public var hold = 10.0

    /// Returns the longest wait for the answer to a question of a kind, seconds.
    func patience(_ kind: PolicyKind) -> Double { kind == .acceptFasterRoute ? approvalDeadline : deadline }

    /// Returns how long a question of a kind stays open.
    func longestWait(_ kind: PolicyKind) -> Double { patience(kind) + grace }
}
