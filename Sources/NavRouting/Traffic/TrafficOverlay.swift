public import NavGeo

/// The speed of one road segment in one direction, as somebody measured it.
public struct TrafficSpeed: Sendable, Hashable {
    /// ``anyWay`` when any way between the nodes is meant.
    private(set) var way: Int64
    /// OSM node where the segment begins, in the direction of travel.
    public var fromNodeID: Int64
    /// OSM node where it ends; need not be the way's next node.
    public var toNodeID: Int64
    /// m/s; 0 means closed.
    public var speed: Double
    /// ``endless`` when it holds until it is replaced.
    private(set) var end: Int64

    /// Sorts before every way.
    static let anyWay = Int64.min
    private static let endless = Int64.max

    /// A speed; `speed` 0 closes the segment.
    public init(
        wayID: Int64? = nil, fromNodeID: Int64, toNodeID: Int64, speed: Double, validUntil: Timestamp? = nil
    ) {
        way = wayID ?? Self.anyWay
        self.fromNodeID = fromNodeID
        self.toNodeID = toNodeID
        self.speed = speed
        end = validUntil?.nanoseconds ?? Self.endless
    }

    /// OSM way; nil when any way between the nodes is meant.
    public var wayID: Int64? { way == Self.anyWay ? nil : way }

    /// Whether nobody may drive there.
    public var isClosed: Bool { speed == 0 }

    /// Whether the numbers make sense: a speed within 0 ... ``TrafficOverlay/greatestSpeed`` and two nodes.
    public var isValid: Bool {
        (0...TrafficOverlay.greatestSpeed).contains(speed) && fromNodeID != toNodeID
    }

    /// Whether it holds at a moment; without one it does.
    @inline(__always)
    func holds(at now: Timestamp?) -> Bool {
        guard let now, end != Self.endless else { return true }
        return end > now.nanoseconds
    }

    @inline(__always)
    static func isOrdered(_ left: TrafficSpeed, _ right: TrafficSpeed) -> Bool {
        if left.fromNodeID != right.fromNodeID { return left.fromNodeID < right.fromNodeID }
        if left.toNodeID != right.toNodeID { return left.toNodeID < right.toNodeID }
        return left.way < right.way
    }

    @inline(__always)
    func isSameSegment(as other: TrafficSpeed) -> Bool {
        fromNodeID == other.fromNodeID && toNodeID == other.toNodeID && way == other.way
    }
}

/// The known traffic: at most one speed for each segment, sorted, bounded, independent of the loaded tiles.
public struct TrafficOverlay: Sendable, Equatable {
    /// The highest speed that is believed, m/s.
    public static let greatestSpeed = 100.0
    /// The most segments that are kept.
    public static let greatestCount = 4_000_000

    public private(set) var speeds: ContiguousArray<TrafficSpeed> = []

    /// When the newest of them was measured; nil where nobody says. Who says the same again later changes nothing.
    public var stamp: Timestamp?

    public init() {}

    /// The soonest moment at which a speed ceases to hold; nil when all hold until they are replaced.
    public private(set) var nextExpiry: Timestamp?

    /// Takes speeds over; among equal segments the last one counts.
    ///
    /// Takes time in proportion to what is known afterwards: some milliseconds for a city, least when the speeds come
    /// sorted by their nodes.
    ///
    /// - Parameter replacingAll: Whether everything that was known is forgotten first.
    /// - Returns: How many were refused because they make no sense or are too many.
    public mutating func apply(_ update: some Sequence<TrafficSpeed>, replacingAll: Bool = false) -> Int {
        apply(ContiguousArray(update), replacingAll: replacingAll)
    }

    /// Takes speeds over; among equal segments the last one counts.
    ///
    /// - Parameters:
    ///   - replacingAll: Whether everything that was known is forgotten first.
    ///   - forEach: Who sorts the halves of what is not sorted; without, it is sorted as a whole on the calling thread,
    ///     which is less work.
    /// - Returns: How many were refused because they make no sense or are too many.
    public mutating func apply(
        _ update: ContiguousArray<TrafficSpeed>, replacingAll: Bool = false,
        forEach: HierarchyMetric.ForEach? = nil
    ) -> Int {
        var fresh = update
        let isSound = fresh.count <= Self.greatestCount && fresh.allSatisfy(\.isValid)
        if !isSound { fresh = ContiguousArray(fresh.lazy.filter(\.isValid).prefix(Self.greatestCount)) }
        var refused = update.count - fresh.count
        fresh = TrafficOrder.sorted(fresh, forEach)
        if replacingAll || speeds.isEmpty {
            speeds = fresh
        } else {
            refused += merge(fresh)
        }
        noteExpiry()
        return refused
    }

    /// Merges sorted speeds of which each segment has one; how many were too many.
    private mutating func merge(_ fresh: ContiguousArray<TrafficSpeed>) -> Int {
        var refused = 0
        speeds = TrafficOrder.merged(speeds, fresh, limit: Self.greatestCount, &refused)
        return refused
    }

    private mutating func noteExpiry() {
        var soonest = Int64.max
        for speed in speeds { soonest = min(soonest, speed.end) }
        nextExpiry = soonest == .max ? nil : Timestamp(nanoseconds: soonest)
    }

    /// Forgets what no longer holds at `now`; whether there was something to forget.
    public mutating func dropExpired(at now: Timestamp) -> Bool {
        guard let nextExpiry, nextExpiry <= now else { return false }
        speeds.removeAll { !$0.holds(at: now) }
        noteExpiry()
        return true
    }
}
