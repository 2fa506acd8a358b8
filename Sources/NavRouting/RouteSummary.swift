import NavMap

/// A restriction for the vehicle on part of a route: a limit that it barely meets, or conditional access.
///
/// A limit that the vehicle exceeds is never on its route. A limit is reported when the vehicle takes up at least
/// ``notableShare`` of it; access rules are always reported.
public struct VehicleRestriction: Sendable, Equatable {
    public enum Kind: String, Sendable, CaseIterable {
        case height, width, length, weight, axleLoad
        /// Private ground, which needs the owner's permission.
        case privateGround
        case destinationOnly
        /// Access depends on the time.
        case timeDependent
    }

    public var kind: Kind
    /// The limit: metres, or tonnes for weights and axle loads; nil for access rules.
    public var limit: Float?
    /// The vehicle's own measure, at most the limit; nil for access rules.
    public var own: Float?
    /// OSM way on which it begins.
    public var wayID: Int64
    /// The pieces of the route on which it applies, in ``Route/edges``.
    public var edges: Range<Int>
    /// Metres from the route's start.
    public var routeOffset: Double
    /// The length of the part on which it applies, metres.
    public var distance: Double

    /// The share of a limit from which it is reported: a lorry of 4 m under a bridge of 4.4 m, but not under one of 4.5 m.
    public static let notableShare: Float = 0.9
}

/// The part of a route in one country.
public struct CountryPassage: Sendable, Equatable {
    /// The country's two-letter ISO 3166-1 code; empty when unknown.
    public var country: String
    /// The pieces of the route in the country, in ``Route/edges``.
    public var edges: Range<Int>
    /// Metres from the route's start to where it is entered: 0 for the first, otherwise the border crossing, accurate
    /// to the preceding node.
    public var routeOffset: Double
    /// Length, metres.
    public var length: Double
    public var drivesOnLeft: Bool
}

public struct FerryPassage: Sendable, Equatable {
    /// The ferry line's name; empty when unnamed.
    public var name: String
    /// The pieces of the route on the ferry, in ``Route/edges``.
    public var edges: Range<Int>
    /// Metres from the route's start.
    public var routeOffset: Double
    /// Length, metres.
    public var length: Double
    /// Seconds, including the turn onto the ferry.
    public var duration: Double
}

/// The properties of a route that matter for choosing it.
public struct RouteSummary: Sendable, Equatable {
    /// Metres on roads with a toll for cars.
    public var tollLength = 0.0
    /// Metres on roads with a toll for goods vehicles.
    public var truckTollLength = 0.0
    /// Metres on roads with a toll for cars or goods vehicles.
    public var anyTollLength = 0.0
    public var tollBooths = 0
    /// Metres on motorways.
    public var motorwayLength = 0.0
    /// Metres on unpaved roads.
    public var unpavedLength = 0.0
    /// Metres in tunnels.
    public var tunnelLength = 0.0
    public var ferries: [FerryPassage] = []
    /// Countries in travel order; a country that the route re-enters is listed again.
    public var countries: [CountryPassage] = []
    /// Limits close to the vehicle's measures and access rules, in travel order.
    public var restrictions: [VehicleRestriction] = []
    /// Whether traffic keeps to the left where the route starts.
    public var startsOnLeft = false

    public init(_ route: Route, for vehicle: VehicleProfile? = nil) {
        let vehicle = vehicle ?? route.vehicle
        for index in route.edges.indices {
            let edge = route.edges[index]
            let flags = edge.attributes.flags
            if flags.contains(.toll) { tollLength += edge.length }
            if flags.contains(.truckToll) { truckTollLength += edge.length }
            if !flags.isDisjoint(with: [.toll, .truckToll]) { anyTollLength += edge.length }
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
            addRules(vehicle, edge, index)
            addCountry(edge, index)
        }
        startsOnLeft = route.edges.first?.drivesOnLeft ?? false
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
        add(kind, limit: limit, own: own, edge, index)
    }

    private mutating func addRules(_ vehicle: VehicleProfile, _ edge: RouteEdge, _ index: Int) {
        let flags = edge.attributes.flags
        if flags.contains(.privateAccess) { add(.privateGround, limit: nil, own: nil, edge, index) }
        let destination: RoadFlags =
            vehicle.kind == .truck ? [.destinationOnly, .truckDestinationOnly] : .destinationOnly
        if !flags.isDisjoint(with: destination) && !flags.contains(.privateAccess) {
            add(.destinationOnly, limit: nil, own: nil, edge, index)
        }
        let isTimed = edge.attributes.conditions.contains { condition in
            guard case .access = condition.effect else { return false }
            return condition.vehicles.contains(vehicle.access)
        }
        if isTimed { add(.timeDependent, limit: nil, own: nil, edge, index) }
    }

    /// Adds a restriction, or extends it if it continues from the previous piece.
    private mutating func add(
        _ kind: VehicleRestriction.Kind, limit: Float?, own: Float?, _ edge: RouteEdge, _ index: Int
    ) {
        let same = restrictions.lastIndex { $0.kind == kind && $0.limit == limit && $0.edges.upperBound == index }
        if let same {
            restrictions[same].edges = restrictions[same].edges.lowerBound..<(index + 1)
            restrictions[same].distance += edge.length
        } else {
            restrictions.append(
                VehicleRestriction(
                    kind: kind, limit: limit, own: own, wayID: edge.wayID, edges: index..<(index + 1),
                    routeOffset: edge.routeOffset, distance: edge.length))
        }
    }

    private mutating func addCountry(_ edge: RouteEdge, _ index: Int) {
        if let last = countries.last, last.country == edge.country, last.drivesOnLeft == edge.drivesOnLeft {
            countries[countries.count - 1].edges = last.edges.lowerBound..<(index + 1)
            countries[countries.count - 1].length += edge.length
        } else {
            countries.append(
                CountryPassage(
                    country: edge.country, edges: index..<(index + 1), routeOffset: edge.routeOffset,
                    length: edge.length, drivesOnLeft: edge.drivesOnLeft))
        }
    }
}
