import NavDigest
import NavGeo
import NavStorage
import NavTileCache

/// The state that survives the end of a process.
struct MemoryDisk {
    struct Tile {
        var address: TileAddress
        var edition: String
        var hash: ContentHash
        var bytes: Int64
        var validators: Validators
        var needed: Int64
        var isDamaged = false
    }

    struct Edition {
        var edition: TilesetEdition
        var number: Int64
    }

    struct Region {
        var stored: StoredRegion
        var pins: Set<Int64> = []
        /// The tiles that an update needs; nil when none is staged.
        var staged: Set<Int64>?
        var wasComplete = false

        var needed: Set<Int64> { staged ?? pins }
    }

    var editions: [EditionKey: Edition] = [:]
    var current: [String: EditionKey] = [:]
    var tiles: [Int64: Tile] = [:]
    var regions: [String: Region] = [:]
    var scrubPosition = ScrubPosition()
    var bytes: Int64 = 0

    func isPinned(_ number: Int64) -> Bool {
        regions.values.contains { $0.pins.contains(number) || $0.staged?.contains(number) == true }
    }

    func isWhole(_ pins: Set<Int64>) -> Bool { pins.allSatisfy { tiles[$0] != nil } }
}

/// A tile store in memory with the semantics of the real one, and with faults: a bounded disk, failing writes, and a
/// process that is killed at any of its writes.
final class MemoryStore: TileCacheStore {
    /// The moment of the process's death: after a number of further writes, before or after the last of them is
    /// durable.
    struct Kill {
        var writes: Int
        var isAfter: Bool
    }

    private(set) var disk: MemoryDisk
    var kill: Kill?
    private(set) var isDead = false
    /// Whether the store's folder is gone while its index is still readable.
    var isGone = false
    /// The size of the disk, bytes.
    var capacity: Int64 = .max
    /// Whether no files can be written while the index can be changed.
    var isUnwritable = false
    /// Decides randomly whether a write fails; nil when none does.
    var failure: (() -> Bool)?
    private(set) var budgetBytes: Int64
    private var wanted = WantedTiles()
    private var losses: [RegionTile] = []
    private var nextNumber: Int64 = 1
    /// The violated invariants.
    private(set) var breaches: [String] = []
    /// The number of changes, including failed ones.
    private(set) var changeCount = 0
    /// The number of evicted tiles.
    private(set) var evictedCount = 0
    let readOnlyProblem: StoreError? = nil

    init(_ disk: MemoryDisk, budget: Int64) {
        self.disk = disk
        budgetBytes = budget
        nextNumber = (disk.editions.values.map(\.number).max() ?? 0) + 1
    }

    var reader: MemoryStore { self }

    // MARK: Changes

    private static let dead = StoreError(.closed, "the process is dead")

    /// Performs one atomic change: `body` throws before it changes anything.
    private func change<Value>(
        growing bytes: Int64 = 0, _ body: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        if isDead { throw Self.dead }
        changeCount += 1
        if let failure, failure() { throw StoreError(.system, "the disk fails") }
        if bytes > 0, disk.bytes + bytes > capacity { throw StoreError(.diskFull, "the disk is full") }
        if kill != nil {
            kill?.writes -= 1
            if let kill, kill.writes <= 0 {
                isDead = true
                if kill.isAfter { _ = try body() }
                throw Self.dead
            }
        }
        return try body()
    }

    /// Silently damages a stored tile.
    func damage(_ number: Int64) { disk.tiles[number]?.isDamaged = true }

    func setBudget(_ bytes: Int64) { budgetBytes = bytes }

    /// The tiles in eviction order.
    private struct EvictionOrder: EvictionSource {
        let disk: MemoryDisk
        var idle: [Int64]
        var next = 0

        init(_ disk: MemoryDisk) {
            self.disk = disk
            var pinned: Set<Int64> = []
            for region in disk.regions.values { pinned.formUnion(region.pins.union(region.staged ?? [])) }
            idle = disk.tiles.keys.filter { !pinned.contains($0) }
            idle.sort { (disk.tiles[$0]?.needed ?? 0, $0) < (disk.tiles[$1]?.needed ?? 0, $1) }
        }

        private func candidate(_ number: Int64) -> EvictionCandidate? {
            disk.tiles[number].map { EvictionCandidate(number, files: [($0.hash, $0.bytes)]) }
        }

        mutating func nextIdle() -> EvictionCandidate? {
            guard next < idle.count else { return nil }
            next += 1
            return candidate(idle[next - 1])
        }

