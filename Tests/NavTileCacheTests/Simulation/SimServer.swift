import NavDigest
import NavGeo
import NavSimulation
import NavTileCache

/// A source of tiles in the simulation: its current content and its failures.
struct SimServer {
    let settings: TilesetSettings
    /// Whether the source's editions list their tiles.
    let isListed: Bool
    /// The interval at which tiles change one by one; nil for a source with editions.
    let expiry: Double?
    private(set) var version: Int
    /// Whether every third edition, first the second one, lists only half of its tiles, like an interrupted upload.
    var publishesShortLists = false
    /// Whether most tiles of every third edition, first the second one, may not be stored.
    var publishesUnstorable = false
    /// The end of the outage, ns.
    var outageUntil: Int64 = .min
    /// The probability of any other failure.
    var failureRate = 0.0

    init(_ settings: TilesetSettings, isListed: Bool, expiry: Double?) {
        self.settings = settings
        self.isListed = isListed
        self.expiry = expiry
        version = 1
    }

    var versionName: String { expiry == nil ? "v\(version)" : "" }

    mutating func publish() { version += 1 }

    /// Whether the list of the current edition lacks tiles.
    var isShort: Bool { isListed && publishesShortLists && version % 3 == 2 }

    /// Whether the current edition has tiles that may not be stored.
    var isUnstorable: Bool { expiry == nil && publishesUnstorable && version % 3 == 2 }

    /// Whether a tile of the current edition may be stored.
    func maySave(_ tile: TileID) -> Bool { !isUnstorable || Self.mix(tile) >> 42 & 3 == 0 }

    /// The area in which the source has tiles.
    static let bounds = BoundingBox(south: 40.5, west: -9.4, north: 41.8, east: -7.4)
    static let zooms: ClosedRange<UInt8> = 9...12

    private static func mix(_ tile: TileID) -> UInt64 {
        var random = SeededRandom(seed: UInt64(tile.zoom) << 50 | UInt64(tile.x) << 25 | UInt64(tile.y))
        return random.next()
    }

    /// Whether the source has a tile: places at sea have none.
    static func has(_ tile: TileID) -> Bool {
        guard zooms.contains(tile.zoom) else { return false }
        let box = tile.bounds
        let isInside =
            box.south <= bounds.north && box.north >= bounds.south && box.west <= bounds.east && box.east >= bounds.west
        return isInside && mix(tile) % 12 != 0
    }

    static func size(_ tile: TileID) -> Int64 { 1_000 + Int64(mix(tile) >> 20 & 0x3fff) }

    /// All tiles of the source, for a list.
    static let all: [ListedTile] = zooms.flatMap { zoom -> [ListedTile] in
        let first = TileID(containing: Coordinate(latitude: bounds.north, longitude: bounds.west), zoom: zoom)
        let last = TileID(containing: Coordinate(latitude: bounds.south, longitude: bounds.east), zoom: zoom)
        var tiles: [ListedTile] = []
        for y in first.y...last.y {
            for x in first.x...last.x {
                guard let tile = TileID(zoom: zoom, x: x, y: y), has(tile) else { continue }
                tiles.append(ListedTile(tile, parts: [ListedPart(.body, size: size(tile), hash: nil)]))
            }
        }
        return tiles
    }

    private static let half = all.filter { mix($0.tile) >> 40 & 1 == 0 }

    /// The current content.
    var edition: TilesetEdition {
        TilesetEdition(
            tileset: settings.name, domain: settings.domain, version: versionName, zooms: Self.zooms,
            bounds: Self.bounds, tiles: isShort ? Self.half : isListed ? Self.all : nil, document: [1])
    }

    /// Returns the content hash of a tile, which depends on the edition.
    static func content(_ tileset: String, _ tile: TileID, version: Int) -> ContentHash? {
        var random = SeededRandom(seed: mix(tile) ^ UInt64(version) &* 0x9e37_79b9 ^ UInt64(tileset.utf8.count))
        let words = (0..<4).map { _ in random.next() }
        return ContentHash(bytes: words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } })
    }

    /// Returns the failure of a request, if any; it does not depend on the tile.
    func failure(at now: Int64, _ random: inout SeededRandom) -> TileSourceError? {
        if now < outageUntil {
            let codes: [TileSourceError.Code] = [.unreachable, .timedOut, .server]
            return TileSourceError(codes[Int(random.next() % 3)], "an outage")
        }
        guard random.uniform() < failureRate else { return nil }
        switch random.next() % 6 {
        case 0: return TileSourceError(.rateLimited, "too many requests", retryAfter: Double(random.next() % 30))
        case 1: return TileSourceError(.malformed, "no tile")
        case 2: return TileSourceError(.truncated, "cut")
        case 3: return TileSourceError(.tooSlow, "slow")
        default: return TileSourceError(.server, "server error")
        }
    }

    /// Returns the answer to a request for a tile.
    func answer(
        _ tile: TileID, edition: String?, known: Validators?, at now: Int64, wall: Timestamp,
        _ random: inout SeededRandom
    ) -> Result<TileAnswer, TileSourceError> {
        if let failure = failure(at: now, &random) { return .failure(failure) }
        if let edition, edition != versionName {
            return .failure(TileSourceError(.editionChanged, "another edition"))
        }
        let validators = Validators(
            etag: "\(version)", expires: expiry.map { wall.advanced(bySeconds: $0) })
        guard Self.has(tile) else { return .success(.absent(validators)) }
        if known?.etag == "\(version)" { return .success(.notModified(validators)) }
        guard let hash = Self.content(settings.name, tile, version: version) else {
            return .failure(TileSourceError(.system, "no hash"))
        }
        let data = [UInt8](repeating: 0, count: Int(Self.size(tile)))
        let fetched = FetchedTile(
            TileAddress(settings.name, tile), edition: versionName,
            parts: [FetchedPart(.body, data: data, hash: hash)], validators: validators)
        return .success(maySave(tile) ? .fetched(fetched) : .unstorable(fetched))
    }
}
