/// The rank of a road in the network, after OSM's `highway` values.
public enum RoadClass: UInt8, Sendable, CaseIterable, Codable {
    case motorway, trunk, primary, secondary, tertiary, unclassified, residential, livingStreet, service, track, ferry

    /// The tile layer that holds roads of this class.
    public var layer: RoadLayer {
        switch self {
        case .motorway, .trunk, .ferry: .highway
        case .primary, .secondary, .tertiary: .arterial
        case .unclassified, .residential, .livingStreet, .service, .track: .local
        }
    }
}

/// The layers of road tiles.
///
/// Each edge is in exactly one, so that a corridor can be loaded in detail and the area around it coarsely.
public enum RoadLayer: UInt8, Sendable, CaseIterable, Codable {
    case highway, arterial, local

    /// The zoom level of the layer's tiles.
    public var zoom: UInt8 {
        switch self {
        case .highway: 6
        case .arterial: 9
        case .local: 12
        }
    }
}

/// The vehicles that may use an edge in its direction.
public struct VehicleAccess: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8
    /// Creates a set from its bits; unknown bits are kept.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let car = VehicleAccess(rawValue: 1 << 0)
    public static let truck = VehicleAccess(rawValue: 1 << 1)
    public static let bus = VehicleAccess(rawValue: 1 << 2)
    public static let taxi = VehicleAccess(rawValue: 1 << 3)
    public static let emergency = VehicleAccess(rawValue: 1 << 4)
    public static let all: VehicleAccess = [.car, .truck, .bus, .taxi, .emergency]
}

/// The boolean properties of a road.
public struct RoadFlags: OptionSet, Sendable, Hashable {
    public let rawValue: UInt32
    /// Creates a set from its bits; unknown bits are kept.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A ramp or slip road (`*_link`).
    public static let link = RoadFlags(rawValue: 1 << 0)
    /// Part of a roundabout (`junction=roundabout|circular`).
    public static let roundabout = RoadFlags(rawValue: 1 << 1)
    /// In a tunnel or covered.
    public static let tunnel = RoadFlags(rawValue: 1 << 2)
    public static let bridge = RoadFlags(rawValue: 1 << 3)
    /// A toll is due for cars.
    public static let toll = RoadFlags(rawValue: 1 << 4)
    /// A toll is due for goods vehicles.
    public static let truckToll = RoadFlags(rawValue: 1 << 5)
    public static let unpaved = RoadFlags(rawValue: 1 << 6)
    /// One-way: the road may be driven in one direction only.
    public static let oneway = RoadFlags(rawValue: 1 << 7)
    /// Only for drivers whose destination is on it, such as customers (`access=destination|customers|delivery`).
    public static let destinationOnly = RoadFlags(rawValue: 1 << 8)
    /// Private ground (`access=private`), open only for the first and last metres of a trip.
    public static let privateAccess = RoadFlags(rawValue: 1 << 9)
    /// A lane in a car park.
    public static let parkingAisle = RoadFlags(rawValue: 1 << 10)
    public static let driveway = RoadFlags(rawValue: 1 << 11)
    public static let alley = RoadFlags(rawValue: 1 << 12)
    /// For vehicles with several occupants only.
    public static let highOccupancy = RoadFlags(rawValue: 1 << 13)
    public static let leftHandTraffic = RoadFlags(rawValue: 1 << 14)
    /// The speed limit is tagged on the road, not implied by its class and country.
    public static let taggedSpeedLimit = RoadFlags(rawValue: 1 << 15)
    /// No general speed limit (`maxspeed=none`).
    public static let unlimitedSpeed = RoadFlags(rawValue: 1 << 16)
    /// Restricted like a motorway: slow vehicles may not use it (`motorroad=yes`).
    public static let motorroad = RoadFlags(rawValue: 1 << 17)
    /// Not for vehicles with dangerous goods (`hazmat=no`).
    public static let noDangerousGoods = RoadFlags(rawValue: 1 << 18)
    /// Goods vehicles only with a destination or delivery on it (`hgv=destination|delivery`, `private`), regardless of
    /// the access for cars.
    public static let truckDestinationOnly = RoadFlags(rawValue: 1 << 19)
    /// A bicycle road or cycle street, on which cars are guests.
    public static let bicycleRoad = RoadFlags(rawValue: 1 << 20)
    /// Some attributes depend on the time; see ``RoadAttributes/conditions``.
    public static let conditional = RoadFlags(rawValue: 1 << 21)
    /// One lane for both directions in turn (`oneway=alternating`).
    public static let alternatingTraffic = RoadFlags(rawValue: 1 << 22)
}