        func unpinned(_ number: Int64) -> EvictionCandidate? { disk.isPinned(number) ? nil : candidate(number) }

        func uses(_ hash: ContentHash) -> Int64 { 1 }
    }

    private func eviction(freeing excess: Int64, needed need: Double?, sparing spared: Int64? = nil) -> Eviction {
        guard excess > 0 else { return Eviction() }
        var shelf = EvictionOrder(disk)
        let eviction = try? Eviction(freeing: excess, needed: need, sparing: spared, &wanted, among: &shelf)
        return eviction ?? Eviction()
    }

    private func evict(_ numbers: [Int64]) {
        for number in numbers {
            if disk.isPinned(number) { breaches.append("the pinned tile \(number) was evicted") }
            remove(number)
        }
        evictedCount += numbers.count
    }

    private func remove(_ number: Int64) {
        if let tile = disk.tiles.removeValue(forKey: number) { disk.bytes -= tile.bytes }
    }

    func makeRoom(for bytes: Int64, needed need: Double?) throws(StoreError) -> RemovalReport {
        try change { () throws(StoreError) in
            let before = disk.bytes
            let eviction = eviction(freeing: disk.bytes + bytes - budgetBytes, needed: need)
            guard eviction.suffices || bytes <= 0 else { return RemovalReport(fits: false) }
            evict(eviction.victims)
            return RemovalReport(
                fits: eviction.suffices, removedCount: eviction.victims.count, freedBytes: before - disk.bytes)
        }
    }

    func setWanted(_ tiles: [WantedTile], in edition: EditionKey) throws(StoreError) {
        if let number = disk.editions[edition]?.number { wanted.set(tiles, edition: number) }
    }

    func touch(_ tiles: [TileRecord], now: Timestamp) {
        guard !isDead else { return }
        for tile in tiles { disk.tiles[tile.number]?.needed = now.nanoseconds }
    }

    func flush() throws(StoreError) { try change { () throws(StoreError) in } }

    func commit(_ tiles: [FetchedTile], now: Timestamp) throws(StoreError) -> CommitReport {
        for tile in tiles where disk.editions[EditionKey(tile.address.tileset, tile.edition)] == nil {
            throw StoreError(.invalid, "tile \(tile.address) is of an edition that is not stored")
        }
        if isUnwritable { throw StoreError(.system, "no file can be written") }
        return try change(growing: tiles.reduce(0) { $0 + $1.size }) { () throws(StoreError) in
            var report = CommitReport()
            var stored: [(tile: RegionTile, number: Int64)] = []
            var evicted: Set<Int64> = []
            for tile in tiles {
                let edition = disk.editions[EditionKey(tile.address.tileset, tile.edition)]?.number ?? 0
                let number = TileNumber.of(tile.address.tile, edition: edition)
                let old = disk.tiles[number]
                remove(number)
                disk.tiles[number] = MemoryDisk.Tile(
                    address: tile.address, edition: tile.edition, hash: tile.parts[0].hash, bytes: tile.size,
                    validators: tile.validators, needed: now.nanoseconds)
                disk.bytes += tile.size
                let need = disk.isPinned(number) ? nil : wanted.need(number)
                let eviction = eviction(freeing: disk.bytes - budgetBytes, needed: need, sparing: number)
                guard eviction.suffices else {
                    remove(number)
                    if let old {
                        disk.tiles[number] = old
                        disk.bytes += old.bytes
                    }
                    report.refused.append(RegionTile(tile.address, edition: tile.edition))
                    continue
                }
                evict(eviction.victims)
                evicted.formUnion(eviction.victims)
                evicted.remove(number)
                report.evictedCount += eviction.victims.count
                report.evictedWantedCount += eviction.wantedCount
                stored.append((RegionTile(tile.address, edition: tile.edition), number))
            }
            report.stored = stored.filter { !evicted.contains($0.number) }.map(\.tile)
            return report
        }
    }

    func revalidate(
        _ tiles: [(tile: RegionTile, validators: Validators)], now: Timestamp
    ) throws(StoreError) -> Set<RegionTile> {
        try change { () throws(StoreError) in
            var onBoard: Set<RegionTile> = []
            for (tile, validators) in tiles {
                guard let number = number(tile.address, tile.edition), disk.tiles[number] != nil else { continue }
                disk.tiles[number]?.validators = validators
                disk.tiles[number]?.needed = now.nanoseconds
                onBoard.insert(tile)
            }
            return onBoard
        }
    }

