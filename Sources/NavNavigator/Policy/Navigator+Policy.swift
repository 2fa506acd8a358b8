package import NavGeo
import NavGuidance
import NavMatching
import NavPositioning
import NavRouting

/// Decisions that the vehicle's owner may take. They are requested without blocking and applied when the answer arrives.
extension Navigator {
    /// The maximum number of pending questions; further questions get the default immediately, which bounds memory if the owner does not
    /// answer. 64: more than any drive has pending.
    private static let mostQuestions = 64

    /// Whether decisions of a kind are requested from the owner.
    func isAsked(_ kind: PolicyKind) -> Bool {
        config.policy.asked.contains(kind) && questions.all.count < Navigator.mostQuestions
    }

    /// Requests a decision: the default applies immediately if the owner is not asked, otherwise the answer when it arrives.
    func ask(_ question: PolicyQuestion, standard: Bool, _ event: NavigatorEvent) {
        guard isAsked(question.kind) else {
            let answer = PolicyAnswer(verdict: standard, decider: .standard)
            return proceed(from: question, decision(on: question, 0, answer, standard: standard, latency: 0), event)
        }
        let request = PolicyRequest(
            requestID: questions.nextID(), question: question, standard: standard,
            deadline: event.stamp.advanced(bySeconds: config.policy.patience(question.kind)), stamp: event.stamp,
            causeSequence: event.causeSequence)
        questions.add(
            request.requestID, request, at: event.stamp, patience: config.policy.longestWait(question.kind),
            cause: event.causeSequence)
        publish(.policyRequest(request), event)
        perform(.askPolicy(request))
    }

    /// Returns the time of a pending question on the current clock, which may have been set since; nil when it is not pending.
    package func stamp(ofQuestion id: UInt64) -> Timestamp? { questions[id]?.stamp }

    func handle(_ answer: PolicyAnswer, _ id: UInt64, _ event: NavigatorEvent) {
        guard let request = questions.take(id) else { return }
        decide(request, answer, event)
    }

    /// Applies the default to questions that were not answered in time.
    func decideOverdue(_ event: NavigatorEvent) {
        for request in questions.takeOverdue(at: event.stamp) {
            perform(.withdrawPolicy(requestID: request.id))
            // The cause is the message that led to the question, not the event at which the deadline has passed.
            var event = event
            event.causeSequence = request.cause
            decide(request, PolicyAnswer(verdict: nil, decider: .timeout), event)
        }
    }

    /// Withdraws questions that no longer apply.
    func withdraw(_ kinds: PolicyKind...) {
        for kind in kinds {
            for request in questions.take(for: { $0.question.kind == kind }) {
                perform(.withdrawPolicy(requestID: request.id))
            }
        }
    }

    private func decide(
        _ request: PendingRequests<PolicyRequest>.Request, _ answer: PolicyAnswer, _ event: NavigatorEvent
    ) {
        let (question, standard) = (request.purpose.question, request.purpose.standard)
        let latency = answer.latency ?? max(event.stamp.seconds(since: request.stamp), 0)
        proceed(
            from: question, decision(on: question, request.id, answer, standard: standard, latency: latency), event)
    }

    private func decision(
        on question: PolicyQuestion, _ id: UInt64, _ answer: PolicyAnswer, standard: Bool, latency: Double
    ) -> PolicyDecision {
        var decision = PolicyDecision(
            requestID: id, kind: question.kind, verdict: answer.verdict ?? standard, answer: answer, latency: latency)
        // The published hold time is the effective one.
        let isHeld = !decision.verdict && question.kind.isHeld && [.client, .recorded].contains(answer.decider)
        decision.answer.hold = isHeld ? hold(decision) : nil
        return decision
    }

    /// Returns the seconds for which a refusal remains valid.
    func hold(_ decision: PolicyDecision) -> Double {
        guard let hold = decision.answer.hold, !hold.isNaN else { return config.policy.hold }
        return min(max(hold, 0), Self.longestHold)
    }

    /// The longest time for which a refusal remains valid, seconds.
    static let longestHold = 3_600.0

    private func proceed(from question: PolicyQuestion, _ decision: PolicyDecision, _ event: NavigatorEvent) {
        if decision.requestID != 0 || decision.kind.isAlwaysPublished { publish(.policyDecision(decision), event) }
        switch question {
        case .shouldReroute: decideReroute(decision, event)
        case .rerouteOptions: fetchReroute(decision, event)
        case .acceptReroute(let plan, _, _): decideProposal(plan, decision, event)
        case .shouldTakeAlternative(let offered): decideAlternative(offered, decision, event)
        case .acceptFasterRoute:
            decideFasterRoute(
                decision.verdict, decision.answer.decider, reason: decision.answer.reason, hold: hold(decision), event)
        case .shouldDiscardFix(let fix, let rejection):
            if decision.verdict {
                publish(.fixRejected(fix, rejection), event)
            } else {
                position(.approvedFix(fix), event)
            }
        case .shouldPreventReroutesWhenArriving(let waypoint, _):
            if trip?.nextStop == waypoint { trip?.preventsReroutes = decision.verdict }
        case .shouldAdvanceLeg(let waypoint, _): decideLeg(waypoint, decision.verdict, event)
        case .reviseInstruction(let instruction, let distance, let duration):
            report(instruction, decision.answer.content, distance, duration, event)
        }
    }

    /// Publishes an instruction, with the owner's revisions if there are any.
    private func report(
        _ instruction: Instruction, _ content: PolicyAnswer.Content?, _ distance: Double, _ duration: Double,
        _ event: NavigatorEvent
    ) {
        // The instruction is dropped if the vehicle has left the route since the policy was asked.
        guard let trip, !trip.isSilent else { return }
        var revised = RevisedInstruction()
        if case .instruction(let words) = content { revised = words }
        if revised.isSuppressed {
            // The displayed banner is for a maneuver that has been passed.
            if case .visual = instruction, trip.clearBanner(before: instruction.id) {
                publish(.visual(nil, distance: 0, duration: 0), event)
            }
            return
        }
        // The owner may have answered for a later instruction first.
        guard instruction.isRepeat ? trip.repeats(instruction.id) : trip.isNew(instruction.id)
        else { return }
        switch revised.applied(to: instruction) {
        case .visual(let visual): publish(.visual(visual, distance: distance, duration: duration), event)
        case .spoken(let spoken): publish(.spoken(spoken, distance: distance, duration: duration), event)
        }
    }
}

extension FixRejection.Reason {
    /// Whether the fix is rejected for its quality, not because it contains no information.
    var isJudgement: Bool {
        switch self {
        case .accuracy, .startAccuracy, .speed, .jump, .integrity, .spoofing, .jamming: true
        case .invalid, .fixType, .duplicate, .outOfOrder, .stale, .future, .frozen: false
        }
    }
}
