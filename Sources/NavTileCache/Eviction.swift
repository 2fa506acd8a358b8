package import NavDigest

/// A tile that may be evicted, with its files.
package struct EvictionCandidate: Sendable {
    package var number: Int64
    /// The content hash and size of its files, which tiles may share.
    package var files: [(hash: ContentHash, bytes: Int64)]

    package init(_ number: Int64, files: [(hash: ContentHash, bytes: Int64)]) {
        self.number = number
        self.files = files
    }
}

/// The tiles of a store in the order in which eviction examines them.
package protocol EvictionSource {
    /// Returns the next unpinned tile, least recently needed first; nil when there are no more.
    mutating func nextIdle() throws -> EvictionCandidate?
    /// Returns a tile by its number; nil when it is pinned or not on board.
    mutating func unpinned(_ number: Int64) throws -> EvictionCandidate?
    /// Returns the number of tiles that use a file.
    mutating func uses(_ hash: ContentHash) throws -> Int64
}

/// The choice of tiles to evict so that a store fits into its budget.
///
/// Unwanted tiles are evicted first, least recently needed first; then wanted tiles that are needed later than the incoming ones, latest
/// first. Pinned tiles are never evicted. A shared file is freed when the last tile that uses it is evicted. The search stops as soon as
/// enough is found, so its cost does not grow with the store.
package struct Eviction {
    /// The tiles to evict, in order.
    package private(set) var victims: [Int64] = []
    /// The number of victims that are wanted, but needed later than the incoming tiles.
    package private(set) var wantedCount = 0
    package private(set) var freedBytes: Int64 = 0
    package private(set) var suffices = true
    /// Tiles that were examined and are kept because they are wanted.
    package private(set) var passed: [Int64] = []
    /// The number of users that each file loses by the eviction.
    private var lost: [ContentHash: Int64] = [:]

    package init() {}

    /// The choice that frees `excess` bytes.
    ///
    /// - Parameters:
    ///   - need: The need of the incoming tiles; with nil, no wanted tile is evicted for them.
    ///   - spared: A tile that is not evicted, since it is the incoming one.
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