    func purge(tileset: String?, expiredAt now: Timestamp?) throws(StoreError) -> RemovalReport {
        try change { () throws(StoreError) in
            let before = disk.bytes
            let gone = disk.tiles.filter { number, tile in
                let isMeant = tileset == nil || tile.address.tileset == tileset
                let isExpired = now.map { now in tile.validators.expires.map { $0 <= now } ?? false } ?? true
                return isMeant && isExpired && !disk.isPinned(number)
            }
            for number in gone.keys { remove(number) }
            return RemovalReport(removedCount: gone.count, freedBytes: before - disk.bytes)
        }
    }

    func addEdition(_ edition: TilesetEdition, now: Timestamp) throws(StoreError) {
        try change { () throws(StoreError) in
            let key = EditionKey(edition.tileset, edition.version)
            let number = disk.editions[key]?.number ?? nextNumber
            nextNumber = max(nextNumber, number + 1)
            disk.editions[key] = MemoryDisk.Edition(edition: edition, number: number)
            if disk.current[edition.tileset] == nil { disk.current[edition.tileset] = key }
        }
    }

    func removeEdition(_ key: EditionKey) throws(StoreError) -> RemovalReport {
        guard let edition = disk.editions[key] else { return RemovalReport() }
        let range = TileNumber.range(ofEdition: edition.number)
        let isPinned = disk.regions.values.contains { region in
            region.pins.union(region.staged ?? []).contains { range.contains($0) }
        }
        guard disk.current[key.tileset] != key, !isPinned else { throw StoreError(.inUse, "\(key) is in use") }
        return try change { () throws(StoreError) in
            let gone = disk.tiles.keys.filter { range.contains($0) }
            for number in gone { remove(number) }
            disk.editions[key] = nil
            wanted.set([], edition: edition.number)
            return RemovalReport(removedCount: gone.count)
        }
    }

    // MARK: Regions

    func putRegion(
        _ definition: StoredRegionDefinition, tiles: [TileAddress], editions: [String: String], now: Timestamp
    ) throws(StoreError) -> StoredRegion {
        var pins: Set<Int64> = []
        for tile in tiles {
            guard let version = editions[tile.tileset], let number = number(tile, version) else {
                throw StoreError(.invalid, "tile \(tile) is of an edition that is not stored")
            }
            pins.insert(number)
        }
        return try change { () throws(StoreError) in
            var region =
                disk.regions[definition.id]
                ?? MemoryDisk.Region(
                    stored: StoredRegion(
                        definition: definition, editions: editions, state: .loading, progress: StoredRegionProgress(),
                        created: now, updated: now, failure: nil, staged: nil, needsPlanning: false))
            if region.wasComplete {
                region.staged = pins
                region.stored.staged = StagedRegion(definition: definition, editions: editions)
            } else {
                region.pins = pins
                (region.stored.definition, region.stored.editions) = (definition, editions)
            }
            (region.stored.state, region.stored.failure) = (.loading, nil)
            disk.regions[definition.id] = region
            return region.stored
        }
    }

    private func unknown(_ id: String) -> StoreError { StoreError(.missing, "no region '\(id)'") }

    func setRegion(
        _ id: String, state: StoredRegionState, progress: StoredRegionProgress, failure: StoredRegionFailure?,
        now: Timestamp
    ) throws(StoreError) {
        guard disk.regions[id] != nil, state != .complete else { throw unknown(id) }
        try change { () throws(StoreError) in
            disk.regions[id]?.stored.state = state
            disk.regions[id]?.stored.progress = progress
            disk.regions[id]?.stored.failure = failure
        }
    }

    func completeRegions(
        _ regions: [String: StoredRegionProgress], using editions: [EditionKey], now: Timestamp
    ) throws(StoreError) {
        for id in regions.keys {
            guard let region = disk.regions[id] else { throw unknown(id) }
            guard disk.isWhole(region.needed) else { throw StoreError(.inUse, "region '\(id)' lacks tiles") }
        }
        for key in editions where disk.editions[key] == nil { throw StoreError(.invalid, "\(key) is not on board") }
        try change { () throws(StoreError) in
            for (id, progress) in regions {
                guard var region = disk.regions[id] else { continue }
                if let staged = region.staged, let next = region.stored.staged {
                    region.pins = staged
                    (region.stored.definition, region.stored.editions) = (next.definition, next.editions)
                    (region.staged, region.stored.staged) = (nil, nil)
                }
                (region.stored.state, region.stored.progress, region.stored.failure) = (.complete, progress, nil)
                region.wasComplete = true
                disk.regions[id] = region
            }
            for key in editions { disk.current[key.tileset] = key }
        }
    }

