package import NavGeo
package import NavGuidance
package import NavMatching
package import NavPositioning
package import NavRouting

/// The kinds of decisions that the vehicle's owner may take.
package enum PolicyKind: String, Sendable, Hashable, CaseIterable {
    case shouldReroute = "should_reroute"
    case rerouteOptions = "reroute_options"
    case acceptReroute = "accept_reroute"
    case shouldTakeAlternative = "should_take_alternative"
    case acceptFasterRoute = "accept_faster_route"
    case shouldDiscardFix = "should_discard_fix"
    case shouldPreventReroutesWhenArriving = "should_prevent_reroutes_when_arriving"
    case shouldAdvanceLeg = "should_advance_leg"
    case reviseInstruction = "revise_instruction"

    /// Whether its decisions are published even without a request. Decisions on single fixes and instructions are not, because they are
    /// frequent and other publications carry the same information.
    var isAlwaysPublished: Bool {
        switch self {
        case .shouldReroute, .acceptReroute, .shouldTakeAlternative, .acceptFasterRoute,
            .shouldPreventReroutesWhenArriving, .shouldAdvanceLeg:
            true
        case .rerouteOptions, .shouldDiscardFix, .reviseInstruction: false
        }
    }

    /// Whether a refusal remains valid for a time before the same decision is requested again.
    var isHeld: Bool {
        switch self {
        case .shouldReroute, .acceptReroute, .shouldTakeAlternative, .acceptFasterRoute: true
        case .rerouteOptions, .shouldDiscardFix, .shouldPreventReroutesWhenArriving, .shouldAdvanceLeg,
            .reviseInstruction:
            false
        }
    }
}