/// The access of a vehicle to a road, from least to most.
public enum AccessLevel: UInt8, Sendable, CaseIterable, Comparable {
    case none
    /// With the owner's permission.
    case privateGround
    /// With a destination or delivery there.
    case destination
    /// Through traffic.
    case open

    public static func < (left: AccessLevel, right: AccessLevel) -> Bool { left.rawValue < right.rawValue }
}

/// A condition that changes a road's attributes at certain times; if several hold, the last one counts.
public struct RoadCondition: Sendable, Hashable {
    public enum Effect: Sendable, Hashable {
        case access(AccessLevel)
        /// The speed limit, m/s.
        case speedLimit(Float)
    }

    public var effect: Effect
    public var vehicles: VehicleAccess
    /// The time at which it holds, in the syntax of ``TimeCondition``.
    public var time: String

    public init(_ effect: Effect, vehicles: VehicleAccess = .all, time: String) {
        self.effect = effect
        self.vehicles = vehicles
        self.time = time
    }
}

/// The attributes of an edge in its direction of travel; many edges share one value.
public struct RoadAttributes: Sendable, Hashable {
    /// Rank in the network.
    public var roadClass: RoadClass
    public var flags: RoadFlags
    public var access: VehicleAccess
    /// Expected free-flow speed, m/s, above 0.
    public var freeFlowSpeed: Float
    /// Posted or implied limit, m/s; nil when unknown or unlimited (see ``RoadFlags/unlimitedSpeed``).
    public var speedLimit: Float?
    /// Posted limit for goods vehicles, m/s (`maxspeed:hgv`); nil when no separate limit is posted.
    public var truckSpeedLimit: Float?
    /// Lanes in this direction; nil when unknown.
    public var lanes: UInt8?
    /// Maximum height, metres; nil without a limit.
    public var maximumHeight: Float?
    /// Maximum width, metres; nil without a limit.
    public var maximumWidth: Float?
    /// Maximum length, metres; nil without a limit.
    public var maximumLength: Float?
    /// Maximum weight, tonnes; nil without a limit.
    public var maximumWeight: Float?
    /// Maximum axle load, tonnes; nil without a limit.
    public var maximumAxleLoad: Float?
    /// Crossing time of a ferry, seconds; nil when unknown or not a ferry.
    public var crossingTime: Float?
    /// Street name as signposted; empty when unnamed.
    public var name: String
    /// The names other than the signposted one.
    public var localNames: LocalNames
    /// Road numbers separated by semicolons, such as `A 1;E 35`; empty when unnumbered.
    public var reference: String
    /// Signposted destinations, separated by semicolons; empty when unknown.
    public var destination: String
    /// Signposted road numbers, separated by semicolons; empty when unknown.
    public var destinationReference: String
    /// Road numbers that the road leads towards by its signs (`destination:ref:to`), separated by semicolons.
    public var destinationReferenceTo: String
    /// Signposted destinations of each lane, from left to right, separated by `|` (`destination:lanes`); empty when unknown.
    public var destinationLanes: String
    /// OSM's `turn:lanes` of this direction, from left to right; empty when unknown.
    ///
    /// The arrows of a lane that is closed to a kind of vehicle include ``laneClosedToCars`` or ``laneClosedToTrucks``, those of a narrow
    /// lane ``laneMark`` and its width in metres. Lanes without arrows are listed if one of them is closed or narrow.
    public var turnLanes: String
    /// OSM's `change:lanes` of this direction, or one value for all lanes; empty if lanes may be changed everywhere.
    public var laneChanges: String
    /// The country's two-letter ISO 3166-1 code; empty when unknown.
    public var country: String
    /// The time-dependent conditions, at most 255.
    public var conditions: [RoadCondition]

    /// The prefix of every mark among the arrows in ``turnLanes``.
    package static let laneMark = "no_"
    /// The mark in ``turnLanes`` of a lane that is closed to cars.
    package static let laneClosedToCars = "no_car"
    /// The mark in ``turnLanes`` of a lane that is closed to trucks.
    package static let laneClosedToTrucks = "no_truck"

