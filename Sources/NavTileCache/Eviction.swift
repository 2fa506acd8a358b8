package import NavDigest

/// A tile that may be evicted, with its files.
package struct EvictionCandidate: Sendable {
    package var number: Int64
    /// Content and size of its files; tiles may share them.
    package var files: [(hash: ContentHash, bytes: Int64)]

    package init(_ number: Int64, files: [(hash: ContentHash, bytes: Int64)]) {
        self.number = number
        self.files = files
    }
}

/// The tiles of a store in the order in which eviction looks at them.
package protocol EvictionSource {
    /// The next unpinned tile, the least recently needed first; nil when there are no more.
    mutating func nextIdle() throws -> EvictionCandidate?
    /// A tile by its number; nil when it is pinned or not on board.
    mutating func unpinned(_ number: Int64) throws -> EvictionCandidate?
    /// Returns the number of tiles that have a file.
    mutating func uses(_ hash: ContentHash) throws -> Int64
}

/// A choice of the tiles that go so that a store fits into its budget.
///
/// First the tiles that nobody wants, the least recently needed first; then wanted ones that are needed later than what
/// is to come, the latest first. Pinned tiles stay. A file that several tiles have is freed by the last. It stops as
/// soon as enough is found: what it costs does not grow with the store.
package struct Eviction {
    /// The tiles, in the order in which they go.
    package private(set) var victims: [Int64] = []
    /// The number of victims that are wanted, later than what is to come.
    package private(set) var wantedCount = 0
    package private(set) var freedBytes: Int64 = 0
    package private(set) var suffices = true
    /// Tiles that were looked at and stay, because they are wanted.
    package private(set) var passed: [Int64] = []
    /// The number of users that each file loses.
    private var lost: [ContentHash: Int64] = [:]

    package init() {}

    /// The choice that frees `excess` bytes.
    ///
    /// - Parameters:
    ///   - need: How soon what is to come will be needed; nil: nothing that is wanted goes for it.
    ///   - spared: A tile that stays: the one that is to come.
    package init(
        freeing excess: Int64, needed need: Double?, sparing spared: Int64? = nil, _ wanted: inout WantedTiles,
        among tiles: inout some EvictionSource
    ) throws {
        guard excess > 0 else { return }
        while freedBytes < excess, let tile = try tiles.nextIdle() {
            if wanted.need(tile.number) != nil {
                passed.append(tile.number)
            } else if tile.number != spared {
                try take(tile, &tiles)
            }
        }
        if let need, freedBytes < excess {
            for later in wanted.later(than: need) where later.number != spared {
                if let tile = try tiles.unpinned(later.number) {
                    try take(tile, &tiles)
                    wantedCount += 1
                }
                if freedBytes >= excess { break }
            }
        }
        suffices = freedBytes >= excess
    }

    private mutating func take(_ tile: EvictionCandidate, _ tiles: inout some EvictionSource) throws {
        victims.append(tile.number)
        for file in tile.files {
            lost[file.hash, default: 0] += 1
            if try lost[file.hash] == tiles.uses(file.hash) { freedBytes += file.bytes }
        }
    }
}
