import NavGeo
package import NavMessages
import NavWire

/// The figures of a drive, gathered from the published messages, and their errors if there is a truth.
package struct DriveFigures {
    /// The distance from the route beyond which the true position is off-route, metres: half of navigation's minimum tolerance,
    /// since the truth has no receiver error.
    static let leavingDistance = 12.5
    /// The shortest time off-route that counts as a deviation, seconds; a deviation that a reroute ends may be shorter.
    static let leavingTime = 3.0
    /// The time after which an unreported deviation counts as missed, seconds: three times the usual debounce.
    static let missedAfter = 10.0
    /// The distance driven against the route beyond which an unreported deviation counts as missed, metres: navigation's own limit for the
    /// wrong way. Manoeuvring takes less.
    private static let missedBack = 50.0
    /// The sampling interval of the truth, seconds.
    private static let step = 1.0
    /// The distance from the destination within which the true position has arrived, metres.
    private static let arrivalDistance = 30.0
    /// The distance along the route from its end at which an arrival is due, metres: half of navigation's usual radius, which applies where
    /// the destination is beyond the end of a road.
    private static let reachedDistance = 10.0
    /// The time after which an unreported arrival counts as missed, seconds.
    private static let arrivalMissedAfter = 10.0
    /// The corresponding time at the end of a recording, which often ends at the destination, seconds.
    private static let arrivalMissedAtEnd = 3.0

    /// A trip that arrived at its destination.
    private struct Trip {
        /// The reported time of the arrival.
        var arrived: Double
        var destination: NavGeo.Coordinate
        var etas: [(time: Double, arrival: Double)]
    }

    private let truth: Truth?
    private var crossTrack: [Double] = []
    private var (rightCount, measuredCount) = (0, 0)
    /// The estimates of the trip under way.
    private var etas: [(time: Double, arrival: Double)] = []
    /// The destination of the latest route.
    private var destination: NavGeo.Coordinate?
    private var trips: [Trip] = []
    /// The reported arrivals, with the ends of their routes.
    private var announced: [(time: Double, destination: NavGeo.Coordinate)] = []
    private var routes: [(time: Double, line: NavGeo.Polyline)] = []
    /// The reports of deviations: reroutes, and the time spans in which the progress reports a deviation.
    private var reports: [(start: Double, end: Double)] = []
    private var starts: [Double] = []
    /// The index of the report that the latest progress continues; nil when the latest progress is on the route.
    private var openReport: Int?
    private var (arrivals, reroutes) = (0, 0)
    /// The time of the last progress on a route.
    private var lastProgress = 0.0
    /// The time of the last message.
    private var end = 0.0

    package init(truth: Truth?) { self.truth = truth }

    /// Adds a published message.
    ///
    /// - Parameters:
    ///   - time: seconds since the drive's start.
    ///   - start: the drive's start, ns.
    package mutating func take(_ message: any Message, at time: Double, start: Int64) {
        // Comparing types first is faster than casting: these messages are published with each fix.
        let type = type(of: message)
        end = max(end, time)
        if truth == nil, type == MatchedPosition.self || type == RouteProgress.self { return }
        switch message {
        case let position as MatchedPosition: take(position, at: time)
        case let progress as RouteProgress:
            lastProgress = max(lastProgress, time)
            let isOff = progress.deviation == .offRoute || progress.deviation == .wrongWay
            if isOff, openReport == nil { reports.append((time, time)) }
            openReport = isOff ? openReport ?? reports.count - 1 : nil
            if let openReport { reports[openReport].end = time }
            // After an arrival no trip is under way until the next route.
            if let eta = progress.etaNs, routes.last?.line.coordinates.isEmpty != true {
                etas.append((time, Double(eta &- start) / 1e9))
            }
        case let route as Route:
            guard truth != nil else { return }
            let line = NavGeo.Polyline(route.geometry?.corners ?? [])
            routes.append((time, line))
            guard let place = line.coordinates.last else { return }
            let isElsewhere = destination.map { Geodesy.distance($0, place) > Self.arrivalDistance } ?? false
            if route.reason == .started || isElsewhere { etas = [] }
            destination = place
        case let event as RerouteEvent:
            if event.phase == .willReroute, event.reason == .offRoute || event.reason == .wrongWay {
                starts.append(time)
                if truth != nil { reports.append((time, time)) }
            }
            if event.phase == .applied { reroutes += 1 }
        case let event as ArrivalEvent where event.phase == .arrived && event.isDestination == true:
            arrivals += 1
            if let destination = routes.last?.line.coordinates.last {
                announced.append((time, destination))
                if !etas.isEmpty { trips.append(Trip(arrived: time, destination: destination, etas: etas)) }
            }
            etas = []
            // Guidance ends here although no message withdraws the route.
            if truth != nil { routes.append((time, NavGeo.Polyline([]))) }
        default: break
        }
    }

    private mutating func take(_ position: MatchedPosition, at time: Double) {
        guard let truth, position.source != .predicted else { return }
        if let segments = truth.segments {
            measuredCount += 1
            if let from = position.road?.fromNode, let to = position.road?.toNode,
                segments.contains(Truth.Segment(from: from, to: to))
            {
                rightCount += 1
            }
        }
        guard let latitude = position.matched?.latitude, let longitude = position.matched?.longitude,
            let stretch = truth.stretch(at: time, within: 5),
            let place = truth.line.project(
                NavGeo.Coordinate(latitude: latitude, longitude: longitude), within: stretch)
        else { return }
        crossTrack.append(place.distance)
    }

    /// Returns the metrics without those that cannot be derived from the truth.
    package func metrics() -> [String: Double] {
        var metrics: [Metric: Double] = [.arrivals: Double(arrivals), .reroutes: Double(reroutes)]
        if measuredCount > 0 { metrics[.rightRoad] = Double(rightCount) / Double(measuredCount) }
        if !crossTrack.isEmpty { metrics[.crossTrack] = quantile(crossTrack, 0.95) }
        if let truth, truth.hasPositions, !routes.isEmpty {
            if isCovered(by: truth) {
                let (deviations, missedArrivals) = comparison(with: truth)
                let departures = starts.map { departure(around: $0, truth) }
                metrics[.missedArrivals] = Double(missedArrivals)
                metrics[.missedDeviations] = Double(deviations.count { $0.report == nil })
                var delays = deviations.compactMap { deviation in
                    deviation.report.map { max($0 - deviation.start, 0) }
                }
                if departures.contains(.after) { delays.append(0) }
                metrics[.deviationDelay] = delays.max()
                if starts.allSatisfy(truth.reaches) {
                    metrics[.falseReroutes] = Double(departures.count { $0 == .never })
                }
            }
            metrics[.arrivalError] = announced.compactMap { time, destination in
                truth.position(at: time).map { Geodesy.distance($0, destination) }
            }.max()
            let errors = trips.flatMap { trip in
                guard let arrival = arrival(of: trip, truth) else { return [Double]() }
                return trip.etas.filter { $0.time < arrival }.map { abs($0.arrival - arrival) }
            }
            if !errors.isEmpty { metrics[.etaError] = errors.reduce(0, +) / Double(errors.count) }
        }
        return Dictionary(
            uniqueKeysWithValues: metrics.map { ($0.key.rawValue, ($0.value * 10_000).rounded() / 10_000) })
    }

    /// Returns the metrics that have a truth but no messages to compare with it.
    ///
    /// - Parameter hasDestination: whether the drive has a destination and therefore a route.
    package func unmeasured(hasDestination: Bool) -> [String] {
        var missing: [Metric] = []
        if truth?.segments != nil, measuredCount == 0 { missing.append(.rightRoad) }
        if truth?.hasPositions == true {
            if crossTrack.isEmpty { missing.append(.crossTrack) }
            if hasDestination, routes.isEmpty {
                missing += [
                    .missedDeviations, .falseReroutes, .deviationDelay, .etaError, .missedArrivals, .arrivalError,
                ]
            }
        }
        return missing.map(\.rawValue)
    }

    /// Returns the active route at a time; nil without a route.
    private func route(at time: Double) -> (time: Double, line: NavGeo.Polyline)? {
        routes.last { $0.time <= time }.flatMap { $0.line.coordinates.count > 1 ? $0 : nil }
    }

    /// Returns the indices of the truth's samples, one per ``step``.
    private func samples(_ truth: Truth) -> [Int] {
        var indices: [Int] = []
        for (index, time) in truth.times.enumerated()
        where indices.last.map({ time - truth.times[$0] >= Self.step - 1e-6 }) ?? true {
            indices.append(index)
        }
        return indices
    }

    /// Whether there are true positions at all times with a route.
    private func isCovered(by truth: Truth) -> Bool {
        routes.indices.allSatisfy { index in
            let (start, line) = routes[index]
            guard line.coordinates.count > 1 else { return true }
            let end = index + 1 < routes.count ? routes[index + 1].time : lastProgress
            return truth.covers(start...max(start, end))
        }
    }

    /// A deviation that has not ended.
    private struct OpenDeviation {
        var start: Double
        var origin: NavGeo.Coordinate
        /// The time beside the route, seconds.
        var away = 0.0
        /// The greatest distance from the origin, metres.
        var farthest = 0.0
    }

    /// Returns the true deviations, as the start of each and the time of its report, and the number of missed arrivals.
    ///
    /// The truth after the last message is ignored: a recording cut from a longer one keeps the truth of the whole drive.
    private func comparison(
        with truth: Truth
    ) -> (deviations: [(start: Double, report: Double?)], missedArrivals: Int) {
        var found: [(start: Double, report: Double?)] = []
        var missedArrivals = 0
        var open: OpenDeviation?
        /// - Parameter replaced: the start time of the route that a new route replaces; nil without a new route.
        func end(_ time: Double, replaced: Double? = nil) {
            defer { open = nil }
            guard let deviation = open else { return }
            let isBrief = time - deviation.start < Self.leavingTime
            guard !isBrief || replaced != nil else { return }
            // Speed and course may reveal a deviation before the distance does.
            let report = reports.first { report in
                let isRecent = report.start >= deviation.start - Self.missedAfter || report.end >= deviation.start
                // Only a report about the deviation's own route may end a brief deviation.
                let isOwn = !isBrief || report.start >= replaced ?? 0
                return isRecent && isOwn && report.start <= time + 1
            }?.start
            let isLong = time - deviation.start >= Self.missedAfter
            let isFar = deviation.away >= Self.missedAfter || deviation.farthest >= Self.missedBack
            guard report != nil || isLong && isFar else { return }
            found.append((deviation.start, report))
        }
        var last = 0.0
        var force: Double?
        var follower: RouteFollower?
        /// Whether the vehicle has driven on the route in force, far from its end, since the last arrival there.
        var hasBeenFar = false
        for index in samples(truth) where truth.times[index] <= self.end {
            let (time, place) = (truth.times[index], truth.line.coordinates[index])
            defer { last = time }
            let route = route(at: time)
            if route?.time != force || follower == nil {
                if open != nil { end(time, replaced: route == nil ? nil : force) }
                force = route?.time
                follower = route.map { RouteFollower(truth, $0.line) }
                hasBeenFar = false
            }
            let relation = follower?.relation(at: index) ?? .along
            if relation == .along, let remaining = follower?.remaining,
                let destination = route?.line.coordinates.last
            {
                if !hasBeenFar {
                    // A round trip begins at its destination.
                    hasBeenFar =
                        remaining > Self.arrivalDistance
                        && Geodesy.distance(place, destination) > Self.arrivalDistance
                } else if remaining <= Self.reachedDistance {
                    hasBeenFar = false
                    if isMissed(arrival: time, at: destination) { missedArrivals += 1 }
                }
            }
            guard relation != .along else {
                if open != nil { end(last) }
                continue
            }
            var deviation = open ?? OpenDeviation(start: time, origin: place)
            if open != nil, relation == .away { deviation.away += time - last }
            deviation.farthest = max(deviation.farthest, Geodesy.distance(deviation.origin, place))
            open = deviation
        }
        end(last)
        return (found, missedArrivals)
    }

    /// Whether a true arrival is not reported while its destination remains the trip's.
    private func isMissed(arrival: Double, at destination: NavGeo.Coordinate) -> Bool {
        let deadline = arrival + Self.arrivalMissedAfter
        guard !announced.contains(where: { $0.time >= arrival && $0.time <= deadline }) else { return false }
        // A reroute keeps the destination; the driver may also end the trip there, or begin another.
        let isEnded = routes.contains { time, line in
            guard time >= arrival, time < deadline else { return false }
            return line.coordinates.last.map { Geodesy.distance($0, destination) > Self.arrivalDistance } ?? true
        }
        return !isEnded && end - arrival >= Self.arrivalMissedAtEnd
    }

    /// The time at which a vehicle leaves the route that a reroute replaces, relative to the reroute.
    private enum Departure {
        /// Before it, or unknown: there was no route, or there is no truth.
        case before
        /// Shortly after it, so that the reroute counts as its report: speed and course may reveal a deviation before the distance does.
        case after
        case never
    }

    /// Returns when the vehicle leaves its route within ``missedAfter`` of a reroute: before it for any time, or after it for
    /// ``leavingTime`` or more.
    ///
    /// A recorded vehicle does not follow the new routes of a replay, so its behaviour is measured against the old route.
    private func departure(around time: Double, _ truth: Truth) -> Departure {
        guard let route = routes.last(where: { $0.time < time }), route.line.coordinates.count > 1 else {
            return .before
        }
        // After the end of the trip, for example while parking, the vehicle need not follow a route.
        let ending = routes.first { $0.time > time && $0.line.coordinates.isEmpty }?.time ?? .infinity
        let end = min(time + Self.missedAfter + Self.leavingTime, ending)
        let indices = (truth.index(of: time - Self.missedAfter)..<truth.times.count).prefix { truth.times[$0] <= end }
        guard let first = indices.first, truth.times[first] <= time else { return .before }
        var follower = RouteFollower(truth, route.line)
        var left: Double?
        for index in indices {
            let now = truth.times[index]
            guard follower.relation(at: index) != .along else {
                left = nil
                continue
            }
            if now <= time { return .before }
            let start = left ?? now
            if now - start >= Self.leavingTime { return .after }
            left = start
        }
        return .never
    }

    /// Returns the true time of a trip's arrival at its destination; nil when the truth does not show it.
    private func arrival(of trip: Trip, _ truth: Truth) -> Double? {
        func isFar(_ index: Int) -> Bool {
            Geodesy.distance(truth.line.coordinates[index], trip.destination) > Self.arrivalDistance
        }
        // The vehicle may pass its destination several times, before and after the arrival.
        return truth.times.indices.dropFirst().filter { index in
            truth.times[index] - truth.times[index - 1] <= Truth.longestGap && isFar(index - 1) && !isFar(index)
        }.map { truth.times[$0 - 1] }.min { abs($0 - trip.arrived) < abs($1 - trip.arrived) }
    }
}
