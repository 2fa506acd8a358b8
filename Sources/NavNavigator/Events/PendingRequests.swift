import NavGeo
import NavPositioning
import NavRouting

/// The requests of one kind that wait for an answer, each with its number and its deadline.
///
/// An answer after the deadline, a second one, or one to a request that was never made finds nothing here.
struct PendingRequests<Purpose> {
    struct Request {
        let id: UInt64
        let purpose: Purpose
        fileprivate(set) var stamp: Timestamp
        /// The longest wait for the answer, seconds.
        fileprivate(set) var patience: Double
        /// Sequence of the message that led to it, 0 for none: the cause of what follows from the answer, or from the lack of one.
        let cause: UInt64

        var deadline: Timestamp { stamp.advanced(bySeconds: patience) }
    }

    /// In the order in which they were made.
    private(set) var all: [Request] = []
    private var lastID: UInt64 = 0

    /// When the first deadline passes; nil for never.
    var due: Timestamp? { all.map(\.deadline).min() }

    /// Returns a number that no request had before.
    mutating func nextID() -> UInt64 {
        lastID += 1
        return lastID
    }

    /// Adds a request under a number of ``nextID()``.
    mutating func add(_ id: UInt64, _ purpose: Purpose, at stamp: Timestamp, patience: Double, cause: UInt64) {
        all.append(Request(id: id, purpose: purpose, stamp: stamp, patience: patience, cause: cause))
    }

    /// Returns a request, which goes on waiting.
    subscript(id: UInt64) -> Request? { all.first { $0.id == id } }

    func contains(_ isMeant: (Purpose) -> Bool) -> Bool { all.contains { isMeant($0.purpose) } }

    /// Ends a request; nil when there is none.
    mutating func take(_ id: UInt64) -> Request? { take { $0.id == id }.first }

    /// Ends the requests whose deadlines have passed.
    mutating func takeOverdue(at stamp: Timestamp) -> [Request] { take { $0.deadline <= stamp } }

    mutating func take(for isMeant: (Purpose) -> Bool) -> [Request] { take { isMeant($0.purpose) } }

    private mutating func take(where isTaken: (Request) -> Bool) -> [Request] {
        guard all.contains(where: isTaken) else { return [] }
        defer { all.removeAll(where: isTaken) }
        return all.filter(isTaken)
    }

    /// Waits for the answers to requests of some purposes so many seconds from when they were made.
    mutating func wait(_ seconds: Double, for isMeant: (Purpose) -> Bool) {
        for index in all.indices where isMeant(all[index].purpose) { all[index].patience = seconds }
    }

    /// Goes on by a clock that was set.
    mutating func moveClock(by nanoseconds: Int64) {
        for index in all.indices { all[index].stamp.move(by: nanoseconds) }
    }
}

enum PendingRoute {
    /// The trip that is to start, or another way for the trip under way: see ``RouteSearch/pending``.
    case search
    case alternatives
    /// A faster route, from where the vehicle was.
    case fasterRoute(from: VehiclePosition)
    /// Routes that are to be shown or answered without setting out.
    case calculation(Calculation)

    var isSearch: Bool { if case .search = self { true } else { false } }
    var isAlternatives: Bool { if case .alternatives = self { true } else { false } }
    var isFasterRoute: Bool { if case .fasterRoute = self { true } else { false } }
    var calculation: Calculation? { if case .calculation(let calculation) = self { calculation } else { nil } }
}

/// Requests for routes: made, cancelled, answered, and failed once their deadline has passed.
extension Navigator {
    /// The longest wait for the routes of a calculation, seconds.
    private static let calculationPatience = 30.0

    /// Has routes found under a number of ``PendingRequests/nextID()``.
    func request(_ query: RouteQuery, for purpose: PendingRoute, cause: UInt64, _ event: NavigatorEvent) {
        routes.add(
            query.requestID, purpose, at: event.stamp,
            patience: purpose.calculation == nil ? config.rerouteDeadline : Navigator.calculationPatience, cause: cause)
        perform(.requestRoute(query))
    }

    /// Gives up requests; returns the calculations among them.
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
            // A provider does not say how old its traffic is: it is that of the answer.
            found.main.route.trafficStamp = event.stamp
            answer = .found(found)
        }
        end(request, answer, event)
    }

    /// Fails the requests whose answers have not come in time.
    func failOverdueRequests(_ event: NavigatorEvent) {
        for request in routes.takeOverdue(at: event.stamp) {
            perform(.cancelRoute(requestID: request.id))
            // The deadline passes by chance during this event: the cause is what led to the request.
            var event = event
            event.causeSequence = request.cause
            let failure = RouteFailure(code: .deadlineExceeded, message: "no route within \(request.patience) s")
            end(request, .failed(failure), event)
        }
    }

    private func end(
        _ request: PendingRequests<PendingRoute>.Request, _ answer: RouteAnswer, _ event: NavigatorEvent
    ) {
        switch request.purpose {
        case .calculation(let calculation): answerCalculation(calculation, answer, event)
        case .alternatives: takeAlternatives(answer, event)
        case .fasterRoute(let origin): takeFasterRoute(answer, from: origin, event)
        case .search: if let request = search.pending { take(answer, request, event) }
        }
    }
}
