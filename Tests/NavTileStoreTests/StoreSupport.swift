import Foundation
import Glibc
import NavDigest
import NavGeo
import NavMap
import NavStorage
import NavTestKit
import NavTileCache
import NavTileStore
import Testing

extension TemporaryFolder {
    /// Returns the files below a folder, relative to it, sorted.
    func files(below folder: String) -> [String] {
        let folder = URL(fileURLWithPath: path + "/" + folder).resolvingSymlinksInPath().path
        let all = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        return all.filter { name in
            var isDirectory: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: "\(folder)/\(name)", isDirectory: &isDirectory)
            return !isDirectory.boolValue
        }.sorted()
    }
}

extension TileStoreReader {
    /// Returns the edition of a tileset that is in use; nil when none is.
    func currentEdition(of tileset: String) throws -> EditionKey? {
        try editions().first { $0.isCurrent && $0.key.tileset == tileset }?.key
    }
}

/// A store in its own temporary folder.
struct StoreBench {
    let folder: TemporaryFolder
    var store: TileStore

    init(budget: Int64 = 1 << 30) throws {
        folder = try TemporaryFolder()
        store = try TileStore(folder: folder.path + "/store", options: Self.options(budget))
    }

    static func options(_ budget: Int64 = 1 << 30) -> TileStoreOptions {
        var options = TileStoreOptions()
        options.budgetBytes = budget
        options.reserveBytes = 1 << 16
        options.holder = "a test"
        return options
    }

    var path: String { folder.path + "/store" }

    /// Closes the store and opens it again.
    mutating func reopen(budget: Int64 = 1 << 30) throws {
        store.close()
        store = try TileStore(folder: path, options: Self.options(budget))
    }

    /// Adds an edition of map tiles without a version.
    func addMaps(_ name: String = "maps") throws {
        try store.addEdition(
            TilesetEdition(tileset: name, domain: .maps, version: "", zooms: 0...14), now: at(0))
    }

    /// Stores a map tile with `text` as content.
    @discardableResult
    func put(_ x: UInt32, _ text: String, tileset: String = "maps", now: Int64 = 1) throws -> TileAddress {
        let tile = mapTile(x, text, tileset: tileset)
        try #require(try store.commit([tile], now: at(now)).stored.map(\.address) == [tile.address])
        return tile.address
    }

    func find(_ address: TileAddress, version: String? = nil, now: Int64 = 1) throws -> TileRecord? {
        try store.reader.tile(address, version: version, now: at(now))
    }

    /// Returns the content of a stored tile as text; nil when it is not stored.
    func text(_ address: TileAddress, version: String? = nil) throws -> String? {
        guard let tile = try find(address, version: version) else { return nil }
        return String(decoding: try store.data(of: tile), as: UTF8.self)
    }

    func totals(now: Int64 = 1) throws -> StoreStatistics { try store.reader.statistics(now: at(now)) }

    /// Expects the check to find no fault.
    func expectSound(_ location: SourceLocation = #_sourceLocation) throws {
        let findings = try store.reader.check().findings
        #expect(findings.isEmpty, "\(findings)", sourceLocation: location)
    }
}

/// Returns the moment `seconds` after the epoch.
func at(_ seconds: Int64) -> Timestamp { Timestamp(nanoseconds: seconds * 1_000_000_000) }

func tileID(_ x: UInt32, zoom: UInt8 = 14, y: UInt32 = 0) -> TileID {
    TileID(zoom: zoom, x: x, y: y) ?? TileID(containing: Coordinate(latitude: 0, longitude: 0), zoom: zoom)
}

func part(_ part: TilePart, _ text: String) -> FetchedPart {
    let bytes = Array(text.utf8)
    guard let hash = ContentHash(of: bytes) else { preconditionFailure("libcrypto has no SHA-256") }
    return FetchedPart(part, data: bytes, hash: hash)
}

func mapTile(
    _ x: UInt32, _ text: String, tileset: String = "maps", validators: Validators = Validators()
) -> FetchedTile {
    FetchedTile(
        TileAddress(tileset, tileID(x)), edition: "", parts: [part(.body, text)], validators: validators)
}

/// Road tiles of an edition `version` (x = 0, 1, … at zoom 12), each with its own ranks, and the `tileset.json` that
/// lists them.
struct RoadEdition {
    let edition: TilesetEdition
    let tiles: [FetchedTile]

    init(_ version: String, count: UInt32, tileset: String = "roads") throws {
        var entries: [Tileset.Entry] = []
        tiles = try (0..<count).map { x in
            let tile = tileID(x, zoom: 12, y: 7)
            let id = try #require(RoadTileID(rawValue: UInt32(RoadLayer.local.rawValue) << 24 | x << 12 | 7))
            try #require(id.tile == tile)
            let parts = [part(.body, "road \(x) of \(version)"), part(.ranks, "ranks \(x)")]
            entries.append(
                Tileset.Entry(
                    id: id.rawValue, file: id.path, bytes: parts[0].data.count, sha256: parts[0].hash.hexadecimal,
                    ranks: Tileset.RanksEntry(
                        file: id.ranksPath, bytes: parts[1].data.count, sha256: parts[1].hash.hexadecimal)))
            return FetchedTile(
                TileAddress(tileset, tile), edition: version, parts: parts, validators: Validators())
        }
        let document = Tileset(
            mapVersion: version, source: "drawn", sourceTimestamp: nil,
            bounds: BoundingBox(south: 1, west: 2, north: 3, east: 4), attribution: "© who drew it", tiles: entries)
        edition = TilesetEdition(
            tileset: tileset, domain: .navigation, version: version, zooms: 12...12, bounds: document.bounds,
            tiles: tiles.map { tile in
                ListedTile(
                    tile.address.tile,
                    parts: tile.parts.map { ListedPart($0.part, size: Int64($0.data.count), hash: $0.hash) })
            }, document: [UInt8](try JSONEncoder().encode(document)), attribution: document.attribution)
    }

    var addresses: [TileAddress] { tiles.map(\.address) }
    var key: EditionKey { EditionKey(edition.tileset, edition.version) }
}

/// Overwrites bytes of an existing file.
func overwrite(_ path: String, at offset: Int, with bytes: [UInt8]) throws {
    let file = open(path, O_WRONLY)
    try #require(file >= 0)
    defer { close(file) }
    try #require(pwrite(file, bytes, bytes.count, off_t(offset)) == bytes.count)
}

/// Returns the code of the error that `body` throws.
func code(_ body: () throws -> Void) -> StoreError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? StoreError)?.code
    }
}
