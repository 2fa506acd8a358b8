package import NavGeo
package import NavMessages
import NavWire

/// The truth of a drive, by a reference receiver or a simulation.
package struct Truth: Sendable {
    /// A segment of a road, from one OpenStreetMap node to the next.
    package struct Segment: Sendable, Hashable {
        package var from: Int64
        package var to: Int64

        package init(from: Int64, to: Int64) { (self.from, self.to) = (from, to) }
    }

    /// Moments of ``line``'s points, seconds since the drive's start.
    package let times: [Double]
    /// The line that was driven.
    package let line: NavGeo.Polyline
    /// The segments that were driven; nil when they are not known.
    package let segments: Set<Segment>?

    /// A truth from positions by time; fewer than two are none.
    package init(_ positions: [(time: Double, coordinate: NavGeo.Coordinate)], segments: Set<Segment>? = nil) {
        let ordered = positions.sorted { $0.time < $1.time }
        times = ordered.map(\.time)
        line = NavGeo.Polyline(ordered.map(\.coordinate))
        self.segments = segments
    }

    var hasPositions: Bool { times.count > 1 }

    /// The stretch of the line around a moment; nil outside of the drive.
    func stretch(at time: Double, within seconds: Double) -> ClosedRange<Double>? {
        guard hasPositions, let first = times.first, let last = times.last, time >= first - 1, time <= last + 1 else {
            return nil
        }
        let lower = max(index(of: time - seconds) - 1, 0)
        let upper = min(index(of: time + seconds), times.count - 1)
        return line.cumulativeLengths[lower]...line.cumulativeLengths[max(lower, upper)]
    }

    /// The index of the first moment at or after a time.
    private func index(of time: Double) -> Int {
        var (low, high) = (0, times.count)
        while low < high {
            let middle = (low + high) / 2
            if times[middle] < time { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// The figures of a drive, gathered from what was published: with a truth, the errors.
package struct DriveFigures {
    /// The distance from the route from which the vehicle has left it in truth, metres: half of what navigation always tolerates, because the
    /// truth has no receiver's error.
    static let leavingDistance = 12.5
    /// The time that it lasts to count, seconds.
    static let leavingTime = 3.0
    /// The time after which a deviation that is not reported is missed, seconds: three times the usual debounce.
    static let missedAfter = 10.0
    /// The time between two looks at the truth, seconds.
    private static let step = 1.0
    /// The distance from the destination at which the vehicle is there in truth, metres.
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
        // Types are compared before anything is cast: these come with each fix.
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

    /// Returns the metrics; those that the truth does not tell are left out.
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

    /// The route in force at a moment; nil without one.
    private func route(at time: Double) -> (time: Double, line: NavGeo.Polyline)? {
        routes.last { $0.time <= time }.flatMap { $0.line.coordinates.count > 1 ? $0 : nil }
    }

    /// The moments of the truth, one a ``step``.
    private func samples(_ truth: Truth) -> [Int] {
        var indices: [Int] = []
        for (index, time) in truth.times.enumerated()
        where indices.last.map({ time - truth.times[$0] >= Self.step - 1e-6 }) ?? true {
            indices.append(index)
        }
        return indices
    }

    /// The true deviations: when each began, and when it was reported.
    private func deviations(_ truth: Truth) -> [(start: Double, report: Double?)] {
        var found: [(start: Double, report: Double?)] = []
        var (begin, force): (Double?, Double?) = (nil, nil)
        func end(_ time: Double) {
            defer { (begin, force) = (nil, nil) }
            guard let start = begin, time - start >= Self.leavingTime else { return }
            // Speed and course may tell of it before the distance does.
            let report = reports.first { $0 >= start - Self.missedAfter && $0 <= time + 1 }
            guard report != nil || time - start >= Self.missedAfter else { return }
            found.append((start, report))
        }
        var last = 0.0
        for index in samples(truth) {
            let time = truth.times[index]
            defer { last = time }
            let route = route(at: time)
            if begin != nil, route?.time != force { end(time) }
            let distance = route.flatMap { $0.line.project(truth.line.coordinates[index])?.distance }
            if let distance, distance > Self.leavingDistance {
                if begin == nil { (begin, force) = (time, route?.time) }
            } else if begin != nil {
                end(last)
            }
        }
        end(last)
        return found
    }

    /// Whether the vehicle had not even begun to leave its route before a reroute.
    private func isFalse(_ time: Double, _ truth: Truth) -> Bool {
        guard let route = routes.last(where: { $0.time < time }), route.line.coordinates.count > 1 else { return false }
        let distances = truth.times.indices.filter { truth.times[$0] <= time && truth.times[$0] >= time - 10 }
            .compactMap {
                route.line.project(truth.line.coordinates[$0])?.distance
            }
        guard let greatest = distances.max() else { return false }
        return greatest < Self.leavingDistance
    }

    /// When the vehicle was at the destination in truth.
    private func arrival(_ truth: Truth) -> Double? {
        guard arrivals > 0,
            let destination = routes.last(where: { !$0.line.coordinates.isEmpty })?.line.coordinates.last
        else { return nil }
        return truth.times.indices.last { index in
            Geodesy.distance(truth.line.coordinates[index], destination) > Self.arrivalDistance
        }.map { truth.times[$0] }
    }
}

/// The quantile of some values by linear interpolation; 0 for none.
package func quantile(_ values: [Double], _ share: Double) -> Double {
    guard !values.isEmpty else { return 0 }
    let sorted = values.sorted()
    let place = share * Double(sorted.count - 1)
    let low = Int(place.rounded(.down))
    let high = min(low + 1, sorted.count - 1)
    return sorted[low] + (sorted[high] - sorted[low]) * (place - Double(low))
}
