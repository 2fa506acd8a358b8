import Foundation
import NavBus
import NavNavigator
import Synchronization

/// Finds routes on a thread of its own, so that progress never waits for a route.
final class RoutingWorker: Sendable {
    private struct State: Sendable {
        var queries: [RouteQuery] = []
        var answers: [(RouteQuery, FoundAnswer)] = []
        var surveys: [CoverageSurvey] = []
        var coverages: [(id: UInt64, coverage: RouteCoverage)] = []
        var current: RouteQuery?
        /// Another map came into force.
        var isMapNew = false
        /// The answer that is being looked for is not wanted any more.
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

    /// A worker that searches on the map in force when it begins; `waker` wakes the node when an answer is there.
    ///
    /// - Parameter isTimed: whether answers say how long finding them took; a playback says the same every time.
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
            // The trip's own route comes before routes to look at.
            let place =
                state.queries.firstIndex { $0.purpose.urgency < query.purpose.urgency } ?? state.queries.endIndex
            state.queries.insert(query, at: place)
            // An urgent query does not wait for a provider's answer to another.
            if let current = state.current, current.purpose.urgency < query.purpose.urgency { finder.hurry() }
        }
        pending.signal()
    }

    /// Queues the question which tiles a way lacks; it waits until no route is looked for.
    func submit(_ survey: CoverageSurvey) {
        state.withLock { $0.surveys.append(survey) }
        pending.signal()
    }

    /// Takes what is known of the tiles of ways, in order.
    func takeCoverages() -> [(id: UInt64, coverage: RouteCoverage)] {
        state.withLock { state in
            defer { state.coverages = [] }
            return state.coverages
        }
    }

    /// Drops a question that has not been started; the answer of one that has comes all the same.
    func cancelSurvey(_ id: UInt64) { state.withLock { $0.surveys.removeAll { $0.id == id } } }

    /// Drops a query that has not been started and the answer of one that has.
    func cancel(_ requestID: UInt64) {
        state.withLock { state in
            state.queries.removeAll { $0.requestID == requestID }
            if state.current?.requestID == requestID { finder.hurry() }
            state.answers.removeAll { $0.0.requestID == requestID }
        }
    }

    /// Drops all queries and the answers to those that were asked so far.
    func cancelAll() {
        state.withLock { state in
            state.dropped = state.current != nil
            finder.hurry()
            state.queries = []
            state.answers = []
        }
    }

    /// Lets go of what was made for the map that was in force before.
    func noteMap() {
        state.withLock { $0.isMapNew = true }
        pending.signal()
    }

    var isBusy: Bool { state.withLock { $0.current != nil || !$0.queries.isEmpty || !$0.answers.isEmpty } }

    /// Takes the answers that are there, in order.
    func takeAnswers() -> [(RouteQuery, FoundAnswer)] {
        state.withLock { state in
            defer { state.answers = [] }
            return state.answers
        }
    }

    /// Ends the thread after the query at hand.
    func stop() {
        state.withLock { $0.isStopped = true }
        finder.hurry()
        pending.signal()
        finished.wait()
    }

    private func work() {
        let planner = RoutePlanner()
        while true {
            pending.wait()
            let (query, isMapNew, isStopped) = state.withLock { state -> (RouteQuery?, Bool, Bool) in
                let query = state.queries.isEmpty ? nil : state.queries.removeFirst()
                state.current = query
                defer { state.isMapNew = false }
                return (query, state.isMapNew, state.isStopped)
            }
            if isStopped { break }
            if isMapNew { planner.adopt(store.current) }
            guard let query else {
                survey(planner)
                continue
            }
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
    /// The greater, the sooner.
    fileprivate var urgency: Int {
        switch self {
        case .start, .reroute: 2
        case .calculate: 1
        case .fasterRoute, .alternatives: 0
        }
    }
}