    func dropTiles(_ tiles: [RegionTile], fromRegion id: String) throws(StoreError) {
        guard disk.regions[id] != nil else { throw unknown(id) }
        try change { () throws(StoreError) in
            for tile in tiles {
                guard let number = number(tile.address, tile.edition) else { continue }
                if disk.regions[id]?.staged != nil {
                    disk.regions[id]?.staged?.remove(number)
                } else {
                    disk.regions[id]?.pins.remove(number)
                }
            }
        }
    }

    func discardStaged(ofRegion id: String, now: Timestamp) throws(StoreError) {
        guard let region = disk.regions[id] else { throw unknown(id) }
        guard region.staged != nil else { return }
        try change { () throws(StoreError) in
            disk.regions[id]?.staged = nil
            disk.regions[id]?.stored.staged = nil
            let isWhole = disk.isWhole(region.pins)
            disk.regions[id]?.stored.state = isWhole ? .complete : .incomplete
            disk.regions[id]?.stored.failure = nil
        }
    }

    func describeRegion(
        _ id: String, name: String?, metadata: [String: String]?, now: Timestamp
    ) throws(StoreError) {
        guard disk.regions[id] != nil else { throw unknown(id) }
        try change { () throws(StoreError) in
            if let name {
                disk.regions[id]?.stored.definition.name = name
                disk.regions[id]?.stored.staged?.definition.name = name
            }
            if let metadata {
                disk.regions[id]?.stored.definition.metadata = metadata
                disk.regions[id]?.stored.staged?.definition.metadata = metadata
            }
        }
    }

    func removeRegion(_ id: String) throws(StoreError) -> Bool {
        try change { () throws(StoreError) in disk.regions.removeValue(forKey: id) != nil }
    }

    // MARK: Scrub

    func requireFolder() throws(StoreError) {
        if isGone { throw StoreError(.missing, "the folder no longer exists") }
    }

    func scrub(from position: ScrubPosition, bytes limit: Int64) throws(StoreError) -> ScrubReport {
        if isDead { throw Self.dead }
        try requireFolder()
        var report = ScrubReport()
        let last: Int64
        if case .tiles(let number) = position.stage { last = number } else { last = .min }
        let numbers = disk.tiles.keys.filter { $0 > last }.sorted()
        for number in numbers {
            guard report.bytes < limit, let tile = disk.tiles[number] else { return report }
            report.bytes += max(tile.bytes, 4_096)
            report.tileCount += 1
            report.place.stage = .tiles(number)
            guard tile.isDamaged else { continue }
            try change { () throws(StoreError) in lose(number, tile) }
            report.findings.append(
                CheckFinding(kind: .wrongHash, subject: "\(number)", detail: "damaged", isRepaired: true))
        }
        (report.place, report.isRound) = (ScrubPosition(), true)
        return report
    }

    private func lose(_ number: Int64, _ tile: MemoryDisk.Tile) {
        remove(number)
        losses.append(RegionTile(tile.address, edition: tile.edition))
        for (id, region) in disk.regions where region.pins.contains(number) && region.stored.state == .complete {
            disk.regions[id]?.stored.state = .incomplete
        }
    }

    func savedScrubPosition() -> ScrubPosition { disk.scrubPosition }

    func saveScrubPosition(_ position: ScrubPosition) { if !isDead { disk.scrubPosition = position } }

    func takeLosses() -> [RegionTile] {
        defer { losses = [] }
        return losses
    }
}

extension MemoryStore: TileCacheIndex {
    var folder: String { "memory" }
    var freeBytes: Int64? { capacity == .max ? .max : max(capacity - disk.bytes, 0) }
    func storedBytes() throws(StoreError) -> Int64 { disk.bytes }

    private func number(_ address: TileAddress, _ version: String) -> Int64? {
        disk.editions[EditionKey(address.tileset, version)].map { TileNumber.of(address.tile, edition: $0.number) }
    }

    private func tile(_ number: Int64) -> RegionTile? {
        guard let tile = TileNumber.tile(number) else { return nil }
        let edition = TileNumber.edition(number)
        return disk.editions.first { $0.value.number == edition }.map {
            RegionTile(TileAddress($0.key.tileset, tile), edition: $0.key.version)
        }
    }

