/// An announcement that the map prescribes on a path, regardless of the geometry (OSM's `type=maneuver`).
public struct PrescribedManeuver: Sendable, Hashable {
    public enum Kind: UInt8, Sendable, CaseIterable {
        /// Nothing is announced.
        case suppressed = 1
        case turn, `continue`, newName, merge, onRamp, offRamp, fork, endOfRoad
    }

    public enum Direction: UInt8, Sendable, CaseIterable {
        case uTurn = 1
        case sharpRight, right, slightRight, straight, slightLeft, left, sharpLeft
    }

    /// The kind; nil to derive it from the roads.
    public var kind: Kind?
    /// The direction; nil to derive it from the roads.
    public var direction: Direction?
    /// The index in the path of the first edge after the announced junction, from 1 to ``lastPlace``.
    public var place: Int

    /// The greatest place that a tile can store.
    package static let lastPlace = 8

    public init(_ kind: Kind?, _ direction: Direction?, place: Int = 1) {
        self.kind = kind
        self.direction = direction
        self.place = place
    }

    /// The kind and direction in one byte, not 0.
    package var code: UInt8 { (kind?.rawValue ?? 0) << 4 | (direction?.rawValue ?? 0) }

    /// Decodes ``code``; nil if neither kind nor direction is known.
    package init?(code: UInt8, place: Int) {
        self.init(Kind(rawValue: code >> 4), Direction(rawValue: code & 15), place: place)
        if kind == nil && direction == nil { return nil }
    }
}

/// A path with a prescribed announcement.
public struct ManeuverPath: Sendable, Hashable {
    /// Two or more consecutive edges.
    public let path: [EdgeIndex]
    public let maneuver: PrescribedManeuver
}
