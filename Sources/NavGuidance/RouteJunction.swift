internal import NavGeo
internal import NavMap
internal import NavRouting

/// A junction on a route, in the terms of OSRM's intersections.
public struct RouteJunction: Sendable, Equatable {
    /// Index of the route's point.
    public var point: Int
    /// Directions of the roads that meet there, outwards, ascending, radians clockwise from north in [0, 2π).
    public var bearings: [Double]
    /// Whether the vehicle may enter each road; turning back does not count.
    public var entries: [Bool]
    /// Index in ``bearings`` of the road by which the vehicle arrives; nil at the start of a leg.
    public var incoming: Int?
    /// Index in ``bearings`` of the road by which the vehicle leaves; nil at the end of a leg.
    public var outgoing: Int?
    /// Whether it has a traffic signal, at the junction or at the stop line of the approach.
    public var hasSignal = false
    /// Whether it has a stop sign, at the junction or at the stop line of the approach.
    public var hasStop = false
    /// The lanes of the approach, from left to right; empty when unknown. A lane is valid when it allows following the route.
    public var lanes: [Lane] = []
}

/// A finder of the junctions on a route's steps.
struct JunctionFinder {
    private struct Arm {
        var bearing: Double
        var isEntry: Bool
        var edge: EdgeIndex?
    }

    private let roads: RouteRoads
    private let access: VehicleAccess
    private let lanes: [Int: [Lane]]

    /// - Parameter lanes: The lanes before route edges.
    init(_ roads: RouteRoads, lanes: [Int: [Lane]]) {
        self.roads = roads
        self.lanes = lanes
        access = roads.route.vehicle.kind == .truck ? .truck : .car
    }

    /// Returns the junctions of a step: the maneuver's first, then those where three or more roads meet.
    ///
    /// - Parameters:
    ///   - pieces: The step's edges of the route; empty for an arrival.
    ///   - leg: The leg's edges.
    func junctions(_ pieces: Range<Int>, of leg: Range<Int>) -> [RouteJunction] {
        guard !leg.isEmpty else { return [] }
        guard !pieces.isEmpty else {
            let back = opposite(roads.endBearing(leg.upperBound - 1))
            let point = roads.route.edges[leg.upperBound - 1].coordinates.upperBound
            return [RouteJunction(point: point, bearings: [back], entries: [true], incoming: 0)]
        }
        var junctions: [RouteJunction] = []
        // Most edges begin at a junction.
        junctions.reserveCapacity(pieces.count)
        var arms: [Arm] = []
        // Few junctions have more edges.
        arms.reserveCapacity(8)
        for index in pieces {
            if index == leg.lowerBound {
                junctions.append(departure(index))
                continue
            }
            guard index == pieces.lowerBound || isMeeting(before: index) else { continue }
            listArms(before: index, in: &arms)
            junctions.append(junction(before: index, arms))
        }
        return junctions
    }

    /// Whether three or more roads meet at the start of a route edge.
    private func isMeeting(before index: Int) -> Bool {
        guard let node = roads.node(before: index) else { return false }
        let graph = roads.graph
        let leaving = graph.outgoing(node).count
        return leaving > 2
            || leaving + graph.incoming(node).count { graph.edgeOpposites[$0.index] == RoadGraph.noEdge } > 2
    }

    private func departure(_ index: Int) -> RouteJunction {
        RouteJunction(
            point: roads.route.edges[index].coordinates.lowerBound,
            bearings: [Angle.normalised(roads.startBearing(index))], entries: [true], outgoing: 0)
    }

    /// Returns the edge by which a driver would turn back at the start of a route edge, or else the edge by which the driver arrives.
    private func wayBack(before index: Int) -> EdgeIndex? {
        let previous = roads.resolved[index - 1]
        return previous.flatMap { roads.graph.opposite($0) } ?? previous
    }

    /// Lists the roads at the start of a route edge, including at least the driven ones, by ascending bearing.
    private func listArms(before index: Int, in arms: inout [Arm]) {
        arms.removeAll(keepingCapacity: true)
        let next = roads.resolved[index]
        listMapped(before: index, in: &arms)
        // Without map data, only the driven roads are listed.
        if !arms.contains(where: { $0.edge != nil && $0.edge == next }) {
            arms.append(Arm(bearing: Angle.normalised(roads.startBearing(index)), isEntry: true, edge: next))
        }
        let back = wayBack(before: index)
        if !arms.contains(where: { $0.edge != nil && $0.edge == back }) {
            arms.append(Arm(bearing: opposite(roads.endBearing(index - 1)), isEntry: false, edge: back))
        }
        arms.sort { ($0.bearing, $0.edge?.rawValue ?? 0) < ($1.bearing, $1.edge?.rawValue ?? 0) }
    }

    private func junction(before index: Int, _ arms: [Arm]) -> RouteJunction {
        let (previous, next, back) = (roads.resolved[index - 1], roads.resolved[index], wayBack(before: index))
        let flags = roads.node(before: index).map { roads.graph.nodeFlags[$0.index] } ?? []
        let stopLine = previous.map { roads.graph.stopLine(before: $0) } ?? (hasSignal: false, hasStop: false)
        return RouteJunction(
            point: roads.route.edges[index].coordinates.lowerBound, bearings: arms.map(\.bearing),
            entries: arms.map(\.isEntry), incoming: arms.firstIndex { $0.edge == back },
            outgoing: arms.lastIndex { $0.edge == next },
            hasSignal: flags.contains(.trafficSignals) || stopLine.hasSignal,
            hasStop: flags.contains(.stop) || stopLine.hasStop, lanes: lanes.isEmpty ? [] : lanes[index] ?? [])
    }

    /// Adds the roads that the map has at the start of a route edge, including those that only arrive there.
    private func listMapped(before index: Int, in arms: inout [Arm]) {
        guard let node = roads.node(before: index), let previous = roads.resolved[index - 1],
            let next = roads.resolved[index]
        else { return }
        let graph = roads.graph
        let back = graph.opposite(previous)
        let refused = graph.refusedTurns(from: previous, for: access)
        let (leaving, arriving) = (graph.outgoing(node), graph.incoming(node))
        for edge in leaving {
            let isEntry =
                edge == next
                || edge != back && !refused.contains(edge) && graph.traits(of: edge).access.contains(access)
            arms.append(
                Arm(
                    bearing: Angle.normalised(Double(graph.edgeStartBearings[edge.index])), isEntry: isEntry, edge: edge
                ))
        }
        for edge in arriving where graph.opposite(edge) == nil {
            arms.append(
                Arm(bearing: opposite(Double(graph.edgeEndBearings[edge.index])), isEntry: false, edge: edge))
        }
    }

    private func opposite(_ bearing: Double) -> Double { Angle.normalised(bearing + .pi) }
}

extension RoadGraph {
    /// The distance from a junction within which a signal or sign is at its stop line, metres.
    private static let stopLineReach = 30.0

    /// Returns whether a signal and a stop sign are placed shortly before the end of an edge: mappers place them on the junction or at the
    /// line where vehicles stop.
    func stopLine(before end: EdgeIndex) -> (hasSignal: Bool, hasStop: Bool) {
        let features = features(of: end).filter { $0.kind == .trafficSignals || $0.kind == .stop }
        guard !features.isEmpty else { return (false, false) }
        let line = Polyline(shape(of: end).coordinates)
        let near = features.filter {
            line.length - line.cumulativeLengths[min(Int($0.shapeIndex), line.coordinates.count - 1)]
                <= Self.stopLineReach
        }
        return (near.contains { $0.kind == .trafficSignals }, near.contains { $0.kind == .stop })
    }
}
