package import NavDirections
package import NavNavigator
import Synchronization

/// An answer, with the data to reproduce it.
package struct FoundAnswer: Sendable {
    package var answer: RouteAnswer
    package var map: UInt64
    /// The online provider's response; nil for a route found on board.
    package var body: [UInt8]?

    package init(answer: RouteAnswer, map: UInt64, body: [UInt8]? = nil) {
        (self.answer, self.map, self.body) = (answer, map, body)
    }

    /// Records the seconds that finding the best route took; does nothing for nil.
    package mutating func note(computeDuration seconds: Double?) {
        guard let seconds, case .found(var found) = answer else { return }
        found.main.computeDuration = seconds
        answer = .found(found)
    }
}

/// A finder of routes: from the online provider if there is one and it answers in time, otherwise on board.
///
/// One thread queries at a time; another thread may cancel the provider's call, in which case the route is found on
/// board.
package final class RouteFinder: Sendable {
    /// A change of the provider's state, for the log.
    package struct Report: Sendable {
        package let text: String
        package let isProblem: Bool
    }

    private struct State: Sendable {
        var call: OnlineCall?
        /// Whether the current query must not wait for the provider.
        var isHurried = false
        var isFailing = false
        var reports: [Report] = []
    }

    private let provider: OnlineRouteProvider?
    private let state = Mutex(State())

    package init(provider: OnlineRouteProvider?) { self.provider = provider }

    /// Whether the provider is skipped for a while after failures.
    package var isResting: Bool { provider?.rest != nil }

    /// Returns the answer to a query, using the caller's planner.
    package func answer(_ query: RouteQuery, on map: MapSnapshot, _ planner: RoutePlanner) -> FoundAnswer {
        online(query, on: map, planner) ?? FoundAnswer(answer: planner.answer(query, on: map), map: map.number)
    }

    /// Returns the provider's route; nil when it is not queried or has none.
    private func online(_ query: RouteQuery, on map: MapSnapshot, _ planner: RoutePlanner) -> FoundAnswer? {
        // Alternatives need the forks of the on-board map. A provider cannot prefer the chosen route, but is queried all the same,
        // because every trip has one.
        guard let provider, query.allowsOnline, query.usesTraffic, query.alternatives == 0, provider.rest == nil else {
            return nil
        }
        let router = planner.router(for: query, on: map)
        let call = state.withLock { state -> OnlineCall? in
            guard !state.isHurried else { return nil }
            let call = provider.call(query.request, on: router)
            state.call = call
            return call
        }
        guard let result = call?.wait() else { return nil }
        state.withLock { state in
            state.call = nil
            note(result, &state)
        }
        // The guidance is prepared outside the lock, which the node's thread also takes.
        guard case .success(let online) = result, let answer = planner.answer(query, online, on: map) else {
            return nil
        }
        return FoundAnswer(answer: answer, map: map.number, body: online.body)
    }

    /// Records whether the provider answers, and reports a change.
    private func note(_ result: Result<OnlineRoutes, DirectionsError>, _ state: inout State) {
        switch result {
        case .success:
            if state.isFailing {
                state.reports.append(Report(text: "the online provider answers again", isProblem: false))
            }
            state.isFailing = false
        // An answer without a route is not a failure: the on-board search confirms it, or finds one.
        case .failure(let error) where !state.isFailing && ![.cancelled, .noRoute, .noSegment].contains(error.code):
            state.isFailing = true
            state.reports.append(
                Report(
                    text: "the online provider failed, routes are computed on board: \(error.message)", isProblem: true)
            )
        case .failure: break
        }
    }

    /// Allows the next query to wait for the provider.
    package func begin() { state.withLock { $0.isHurried = false } }

    /// Cancels the call to the provider, or prevents it, so that the route of the current query is found on board.
    package func hurry() {
        state.withLock { state -> OnlineCall? in
            state.isHurried = true
            return state.call
        }?.cancel()
    }

    /// Returns and removes the reports since the last call.
    package func takeReports() -> [Report] {
        state.withLock { state in
            defer { state.reports = [] }
            return state.reports
        }
    }
}