    /// Creates the attributes of a road; omitted values are unknown.
    public init(
        roadClass: RoadClass, flags: RoadFlags = [], access: VehicleAccess = .all,
        freeFlowSpeed: Float, speedLimit: Float? = nil, lanes: UInt8? = nil, maximumHeight: Float? = nil,
        maximumWidth: Float? = nil, maximumLength: Float? = nil, maximumWeight: Float? = nil,
        crossingTime: Float? = nil, name: String = "", reference: String = "", destination: String = "",
        destinationReference: String = "", turnLanes: String = "", truckSpeedLimit: Float? = nil,
        maximumAxleLoad: Float? = nil, destinationReferenceTo: String = "", destinationLanes: String = "",
        country: String = "", conditions: [RoadCondition] = [], localNames: LocalNames = .none,
        laneChanges: String = ""
    ) {
        self.roadClass = roadClass
        self.flags = flags
        self.access = access
        self.freeFlowSpeed = freeFlowSpeed
        self.speedLimit = speedLimit
        self.lanes = lanes
        self.maximumHeight = maximumHeight
        self.maximumWidth = maximumWidth
        self.maximumLength = maximumLength
        self.maximumWeight = maximumWeight
        self.crossingTime = crossingTime
        self.name = name
        self.localNames = localNames
        self.reference = reference
        self.destination = destination
        self.destinationReference = destinationReference
        self.turnLanes = turnLanes
        self.laneChanges = laneChanges
        self.truckSpeedLimit = truckSpeedLimit
        self.maximumAxleLoad = maximumAxleLoad
        self.destinationReferenceTo = destinationReferenceTo
        self.destinationLanes = destinationLanes
        self.country = country
        self.conditions = conditions
    }
}

public struct NodeFlags: OptionSet, Sendable, Hashable {
    public let rawValue: UInt16
    /// Creates a set from its bits; unknown bits are kept.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The node has edges in other tiles, which are joined there.
    public static let shared = NodeFlags(rawValue: 1 << 0)
    public static let trafficSignals = NodeFlags(rawValue: 1 << 1)
    public static let stop = NodeFlags(rawValue: 1 << 2)
    public static let giveWay = NodeFlags(rawValue: 1 << 3)
    public static let crossing = NodeFlags(rawValue: 1 << 4)
    public static let miniRoundabout = NodeFlags(rawValue: 1 << 5)
    /// A turning circle or loop.
    public static let turningCircle = NodeFlags(rawValue: 1 << 6)
    public static let motorwayJunction = NodeFlags(rawValue: 1 << 7)
    public static let tollBooth = NodeFlags(rawValue: 1 << 8)
    /// A gate or lift gate that opens.
    public static let gate = NodeFlags(rawValue: 1 << 9)
    /// A barrier that no car passes.
    public static let impassable = NodeFlags(rawValue: 1 << 10)
    /// A barrier that no goods vehicle passes, whatever its size.
    public static let truckImpassable = NodeFlags(rawValue: 1 << 11)
    /// A barrier that opens for cars of people who live or work behind it; the roads behind it are private ground.
    public static let privateGate = NodeFlags(rawValue: 1 << 12)
    /// A barrier that opens for goods vehicles of people who live or work behind it.
    public static let truckPrivateGate = NodeFlags(rawValue: 1 << 13)
    /// Three or more roads meet there, regardless of their directions.
    public static let junction = NodeFlags(rawValue: 1 << 14)
    /// Only vehicles within ``RoadGraph/sizeLimits(of:)`` pass the node.
    public static let sizeLimited = NodeFlags(rawValue: 1 << 15)
}

/// A feature along an edge, between its ends.
public struct PointFeature: Sendable, Hashable {
    public enum Kind: UInt8, Sendable, CaseIterable {
        case trafficSignals, stop, giveWay, crossing, tollBooth, gate, trafficCalming
    }

    public var kind: Kind
    /// The index in the edge's shape, in travel order.
    public var shapeIndex: UInt16

    public init(kind: Kind, shapeIndex: UInt16) {
        self.kind = kind
        self.shapeIndex = shapeIndex
    }
}
