package import NavGeo
package import NavGuidance
import NavMatching
package import NavMessages
package import NavNavigator
import NavPositioning
package import NavRouting

/// The context that every policy request carries.
package struct PolicySurroundings {
    var context: EventContext
    /// The last published position and progress.
    var position: NavMessages.MatchedPosition?
    var progress: NavMessages.RouteProgress?
    var route: NavRouting.Route?
    var guidance: RouteGuidance?
    var rejected: NavMessages.GnssFix?

    package init(
        context: EventContext, position: NavMessages.MatchedPosition?, progress: NavMessages.RouteProgress?,
        plan: RoutePlan?, rejected: NavMessages.GnssFix?
    ) {
        (self.context, self.position, self.progress) = (context, position, progress)
        (route, guidance, self.rejected) = (plan?.route, plan?.guidance, rejected)
    }
}

extension NavMessages.PolicyRequest {
    package init(_ request: NavNavigator.PolicyRequest, _ around: PolicySurroundings) {
        let standard: PolicyVerdict = request.standard ? .yes : .no
        let context = PolicyContext(
            requestId: request.requestID, stampNs: request.stamp.nanoseconds, deadlineNs: request.deadline.nanoseconds,
            sessionId: around.context.session, routeId: around.context.route, causeSequence: around.context.cause,
            defaultVerdict: standard, position: around.position, progress: around.progress)
        self.init(
            stampNs: request.stamp.nanoseconds, sessionId: around.context.session, routeId: around.context.route,
            causeSequence: around.context.cause, eventSequence: around.context.eventSequence,
            requestId: request.requestID, kind: NavMessages.PolicyKind(request.question.kind),
            deadlineNs: request.deadline.nanoseconds, defaultVerdict: standard,
            question: Question(request.question, context, around))
    }
}

extension NavMessages.PolicyRequest.Question {
    fileprivate init(_ question: PolicyQuestion, _ context: PolicyContext, _ around: PolicySurroundings) {
        switch question {
        case .shouldReroute(let reason, let deviation):
            self = .shouldReroute(
                ShouldRerouteRequest(
                    context: context, reason: RerouteReason(reason), deviation: NavMessages.DeviationState(deviation)))
        case .rerouteOptions(let reason, let preferences, let waypoints):
            // These two have no meaning for a trip in progress.
            var options = NavMessages.RouteOptions(preferences)
            (options.alternatives, options.departureNs) = (nil, nil)
            self = .rerouteOptions(
                RerouteOptionsRequest(
                    context: context, reason: RerouteReason(reason), options: options,
                    waypoints: waypoints.map { NavMessages.Waypoint($0) }))
        case .acceptReroute(let plan, let reason, let seconds):
            self = .acceptReroute(
                AcceptRerouteRequest(
                    context: context, reason: RerouteReason(reason),
                    route: NavMessages.Route(offered: plan, id: nil, in: around.context), maneuverInS: seconds))
        case .shouldTakeAlternative(let offered):
            self = .shouldTakeAlternative(
                ShouldTakeAlternativeRequest(
                    context: context, alternative: NavMessages.Alternative(offered, in: around.context)))
        case .acceptFasterRoute(let id, let plan, let gain):
            self = .acceptFasterRoute(
                ShouldAcceptFasterRouteRequest(
                    context: context, route: NavMessages.Route(offered: plan, id: id, in: around.context),
                    gainS: gain.seconds, gainRatio: gain.share))
        case .shouldDiscardFix(_, let rejection):
            self = .shouldDiscardFix(
                ShouldDiscardFixRequest(
                    context: context, fix: around.rejected, reason: FixRejectionReason(rejection.reason)))
        case .shouldPreventReroutesWhenArriving(let index, let waypoint):
            self = .shouldPreventReroutesWhenArriving(
                ShouldPreventReroutesWhenArrivingRequest(
                    context: context, waypoint: NavMessages.Waypoint(waypoint, on: around.route),
                    waypointIndex: UInt32(clamping: index)))
        case .shouldAdvanceLeg(let index, let waypoint):
            self = .shouldAdvanceLeg(
                ShouldAdvanceLegRequest(
                    context: context, waypoint: NavMessages.Waypoint(waypoint, on: around.route),
                    waypointIndex: UInt32(clamping: index)))
        case .reviseInstruction(let instruction, let distance, let duration):
            self = .reviseInstruction(
                ReviseInstructionRequest(
                    context: context,
                    instruction: ReviseInstructionRequest.Instruction(instruction, distance, duration, around)))
        }
    }
}

