import NavGeo
import NavMap
import NavPositioning
import NavRouting

/// The pending requests of one kind, each with an id and a deadline.
///
/// Late, duplicate and unknown answers match no request here.
struct PendingRequests<Purpose> {
    struct Request {
        let id: UInt64
        fileprivate(set) var purpose: Purpose
        fileprivate(set) var stamp: Timestamp
        /// The longest wait for the answer, seconds.
        fileprivate(set) var patience: Double
        /// The sequence of the message that led to the request, as the cause of the effects of its answer or timeout; 0 for none.
        let cause: UInt64

        var deadline: Timestamp { stamp.advanced(bySeconds: patience) }
    }

    /// The requests, in the order in which they were made.
    private(set) var all: [Request] = []
    private var lastID: UInt64 = 0

    /// The earliest deadline; nil when no request is pending.
    var due: Timestamp? { all.map(\.deadline).min() }

    /// Returns an unused number.
    mutating func nextID() -> UInt64 {
        lastID += 1
        return lastID
    }

    /// Adds a request under a number from ``nextID()``.
    mutating func add(_ id: UInt64, _ purpose: Purpose, at stamp: Timestamp, patience: Double, cause: UInt64) {
        all.append(Request(id: id, purpose: purpose, stamp: stamp, patience: patience, cause: cause))
    }

    /// Returns a request without ending it.
    subscript(id: UInt64) -> Request? { all.first { $0.id == id } }

    func contains(_ isMeant: (Purpose) -> Bool) -> Bool { all.contains { isMeant($0.purpose) } }

    /// Ends and returns a request; nil when it is not pending.
    mutating func take(_ id: UInt64) -> Request? { take { $0.id == id }.first }

    /// Ends and returns the requests whose deadlines have passed.
    mutating func takeOverdue(at stamp: Timestamp) -> [Request] { take { $0.deadline <= stamp } }

    mutating func take(for isMeant: (Purpose) -> Bool) -> [Request] { take { isMeant($0.purpose) } }

    private mutating func take(where isTaken: (Request) -> Bool) -> [Request] {
        guard all.contains(where: isTaken) else { return [] }
        defer { all.removeAll(where: isTaken) }
        return all.filter(isTaken)
    }

    /// Sets the deadline of the requests that match to `seconds` after they were made.
    mutating func wait(_ seconds: Double, for isMeant: (Purpose) -> Bool) {
        for index in all.indices where isMeant(all[index].purpose) { all[index].patience = seconds }
    }

    /// Moves all deadlines when the clock is set; `move` moves the moments of a purpose.
    mutating func moveClock(by nanoseconds: Int64, _ move: (inout Purpose) -> Void) {
        for index in all.indices {
            all[index].stamp.move(by: nanoseconds)
            move(&all[index].purpose)
        }
    }
}

enum PendingRoute {
    /// The route for the start of a trip or for a reroute: see ``RouteSearch/pending``.
    case search
    case alternatives
    /// A faster route, from the vehicle's position at the request, `offset` metres from the start of the route in force.
    case fasterRoute(from: VehiclePosition, offset: Double)
    /// Routes to show or return without starting guidance.
    case calculation(Calculation)

    var isSearch: Bool { if case .search = self { true } else { false } }
    var isAlternatives: Bool { if case .alternatives = self { true } else { false } }
    var isFasterRoute: Bool { if case .fasterRoute = self { true } else { false } }
    var calculation: Calculation? { if case .calculation(let calculation) = self { calculation } else { nil } }

    /// Moves the time of its start position when the clock is set.
    mutating func moveClock(by nanoseconds: Int64) {
        switch self {
        case .search, .alternatives: break
        case .fasterRoute(var position, let offset):
            position.moveClock(by: nanoseconds)
            self = .fasterRoute(from: position, offset: offset)
        case .calculation(var calculation):
            calculation.origin?.moveClock(by: nanoseconds)
            self = .calculation(calculation)
        }
    }
}

/// Route requests: sending, cancellation, answers and timeouts.
extension Navigator {
    /// The longest wait for the routes of a calculation, seconds.
    private static let calculationPatience = 30.0

    /// Requests a route under a number from ``PendingRequests/nextID()``.
    func request(_ query: RouteQuery, for purpose: PendingRoute, cause: UInt64, _ event: NavigatorEvent) {
        routes.add(
            query.requestID, purpose, at: event.stamp,
            patience: purpose.calculation == nil ? config.rerouteDeadline : Navigator.calculationPatience, cause: cause)
        perform(.requestRoute(query))
    }

    /// Cancels requests and returns the calculations among them.
    @discardableResult
    func cancelRequests(for isMeant: (PendingRoute) -> Bool) -> [Calculation] {
        routes.take(for: isMeant).compactMap { request in
            perform(.cancelRoute(requestID: request.id))
            return request.purpose.calculation
        }
    }

    func handle(_ answer: RouteAnswer, _ id: UInt64, _ event: NavigatorEvent) {
        failOverdueRequests(event)
        guard let request = routes.take(id) else { return }
        var answer = answer
        if case .found(var found) = answer, found.main.provider == .online, found.main.route.trafficDelay != nil {
            // A provider does not report its traffic's age, so the stamp of the answer is used.
            found.main.route.trafficStamp = event.stamp
            answer = .found(found)
        }
        end(request, answer, event)
    }

    /// Fails the requests whose deadlines have passed.
    func failOverdueRequests(_ event: NavigatorEvent) {
        for request in routes.takeOverdue(at: event.stamp) {
            perform(.cancelRoute(requestID: request.id))
            // The cause of the failure is not this event, but the message that led to the request.
            var event = event
            event.causeSequence = request.cause
            let failure = RouteFailure(code: .deadlineExceeded, message: "no route within \(request.patience) s")
            end(request, .failed(failure), event)
        }
    }

    private func end(
        _ request: PendingRequests<PendingRoute>.Request, _ answer: RouteAnswer, _ event: NavigatorEvent
    ) {
        var answer = answer
        if case .found(let found) = answer, found.main.route.mapVersion != map.graph.mapVersion {
            // Its edge ids belong to other edges in the new map.
            answer = .failed(
                RouteFailure(
                    code: .internal, message: "the map was replaced during the search: request the route again"))
        }
        switch request.purpose {
        case .calculation(let calculation): answerCalculation(calculation, answer, event)
        case .alternatives: takeAlternatives(answer, event)
        case .fasterRoute(let origin, let offset): takeFasterRoute(answer, from: origin, at: offset, event)
        case .search: if let request = search.pending { take(answer, request, event) }
        }
    }
}
