import NavWire
import NavBus
import NavGeo
import NavKit
import NavMessages
import NavNavigator
import NavRouting

/// A client that requests decisions from the owner's policy node and passes on its answers.
///
/// Timeouts, absent nodes and invalid answers are passed on as answers, too.
///
/// It logs a method's first failure, each change of the failure's status, and the first answer after failures.
final class PolicyClient {
    private let context: NodeContext
    private let log: NodeLog
    private let node: String
    private let vehicle: NavRouting.VehicleProfile
    private let routeInForce: () -> RoutePreferences?
    private let answered: (NavNavigator.PolicyAnswer, NavNavigator.PolicyRequest) -> Void
    /// The pending requests and their calls; nil while a call is started, which may end before it has an id.
    private var open: [UInt64: CallID?] = [:]
    /// The status of the last failure of each method that fails.
    private var failing: [NavNavigator.PolicyKind: StatusCode] = [:]
    private let failures: NodeCounter

    /// A client of the named node; empty for any node that serves Policy.
    ///
    /// - Parameters:
    ///   - vehicle: The vehicle for preferences without a vehicle.
    ///   - routeInForce: Returns the preferences of the route in force.
    init(
        _ context: NodeContext, node: String, vehicle: NavRouting.VehicleProfile,
        routeInForce: @escaping () -> RoutePreferences?,
        answered: @escaping (NavNavigator.PolicyAnswer, NavNavigator.PolicyRequest) -> Void
    ) {
        self.context = context
        log = context.log.part("policy")
        self.node = node
        self.vehicle = vehicle
        self.routeInForce = routeInForce
        self.answered = answered
        failures = context.counter("policy_failures")
    }

    /// Waits for the policy node, at most `seconds`, so that it receives the first requests.
    func waitUntilServed(_ seconds: Double) throws(NodeError) {
        let deadline = Clocks.monotonic() + Int64(seconds * 1e9)
        do throws(BusError) {
            while try !context.bus.isServed(PolicyService.name, by: node.isEmpty ? nil : node) {
                guard Clocks.monotonic() < deadline else {
                    let who = node.isEmpty ? "no node serves Policy" : "node '\(node)' does not serve Policy"
                    return log.warning("\(who) after \(seconds) s: defaults apply until one does")
                }
                try context.bus.runServices(timeout: .milliseconds(50))
            }
        } catch {
            throw NodeError(.system, error.description)
        }
    }

    func ask(_ request: NavNavigator.PolicyRequest, _ message: NavMessages.PolicyRequest) {
        do throws(BusError) {
            switch message.question {
            case .shouldReroute(let question): try put(PolicyService.shouldReroute, question, request)
            case .rerouteOptions(let question):
                try put(PolicyService.rerouteOptions, question, request) {
                    [vehicle, routeInForce] answer throws(RouteFailure) in
                    try NavNavigator.PolicyAnswer(answer, node: vehicle, of: routeInForce())
                }
            case .acceptReroute(let question): try put(PolicyService.acceptReroute, question, request)
            case .shouldTakeAlternative(let question): try put(PolicyService.shouldTakeAlternative, question, request)
            case .acceptFasterRoute(let question): try put(PolicyService.acceptFasterRoute, question, request)
            case .shouldDiscardFix(let question): try put(PolicyService.shouldDiscardFix, question, request)
            case .shouldPreventReroutesWhenArriving(let question):
                try put(PolicyService.shouldPreventReroutesWhenArriving, question, request)
            case .shouldAdvanceLeg(let question): try put(PolicyService.shouldAdvanceLeg, question, request)
            case .reviseInstruction(let question):
                try put(PolicyService.reviseInstruction, question, request) { answer throws(RouteFailure) in
                    try NavNavigator.PolicyAnswer(answer, to: question)
                }
            case nil: answered(PolicyAnswer(verdict: nil, decider: .unavailable), request)
            }
        } catch {
            open.removeValue(forKey: request.requestID)
            fail(CallStatus(.unavailable, error.description), request, Clocks.monotonic())
        }
    }

    /// Withdraws a request whose answer is no longer needed.
    func withdraw(_ id: UInt64) {
        if let call = open.removeValue(forKey: id) ?? nil { try? context.bus.cancel(call) }
    }

    private func put<Request>(
        _ method: UnaryMethod<Request, NavMessages.PolicyAnswer>, _ question: Request,
        _ request: NavNavigator.PolicyRequest
    ) throws(BusError) {
        try put(method, question, request) { answer throws(RouteFailure) in try NavNavigator.PolicyAnswer(answer) }
    }

    private func put<Request, Response>(
        _ method: UnaryMethod<Request, Response>, _ question: Request, _ request: NavNavigator.PolicyRequest,
        _ read: @escaping (Response) throws(RouteFailure) -> NavNavigator.PolicyAnswer
    ) throws(BusError) {
        let seconds = max(request.deadline.seconds(since: request.stamp), 0.001)
        var options = CallOptions(timeout: .milliseconds(Int64(seconds * 1_000)))
        options.node = node.isEmpty ? nil : node
        let id = request.requestID
        let asked = Clocks.monotonic()
        open.updateValue(nil, forKey: id)
        let call = try context.bus.call(method, question, options: options) { [weak self] result in
            guard let self, open.removeValue(forKey: id) != nil else { return }
            switch result {
            case .success(let response):
                var answer: NavNavigator.PolicyAnswer
                do throws(RouteFailure) {
                    answer = try read(response)
                } catch {
                    return fail(CallStatus(.internal, "its answer is invalid: \(error.message)"), request, asked)
                }
                if failing.removeValue(forKey: request.question.kind) != nil {
                    log.info("the policy node answers '\(request.question.kind.rawValue)' again")
                }
                answer.latency = latency(since: asked)
                answered(answer, request)
            case .failure(let status): fail(status, request, asked)
            }
        }
        if open.keys.contains(id) { open.updateValue(call, forKey: id) }
    }

    /// Returns the seconds since a request; nil in a playback, where only the stamps give the time.
    private func latency(since asked: Int64) -> Double? {
        context.clock.isSimulated ? nil : Double(Clocks.monotonic() - asked) / 1e9
    }

    private func fail(_ status: CallStatus, _ request: NavNavigator.PolicyRequest, _ asked: Int64) {
        failures.add()
        if failing.updateValue(status.code, forKey: request.question.kind) != status.code {
            log.warning(
                "the policy node did not answer '\(request.question.kind.rawValue)', the default applies: \(status)"
            )
        }
        let decider: NavNavigator.PolicyDecider = status.code == .deadlineExceeded ? .timeout : .unavailable
        let reason = decider == .timeout ? "" : TextLimits.shortened(status.description, to: TextLimits.reason)
        answered(PolicyAnswer(verdict: nil, decider: decider, reason: reason, latency: latency(since: asked)), request)
    }
}