extension ReviseInstructionRequest.Instruction {
    fileprivate init?(
        _ instruction: NavGuidance.Instruction, _ distance: Double, _ duration: Double, _ around: PolicySurroundings
    ) {
        switch instruction {
        case .visual(let visual):
            guard let guidance = around.guidance else { return nil }
            self = .visual(
                NavMessages.VisualInstruction(
                    visual, distance: distance, duration: duration, context: around.context, guidance: guidance))
        case .spoken(let spoken):
            self = .spoken(
                NavMessages.SpokenInstruction(
                    spoken, distance: distance, duration: duration, context: around.context,
                    guidance: around.guidance))
        }
    }
}

extension NavMessages.PolicyDecision {
    package init(_ decision: NavNavigator.PolicyDecision, context: EventContext) {
        let answer = decision.answer
        self.init(
            stampNs: context.stamp.nanoseconds, sessionId: context.session, routeId: context.route,
            causeSequence: context.cause, eventSequence: context.eventSequence,
            requestId: decision.requestID == 0 ? nil : decision.requestID, kind: NavMessages.PolicyKind(decision.kind),
            verdict: decision.verdict ? .yes : .no, decidedBy: NavMessages.PolicyDecider(answer.decider),
            reason: answer.reason.isEmpty ? nil : answer.reason, holdS: answer.hold, latencyS: decision.latency,
            content: answer.content.map { Content($0) })
    }

    /// Creates the message of an answer as it entered the core.
    package init(
        _ answer: NavNavigator.PolicyAnswer, to request: NavNavigator.PolicyRequest, at stamp: NavGeo.Timestamp
    ) {
        self.init(
            stampNs: stamp.nanoseconds, requestId: request.requestID,
            kind: NavMessages.PolicyKind(request.question.kind), verdict: answer.verdict.map { $0 ? .yes : .no },
            decidedBy: NavMessages.PolicyDecider(answer.decider), reason: answer.reason.isEmpty ? nil : answer.reason,
            holdS: answer.hold, latencyS: answer.latency, content: answer.content.map { Content($0) })
    }
}

extension NavMessages.PolicyDecision.Content {
    fileprivate init(_ content: NavNavigator.PolicyAnswer.Content) {
        switch content {
        case .reroute(let preferences, let waypoints):
            self = .rerouteOptions(
                RerouteOptionsAnswer(
                    options: preferences.map { NavMessages.RouteOptions($0) },
                    waypoints: waypoints.map { NavMessages.Waypoint($0) }))
        case .instruction(let revised):
            var answer = ReviseInstructionAnswer(suppress: revised.isSuppressed ? true : nil)
            switch revised.content {
            case .visual(let primary, let secondary, let sub, let maneuver, let lanes):
                answer.instruction = .visual(
                    NavMessages.VisualInstruction(
                        primary: primary.map { NavMessages.InstructionText($0) },
                        secondary: secondary.map { NavMessages.InstructionText($0) },
                        sub: sub.map { NavMessages.InstructionText($0) },
                        subManeuver: maneuver.flatMap { NavMessages.Maneuver($0) },
                        lanes: lanes.map { NavMessages.Lane($0) }, language: revised.language))
            case .spoken(let text, let ssml):
                answer.instruction = .spoken(
                    NavMessages.SpokenInstruction(text: text, ssml: ssml, language: revised.language))
            case nil: break
            }
            self = .revisedInstruction(answer)
        }
    }
}

extension NavNavigator.PolicyAnswer {
    /// Creates the core's answer from a client's answer.
    ///
    /// - Throws: a failure that names the unsupported or invalid field.
    package init(_ answer: NavMessages.PolicyAnswer) throws(RouteFailure) {
        if let hold = answer.holdS, !(hold >= 0) {
            throw RouteFailure(code: .invalidRequest, message: "hold_s is not 0 or more")
        }
        if let defect = TextLimits.defect(answer.reason, of: "reason", limit: TextLimits.reason) {
            throw RouteFailure(code: .invalidRequest, message: defect)
        }
        self.init(
            verdict: PolicyAnswer.verdict(answer.verdict), reason: answer.reason ?? "", hold: answer.holdS)
    }

