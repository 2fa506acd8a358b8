import Foundation
import NavBus
import NavNavigator
import NavRouting
import Synchronization

/// A worker that finds routes on its own thread, so that progress never waits for a route.
final class RoutingWorker: Sendable {
    private struct State: Sendable {
        var queries: [RouteQuery] = []
        var answers: [(RouteQuery, FoundAnswer)] = []
        /// The completed share of the last calculation.
        var progress = (requestID: UInt64(0), share: 0.0, isNew: false)
        var surveys: [CoverageSurvey] = []
        var coverages: [(id: UInt64, coverage: RouteCoverage)] = []
        var current: RouteQuery?
        /// Whether another map came into force.
        var isMapNew = false
        /// Whether the answer of the running search is no longer needed.
        var dropped = false
        var isStopped = false
    }

    private let state = Mutex(State())
    private let pending = DispatchSemaphore(value: 0)
    private let finished = DispatchSemaphore(value: 0)
    private let store: MapStore
    private let finder: RouteFinder
    private let waker: Waker
    private let isTimed: Bool
    private let cancellation = SearchCancellation()

    /// A worker that uses the map in force at the start of each search; `waker` wakes the node when an answer is available.
    ///
    /// - Parameter isTimed: Whether answers report the search time; a playback must give the same answer every time.
    init(store: MapStore, finder: RouteFinder, isTimed: Bool, waker: Waker) {
        self.isTimed = isTimed
        self.store = store
        self.finder = finder
        self.waker = waker
        let thread = Thread { [self] in
            Thread.current.name = "routing"
            work()
        }
        thread.stackSize = 8 << 20
        thread.start()
    }

    func submit(_ query: RouteQuery) {
        state.withLock { state in
            // The trip's own route takes precedence over previews.
            let place =
                state.queries.firstIndex { $0.purpose.urgency < query.purpose.urgency } ?? state.queries.endIndex
            state.queries.insert(query, at: place)
            // An urgent query does not wait for a provider's answer to another query.
            if let current = state.current, current.purpose.urgency < query.purpose.urgency { finder.hurry() }
        }
        pending.signal()
    }

    /// Queues a survey of a path's missing tiles; it waits until no route is being searched for.
    func submit(_ survey: CoverageSurvey) {
        state.withLock { $0.surveys.append(survey) }
        pending.signal()
    }

    /// Returns and removes the finished surveys, in order.
    func takeCoverages() -> [(id: UInt64, coverage: RouteCoverage)] {
        state.withLock { state in
            defer { state.coverages = [] }
            return state.coverages
        }
    }

    /// Drops a survey that has not started; one that has started is still answered.
    func cancelSurvey(_ id: UInt64) { state.withLock { $0.surveys.removeAll { $0.id == id } } }

    /// Drops a query that has not started, or ends its search and drops the answer.
    func cancel(_ requestID: UInt64) {
        state.withLock { state in
            state.queries.removeAll { $0.requestID == requestID }
            if state.current?.requestID == requestID { abandon(&state) }
            state.answers.removeAll { $0.0.requestID == requestID }
        }
    }

    /// Drops all queries and the answers to earlier ones.
    func cancelAll() {
        state.withLock { state in
            abandon(&state)
            state.queries = []
            state.answers = []
        }
    }

    /// Ends the current search, if any, and drops its answer.
    private func abandon(_ state: inout State) {
        guard state.current != nil else { return }
        state.dropped = true
        finder.hurry()
        cancellation.cancel()
    }

    /// Discards data of the previous map.
    func noteMap() {
        state.withLock { $0.isMapNew = true }
        pending.signal()
    }

    var isBusy: Bool { state.withLock { $0.current != nil || !$0.queries.isEmpty || !$0.answers.isEmpty } }

    /// Returns and removes the available answers, in order, and the progress of a calculation before them; nil when it is not new.
    func takeAnswers() -> (progress: (requestID: UInt64, share: Double)?, answers: [(RouteQuery, FoundAnswer)]) {
        state.withLock { state in
            defer { (state.answers, state.progress.isNew) = ([], false) }
            let progress = state.progress.isNew ? (state.progress.requestID, state.progress.share) : nil
            return (progress, state.answers)
        }
    }

    /// Records the progress of a calculation: the search for alternatives counts like the path to one more waypoint.
    private func note(_ found: Int, of all: Int, _ query: RouteQuery) {
        let share = Double(found) / Double(all + (query.alternatives > 0 ? 1 : 0))
        let isNew = state.withLock { state in
            let last = state.progress.requestID == query.requestID ? state.progress.share : 0
            guard share > last, share < 1, !state.dropped else { return false }
            state.progress = (query.requestID, share, true)
            return true
        }
        if isNew { waker.wake() }
    }

    /// Ends the thread after the current query.
    func stop() {
        state.withLock { state in
            state.isStopped = true
            abandon(&state)
        }
        pending.signal()
        finished.wait()
    }

    private func work() {
        let planner = RoutePlanner(cancellation)
        while true {
            pending.wait()
            let (query, isMapNew, isStopped) = state.withLock { state -> (RouteQuery?, Bool, Bool) in
                let query = state.queries.isEmpty ? nil : state.queries.removeFirst()
                state.current = query
                finder.begin()
                cancellation.reset()
                defer { state.isMapNew = false }
                return (query, state.isMapNew, state.isStopped)
            }
            if isStopped { break }
            if isMapNew { planner.adopt(store.current) }
            guard let query else {
                survey(planner)
                continue
            }
            planner.onWaypoint =
                query.purpose == .calculate ? { [self] found, all in note(found, of: all, query) } : nil
            let start = Clocks.monotonic()
            var answer = finder.answer(query, on: store.current, planner)
            if isTimed { answer.note(computeDuration: Double(Clocks.monotonic() - start) / 1e9) }
            state.withLock { state in
                if !state.dropped { state.answers.append((query, answer)) }
                (state.dropped, state.current) = (false, nil)
            }
            waker.wake()
        }
        finished.signal()
    }

    private func survey(_ planner: RoutePlanner) {
        guard let survey = state.withLock({ $0.surveys.isEmpty ? nil : $0.surveys.removeFirst() }) else { return }
        let coverage = RouteCoverage(survey, on: store.current, planner)
        state.withLock { $0.coverages.append((survey.id, coverage)) }
        waker.wake()
    }
}

extension RoutePurpose {
    /// The priority; queries with a higher one are handled first.
    fileprivate var urgency: Int {
        switch self {
        case .start, .reroute: 2
        case .calculate: 1
        case .fasterRoute, .alternatives: 0
        }
    }
}
