internal import NavGeo
internal import NavMap
internal import NavRouting

extension HorizonBuilder {
    /// Returns the attributes along edges up to a distance; equal neighbours are joined.
    func spans(of edges: [EdgeIndex], line: Polyline, length: Double) -> [HorizonSpan] {
        // One run for each kind of attribute, in the order of `attributes(of:)`.
        var runs: [[HorizonSpan]] = []
        var begin = 0.0
        for edge in edges where begin < length {
            let end = min(begin + Double(graph.edgeLengths[edge.index]), length)
            let attributes = attributes(of: edge)
            if runs.isEmpty { runs = Array(repeating: [], count: attributes.count) }
            for (kind, attribute) in attributes.enumerated() {
                guard let attribute, end > begin else { continue }
                if let last = runs[kind].last, last.end == begin, last.attribute == attribute {
                    runs[kind][runs[kind].count - 1].end = end
                } else {
                    runs[kind].append(HorizonSpan(begin: begin, end: end, attribute: attribute))
                }
            }
            begin = end
        }
        var spans = runs.flatMap { $0 } + Curvature.spans(of: line, length: length)
        // Spans that begin together are ordered by kind.
        var order = Array(spans.indices)
        order.sort { (spans[$0].begin, $0) < (spans[$1].begin, $1) }
        spans = order.map { spans[$0] }
        return spans
    }

    /// Returns the attributes of an edge, always in the same order; nil for each kind without a value.
    private func attributes(of edge: EdgeIndex) -> [HorizonSpan.Attribute?] {
        let road = graph.attributes(of: edge)
        let flags = road.flags
        let limit = metric.turns.speedLimit(of: edge, for: vehicle, at: time)
        let toll: RoadFlags = vehicle.access == .truck ? .truckToll : .toll
        let length = Double(graph.edgeLengths[edge.index])
        let duration = live.duration(of: edge, from: 0, to: length)
        return [
            limit.speed.map { .speedLimit(Double($0), limit.source) },
            limit.isUnlimited ? .speedUnlimited(limit.source) : nil,
            duration > 0 ? .expectedSpeed((length / duration * 100).rounded() / 100) : nil,
            road.lanes.map { .laneCount(Int($0)) },
            .roadClass(road.roadClass), flags.contains(.tunnel) ? .tunnel : nil,
            flags.contains(.bridge) ? .bridge : nil, flags.contains(.roundabout) ? .roundabout : nil,
            flags.contains(toll) ? .toll : nil, flags.contains(.link) ? .link : nil,
            flags.contains(.unpaved) ? .unpaved : nil, road.name.isEmpty ? nil : .name(road.name),
            road.reference.isEmpty ? nil : .reference(road.reference),
        ]
    }
}

/// The curvature of a polyline.
enum Curvature {
    /// A corner this sharp is drawn at a junction and is not part of an arc of many points, radians. 30°.
    private static let corner = Double.pi / 6
    /// Metres to each side of a corner over which a vehicle turns. 10: a car's turn at a crossroads of two lanes.
    private static let cornerReach = 10.0
    /// The resolution of curvature, 1/m: a radius of 10 km is straight.
    private static let resolution = 1e-4

    /// Returns the curvature along a line: at each point, the turn there over the half segments on both sides, which is exact for an arc
    /// drawn with equal chords.
    static func spans(of line: Polyline, length: Double) -> [HorizonSpan] {
        var spans: [HorizonSpan] = []
        func append(_ end: Double, _ value: Double) {
            let begin = spans.last?.end ?? 0
            guard end > begin else { return }
            let rounded = (value / resolution).rounded() * resolution + 0
            if let last = spans.last, last.attribute == .curvature(rounded) {
                spans[spans.count - 1].end = end
            } else {
                spans.append(HorizonSpan(begin: begin, end: end, attribute: .curvature(rounded)))
            }
        }
        let scale = line.length > 0 ? length / line.length : 1
        let points = distinct(line)
        for index in points.indices.dropFirst().dropLast() {
            let (before, at, after) = (points[index - 1], points[index], points[index + 1])
            let turn = Angle.difference(
                from: Geodesy.bearing(from: before.place, to: at.place),
                to: Geodesy.bearing(from: at.place, to: after.place))
            let reach = abs(turn) > corner ? cornerReach : .infinity
            let (back, ahead) = (min((at.along - before.along) / 2, reach), min((after.along - at.along) / 2, reach))
            append((at.along - back) * scale, 0)
            append((at.along + ahead) * scale, turn / (back + ahead))
        }
        append(length, 0)
        return spans
    }

    private static func distinct(_ line: Polyline) -> [(place: Coordinate, along: Double)] {
        var points: [(place: Coordinate, along: Double)] = []
        for (place, along) in zip(line.coordinates, line.cumulativeLengths)
        where points.last.map({ along - $0.along > 0.1 }) ?? true {
            points.append((place, along))
        }
        return points
    }
}
