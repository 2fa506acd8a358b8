import NavGeo
import NavStorage
import NavTileCache
import NavTileStore

/// The number of tiles of the region.
let regionSize: Int64 = 48

/// Updates a region of road tiles from edition to edition endlessly, while map tiles are stored and evicted within a
/// small budget. Prints `region N` when the region has edition `eN`.
func churn(_ folder: String, seed: UInt64) throws {
    var options = TileStoreOptions()
    options.reserveBytes = 1 << 20
    options.budgetBytes = 900_000
    let store = try TileStore(folder: folder, options: options)
    var random = SplitMix64(seed: seed &* 7_919 &+ 17)
    var now = Timestamp(nanoseconds: 1_000_000_000 * Int64(seed % 1_000))
    try store.addEdition(mapEdition, now: now)
    var edition =
        try store.reader.region("home").flatMap { $0.editions["roads"] }.flatMap { Int64($0.dropFirst()) } ?? 0
    var mapNumber = Int64.random(in: 0..<100_000, using: &random)
    let tiles = (0..<regionSize).map { TileAddress("roads", tile($0, zoom: 12)) }
    let definition = StoredRegionDefinition(id: "home", name: "Home", geometry: [1, 2, 3])
    say("ready")
    while !isOrphaned() {
        now.nanoseconds += 1_000_000_000
        edition += 1
        let version = "e\(edition)"
        try store.addEdition(roadEdition(version), now: now)
        try store.putRegion(definition, tiles: tiles, editions: ["roads": version], now: now)
        var next: Int64 = 0
        while next < regionSize {
            let count = Int64.random(in: 1...12, using: &random)
            let batch = (next..<min(next + count, regionSize)).map { roadTile($0, edition: version) }
            try require(store.commit(batch, now: now), of: batch.count)
            next += count
            if Int.random(in: 0..<2, using: &random) == 0 {
                mapNumber += 1
                let report = try store.commit(
                    (0..<Int64.random(in: 1...8, using: &random)).map { mapTile(mapNumber + $0, count: 4_000) },
                    now: now)
                if report.stored.isEmpty && report.refused.isEmpty { say("lost a tile") }
            }
            if Int.random(in: 0..<8, using: &random) == 0 {
                try store.makeRoom(for: Int64.random(in: 0..<100_000, using: &random), needed: nil)
            }
        }
        try store.completeRegions(
            ["home": StoredRegionProgress(requiredCount: regionSize, completedCount: regionSize)],
            using: [EditionKey("roads", version)], now: now)
        say("region \(edition)")
        if Int.random(in: 0..<2, using: &random) == 0 {
            for old in try store.reader.editions() where old.key.tileset == "roads" && !old.isCurrent {
                try store.removeEdition(old.key)
            }
        }
        if Int.random(in: 0..<6, using: &random) == 0 { try store.purge(tileset: "maps") }
    }
    store.close()
}

private func require(_ report: CommitReport, of count: Int) throws {
    guard report.stored.count == count else {
        throw StoreError(.system, "\(report.stored.count) of \(count) tiles of the region were stored")
    }
}