/// A decision to take, with its subject.
package enum PolicyQuestion: Sendable, Equatable {
    case shouldReroute(RerouteEvent.Reason, DeviationState)
    /// The preferences and the waypoints for the new route.
    case rerouteOptions(RerouteEvent.Reason, RoutePreferences, [Waypoint])
    /// Whether a new route comes into force although its first maneuver is only `maneuverIn` seconds away.
    case acceptReroute(RoutePlan, RerouteEvent.Reason, maneuverIn: Double)
    /// Whether to take the alternative that the vehicle turned onto.
    case shouldTakeAlternative(OfferedAlternative)
    case acceptFasterRoute(id: UInt64, RoutePlan, FasterRouteGain)
    /// Whether to discard a fix that does not qualify.
    case shouldDiscardFix(Fix, FixRejection)
    /// Whether to suppress reroutes this close to the waypoint.
    case shouldPreventReroutesWhenArriving(waypoint: Int, RouteWaypoint)
    /// Whether the next leg begins at the waypoint.
    case shouldAdvanceLeg(waypoint: Int, RouteWaypoint)
    case reviseInstruction(Instruction, distance: Double, duration: Double)

    package var kind: PolicyKind {
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

/// A question to the owner's policy, with its default answer.
package struct PolicyRequest: Sendable, Equatable {
    /// The request's id, which the answer repeats.
    package var requestID: UInt64
    package var question: PolicyQuestion
    /// The default answer, used when none arrives.
    package var standard: Bool
    /// The deadline for the answer.
    package var deadline: Timestamp
    package var stamp: Timestamp
    /// The sequence of the message that led to the question, as the cause of the effects of its answer or timeout; 0 for none.
    package internal(set) var causeSequence: UInt64 = 0

    /// Moves its moments when the clock is set.
    mutating func moveClock(by nanoseconds: Int64) {
        stamp.move(by: nanoseconds)
        deadline.move(by: nanoseconds)
    }
}

package enum PolicyDecider: Sendable, Hashable, CaseIterable {
    case standard
    /// The owner's node.
    case client
    /// The default, because the owner's node did not answer by the deadline.
    case timeout
    /// The default, because the owner's node was unreachable or its answer invalid.
    case unavailable
    /// The owner's node, during the recorded drive.
    case recorded
}

package struct RevisedInstruction: Sendable, Hashable {
    package struct Line: Sendable, Hashable {
        package var text: String
        package var components: [BannerComponent]
        /// The shorter forms of the components, one for each; nil for our own.
        package var abbreviations: [BannerAbbreviation?]?

        package init(text: String, components: [BannerComponent], abbreviations: [BannerAbbreviation?]? = nil) {
            self.text = text
            self.components = components
            self.abbreviations = abbreviations
        }
    }

    /// The maneuver of a sub line.
    package struct SubManeuver: Sendable, Hashable {
        package var type: ManeuverType?
        package var modifier: ManeuverModifier?
        package var roundaboutExit: Int?

        package init(type: ManeuverType? = nil, modifier: ManeuverModifier? = nil, roundaboutExit: Int? = nil) {
            self.type = type
            self.modifier = modifier
            self.roundaboutExit = roundaboutExit
        }
    }

    /// The replacing content, which applies only to an instruction of the same kind.
    package enum Content: Sendable, Hashable {
        /// All displayed content; a nil `primary` keeps the instruction's main line, a nil `subManeuver` that of its sub line.
        case visual(primary: Line?, secondary: Line?, sub: Line?, subManeuver: SubManeuver? = nil, lanes: [Lane])
        /// Text and Speech Synthesis Markup Language; nil keeps the instruction's own, except that a new text without SSML removes the
        /// SSML.
        case spoken(text: String?, ssml: String?)
    }

    /// The replacing content; nil for none.
    package var content: Content?
    /// The language of the texts as a BCP 47 tag; nil for the instruction's own.
    package var language: String?
    package var isSuppressed: Bool

    /// Creates a revision, with or without new content.
    package init(_ content: Content? = nil, language: String? = nil, isSuppressed: Bool = false) {
        self.content = content
        self.language = language
        self.isSuppressed = isSuppressed
    }

    /// Returns the revised instruction; content of the other kind changes nothing.
    func applied(to instruction: Instruction) -> Instruction {
        switch (instruction, content) {
        case (.visual(var visual), .visual(let primary, let secondary, let sub, let maneuver, let lanes)):
            let own = visual.primary
            var following = visual.sub ?? own
            // An added line is for a maneuver that only the owner can specify.
            if let maneuver = maneuver ?? (visual.sub == nil ? SubManeuver() : nil) {
                (following.type, following.modifier) = (maneuver.type, maneuver.modifier)
                following.roundaboutExit = maneuver.roundaboutExit
            }
            visual.primary = banner(primary, own) ?? own
            visual.secondary = banner(secondary, visual.secondary ?? own)
            visual.sub = banner(sub, following)
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
            (banner.text, banner.components, banner.abbreviations) = (line.text, line.components, line.abbreviations)
            return banner
        }
    }
}

/// An answer to a ``PolicyRequest``.
package struct PolicyAnswer: Sendable, Equatable {
    /// The content that accompanies an approval.
    package enum Content: Sendable, Equatable {
        /// The preferences and waypoints for the new route; nil and empty for the trip's own.
        case reroute(RoutePreferences?, [Waypoint])
        case instruction(RevisedInstruction)
    }

    /// Whether the question is approved; nil for the default answer.
    package var verdict: Bool?
    package var decider: PolicyDecider
    package var reason: String
    /// The time for which a refusal remains valid, seconds; nil for the configured time.
    package var hold: Double?
    package var content: Content?
    /// Seconds from the question to the answer as measured by the caller; nil to derive them from stamps, which are those of fixes.
    package var latency: Double?

    package init(
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

package struct PolicyDecision: Sendable, Equatable {
    /// The request's number; 0 when no request was made.
    package var requestID: UInt64
    package var kind: PolicyKind
    package var verdict: Bool
    package var answer: PolicyAnswer
    /// Seconds from the question to the decision.
    package var latency: Double
}

/// The configuration of policy requests: their kinds and deadlines.
package struct PolicyConfig: Sendable, Hashable {
    /// The kinds of decisions that are requested from the owner's node.
    package var asked: Set<PolicyKind> = []
    /// The longest wait for an answer, seconds. 0.2: less than the interval between two fixes, so that no decision is delayed by a fix.
    package var deadline = 0.2
    /// The longest wait for the approval of a faster route, seconds. 10: a person may have to answer.
    package var approvalDeadline = 10.0
    /// Seconds beyond the deadline after which the default answer is taken. The core's time advances with the stamps of fixes, which
    /// measure the real waiting time poorly; a caller with a clock reports the timeout first.
    package var grace = 0.0
    /// The default time for which a refusal remains valid, seconds. 10: our own estimate; about one block in a town.
    package var hold = 10.0

    /// Returns the longest wait for the answer to a question of a kind, seconds.
    func patience(_ kind: PolicyKind) -> Double { kind == .acceptFasterRoute ? approvalDeadline : deadline }

    /// Returns the longest time for which a question of a kind stays pending, seconds.
    func longestWait(_ kind: PolicyKind) -> Double { patience(kind) + grace }
}
