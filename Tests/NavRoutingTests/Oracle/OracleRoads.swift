import Glibc
import NavGeo
import NavMap
import NavRouting

/// The attributes of all edges of the tiles, read once.
final class OracleRoads {
    let graph: RoadGraph
    let attributes: [RoadAttributes]
    let stops: [Double]

    init(_ graph: RoadGraph) {
        self.graph = graph
        attributes = (0..<graph.edgeCount).map { graph.attributes(of: EdgeIndex($0)) }
        stops = (0..<graph.edgeCount).map { edge in
            graph.features(of: EdgeIndex(edge)).reduce(0) { sum, feature in
                switch feature.kind {
                case .trafficSignals: sum + CostModel.signalDuration
                case .tollBooth, .gate: sum + CostModel.boothDuration
                case .stop, .giveWay, .crossing, .trafficCalming: sum
                }
            }
        }
    }
}

/// The cost of an edge for one vehicle at one time in some traffic, derived from its attributes alone.
struct OraclePrices {
    private let model: CostModel
    private let departure: LocalTime?
    private var speeds: [[Int64]: Double] = [:]

    init(_ model: CostModel, _ departure: LocalTime?, _ traffic: TrafficOverlay) {
        self.model = model
        self.departure = departure
        for speed in traffic.speeds {
            speeds[[speed.fromNodeID, speed.toNodeID, speed.wayID ?? .min]] = speed.speed
        }
    }

    /// The attributes of a road that apply to the vehicle.
    private struct Road {
        var isOpen: Bool
        var isClosedGround: Bool
        var speed: Float
        var truckLimit: Float?
    }

    private func road(_ attributes: RoadAttributes) -> Road {
        let profile = model.profile
        let isTruck = profile.kind == .truck
        let closed: RoadFlags = isTruck ? .truckDestinationOnly : [.destinationOnly, .privateAccess]
        var road = Road(
            isOpen: attributes.access.contains(profile.access),
            isClosedGround: !attributes.flags.isDisjoint(with: closed), speed: attributes.freeFlowSpeed,
            truckLimit: isTruck ? attributes.truckSpeedLimit : nil)
        for condition in attributes.conditions where !condition.vehicles.isDisjoint(with: profile.access) {
            guard let departure, let time = TimeCondition(condition.time), time.holds(at: departure) else { continue }
            switch condition.effect {
            case .access(let level):
                road.isOpen = level != .none
                road.isClosedGround = level == .destination || level == .privateGround
            case .speedLimit(let limit) where !condition.vehicles.contains(.car): road.truckLimit = limit
            case .speedLimit(let limit):
                guard let usual = attributes.speedLimit else {
                    road.speed = min(attributes.freeFlowSpeed, limit)
                    continue
                }
                road.speed = limit * min(attributes.freeFlowSpeed / usual, 1)
            }
        }
        for (own, limit) in [
            (profile.height, attributes.maximumHeight), (profile.width, attributes.maximumWidth),
            (profile.length, attributes.maximumLength), (profile.weight, attributes.maximumWeight),
            (profile.axleLoad, attributes.maximumAxleLoad),
        ] {
            if let own, let limit, own > limit { road.isOpen = false }
        }
        if profile.carriesDangerousGoods, attributes.flags.contains(.noDangerousGoods) { road.isOpen = false }
        return road
    }

    /// Returns the cost of a whole edge, ms, nil when it may not be driven, and whether it is residents' ground.
    ///
    /// - Parameter metric: the metric whose cost applies where it differs by at most 1 ms: the router keeps the shares
    ///   of an edge's segments in single precision, so the last millisecond in traffic may be rounded either way.
    func price(
        _ edge: EdgeIndex, _ roads: OracleRoads, roundedAs metric: Metric? = nil
    ) -> (cost: UInt64?, isClosedGround: Bool) {
        let attributes = roads.attributes[edge.index]
        let road = road(attributes)
        guard road.isOpen else { return (nil, road.isClosedGround) }
        let length = Double(roads.graph.edgeLengths[edge.index])
        var duration: Double
        if attributes.roadClass == .ferry, let crossing = attributes.crossingTime, length > 0 {
            duration = Double(crossing) * length / length
        } else {
            let speed = [road.speed, road.truckLimit ?? .infinity, model.profile.maximumSpeed].min() ?? road.speed
            duration = length / max(Double(speed), 0.01)
        }
        if !speeds.isEmpty {
            guard let live = live(edge, roads.graph, length: length, free: duration) else {
                return (nil, road.isClosedGround)
            }
            duration = live
        }
        let avoids = model.profile.avoids(attributes.roadClass, attributes.flags)
        let isClosedTrack = attributes.roadClass == .track && road.isClosedGround
        let factor = avoids ? CostModel.avoidanceFactor : isClosedTrack ? CostModel.trackFactor : 1
        let seconds = (duration + roads.stops[edge.index]) * factor
        let cost = UInt64((seconds * 1_000).rounded())
        if let metric, metric.allows(edge),
            max(cost, UInt64(metric.cost(of: edge))) - min(cost, UInt64(metric.cost(of: edge))) <= 1
        {
            return (UInt64(metric.cost(of: edge)), road.isClosedGround)
        }
        return (cost, road.isClosedGround)
    }

    /// Returns the duration in traffic, seconds; nil where a segment is closed.
    private func live(_ edge: EdgeIndex, _ graph: RoadGraph, length: Double, free: Double) -> Double? {
        let shape = graph.shape(of: edge)
        let way = graph.wayID(of: edge)
        let known = (1..<shape.count).map { point in
            let nodes = [shape.nodeID(point - 1), shape.nodeID(point)]
            return speeds[nodes + [way]] ?? speeds[nodes + [.min]]
        }
        guard known.contains(where: { $0 != nil }) else { return free }
        if known.contains(0) { return nil }
        func time(_ speed: Double, _ length: Double) -> Double {
            length / max(min(speed, Double(model.profile.maximumSpeed)), 0.1)
        }
        if let first = known[0], known.allSatisfy({ $0 == first }) { return time(first, length) }
        let scale = cos(Angle.radians(shape[0].coordinate.latitude))
        let lengths = (1..<shape.count).map { point in
            let north = Double(shape[point].latitudeE7) - Double(shape[point - 1].latitudeE7)
            let east = (Double(shape[point].longitudeE7) - Double(shape[point - 1].longitudeE7)) * scale
            return (north * north + east * east).squareRoot()
        }
        let total = lengths.reduce(0, +)
        var (share, duration) = (0.0, 0.0)
        for (part, speed) in zip(lengths, known) {
            guard let speed else { continue }
            let own = total > 0 ? part / total : 1 / Double(lengths.count)
            share += own
            duration += time(speed, own * length)
        }
        return duration + max(1 - share, 0) * free
    }
}
