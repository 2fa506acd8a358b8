import NavWire
import NavBus
import NavGeo
import NavKit
import NavMessages
import NavNavigator
import NavRouting

/// The pending calls of the Navigation service, which wait for the core's answer.
///
/// Each call gets a number, under which the core answers. A call that is cancelled is removed, and `onEnd` notifies the
/// core.
final class NavigationCalls {
    private var waiting: [UInt64: (CommandReply) -> Void] = [:]
    private var surveys: [UInt64: UnaryCall<RouteCoverageResponse>] = [:]
    /// The calls that receive the progress of their route search, by the search's request number.
    private var searches: [UInt64: (id: UInt64, call: StreamCall<CalculateRouteResponse>)] = [:]
    private var lastID: UInt64 = 0

    /// Registers a unary call.
    ///
    /// - Parameter onEnd: called when the call is cancelled before it is answered.
    func add<Response: Message>(
        _ call: UnaryCall<Response>, onEnd: @escaping (UInt64) -> Void, _ answer: @escaping (CommandReply) -> Response
    ) -> UInt64 {
        let id = nextID()
        waiting[id] = { reply in call.finish(answer(reply)) }
        call.onCancel = { [weak self] in
            guard self?.waiting.removeValue(forKey: id) != nil else { return }
            onEnd(id)
        }
        return id
    }

    /// Registers a streaming call for routes: progress first, then the routes.
    ///
    /// - Parameter alternatives: the number requested.
    func add(
        _ call: StreamCall<CalculateRouteResponse>, alternatives: Int, onEnd: @escaping (UInt64) -> Void
    ) -> UInt64 {
        let id = nextID()
        waiting[id] = { reply in call.finish(CalculateRouteResponse(reply, alternatives: alternatives)) }
        call.send(CalculateRouteResponse(progress: 0))
        call.onCancel = { [weak self] in
            guard let self, waiting.removeValue(forKey: id) != nil else { return }
            searches = searches.filter { $0.value.id != id }
            onEnd(id)
        }
        return id
    }

    /// Sends a call the progress of a request to the router.
    func follow(_ request: UInt64, for id: UInt64, _ call: StreamCall<CalculateRouteResponse>) {
        searches[request] = (id, call)
    }

    /// Sends the completed share of a search, unless the client's credit is used up.
    func note(_ share: Double, of request: UInt64) {
        searches[request]?.call.send(CalculateRouteResponse(progress: share))
    }

    func nextID() -> UInt64 {
        lastID += 1
        return lastID
    }

    /// Registers a call for coverage under its survey's number.
    ///
    /// - Parameter onEnd: called when the call is cancelled before it is answered.
    func add(_ call: UnaryCall<RouteCoverageResponse>, survey id: UInt64, onEnd: @escaping () -> Void) {
        surveys[id] = call
        call.onCancel = { [weak self] in
            if self?.surveys.removeValue(forKey: id) != nil { onEnd() }
        }
    }

    func answer(_ id: UInt64, _ coverage: RouteCoverage) {
        surveys.removeValue(forKey: id)?.finish(RouteCoverageResponse(coverage))
    }

    func answer(_ id: UInt64, _ reply: CommandReply) {
        if !searches.isEmpty { searches = searches.filter { $0.value.id != id } }
        waiting.removeValue(forKey: id)?(reply)
    }
}

extension CommandReply {
    /// The reason why the command failed; nil when it succeeded.
    var error: ErrorInfo? {
        if case .failed(let failure) = self { return ErrorInfo(failure) }
        return nil
    }

    /// The session and the route along which guidance continues.
    var following: (session: UInt64?, route: UInt64?) {
        if case .following(let session, let route) = self { return (session, route) }
        return (nil, nil)
    }

    /// The requested route, and the waypoint that it leaves out.
    var requested: (id: UInt64?, skipped: Int?) {
        if case .requested(let id, let skipped) = self { return (id, skipped) }
        return (nil, nil)
    }
}

extension CalculateRouteResponse {
    /// - Parameter alternatives: the number requested.
    init(_ reply: CommandReply, alternatives: Int) {
        self.init(progress: 1, error: reply.error)
        guard case .routes(let found, let stamp) = reply else { return }
        routes = found.map { NavMessages.Route($0, at: stamp) }
        error = RouteFailure(found: found.count - 1, ofAlternatives: alternatives).map { ErrorInfo($0) }
    }
}
