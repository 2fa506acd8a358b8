public import NavGeo
public import NavMap

/// The type of a maneuver, in the vocabulary of OSRM and the Mapbox Directions API; the raw values are theirs.
public enum ManeuverType: String, Sendable, CaseIterable, Codable {
    /// The start of a leg.
    case depart
    /// A turn from one road into another.
    case turn
    /// The road continues under another name.
    case newName = "new name"
    /// The road of the same name turns, or the driver turns round on it.
    case `continue`
    /// A ramp joins a road.
    case merge
    /// The driver takes a ramp from an ordinary road.
    case onRamp = "on ramp"
    /// The driver leaves a motorway or trunk road.
    case offRamp = "off ramp"
    /// The road splits in two or more similar ones.
    case fork
    /// The road ends at another one.
    case endOfRoad = "end of road"
    /// The driver goes through a roundabout.
    case roundabout
    /// The driver goes through a roundabout with a name of its own.
    case rotary
    /// A turn at a mini-roundabout.
    case roundaboutTurn = "roundabout turn"
    /// The driver leaves a roundabout in which the leg started.
    case exitRoundabout = "exit roundabout"
    /// An announcement without an action at a junction, such as the end of a ferry.
    case notification
    /// The end of a leg.
    case arrive
}

/// The direction of a maneuver; the raw values are those of OSRM and the Mapbox Directions API.
public enum ManeuverModifier: String, Sendable, CaseIterable, Codable {
    /// Back in the opposite direction.
    case uTurn = "uturn"
    /// More than 120° to the right.
    case sharpRight = "sharp right"
    /// 40° to 120° to the right.
    case right
    /// 20° to 40° to the right.
    case slightRight = "slight right"
    /// Within 20° of straight ahead.
    case straight
    /// 20° to 40° to the left.
    case slightLeft = "slight left"
    /// 40° to 120° to the left.
    case left
    /// More than 120° to the left.
    case sharpLeft = "sharp left"

    /// Creates the modifier of a turn by `degrees`, clockwise positive, −180 ... 180. The limits are those of OSRM's guidance.
    public init(turnDegrees degrees: Double) {
        let isRight = degrees > 0
        switch abs(degrees) {
        case ...20: self = .straight
        case ...40: self = isRight ? .slightRight : .slightLeft
        case ...120: self = isRight ? .right : .left
        case ..<179.99: self = isRight ? .sharpRight : .sharpLeft
        default: self = .uTurn
        }
    }

    /// The side that it leads to; nil for neither.
    public var side: RoadSide? {
        switch self {
        case .sharpRight, .right, .slightRight: .right
        case .sharpLeft, .left, .slightLeft: .left
        case .uTurn, .straight: nil
        }
    }
}

/// A side of the road, seen in the direction of travel.
public enum RoadSide: String, Sendable, Codable {
    case left, right
}

/// The properties of the road after a maneuver.
public struct RoadNotes: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8
    /// A set from its bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A ferry is boarded.
    public static let boardsFerry = RoadNotes(rawValue: 1 << 0)
    /// A ferry is left.
    public static let leavesFerry = RoadNotes(rawValue: 1 << 1)
}

/// A road's name, numbers and signs.
public struct RoadLabel: Sendable, Hashable {
    /// Street name as on its signs; empty when unnamed.
    public var name: String
    /// Its name in other languages.
    public var localNames: LocalNames
    /// Road numbers, such as `A 1` and `E 35`.
    public var references: [String]
    /// The destinations on its signs.
    public var destinations: [String]
    /// Road numbers on those signs, first those of the roads that it joins, then those of the roads that it leads towards.
    public var destinationReferences: [String]

    /// Whether instructions refer to it by its number if it has one, as to motorways.
    public var prefersReference: Bool

    /// A label; empty when nothing is known.
    public init(
        name: String = "", references: [String] = [], destinations: [String] = [], destinationReferences: [String] = [],
        prefersReference: Bool = false, localNames: LocalNames = .none
    ) {
        self.name = name
        self.localNames = localNames
        self.references = references
        self.destinations = destinations
        self.destinationReferences = destinationReferences
        self.prefersReference = prefersReference
    }

    /// Whether it has neither a name nor a number.
    public var isUnnamed: Bool { name.isEmpty && references.isEmpty }

    /// The destinations on its signs: places, or road numbers where no place is named.
    public var signs: [String] { destinations.isEmpty ? destinationReferences : destinations }
}

/// An action of the driver on a route, or an announcement.
public struct Maneuver: Sendable, Equatable {
    /// The leg that it belongs to.
    public var leg: Int
    /// The first edge after it in the route's edges; one past the leg's edges for an arrival.
    public var edge: Int
    /// Metres from the route's start.
    public var routeOffset: Double
    /// Metres from the route's start to its end: beyond ``routeOffset`` for roundabouts and turns in several parts.
    public var endOffset: Double
    /// The place where it begins.
    public var coordinate: Coordinate
    /// Direction of travel before it, radians clockwise from north; at the start of a leg the direction after it.
    public var bearingBefore: Double
    /// Direction of travel after it, radians clockwise from north; at the end of a leg the direction before it.
    public var bearingAfter: Double
    public var type: ManeuverType
    /// Its direction; nil at the start of a leg. At an arrival, left or right is the side of the waypoint, and straight is unknown.
    public var modifier: ManeuverModifier?
    /// The road after it.
    public var road: RoadLabel
    /// Whether the road continues after it under the same name or number, and the road before it already has the name or number that the
    /// instruction uses.
    public var keepsRoad: Bool
    /// Whether the road before it ends there, which is announced; a ``ManeuverType/endOfRoad`` also requires earlier junctions on that
    /// road.
    public var endsRoad: Bool
    /// Exit numbers of the junction, such as `12A` and `12B`; empty for none.
    public var exitNumbers: [String]
    /// Name of the junction at an exit; empty for none.
    public var exitName: String
    /// Name of the crossroads where the driver turns, as signposted there; empty for none.
    public var junctionName = ""
    /// The number of the roundabout's exit, from 1; nil when unknown or not a roundabout. Service roads do not count, unless the roundabout
    /// is a service road.
    public var roundaboutExit: Int?
    /// The turn at the roundabout's exit; nil when unknown or not a roundabout.
    public var exitModifier: ManeuverModifier?
    /// The roundabout's own name; empty for none.
    public var roundaboutName: String
    /// The side that traffic keeps to.
    public var drivingSide: RoadSide
    /// The lanes before it, from left to right; empty when unknown.
    public var lanes: [Lane]
    /// The properties of the road after it.
    public var notes: RoadNotes
    /// Metres from the route's start beyond which no earlier junction can be mistaken for this one.
    public var unambiguousOffset: Double
    /// The name of the waypoint at an arrival; empty for none.
    public var waypointName: String
    /// Whether it ends the route.
    public var isFinal: Bool
    /// Metres to the next maneuver; 0 at an arrival.
    public var distance: Double
    /// Seconds to the next maneuver, turns included; 0 at an arrival.
    public var duration: Double
}

extension Maneuver {
    /// The places named by ``exitName``: `Avintes / Campo` names two.
    var exitPlaces: [String] { parts(of: exitName) { $0 == "/" || $0 == ";" } }
}
