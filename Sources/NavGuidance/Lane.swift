/// A lane before a maneuver.
public struct Lane: Sendable, Hashable {
    /// What the arrows on it show, from left to right as tagged; empty without arrows.
    public var indications: [LaneIndication]
    /// Whether the maneuver can be driven from it.
    public var isValid: Bool
    /// The arrow to follow when it is valid.
    public var active: LaneIndication?

    /// A lane.
    public init(indications: [LaneIndication], isValid: Bool = false, active: LaneIndication? = nil) {
        self.indications = indications
        self.isValid = isValid
        self.active = active
    }
}

/// An arrow on a lane; the raw values are OSRM's.
public enum LaneIndication: String, Sendable, CaseIterable, Codable {
    case uTurn = "uturn"
    case sharpRight = "sharp right"
    case right
    case slightRight = "slight right"
    case straight
    case slightLeft = "slight left"
    case left
    case sharpLeft = "sharp left"

    /// An arrow from OSM's `turn:lanes` value; nil for none.
    init?(tag: Substring) {
        switch tag {
        case "reverse": self = .uTurn
        case "sharp_right": self = .sharpRight
        case "right": self = .right
        case "slight_right", "merge_to_right": self = .slightRight
        case "through": self = .straight
        case "slight_left", "merge_to_left": self = .slightLeft
        case "left": self = .left
        case "sharp_left": self = .sharpLeft
        default: return nil
        }
    }
}

/// Reads `turn:lanes` and marks the lanes that serve a maneuver.
enum LaneGuidance {
    /// More lanes than any road has are a mistake in the data.
    static let maximumLanes = 16

    /// The lanes of a `turn:lanes` value with those valid for `modifier` marked; empty when the value says nothing about the maneuver,
    /// since no advice is better than a wrong one.
    static func lanes(_ tag: String, for modifier: ManeuverModifier, drivingSide: RoadSide) -> [Lane] {
        var lanes = parse(tag)
        guard lanes.count > 1, lanes.count <= maximumLanes else { return [] }
        let wanted = preferences(modifier, drivingSide: drivingSide)
        if let match = wanted.first(where: { arrow in lanes.contains { $0.indications.contains(arrow) } }) {
            for index in lanes.indices where lanes[index].indications.contains(match) {
                lanes[index].isValid = true
                lanes[index].active = match
            }
            return lanes
        }
        // Lanes without arrows lead ahead.
        let leadsAhead = modifier == .straight || modifier == .slightLeft || modifier == .slightRight
        guard leadsAhead, lanes.contains(where: \.indications.isEmpty) else { return [] }
        for index in lanes.indices where lanes[index].indications.isEmpty { lanes[index].isValid = true }
        return lanes
    }

    static func parse(_ tag: String) -> [Lane] {
        guard !tag.isEmpty else { return [] }
        return tag.split(separator: "|", omittingEmptySubsequences: false).map { lane in
            Lane(
                indications: lane.split(separator: ";").compactMap { LaneIndication(tag: trimmed($0)) })
        }
    }

    /// Arrows that serve a maneuver, the best first.
    private static func preferences(_ modifier: ManeuverModifier, drivingSide: RoadSide) -> [LaneIndication] {
        switch modifier {
        case .uTurn: drivingSide == .right ? [.uTurn, .sharpLeft, .left] : [.uTurn, .sharpRight, .right]
        case .sharpRight: [.sharpRight, .right]
        case .right: [.right, .sharpRight, .slightRight]
        case .slightRight: [.slightRight, .right, .straight]
        case .straight: [.straight, .slightLeft, .slightRight]
        case .slightLeft: [.slightLeft, .left, .straight]
        case .left: [.left, .sharpLeft, .slightLeft]
        case .sharpLeft: [.sharpLeft, .left]
        }
    }
}

/// `text` without spaces at its ends.
func trimmed(_ text: Substring) -> Substring {
    var result = text
    while result.first == " " { result.removeFirst() }
    while result.last == " " { result.removeLast() }
    return result
}
