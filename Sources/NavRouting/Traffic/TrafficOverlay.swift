public import NavGeo

/// A measured speed of one road segment in one direction.
public struct TrafficSpeed: Sendable, Hashable {
    /// The OSM way, or ``anyWay``.
    private(set) var way: Int64
    /// OSM node where the segment begins, in the direction of travel.
    public var fromNodeID: Int64
    /// OSM node where it ends, which need not be the way's next node.
    public var toNodeID: Int64
    /// The speed, m/s; 0 means closed.
    public var speed: Double
    /// The expiry, or ``endless`` if the speed holds until it is replaced.
    private(set) var end: Int64

    /// The value for any way; it sorts before every way.
    static let anyWay = Int64.min
    private static let endless = Int64.max

    /// Creates a speed; a `speed` of 0 closes the segment.
    public init(
        wayID: Int64? = nil, fromNodeID: Int64, toNodeID: Int64, speed: Double, validUntil: Timestamp? = nil
    ) {
        way = wayID ?? Self.anyWay
        self.fromNodeID = fromNodeID
        self.toNodeID = toNodeID
        self.speed = speed
        end = validUntil?.nanoseconds ?? Self.endless
    }

    /// OSM way; nil for any way between the nodes.
    public var wayID: Int64? { way == Self.anyWay ? nil : way }

    /// Whether the values are valid: a speed within 0 ... ``TrafficOverlay/greatestSpeed`` and two nodes.
    public var isValid: Bool {
        (0...TrafficOverlay.greatestSpeed).contains(speed) && fromNodeID != toNodeID
    }

    /// Whether it has not expired at a time; always true for nil.
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

/// The known traffic: at most one speed per segment, sorted, bounded in size and independent of the loaded tiles.
public struct TrafficOverlay: Sendable, Equatable {
    /// The highest accepted speed, m/s.
    public static let greatestSpeed = 100.0
    /// The maximum number of segments.
    public static let greatestCount = 4_000_000

    public private(set) var speeds: ContiguousArray<TrafficSpeed> = []

    /// The time at which the newest speed was measured; nil when unknown.
    ///
    /// Repeating the same speeds later changes nothing.
    public var stamp: Timestamp?

    public init() {}

    /// The earliest expiry of a speed; nil when all hold until they are replaced.
    public private(set) var nextExpiry: Timestamp?

    /// Adds speeds; among equal segments the last one counts.
    ///
    /// Takes time in proportion to the resulting overlay: some milliseconds for a city, least when the speeds are
    /// sorted by their nodes.
    ///
    /// - Parameter replacingAll: Whether all earlier speeds are removed first.
    /// - Returns: The number of speeds rejected because they are invalid or too many.
    public mutating func apply(_ update: some Sequence<TrafficSpeed>, replacingAll: Bool = false) -> Int {
        apply(ContiguousArray(update), replacingAll: replacingAll)
    }

    /// Adds speeds; among equal segments the last one counts.
    ///
    /// - Parameters:
    ///   - replacingAll: Whether all earlier speeds are removed first.
    ///   - forEach: The executor that sorts the halves of unsorted speeds. Without an executor they are sorted as a
    ///     whole on the calling thread, which is less work.
    /// - Returns: The number of speeds rejected because they are invalid or too many.
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

    /// Merges sorted speeds with one per segment; returns how many exceeded the limit.
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

    /// Removes speeds that have expired by `now`; returns whether there were any.
    public mutating func dropExpired(at now: Timestamp) -> Bool {
        guard let nextExpiry, nextExpiry <= now else { return false }
        speeds.removeAll { !$0.holds(at: now) }
        noteExpiry()
        return true
    }
}
