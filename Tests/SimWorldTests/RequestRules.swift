import NavGeo
import NavMatching
import NavNavigator

struct OneRequestPerPurpose: Invariant {
    static let rule =
        "at most one request is pending for the trip, for alternatives and for a faster route, and eight calculations"
    private var open: [UInt64: RoutePurpose] = [:]
    private var known: Set<UInt64> = []

    mutating func violation(_ step: SimStep) -> String? {
        // An answer at the deadline is still cancelled.
        var answered: UInt64?
        if case .routeAnswer(let id, _) = step.event.kind, open.removeValue(forKey: id) != nil { answered = id }
        for effect in step.effects {
            switch effect {
            case .requestRoute(let query):
                if !known.insert(query.requestID).inserted { return "request \(query.requestID) is made twice" }
                if !(0...2).contains(query.alternatives) { return "\(query.alternatives) alternatives are requested" }
                if query.deadline < step.event.stamp { return "a request starts after its deadline" }
                open[query.requestID] = query.purpose
                let own = count(.start) + count(.reroute)
                if own > 1 || count(.alternatives) > 1 || count(.fasterRoute) > 1 || count(.calculate) > 8 {
                    return "\(open.count) requests are pending, one more for \(query.purpose)"
                }
            case .cancelRoute(let id):
                if open.removeValue(forKey: id) == nil, id != answered {
                    return "request \(id) is cancelled, but not pending"
                }
            default: break
            }
        }
        return nil
    }

    private func count(_ purpose: RoutePurpose) -> Int { open.values.count { $0 == purpose } }
}

struct RequestsEndInTime: Invariant {
    static let rule = "a request times out, and the core has a timer for it"
    private var open: [UInt64: (purpose: RoutePurpose, stamp: Timestamp)] = [:]
    /// The timeout of calculations, seconds.
    private static let patience = 30.0

    mutating func violation(_ step: SimStep) -> String? {
        if case .routeAnswer(let id, _) = step.event.kind { open[id] = nil }
        for effect in step.effects {
            switch effect {
            case .requestRoute(let query): open[query.requestID] = (query.purpose, step.event.stamp)
            case .cancelRoute(let id): open[id] = nil
            default: break
            }
        }
        guard step.tellsTime else { return nil }
        let stamp = step.event.stamp
        if step.isClockUncertain { for id in open.keys { open[id]?.stamp = stamp } }
        for (id, request) in open {
            let patience = request.purpose == .calculate ? RequestsEndInTime.patience : step.config.rerouteDeadline
            if stamp.seconds(since: request.stamp) > patience + 0.001 {
                return "request \(id) for \(request.purpose) is \(stamp.seconds(since: request.stamp)) s old"
            }
            // After a clock change the timers follow the new clock, which is unknown here.
            guard !step.isClockUncertain else { continue }
            let due = step.due?.seconds(since: request.stamp) ?? .infinity
            guard due <= patience + 0.001 else {
                return "request \(id) for \(request.purpose) would wait \(due) s instead of \(patience) s"
            }
        }
        return nil
    }
}

struct CallsAreAnsweredOnce: Invariant {
    static let rule = "each pending call is answered once, immediately unless it needs a route"
    private enum Kind { case atOnce, calculation, trip }
    private var open: [UInt64: (kind: Kind, stamp: Timestamp)] = [:]

    mutating func violation(_ step: SimStep) -> String? {
        if case .callEnded(let call) = step.event.kind { open[call] = nil }
        if case .command(let command, let call) = step.event.kind, call != 0 {
            let kind: Kind
            switch command {
            case .calculate: kind = .calculation
            case .navigate: kind = .trip
            default: kind = .atOnce
            }
            open[call] = (kind, step.event.stamp)
        }
        for effect in step.effects {
            guard case .reply(let call, _) = effect else { continue }
            if open.removeValue(forKey: call) == nil { return "call \(call) is answered, but not pending" }
        }
        if step.isClockUncertain { for call in open.keys { open[call]?.stamp = step.event.stamp } }
        for (call, waiting) in open {
            switch waiting.kind {
            case .atOnce: return "call \(call) waits for an answer"
            case .calculation:
                if step.event.stamp.seconds(since: waiting.stamp) > 31 {
                    return "call \(call) waits for more than 30 s"
                }
            case .trip: break
            }
        }
        // At most one trip is requested at a time; a call for another trip ends the pending one.
        let trips = open.values.count { $0.kind == .trip }
        return trips > 1 ? "\(trips) calls wait for a trip" : nil
    }
}

struct QuestionsAreDecidedOnce: Invariant {
    static let rule =
        "each policy request is published when asked and decided once: by its answer, or by the default at its deadline"
    private var open: [UInt64: PolicyRequest] = [:]
    /// Requests whose deadlines may have moved because the clock was set.
    private var moved: Set<UInt64> = []
    private var last: UInt64 = 0
    private static let greatest = 64

