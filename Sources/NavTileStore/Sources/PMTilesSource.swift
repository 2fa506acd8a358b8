import NavDigest
import NavGeo
import NavHTTP
import NavTileCache
import Synchronization

/// The map tiles of a PMTiles archive, version 3.
///
/// Header, root directory and metadata are read with the edition and cached. Leaf directories are read on demand and
/// cached up to a limit. A changed archive is another edition, and no lookup mixes the two.
final class PMTilesSource: TileSource {
    private struct Known: Sendable {
        var state: ArchiveState
        var header: PMTilesHeader
        var root: PMTilesDirectory
        var edition: TilesetEdition
    }

    let tileset: String
    let place: String
    let isRemote: Bool
    let knowsSizes = true

    private let ranges: any ByteRanges
    private let limits: TransferLimits
    private let known = Mutex<Known?>(nil)
    private let directories: Mutex<DirectoryCache>

    /// The maximum depth of directories below the root; the specification allows one level, but some writers produce
    /// two.
    private static let deepest = 3

    init(
        _ configuration: TileSourceConfiguration, _ ranges: any ByteRanges, place: String, isRemote: Bool
    ) {
        tileset = configuration.tileset
        limits = configuration.limits
        directories = Mutex(DirectoryCache(limit: configuration.limits.directoryBytes))
        self.ranges = ranges
        self.place = place
        self.isRemote = isRemote
    }

    var executor: (any TaskExecutor)? { ranges.executor }

    func close() async { await ranges.close() }

    func edition(known caller: Validators?) async throws(TileSourceError) -> EditionAnswer {
        let before = known.withLock { $0 }
        let first: (bytes: [UInt8], state: ArchiveState)?
        do throws(TileSourceError) {
            first = try await ranges.begin(
                PMTilesHeader.rootEnd, known: caller == nil ? nil : before?.state.validators)
        } catch {
            throw error.ofEdition
        }
        guard let begun = first else {
            guard let before else {
                throw TileSourceError(.malformed, "the server of '\(place)' sent HTTP 304 for an unconditional request")
            }
            return EditionAnswer(before.edition, before.state.validators, known: caller)
        }
        var current = try await read(begun.bytes, begun.state)
        current.edition.tiles = try await list(current)
        known.withLock { $0 = current }
        return EditionAnswer(current.edition, current.state.validators, known: caller)
    }

    private func read(_ bytes: [UInt8], _ state: ArchiveState) async throws(TileSourceError) -> Known {
        let header = try PMTilesHeader(bytes, size: state.size, place: place)
        let end = Int(header.root.offset + header.root.length)
        guard end <= bytes.count else { throw damaged("its root directory is truncated") }
        let root = try directory(Array(bytes[Int(header.root.offset)..<end]), header)
        var metadata: [UInt8] = []
        if header.metadata.length > 0, header.metadata.length <= 4 << 20 {
            metadata = try await ranges.read(
                header.metadata.offset, Int(header.metadata.length), of: state, meter: nil)
            if let packing = header.packing {
                metadata = (try? Unpacker.unpack(metadata, packing, limit: 16 << 20)) ?? []
            }
        }
        let hasher = ContentHasher()
        bytes[..<end].withUnsafeBytes { hasher.update(UnsafeRawBufferPointer(rebasing: $0[...])) }
        Array(state.tag.utf8).withUnsafeBytes { hasher.update($0) }
        guard let hash = hasher.finish() else {
            throw TileSourceError.unhashed("'\(place)'")
        }
        let edition = TilesetEdition(
            tileset: tileset, domain: .maps, version: String(hash.hexadecimal.prefix(32)), zooms: header.zooms,
            bounds: header.bounds, document: metadata, attribution: TileJSON(metadata)?.attribution ?? "",
            mediaType: header.form.mediaType)
        return Known(state: state, header: header, root: root, edition: edition)
    }

    private func directory(
        _ packed: [UInt8], _ header: PMTilesHeader
    ) throws(TileSourceError) -> PMTilesDirectory {
        var bytes = packed
        if let packing = header.packing {
            do throws(Unpacker.Failure) {
                bytes = try Unpacker.unpack(packed, packing, limit: 24 << 20)
            } catch {
                throw damaged("cannot decompress a directory")
            }
        }
        guard
            let directory = PMTilesDirectory(bytes, data: header.data.length, leaves: header.leaves.length)
        else { throw damaged("a directory is invalid") }
        return directory
    }

    private func damaged(_ fault: String) -> TileSourceError {
        TileSourceError(.malformed, "'\(place)' is a damaged PMTiles archive: \(fault)")
    }

