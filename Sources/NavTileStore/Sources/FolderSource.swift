import NavDigest
import NavGeo
import NavHTTP
import NavStorage
import NavTileCache
import Synchronization

/// The tiles in a local folder: road tiles with their list, or map tiles as `{z}/{x}/{y}.ext`.
final class FolderSource: TileSource {
    let tileset: String
    let domain: TileDomain
    let place: String
    let isRemote = false
    let knowsSizes = true

    private let limits: TransferLimits
    private let zooms: ClosedRange<UInt8>
    private let work = BlockingWork("navbus.tiles.folder")
    private let list = Mutex<(list: RoadList, stamp: FileStamp)?>(nil)
    private let fileExtension = Mutex<String?>(nil)

    init(_ configuration: TileSourceConfiguration, path: String) throws(TileSourceError) {
        tileset = configuration.tileset
        domain = configuration.domain
        place = path
        limits = configuration.limits
        zooms = configuration.zooms
    }

    func close() async {}

    func edition(known caller: Validators?) async throws(TileSourceError) -> EditionAnswer {
        try await work.run { [self] () throws(TileSourceError) in
            guard domain == .navigation else { return .edition(try mapEdition(), Validators()) }
            let (list, stamp) = try roadList()
            let validators = Validators(etag: stamp.tag)
            return caller?.etag == stamp.tag ? .notModified(validators) : .edition(list.edition, validators)
        }
    }

    func receive(
        _ tile: TileID, edition: String?, known caller: Validators?, meter: TransferMeter?
    ) async throws(TileSourceError) -> TileArrival {
        try await work.run { [self] () throws(TileSourceError) in
            domain == .navigation ? .answer(try roadTile(tile, edition)) : try mapTile(tile, edition, caller)
        }
    }

    func size(of tile: TileID) async throws(TileSourceError) -> TileSize {
        try await work.run { [self] () throws(TileSourceError) in
            if domain == .navigation { return try roadList().list.tile(tile).map { .bytes($0.size) } ?? .absent }
            guard let path = try mapPath(tile), let stamp = FileStamp(path) else { return .absent }
            return .bytes(stamp.size)
        }
    }

    // MARK: Road tiles

    /// Returns the list, reread when its file has changed.
    private func roadList() throws(TileSourceError) -> (list: RoadList, stamp: FileStamp) {
        let path = place + "/tileset.json"
        if let here = list.withLock({ $0 }), FileStamp(path) == here.stamp { return here }
        let file: (bytes: [UInt8], stamp: FileStamp)
        do throws(TileSourceError) {
            file = try LocalFile.read(path, limit: limits.listBytes)
        } catch {
            guard error.code == .missing else { throw error }
            throw TileSourceError(
                .missing, "no road tiles at '\(place)': tileset.json is missing; build them with 'navbus map build'")
        }
        let read = (try RoadList(file.bytes, tileset: tileset, place: path, limits: limits), file.stamp)
        list.withLock { $0 = read }
        return read
    }

    private func roadTile(_ tile: TileID, _ edition: String?) throws(TileSourceError) -> TileAnswer {
        let list = try roadList().list
        if let edition, edition != list.edition.version {
            throw TileSourceError(
                .editionChanged, "'\(place)' now has map version \(list.edition.version), not \(edition)")
        }
        guard let listed = list.tile(tile) else { return .absent(Validators()) }
        var parts: [FetchedPart] = []
        for part in listed.parts {
            let path = place + "/" + StoreFolder.viewFile(tile, part.part)
            guard let handle = try LocalFile.Handle(path) else {
                throw TileSourceError(.mismatch, "'\(path)' is listed in the folder's tileset.json but does not exist")
            }
            guard handle.stamp.size == part.size else {
                throw TileSourceError(
                    .mismatch, "'\(path)' has \(handle.stamp.size) bytes; the folder's tileset.json says \(part.size)")
            }
            let bytes = try handle.read(at: 0, count: Int(part.size))
            guard let hash = ContentHash(of: bytes) else { throw TileSourceError.unhashed("'\(path)'") }
            guard hash == part.hash else {
                throw TileSourceError(.mismatch, "'\(path)': checksum mismatch with the folder's tileset.json")
            }
            parts.append(FetchedPart(part.part, data: bytes, hash: hash))
        }
        return .fetched(
            FetchedTile(
                TileAddress(tileset, tile), edition: list.edition.version, parts: parts, validators: Validators()))
    }

    // MARK: Map tiles