    func editions() throws(StoreError) -> [EditionRecord] {
        disk.editions.sorted { $0.key < $1.key }.map { key, edition in
            let range = TileNumber.range(ofEdition: edition.number)
            let count = disk.tiles.keys.count { range.contains($0) }
            return EditionRecord(
                key: key, domain: edition.edition.domain,
                inUseSince: disk.current[key.tileset] == key ? Timestamp(nanoseconds: 0) : nil,
                added: Timestamp(nanoseconds: 0), tileCount: Int64(count), viewPath: nil)
        }
    }

    func edition(_ key: EditionKey) throws(StoreError) -> TilesetEdition? { disk.editions[key]?.edition }

    func tile(_ address: TileAddress, version: String?, now: Timestamp) throws(StoreError) -> TileRecord? {
        guard let version = version ?? disk.current[address.tileset]?.version,
            let number = number(address, version), let tile = disk.tiles[number]
        else { return nil }
        return TileRecord(
            address: address, edition: version,
            parts: [
                PartRecord(
                    part: .body, hash: tile.hash, bytes: tile.bytes, contentEncoding: nil, mediaType: nil, path: "")
            ], validators: tile.validators, isExpired: tile.validators.expires.map { $0 <= now } ?? false,
            isPinned: disk.isPinned(number), lastNeeded: Timestamp(nanoseconds: tile.needed), number: number)
    }

    private func isFresh(_ number: Int64, _ now: Timestamp?) -> Bool {
        guard let tile = disk.tiles[number] else { return false }
        guard let now, let expires = tile.validators.expires else { return true }
        return expires > now
    }

    func absent(_ tiles: [TileID], in edition: EditionKey, expiredAt now: Timestamp?) throws(StoreError) -> [TileID] {
        guard let number = disk.editions[edition]?.number else { return tiles }
        return tiles.filter { !isFresh(TileNumber.of($0, edition: number), now) }
    }

    func lacking(_ tiles: [RegionTile]) throws(StoreError) -> [RegionTile] {
        tiles.filter { tile in
            guard let number = number(tile.address, tile.edition), disk.tiles[number] == nil else { return false }
            return disk.regions.values.contains { region in
                region.stored.state != .cancelled
                    && (region.pins.contains(number) || region.staged?.contains(number) == true)
            }
        }
    }

    func regions() throws(StoreError) -> [StoredRegion] {
        disk.regions.sorted { $0.key < $1.key }.map(\.value.stored)
    }

    func regionIDs() throws(StoreError) -> [String] { disk.regions.keys.sorted() }

    func region(_ id: String) throws(StoreError) -> StoredRegion? { disk.regions[id]?.stored }

    func missingTiles(
        ofRegion id: String, expiredAt moment: Timestamp?, now: Timestamp?, after last: RegionTile?, limit: Int
    ) throws(StoreError) -> [RegionTile] {
        guard let region = disk.regions[id] else { throw unknown(id) }
        let start = last.flatMap { number($0.address, $0.edition) } ?? .min
        let missing = region.needed.filter { $0 > start && !isFresh($0, moment) }.sorted().prefix(limit)
        return missing.compactMap(tile)
    }

    func completeness(
        ofRegion id: String, asServed: Bool
    ) throws(StoreError) -> (required: Int64, present: Int64, bytes: Int64) {
        guard let region = disk.regions[id] else { throw unknown(id) }
        let pins = asServed ? region.pins : region.needed
        let present = pins.compactMap { disk.tiles[$0] }
        return (Int64(pins.count), Int64(present.count), present.reduce(0) { $0 + $1.bytes })
    }

    func expiry(ofRegion id: String) throws(StoreError) -> Timestamp? {
        disk.regions[id]?.pins.compactMap { disk.tiles[$0]?.validators.expires }.min()
    }

    func held(
        besideRegion id: String, _ tiles: [TileAddress], editions: [String: String]
    ) throws(StoreError) -> (bytes: Int64, others: [TileAddress]) {
        var held: Set<Int64> = []
        for (name, region) in disk.regions {
            if name != id {
                held.formUnion(region.pins.union(region.staged ?? []))
            } else if region.wasComplete {
                held.formUnion(region.pins)
            }
        }
        held = held.filter { disk.tiles[$0] != nil }
        let others = tiles.filter { tile in
            editions[tile.tileset].flatMap { number(tile, $0) }.map { !held.contains($0) } ?? true
        }
        return (held.reduce(0) { $0 + (disk.tiles[$1]?.bytes ?? 0) }, others)
    }
}
