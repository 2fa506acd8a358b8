package import NavGeo
package import NavMessages
import NavWire

/// The true course of a drive, from a reference receiver or a simulation.
package struct Truth: Sendable {
    /// A segment of a road, from one OpenStreetMap node to the next.
    package struct Segment: Sendable, Hashable {
        package var from: Int64
        package var to: Int64

        package init(from: Int64, to: Int64) { (self.from, self.to) = (from, to) }
    }

    /// The times of ``line``'s points, seconds since the drive's start.
    package let times: [Double]
    /// The line that was driven.
    package let line: NavGeo.Polyline
    /// The segments that were driven; nil when unknown.
    package let segments: Set<Segment>?

    /// Creates a truth from positions by time; fewer than two positions are ignored.
    package init(_ positions: [(time: Double, coordinate: NavGeo.Coordinate)], segments: Set<Segment>? = nil) {
        let ordered = positions.sorted { $0.time < $1.time }
        times = ordered.map(\.time)
        line = NavGeo.Polyline(ordered.map(\.coordinate))
        self.segments = segments
    }

    var hasPositions: Bool { times.count > 1 }

    /// Returns the stretch of the line around a time; nil outside the drive.
    func stretch(at time: Double, within seconds: Double) -> ClosedRange<Double>? {
        guard hasPositions, let first = times.first, let last = times.last, time >= first - 1, time <= last + 1 else {
            return nil
        }
        let lower = max(index(of: time - seconds) - 1, 0)
        let upper = min(index(of: time + seconds), times.count - 1)
        return line.cumulativeLengths[lower]...line.cumulativeLengths[max(lower, upper)]
    }

    /// Returns the index of the first point at or after a time.
    private func index(of time: Double) -> Int {
        var (low, high) = (0, times.count)
        while low < high {
            let middle = (low + high) / 2
            if times[middle] < time { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// The figures of a drive, gathered from the published messages, and their errors if there is a truth.
package struct DriveFigures {
    /// The distance from the route beyond which the true position is off-route, metres: half of navigation's minimum tolerance,
    /// since the truth has no receiver error.
    static let leavingDistance = 12.5
    /// The shortest time off-route that counts as a deviation, seconds.
    static let leavingTime = 3.0
    /// The time after which an unreported deviation counts as missed, seconds: three times the usual debounce.
    static let missedAfter = 10.0
    /// The sampling interval of the truth, seconds.
    private static let step = 1.0
    /// The distance along a route around the last sample's place within which the next one is searched first, metres: any vehicle drives
    /// less in one ``step``.
    private static let searchReach = 100.0
    /// The distance from the destination within which the true position has arrived, metres.
    private static let arrivalDistance = 30.0

    private let truth: Truth?
    private var crossTrack: [Double] = []
    private var (rightCount, measuredCount) = (0, 0)
    private var etas: [(time: Double, arrival: Double)] = []
    private var routes: [(time: Double, line: NavGeo.Polyline)] = []
    private var reports: [Double] = []
    private var starts: [Double] = []
    private var isOff = false
    private var (arrivals, reroutes) = (0, 0)

    package init(truth: Truth?) { self.truth = truth }

    /// Takes a published message.
    ///
    /// - Parameters:
    ///   - time: seconds since the drive's start.
    ///   - start: the drive's start, ns.
    package mutating func take(_ message: any Message, at time: Double, start: Int64) {
        // Comparing types first is faster than casting: these messages come with each fix.
        let type = type(of: message)
        if truth == nil, type == MatchedPosition.self || type == RouteProgress.self { return }
        switch message {
        case let position as MatchedPosition: take(position, at: time)
        case let progress as RouteProgress:
            let wasOff = isOff
            isOff = progress.deviation == .offRoute || progress.deviation == .wrongWay
            if isOff, !wasOff { reports.append(time) }
            if let eta = progress.etaNs { etas.append((time, Double(eta &- start) / 1e9)) }
        case let route as Route:
            guard truth != nil else { return }
            routes.append((time, NavGeo.Polyline(route.geometry?.corners ?? [])))
        case let event as RerouteEvent:
            if event.phase == .willReroute, event.reason == .offRoute {
                starts.append(time)
                if truth != nil { reports.append(time) }
            }
            if event.phase == .applied { reroutes += 1 }
        case let event as ArrivalEvent where event.phase == .arrived && event.isDestination == true: arrivals += 1
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

    /// Returns the metrics; those that cannot be derived from the truth are left out.
    package func metrics() -> [String: Double] {
        var metrics: [Metric: Double] = [.arrivals: Double(arrivals), .reroutes: Double(reroutes)]
        if measuredCount > 0 { metrics[.rightRoad] = Double(rightCount) / Double(measuredCount) }
        if !crossTrack.isEmpty { metrics[.crossTrack] = quantile(crossTrack, 0.95) }
        if let truth, truth.hasPositions, !routes.isEmpty {
            let deviations = deviations(truth)
            metrics[.missedDeviations] = Double(deviations.count { $0.report == nil })
            metrics[.deviationDelay] = deviations.compactMap { deviation in
                deviation.report.map { max($0 - deviation.start, 0) }
            }.max()
            metrics[.falseReroutes] = Double(starts.count { isFalse($0, truth) })
            if let arrival = arrival(truth) {
                let errors = etas.filter { $0.time < arrival }.map { abs($0.arrival - arrival) }
                if !errors.isEmpty { metrics[.etaError] = errors.reduce(0, +) / Double(errors.count) }
            }
        }
        return Dictionary(
            uniqueKeysWithValues: metrics.map { ($0.key.rawValue, ($0.value * 10_000).rounded() / 10_000) })
    }

    /// Returns the metrics that have a truth, but no messages of the drive to compare with it.
    ///
    /// - Parameter hasDestination: whether the drive has a destination, and so a route.
    package func unmeasured(hasDestination: Bool) -> [String] {
        var missing: [Metric] = []
        if truth?.segments != nil, measuredCount == 0 { missing.append(.rightRoad) }
        if truth?.hasPositions == true {
            if crossTrack.isEmpty { missing.append(.crossTrack) }
            if hasDestination, routes.isEmpty {
                missing += [.missedDeviations, .falseReroutes, .deviationDelay, .etaError]
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

    /// Returns the true deviations: the start of each, and the time of its report.
    private func deviations(_ truth: Truth) -> [(start: Double, report: Double?)] {
        var found: [(start: Double, report: Double?)] = []
        var (begin, force): (Double?, Double?) = (nil, nil)
        func end(_ time: Double) {
            defer { (begin, force) = (nil, nil) }
            guard let start = begin, time - start >= Self.leavingTime else { return }
            // Speed and course may reveal a deviation before the distance does.
            let report = reports.first { $0 >= start - Self.missedAfter && $0 <= time + 1 }
            guard report != nil || time - start >= Self.missedAfter else { return }
            found.append((start, report))
        }
        var (last, offset) = (0.0, 0.0)
        for index in samples(truth) {
            let time = truth.times[index]
            defer { last = time }
            let route = route(at: time)
            if begin != nil, route?.time != force { end(time) }
            if let route, isOff(truth.line.coordinates[index], route.line, near: &offset) {
                if begin == nil { (begin, force) = (time, route.time) }
            } else if begin != nil {
                end(last)
            }
        }
        end(last)
        return found
    }

    /// Whether a place is off a route; `offset` is the position along the route nearest to the previous sample, and is updated.
    ///
    /// The whole line is searched only when the place is not on the part around that offset.
    private func isOff(_ place: NavGeo.Coordinate, _ line: NavGeo.Polyline, near offset: inout Double) -> Bool {
        let around = offset - Self.searchReach...offset + Self.searchReach
        if let hit = line.project(place, within: around), hit.distance <= Self.leavingDistance {
            offset = hit.offset
            return false
        }
        guard let hit = line.project(place) else { return false }
        offset = hit.offset
        return hit.distance > Self.leavingDistance
    }

    /// Whether the vehicle had not begun to leave its route before a reroute.
    private func isFalse(_ time: Double, _ truth: Truth) -> Bool {
        guard let route = routes.last(where: { $0.time < time }), route.line.coordinates.count > 1 else { return false }
        let distances = truth.times.indices.filter { truth.times[$0] <= time && truth.times[$0] >= time - 10 }
            .compactMap {
                route.line.project(truth.line.coordinates[$0])?.distance
            }
        guard let greatest = distances.max() else { return false }
        return greatest < Self.leavingDistance
    }

    /// Returns the true time of arrival at the destination.
    private func arrival(_ truth: Truth) -> Double? {
        guard arrivals > 0,
            let destination = routes.last(where: { !$0.line.coordinates.isEmpty })?.line.coordinates.last
        else { return nil }
        return truth.times.indices.last { index in
            Geodesy.distance(truth.line.coordinates[index], destination) > Self.arrivalDistance
        }.map { truth.times[$0] }
    }
}