    /// Returns the path of a tile; nil when the folder has no tiles of its zoom level.
    private func mapPath(_ tile: TileID) throws(TileSourceError) -> String? {
        guard zooms.contains(tile.zoom) else { return nil }
        let name: String
        if let known = fileExtension.withLock({ $0 }) {
            name = known
        } else if let found = FolderListing.fileExtension(place, zooms) {
            fileExtension.withLock { $0 = found }
            name = found
        } else {
            throw TileSourceError(.missing, "no z/x/y.ext tiles in '\(place)' at zoom levels \(zooms)")
        }
        return "\(place)/\(tile.zoom)/\(tile.x)/\(tile.y).\(name)"
    }

    private func mapTile(
        _ tile: TileID, _ edition: String?, _ caller: Validators?
    ) throws(TileSourceError) -> TileArrival {
        guard edition == nil || edition == "" else {
            throw TileSourceError(.editionChanged, "'\(place)' has no editions; request its tiles without one")
        }
        guard let path = try mapPath(tile), let handle = try LocalFile.Handle(path) else {
            return .answer(.absent(Validators()))
        }
        let validators = Validators(etag: handle.stamp.tag)
        if caller?.etag == validators.etag { return .answer(.notModified(validators)) }
        guard handle.stamp.size <= limits.tileBytes else {
            throw TileSourceError(
                .tooLarge, "'\(path)' has \(handle.stamp.size) bytes; the limit is \(limits.tileBytes)")
        }
        return try UncheckedTile(
            TileAddress(tileset, tile), edition: "", bytes: handle.read(at: 0, count: Int(handle.stamp.size)),
            packing: nil, form: TileForm(format: fileExtension.withLock { $0 } ?? ""), limit: Int(limits.tileBytes),
            validators: validators, place: { "'\(path)'" }
        ).arrival()
    }

    private func mapEdition() throws(TileSourceError) -> TilesetEdition {
        guard let found = FolderListing.fileExtension(place, zooms) else {
            throw TileSourceError(.missing, "no z/x/y.ext tiles in '\(place)' at zoom levels \(zooms)")
        }
        fileExtension.withLock { $0 = found }
        let tiles = FolderListing.tiles(place, zooms, fileExtension: found, limit: limits.listedTiles)
        let levels = tiles?.map(\.tile.zoom) ?? []
        return TilesetEdition(
            tileset: tileset, domain: .maps, version: "",
            zooms: (levels.min() ?? zooms.lowerBound)...(levels.max() ?? zooms.upperBound),
            tiles: tiles, mediaType: TileForm(format: found).mediaType)
    }
}

enum FolderListing {
    /// Returns the sorted names in a folder, without hidden ones; empty when it cannot be read.
    private static func names(_ path: String) -> [String] {
        ((try? Files.list(path)) ?? []).filter { !$0.hasPrefix(".") }.sorted()
    }

    static func fileExtension(_ path: String, _ zooms: ClosedRange<UInt8>) -> String? {
        for zoom in zooms {
            for column in names("\(path)/\(zoom)").prefix(16) where UInt32(column) != nil {
                for name in names("\(path)/\(zoom)/\(column)") {
                    let pieces = name.split(separator: ".", maxSplits: 1)
                    guard pieces.count == 2, UInt32(pieces[0]) != nil, pieces[1].count <= 8,
                        pieces[1].allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) })
                    else { continue }
                    return String(pieces[1])
                }
            }
        }
        return nil
    }

    /// Returns all tiles with their sizes; nil when there are more than the limit.
    static func tiles(
        _ path: String, _ zooms: ClosedRange<UInt8>, fileExtension: String, limit: Int
    ) -> [ListedTile]? {
        var tiles: [ListedTile] = []
        for zoom in zooms {
            for column in names("\(path)/\(zoom)") {
                guard let x = UInt32(column), String(x) == column else { continue }
                for name in names("\(path)/\(zoom)/\(column)") where name.hasSuffix(".\(fileExtension)") {
                    let row = name.dropLast(fileExtension.utf8.count + 1)
                    guard let y = UInt32(row), String(y) == row, let tile = TileID(zoom: zoom, x: x, y: y),
                        let stamp = FileStamp("\(path)/\(zoom)/\(column)/\(name)")
                    else { continue }
                    guard tiles.count < limit else { return nil }
                    tiles.append(ListedTile(tile, parts: [ListedPart(.body, size: stamp.size, hash: nil)]))
                }
            }
        }
        return tiles.sorted { $0.tile < $1.tile }
    }
}
