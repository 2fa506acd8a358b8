import NavGeo

extension Route {
    /// Returns the same route with the times and the traffic of the provided route that it was mapped from.
    ///
    /// A leg without a provided time keeps its own. Each piece takes the provided times of the matching part of the
    /// line. The rest of the provided leg's time is distributed over the turns in proportion to their own times. Pieces
    /// without a matching part keep their own times.
    ///
    /// - Parameter tolerance: The greatest distance between lines of the same road, metres.
    package func withTimes(of provided: ProvidedRoute, tolerance: Double) -> Route {
        var result = self
        result.trafficStamp = nil
        for (number, leg) in provided.legs.enumerated()
        where number < legs.count && (leg.duration > 0 || !leg.durations.isEmpty) {
            LegTimes(leg, tolerance).carry(into: &result, leg: number)
        }
        return result
    }
}

private struct LegTimes {
    private let leg: ProvidedRoute.Leg
    private let line: Polyline
    private let tolerance: Double
    /// The length by which the provided line may exceed the piece beside it, metres.
    private static let slack = 50.0
    /// The distance ahead within which the line is searched after it was lost, metres.
    private static let reach = 3_000.0

    /// Seconds from the leg's start to each point; empty without durations.
    private var seconds: [Double] = []

    init(_ leg: ProvidedRoute.Leg, _ tolerance: Double) {
        self.leg = leg
        self.tolerance = tolerance
        line = Polyline(leg.line)
        guard !leg.durations.isEmpty else { return }
        var total = 0.0
        seconds.reserveCapacity(leg.line.count)
        seconds.append(0)
        for duration in leg.durations {
            total += duration
            seconds.append(total)
        }
    }

    func carry(into route: inout Route, leg number: Int) {
        let range = route.legs[number].edges
        let parts = parts(of: route, range)
        var (given, turns, own) = (0.0, 0.0, 0.0)
        for (index, part) in zip(range, parts) {
            guard let part else { continue }
            own += route.edges[index].duration
            turns += route.edges[index].turnDuration
            given += time(part)
        }
        let covered = parts.reduce(0.0) { $0 + ($1.map { $0.upperBound - $0.lowerBound } ?? 0) }
        // The provided time for the matched parts of the line.
        let target = line.length > 0 ? leg.duration * min(covered / line.length, 1) : leg.duration
        let isTimed = !seconds.isEmpty && given > 0
        let edgeFactor: Double
        if isTimed {
            edgeFactor = given > target ? target / given : 1
        } else {
            edgeFactor = own + turns > 0 ? target / (own + turns) : 1
        }
        let rest = isTimed ? max(target - given, 0) : turns * edgeFactor
        for (index, part) in zip(range, parts) {
            guard let part else { continue }
            let duration = isTimed ? time(part) * edgeFactor : route.edges[index].duration * edgeFactor
            let turn = route.edges[index].turnDuration
            if turns > 0 {
                route.edges[index].turnDuration = rest * turn / turns
                route.edges[index].duration = duration
            } else {
                let total = isTimed ? given : own
                route.edges[index].duration = duration + (total > 0 ? rest * duration / (total * edgeFactor) : 0)
            }
            let congestion = congestion(part)
            route.edges[index].congestion = congestion
            let took = route.edges[index].duration
            route.edges[index].freeFlowDuration =
                congestion == .unknown ? took : min(route.edges[index].freeFlowDuration, took)
        }
        let pieces = route.edges[range]
        route.legs[number].duration = pieces.reduce(0) { $0 + $1.duration + $1.turnDuration }
        route.legs[number].freeFlowDuration = pieces.reduce(0) { $0 + $1.freeFlowDuration + $1.turnDuration }
    }

    /// Returns the part of the provided line that matches each piece, metres from the line's start; nil for a piece
    /// without a matching part.
    private func parts(of route: Route, _ range: Range<Int>) -> [ClosedRange<Double>?] {
        var cursor = 0.0
        var isLost = false
        return range.map { index in
            let edge = route.edges[index]
            if isLost {
                let start = route.coordinates[edge.coordinates.lowerBound]
                guard
                    let hit = line.next(start, from: cursor, step: nil, reach: LegTimes.reach, tolerance: tolerance)
                else { return nil }
                cursor = max(hit, cursor)
            }
            let end = route.coordinates[edge.coordinates.upperBound]
            guard
                let hit = line.next(
                    end, from: cursor, step: edge.length, reach: edge.length * 1.2 + LegTimes.slack,
                    tolerance: tolerance)
            else {
                isLost = true
                return nil
            }
            isLost = false
            let start = cursor
            cursor = max(hit, cursor)
            // The end of the leg is the end of the line.
            if index == range.upperBound - 1, line.length - cursor <= LegTimes.slack {
                cursor = max(line.length, cursor)
            }
            return start...cursor
        }
    }

    /// Returns the seconds for a part of the line.
    private func time(_ part: ClosedRange<Double>) -> Double {
        seconds.isEmpty ? 0 : moment(part.upperBound) - moment(part.lowerBound)
    }

    private func moment(_ offset: Double) -> Double {
        let segment = line.segment(at: offset)
        let (start, end) = (line.cumulativeLengths[segment], line.cumulativeLengths[segment + 1])
        let fraction = end > start ? min(max((offset - start) / (end - start), 0), 1) : 1
        return seconds[segment] + (seconds[segment + 1] - seconds[segment]) * fraction
    }

    /// Returns the traffic on most of a part of the line; the denser one on a tie.
    private func congestion(_ part: ClosedRange<Double>) -> Congestion {
        guard !leg.congestion.isEmpty else { return .unknown }
        var lengths: [Double] = Array(repeating: 0, count: Congestion.allCases.count)
        var segment = line.segment(at: part.lowerBound)
        while segment < leg.congestion.count, line.cumulativeLengths[segment] < part.upperBound {
            let start = max(line.cumulativeLengths[segment], part.lowerBound)
            let end = min(line.cumulativeLengths[segment + 1], part.upperBound)
            let level = Congestion.allCases.firstIndex(of: leg.congestion[segment]) ?? 0
            lengths[level] += max(end - start, 0)
            segment += 1
        }
        var best = 0
        for level in lengths.indices where lengths[level] > 0 && lengths[level] >= lengths[best] { best = level }
        return Congestion.allCases[best]
    }
}
