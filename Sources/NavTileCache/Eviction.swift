public import NavGeo

/// A tile on board, as the decision on what has to go sees it.
public struct StoredTile: Sendable, Hashable {
    /// Its number in the store, unique.
    public var id: Int64
    /// Bytes on disk.
    public var bytes: Int64
    /// When it was needed last.
    public var lastNeeded: Timestamp
    /// Whether an offline region has it: it never goes.
    public var isPinned: Bool
    /// How soon it will be needed, see ``WantedTile/need``; nil when nobody wants it.
    public var need: Double?

    /// A stored tile.
    public init(id: Int64, bytes: Int64, lastNeeded: Timestamp, isPinned: Bool = false, need: Double? = nil) {
        self.id = id
        self.bytes = bytes
        self.lastNeeded = lastNeeded
        self.isPinned = isPinned
        self.need = need
    }
}

/// Says which tiles go when the store is full.
public enum Eviction {
    /// What goes so that `bytes` more fit into `budget`.
    ///
    /// First the tiles that nobody wants, the least recently needed first; then wanted ones that are needed later than
    /// what is to come, the latest first. Pinned tiles stay.
    ///
    /// - Parameters:
    ///   - need: How soon what is to come will be needed; nil when it is for a region: nothing that is wanted goes for
    ///     it.
    /// - Returns: The tiles that go, in that order; nil when it does not fit whatever goes.
    public static func victims(
        among tiles: [StoredTile], budget: Int64, toFit bytes: Int64, needed need: Double?
    ) -> [Int64]? {
        var excess = tiles.reduce(0) { $0 + $1.bytes } + bytes - budget
        guard excess > 0 else { return [] }
        let idle = tiles.filter { !$0.isPinned && $0.need == nil }.sorted {
            ($0.lastNeeded, $0.id) < ($1.lastNeeded, $1.id)
        }
        let later = tiles.filter { tile in
            guard let need, let own = tile.need else { return false }
            return !tile.isPinned && own > need
        }.sorted { ($1.need ?? 0, $1.id) < ($0.need ?? 0, $0.id) }
        var victims: [Int64] = []
        for tile in idle + later {
            guard excess > 0 else { break }
            victims.append(tile.id)
            excess -= tile.bytes
        }
        return excess > 0 ? nil : victims
    }
}
