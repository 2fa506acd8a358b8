public import NavGeo

/// The speed of one road segment in one direction, as somebody measured it.
public struct TrafficSpeed: Sendable, Hashable {
    /// OSM way; nil when any way between the nodes is meant.
    public var wayID: Int64?
    /// OSM node where the segment begins, in the direction of travel.
    public var fromNodeID: Int64
    /// OSM node where it ends; need not be the way's next node.
    public var toNodeID: Int64
    /// m/s; 0 means closed.
    public var speed: Double
    /// Until when it holds; nil until it is replaced.
    public var validUntil: Timestamp?

    /// A speed; `speed` 0 closes the segment.
    public init(
        wayID: Int64? = nil, fromNodeID: Int64, toNodeID: Int64, speed: Double, validUntil: Timestamp? = nil
    ) {
        self.wayID = wayID
        self.fromNodeID = fromNodeID
        self.toNodeID = toNodeID
        self.speed = speed
        self.validUntil = validUntil
    }

    /// Whether nobody may drive there.
    public var isClosed: Bool { speed == 0 }

    /// Whether the numbers make sense: a speed within 0 ... ``TrafficOverlay/greatestSpeed`` and two nodes.
    public var isValid: Bool {
        (0...TrafficOverlay.greatestSpeed).contains(speed) && fromNodeID != toNodeID
    }

    fileprivate static func isOrdered(_ left: TrafficSpeed, _ right: TrafficSpeed) -> Bool {
        (left.fromNodeID, left.toNodeID, left.wayID ?? .min) < (right.fromNodeID, right.toNodeID, right.wayID ?? .min)
    }

    fileprivate func isSameSegment(as other: TrafficSpeed) -> Bool {
        fromNodeID == other.fromNodeID && toNodeID == other.toNodeID && wayID == other.wayID
    }
}

/// What is known of the traffic: at most one speed for each segment, sorted, bounded, independent of the loaded tiles.
public struct TrafficOverlay: Sendable, Equatable {
    /// The highest speed that is believed, m/s.
    public static let greatestSpeed = 100.0
    /// The most segments that are kept.
    public static let greatestCount = 4_000_000

    /// The speeds by nodes and way.
    public private(set) var speeds: ContiguousArray<TrafficSpeed> = []

    /// Nothing known.
    public init() {}

    /// The soonest moment at which a speed ceases to hold; nil when all hold until they are replaced.
    public var nextExpiry: Timestamp? { speeds.lazy.compactMap(\.validUntil).min() }

    /// Takes speeds over; among equal segments the last one counts.
    ///
    /// - Parameter replacingAll: Whether everything that was known is forgotten first.
    /// - Returns: How many were refused because they make no sense or are too many.
    public mutating func apply(_ update: some Sequence<TrafficSpeed>, replacingAll: Bool = false) -> Int {
        var refused = 0
        var fresh: ContiguousArray<TrafficSpeed> = []
        for speed in update {
            if speed.isValid, fresh.count < Self.greatestCount { fresh.append(speed) } else { refused += 1 }
        }
        // A stable sort: of equal segments the last given comes last.
        let order = fresh.indices.sorted {
            TrafficSpeed.isOrdered(fresh[$0], fresh[$1])
                || !TrafficSpeed.isOrdered(fresh[$1], fresh[$0]) && $0 < $1
        }
        var merged: ContiguousArray<TrafficSpeed> = []
        merged.reserveCapacity(speeds.count + fresh.count)
        var old = replacingAll ? speeds.count : 0
        func put(_ speed: TrafficSpeed) {
            if let last = merged.last, last.isSameSegment(as: speed) {
                merged[merged.count - 1] = speed
            } else if merged.count < Self.greatestCount {
                merged.append(speed)
            } else {
                refused += 1
            }
        }
        for index in order {
            while old < speeds.count, !TrafficSpeed.isOrdered(fresh[index], speeds[old]) {
                put(speeds[old])
                old += 1
            }
            put(fresh[index])
        }
        while old < speeds.count {
            put(speeds[old])
            old += 1
        }
        speeds = merged
        return refused
    }

    /// Forgets what no longer holds at `now`; whether there was something to forget.
    public mutating func dropExpired(at now: Timestamp) -> Bool {
        let before = speeds.count
        speeds.removeAll { $0.validUntil.map { $0 <= now } ?? false }
        return speeds.count < before
    }
}
