import NavDirections
import NavNavigator
import NavRouting
import Synchronization

/// Finds routes: of the provider on the network where there is one and it answers in time, else on board.
///
/// One thread asks at a time; another may give the question to the provider up, and then the route is found on board.
final class RouteFinder: Sendable {
    private struct State: Sendable {
        var call: OnlineCall?
        var isFailing = false
        var reports: [String] = []
    }

    private let provider: OnlineRouteProvider?
    private let state = Mutex(State())

    init(provider: OnlineRouteProvider?) { self.provider = provider }

    /// Finds routes with the caller's planner.
    func answer(_ query: RouteQuery, on map: MapSnapshot, _ planner: RoutePlanner) -> RouteAnswer {
        online(query, on: map, planner) ?? planner.answer(query, on: map)
    }

    /// The provider's route; nil where it is not asked or has none.
    private func online(_ query: RouteQuery, on map: MapSnapshot, _ planner: RoutePlanner) -> RouteAnswer? {
        // Alternatives and the preference for a chosen route need the forks and costs of the map on board.
        guard let provider, query.allowsOnline, query.alternatives == 0, provider.rest == nil else { return nil }
        let call = provider.call(query.request, on: planner.router(for: query, on: map))
        state.withLock { $0.call = call }
        let result = call.wait()
        return state.withLock { state in
            state.call = nil
            switch result {
            case .success(let online):
                if state.isFailing { state.reports.append("the online provider answers again") }
                state.isFailing = false
                guard let best = online.routes.first else { return nil }
                return .found(FoundRoutes(main: planner.plan(best.route, on: map, by: .online)))
            case .failure(let error):
                if !state.isFailing, error.code != .cancelled {
                    state.isFailing = true
                    state.reports.append("routes are found on board for want of the online provider: \(error.message)")
                }
                return nil
            }
        }
    }

    /// Gives the question to the provider up: the route is found on board.
    func hurry() { state.withLock { $0.call }?.cancel() }

    /// What there is to say since the last time.
    func takeReports() -> [String] {
        state.withLock { state in
            defer { state.reports = [] }
            return state.reports
        }
    }
}