    private func leaf(_ entry: PMTilesDirectory.Entry, _ current: Known) async throws(TileSourceError)
        -> PMTilesDirectory
    {
        let key = DirectoryCache.Key(edition: current.edition.version, offset: entry.offset, length: entry.length)
        if let here = directories.withLock({ $0.take(key) }) { return here }
        guard Int(entry.length) <= limits.directoryBytes else {
            throw TileSourceError(.tooLarge, "'\(place)' has a directory of \(entry.length) bytes, which is too large")
        }
        let packed = try await ranges.read(
            current.header.leaves.offset + entry.offset, Int(entry.length), of: current.state, meter: nil)
        let leaf = try directory(packed, current.header)
        // A directory begins with the tile that its entry names; without this check, a reference back to a higher
        // directory could be followed forever.
        guard leaf.entries[0].id == entry.id else { throw damaged("a directory does not begin with its entry's tile") }
        directories.withLock { $0.keep(leaf, for: key) }
        return leaf
    }

    private func find(_ tile: TileID, _ current: Known) async throws(TileSourceError) -> PMTilesDirectory.Entry? {
        guard current.header.zooms.contains(tile.zoom) else { return nil }
        let number = HilbertTileID.number(tile)
        var directory = current.root
        for _ in 0...Self.deepest {
            guard let entry = directory.find(number) else { return nil }
            if entry.run > 0 { return entry }
            directory = try await leaf(entry, current)
        }
        throw damaged("its directories are nested more than \(Self.deepest) deep")
    }

    private func current() async throws(TileSourceError) -> Known {
        if let here = known.withLock({ $0 }) { return here }
        _ = try await edition(known: nil)
        guard let here = known.withLock({ $0 }) else { throw TileSourceError(.closed, "the source is closed") }
        return here
    }

    func receive(
        _ tile: TileID, edition: String?, known caller: Validators?, meter: TransferMeter?
    ) async throws(TileSourceError) -> TileArrival {
        let current = try await current()
        let version = current.edition.version
        guard edition == nil || edition == version else {
            throw TileSourceError(.editionChanged, "'\(place)' has a different edition; request that one")
        }
        // Tiles do not change within an edition.
        let validators = Validators(
            etag: current.state.validators.etag, lastModified: current.state.validators.lastModified)
        guard let entry = try await find(tile, current) else { return .answer(.absent(Validators())) }
        if let etag = caller?.etag, etag == validators.etag { return .answer(.notModified(validators)) }
        guard Int64(entry.length) <= limits.tileBytes else {
            throw TileSourceError(
                .tooLarge, "tile \(tile) of '\(place)' has \(entry.length) bytes, more than allowed")
        }
        let bytes = try await ranges.read(
            current.header.data.offset + entry.offset, Int(entry.length), of: current.state, meter: meter)
        return try UncheckedTile(
            TileAddress(tileset, tile), edition: version, bytes: bytes,
            packing: current.header.tilePacking, form: current.header.form, limit: Int(limits.tileBytes),
            validators: validators, place: { [place] in "tile \(tile) of '\(place)'" }
        ).arrival()
    }

    func size(of tile: TileID) async throws(TileSourceError) -> TileSize {
        try await find(tile, try await current()).map { .bytes(Int64($0.length)) } ?? .absent
    }

    /// Returns all tiles with their sizes; nil when there are too many of them, or their directories are too large.
    private func list(_ current: Known) async throws(TileSourceError) -> [ListedTile]? {
        let count = current.header.addressedCount
        guard count > 0, count <= UInt64(limits.listedTiles),
            current.header.leaves.length <= UInt64(isRemote ? 4 << 20 : limits.directoryBytes)
        else { return nil }
        // An archive with more directories than tiles is rejected.
        let mostDirectories = limits.listedTiles / 16 + 16
        var entryCount = current.root.entries.count
        var tiles: [ListedTile] = []
        var directories = [current.root]
        for depth in 0...Self.deepest {
            var leaves: [PMTilesDirectory] = []
            for entry in directories.flatMap(\.entries) {
                guard entry.run > 0 else {
                    guard depth < Self.deepest, leaves.count <= mostDirectories else { return nil }
                    let leaf = try await leaf(entry, current)
                    // Each entry is a tile or a directory; a few kilobytes may decompress to a million entries.
                    entryCount += leaf.entries.count
                    guard entryCount <= limits.listedTiles + mostDirectories else { return nil }
                    leaves.append(leaf)
                    continue
                }
                guard entry.run <= limits.listedTiles - tiles.count else { return nil }
                for step in 0..<UInt64(entry.run) {
                    guard let tile = HilbertTileID.tile(entry.id + step) else { continue }
                    tiles.append(ListedTile(tile, parts: [ListedPart(.body, size: Int64(entry.length), hash: nil)]))
                }
            }
            if leaves.isEmpty { break }
            directories = leaves
        }
        tiles.sort { $0.tile < $1.tile }
        for (tile, next) in zip(tiles, tiles.dropFirst()) where tile.tile == next.tile { return nil }
        return tiles
    }
}