    mutating func violation(_ step: SimStep) -> String? {
        var (asked, withdrawn): ([UInt64: PolicyRequest], [UInt64: PolicyRequest]) = ([:], [:])
        for effect in step.effects {
            switch effect {
            case .publish(_, .policyRequest(let request)):
                if request.requestID != last + 1 { return "question \(request.requestID) comes after \(last)" }
                last = request.requestID
                asked[request.requestID] = request
            case .askPolicy(let request):
                if asked[request.requestID] != request { return "question \(request.requestID) is not published" }
                open[request.requestID] = request
            case .withdrawPolicy(let id):
                guard let request = open.removeValue(forKey: id) else {
                    return "question \(id) is withdrawn, but not open"
                }
                withdrawn[id] = request
            case .publish(_, .policyDecision(let decision)):
                if let what = take(decision, withdrawn[decision.requestID], step) { return what }
            default: break
            }
        }
        if open.count > QuestionsAreDecidedOnce.greatest { return "\(open.count) questions are open" }
        let stamp = step.event.stamp
        if step.isClockUncertain { moved.formUnion(open.keys) }
        guard step.tellsTime else { return nil }
        let sure = open.values.filter { !moved.contains($0.requestID) }
        if let late = sure.first(where: { $0.deadline <= stamp }) {
            return "question \(late.requestID) is open past its deadline"
        }
        guard let soonest = sure.map(\.deadline).min() else { return nil }
        return step.due.map { $0 > soonest } ?? true ? "the deadline of a question has no timer" : nil
    }

    private mutating func take(_ decision: PolicyDecision, _ withdrawn: PolicyRequest?, _ step: SimStep) -> String? {
        guard decision.requestID != 0 else {
            let isFull = open.count >= QuestionsAreDecidedOnce.greatest
            return step.config.policy.asked.contains(decision.kind) && !isFull
                ? "\(decision.kind) is decided, but nobody was asked" : nil
        }
        if decision.answer.decider == .timeout {
            guard let withdrawn else {
                return "question \(decision.requestID) is decided without an answer, but not withdrawn"
            }
            if !moved.contains(decision.requestID), !step.isClockUncertain, step.event.stamp < withdrawn.deadline {
                return "question \(decision.requestID) is decided too soon"
            }
            return decision.verdict == withdrawn.standard ? nil : "a silent owner's decision is not the default"
        }
        guard let request = open.removeValue(forKey: decision.requestID) else {
            return "question \(decision.requestID) is decided, but not open"
        }
        guard case .policyAnswer(decision.requestID, let answer) = step.event.kind else {
            return "question \(decision.requestID) is decided without an answer"
        }
        let isSaid = decision.verdict == answer.verdict ?? request.standard && decision.kind == request.question.kind
        return isSaid ? nil : "question \(decision.requestID) is not decided as answered"
    }
}

struct QuestionsEndWithTheirRoute: Invariant {
    static let rule = "no question about a route outlives it"
    private var open: [UInt64: PolicyKind] = [:]

    mutating func violation(_ step: SimStep) -> String? {
        let before = open
        var (isOther, isOver) = (false, false)
        if case .policyAnswer(let id, _) = step.event.kind { open[id] = nil }
        for effect in step.effects {
            switch effect {
            case .askPolicy(let request): open[request.requestID] = request.question.kind
            case .withdrawPolicy(let id): open[id] = nil
            case .publish(_, .route(_, let change)): if change != .refreshed { isOther = true }
            case .publish(_, .arrival(let event)): if event.phase == .arrived, event.isDestination { isOver = true }
            default: break
            }
        }
        guard isOther || isOver else { return nil }
        // The arrival instruction may still be pending.
        let stale = open.first {
            before[$0.key] != nil && $0.value != .shouldDiscardFix && (isOther || $0.value != .reviseInstruction)
        }
        return stale.map { "question \($0.key), \($0.value), is still open" }
    }
}

struct LateAnswersChangeNothing: Invariant {
    static let rule = "an answer without a pending request changes nothing"
    private var routes: Set<UInt64> = []
    private var questions: Set<UInt64> = []

    mutating func violation(_ step: SimStep) -> String? {
        defer { note(step) }
        switch step.event.kind {
        case .routeAnswer(let id, _): if routes.contains(id) { return nil }
        case .policyAnswer(let id, _): if questions.contains(id) { return nil }
        default: return nil
        }
        // Effects of timers that are due are legitimate.
        if step.effects.contains(where: { if case .withdrawPolicy = $0 { true } else { false } }) { return nil }
        for effect in step.effects {
            switch effect {
            case .publish(_, .route), .publish(_, .progress), .publish(_, .preview), .publish(_, .policyDecision),
                .publish(_, .spoken), .publish(_, .visual), .requestRoute:
                return "a late answer leads to \(String("\(effect)".prefix(60)))"
            default: break
            }
        }
        return nil
    }

    private mutating func note(_ step: SimStep) {
        if case .routeAnswer(let id, _) = step.event.kind { routes.remove(id) }
        if case .policyAnswer(let id, _) = step.event.kind { questions.remove(id) }
        for effect in step.effects {
            switch effect {
            case .requestRoute(let query): routes.insert(query.requestID)
            case .cancelRoute(let id): routes.remove(id)
            case .askPolicy(let request): questions.insert(request.requestID)
            case .withdrawPolicy(let id): questions.remove(id)
            default: break
            }
        }
    }
}
