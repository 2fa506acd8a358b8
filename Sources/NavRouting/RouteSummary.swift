import NavMap

/// A limit on a route that leaves the vehicle little room, or that only just lets it pass.
public struct VehicleRestriction: Sendable, Equatable {
    /// What is limited.
    public enum Kind: String, Sendable, CaseIterable {
        case height, width, length, weight, axleLoad
    }

    /// What is limited.
    public var kind: Kind
    /// The limit: metres, for weights and axle loads tonnes.
    public var limit: Float
    /// The vehicle's own measure, at most the limit.
    public var own: Float
    /// The pieces of the route that it holds on, in ``Route/edges``.
    public var edges: Range<Int>
    /// Metres from the route's start.
    public var routeOffset: Double
    /// Metres for which it holds.
    public var distance: Double

    /// A limit is worth telling when the vehicle takes up at least this share of it: a lorry of 4 m under a bridge of
    /// 4.4 m, not under one of 4.5 m.
    public static let notableShare: Float = 0.9
}

/// A passage on a ferry.
public struct FerryPassage: Sendable, Equatable {
    /// The line's name; empty when it has none.
    public var name: String
    /// The pieces of the route that it takes, in ``Route/edges``.
    public var edges: Range<Int>
    /// Metres from the route's start.
    public var routeOffset: Double
    /// Metres.
    public var length: Double
    /// Seconds, the turn onto the ferry included.
    public var duration: Double
}

/// What a driver wants to know of a route before choosing it.
public struct RouteSummary: Sendable, Equatable {
    /// Metres on roads with a toll for cars.
    public var tollLength = 0.0
    /// Metres on roads with a toll for goods vehicles.
    public var truckTollLength = 0.0
    /// Toll booths that are passed.
    public var tollBooths = 0
    /// Metres on motorways.
    public var motorwayLength = 0.0
    /// Metres on unpaved roads.
    public var unpavedLength = 0.0
    /// Metres in tunnels.
    public var tunnelLength = 0.0
    /// Ferries in travel order.
    public var ferries: [FerryPassage] = []
    /// Limits that are close to the vehicle's measures, in travel order; empty for a vehicle without measures.
    public var restrictions: [VehicleRestriction] = []
    /// Whether traffic keeps to the left where the route starts.
    public var startsOnLeft = false
    /// Whether traffic keeps to the left where the route ends.
    public var endsOnLeft = false

    /// The summary of a route for a vehicle.
    public init(_ route: Route, for vehicle: VehicleProfile) {
        for (index, edge) in route.edges.enumerated() {
            let flags = edge.attributes.flags
            if flags.contains(.toll) { tollLength += edge.length }
            if flags.contains(.truckToll) { truckTollLength += edge.length }
            if flags.contains(.unpaved) { unpavedLength += edge.length }
            if flags.contains(.tunnel) { tunnelLength += edge.length }
            tollBooths += edge.tollBooths
            switch edge.attributes.roadClass {
            case .motorway: motorwayLength += edge.length
            case .ferry: addFerry(edge, index)
            default: break
            }
            addRestriction(.height, edge.attributes.maximumHeight, vehicle.height, edge, index)
            addRestriction(.width, edge.attributes.maximumWidth, vehicle.width, edge, index)
            addRestriction(.length, edge.attributes.maximumLength, vehicle.length, edge, index)
            addRestriction(.weight, edge.attributes.maximumWeight, vehicle.weight, edge, index)
            addRestriction(.axleLoad, edge.attributes.maximumAxleLoad, vehicle.axleLoad, edge, index)
        }
        startsOnLeft = route.edges.first?.drivesOnLeft ?? false
        endsOnLeft = route.edges.last?.drivesOnLeft ?? false
    }

    private mutating func addFerry(_ edge: RouteEdge, _ index: Int) {
        let time = edge.duration + edge.turnDuration
        if let last = ferries.last, last.edges.upperBound == index, last.name == edge.roadName {
            ferries[ferries.count - 1].edges = last.edges.lowerBound..<(index + 1)
            ferries[ferries.count - 1].length += edge.length
            ferries[ferries.count - 1].duration += time
        } else {
            ferries.append(
                FerryPassage(
                    name: edge.roadName, edges: index..<(index + 1), routeOffset: edge.routeOffset,
                    length: edge.length, duration: time))
        }
    }

    private mutating func addRestriction(
        _ kind: VehicleRestriction.Kind, _ limit: Float?, _ own: Float?, _ edge: RouteEdge, _ index: Int
    ) {
        guard let limit, let own, own >= limit * VehicleRestriction.notableShare else { return }
        let same = restrictions.lastIndex { $0.kind == kind && $0.limit == limit && $0.edges.upperBound == index }
        if let same {
            restrictions[same].edges = restrictions[same].edges.lowerBound..<(index + 1)
            restrictions[same].distance += edge.length
        } else {
            restrictions.append(
                VehicleRestriction(
                    kind: kind, limit: limit, own: own, edges: index..<(index + 1), routeOffset: edge.routeOffset,
                    distance: edge.length))
        }
    }
}