    /// Creates the core's answer from preferences for a reroute.
    ///
    /// - Parameters:
    ///   - vehicle: The node's vehicle, used when the preferences name none.
    ///   - route: The preferences of the route in force.
    /// - Throws: a failure that names the invalid part.
    package init(
        _ answer: RerouteOptionsAnswer, node vehicle: NavRouting.VehicleProfile, of route: RoutePreferences?
    ) throws(RouteFailure) {
        try answer.options?.checkReroute(of: route)
        try self.init(accepted: answer, node: vehicle)
    }

    /// Creates the core's answer from preferences that were accepted when they were recorded.
    private init(accepted answer: RerouteOptionsAnswer, node vehicle: NavRouting.VehicleProfile) throws(RouteFailure) {
        let waypoints = try [NavRouting.Waypoint](answer.waypoints)
        let preferences = try answer.options.map { options throws(RouteFailure) in
            try RoutePreferences(options, node: vehicle, minutesAheadOfUTC: nil)
        }
        self.init(verdict: true, content: .reroute(preferences, waypoints))
    }

    /// Creates the core's answer from a revised instruction.
    ///
    /// - Parameter question: The question; nil for a recorded answer, which was accepted when recorded.
    /// - Throws: a failure when its texts are too long to be published, or when it revises an instruction of another kind.
    package init(_ answer: ReviseInstructionAnswer, to question: ReviseInstructionRequest? = nil) throws(RouteFailure) {
        switch (question?.instruction, answer.instruction) {
        case (.visual?, .spoken?), (.spoken?, .visual?):
            throw RouteFailure(
                code: .invalidRequest, message: "the instruction and its revision must both be spoken or visual")
        default: break
        }
        let size = answer.encoded().count
        guard size <= TextLimits.instruction else {
            throw RouteFailure(
                code: .invalidRequest,
                message: "instruction has \(size) bytes, more than \(TextLimits.instruction)")
        }
        var revised = RevisedInstruction(isSuppressed: answer.suppress ?? false)
        switch answer.instruction {
        case .visual(let visual):
            let line = { (text: NavMessages.InstructionText?) in text.flatMap { RevisedInstruction.Line($0) } }
            revised.content = .visual(
                primary: line(visual.primary), secondary: line(visual.secondary), sub: line(visual.sub),
                subManeuver: visual.subManeuver.flatMap { RevisedInstruction.SubManeuver($0) },
                lanes: visual.lanes.map { NavGuidance.Lane($0) })
            revised.language = visual.language.nonEmpty
        case .spoken(let spoken):
            revised.content = .spoken(text: spoken.text.nonEmpty, ssml: spoken.ssml.nonEmpty)
            revised.language = spoken.language.nonEmpty
        case nil: break
        }
        self.init(verdict: true, content: .instruction(revised))
    }

    /// Creates the core's answer from a recorded decision.
    ///
    /// - Parameters:
    ///   - decider: The decider to record instead of the original one; nil to keep the original.
    ///   - vehicle: The node's vehicle, used when the decision names none.
    package init(
        recorded decision: NavMessages.PolicyDecision, as decider: NavNavigator.PolicyDecider?,
        node vehicle: NavRouting.VehicleProfile
    ) {
        var content: Content?
        switch decision.content {
        case .rerouteOptions(let answer): content = (try? PolicyAnswer(accepted: answer, node: vehicle))?.content
        case .revisedInstruction(let answer): content = (try? PolicyAnswer(answer))?.content
        case nil: break
        }
        self.init(
            verdict: PolicyAnswer.verdict(decision.verdict),
            decider: decider ?? decision.decidedBy.flatMap { PolicyDecider($0) } ?? .standard,
            reason: decision.reason ?? "", hold: decision.holdS, content: content,
            // In a replay of the journal, the latency is the recorded one; in another drive, it is derived from the
            // stamps.
            latency: decider == nil ? decision.latencyS.flatMap { $0.isFinite ? max($0, 0) : nil } : nil)
    }

    private static func verdict(_ verdict: PolicyVerdict?) -> Bool? {
        switch verdict {
        case .yes: true
        case .no: false
        default: nil
        }
    }
}

extension String? {
    /// The text; nil when it is empty, since a client that sets an unused field to its default value intends no text.
    var nonEmpty: String? { flatMap { $0.isEmpty ? nil : $0 } }
}
