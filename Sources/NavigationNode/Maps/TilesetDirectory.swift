import Foundation
import Glibc
import NavBus
import NavConfig
import NavDigest
package import NavKit
package import NavMap
import Synchronization

/// A directory of road tiles on disk: its `tileset.json` and the tiles that it lists.
package struct TilesetDirectory: Sendable {
    package let path: String
    package let tileset: Tileset

    /// The largest `tileset.json`, bytes; enough for a continent.
    private static let greatestIndex = 256 << 20

    package init(path: String) throws(NodeError) {
        let file = path + "/tileset.json"
        let bytes: [UInt8]
        do throws(ConfigError) {
            bytes = try TextFile.bytes(file, limit: Self.greatestIndex)
        } catch {
            // A file that exists but cannot be read may be valid.
            guard FileState(file) == nil else { throw NodeError(.system, error.description) }
            let hint = "build it with 'navbus map build IN.osm.pbf --out \(path)'"
            throw NodeError(.missing, "no tileset at '\(path)' (\(file) cannot be read): \(hint)")
        }
        do {
            tileset = try JSONDecoder().decode(Tileset.self, from: Data(bytes))
        } catch {
            throw NodeError(
                .invalid, "'\(file)' is not a tileset: \(Tileset.explain(error)); rebuild it with 'navbus map build'")
        }
        guard tileset.formatVersion == Tileset.formatVersion else {
            throw NodeError(
                .invalid,
                "tileset '\(path)' has format version \(tileset.formatVersion), this program reads "
                    + "\(Tileset.formatVersion): rebuild it with 'navbus map build'")
        }
        self.path = path
    }

    package func loadTiles() throws(NodeError) -> [RoadTile] { try loadTiles(tileset.tiles) }

    /// The tiles whose files exist: all of them, except in the folder of a tile cache, which is filled on demand.
    package var presentTiles: [Tileset.Entry] { tileset.tiles.filter(isPresent) }

    /// Loads and checks tiles in parallel; returns them in order.
    package func loadTiles(_ entries: [Tileset.Entry]) throws(NodeError) -> [RoadTile] {
        var tiles: [RoadTile] = []
        tiles.reserveCapacity(entries.count)
        for (entry, result) in zip(entries, results(entries)) {
            do throws(Failure) { tiles.append(try result.get()) } catch { throw explained(error, entry) }
        }
        return tiles
    }

    /// Loads and checks tiles in parallel; returns those whose files exist, in order.
    package func loadPresentTiles(_ entries: [Tileset.Entry]) throws(NodeError) -> [RoadTile] {
        var tiles: [RoadTile] = []
        for result in results(entries) {
            switch result {
            case .success(let tile): tiles.append(tile)
            case .failure(.absent): continue
            case .failure(.other(let error)): throw error
            }
        }
        return tiles
    }

    /// A reason why a tile is not loaded.
    private enum Failure: Error {
        case absent(file: String)
        case other(NodeError)
    }

    private func results(_ entries: [Tileset.Entry]) -> [Swift.Result<RoadTile, Failure>] {
        let results = Mutex([Swift.Result<RoadTile, Failure>?](repeating: nil, count: entries.count))
        DispatchQueue.concurrentPerform(iterations: entries.count) { index in
            let result = Swift.Result { () throws(Failure) in try load(entries[index]) }
            results.withLock { $0[index] = result }
        }
        return results.withLock { $0.compactMap(\.self) }
    }

    private func explained(_ failure: Failure, _ entry: Tileset.Entry) -> NodeError {
        switch failure {
        case .other(let error): return error
        case .absent(let file):
            guard tileset.tiles.contains(where: { $0 != entry && !isPresent($0) }) else {
                return Self.damaged(file, "the file is missing")
            }
            return NodeError(
                .invalid,
                "'\(file)': the file is missing, as are those of other tiles: the tileset is incomplete, such as in the "
                    + "folder of a tile cache; give a complete one, as 'navbus map build' writes it")
        }
    }

    package func isPresent(_ entry: Tileset.Entry) -> Bool {
        !states(of: entry).contains(nil)
    }

    /// Returns the current states of a tile's file and its ranks file.
    func states(of entry: Tileset.Entry) -> [FileState?] {
        [entry.file, entry.ranks.file].map { FileState(path + "/" + $0) }
    }

    package func loadGraph() throws(NodeError) -> RoadGraph { graph(of: try loadTiles()) }

    /// Joins some of its tiles into a graph that records which other tiles exist.
    package func graph(of tiles: some Sequence<RoadTile>) -> RoadGraph {
        RoadGraph(
            tiles: tiles.sorted { $0.id < $1.id }, mapVersion: tileset.mapVersion, catalogue: tileset.tileIDs)
    }

    /// Loads and checks one tile.
    ///
    /// Its bytes are a copy, so later changes to the file do not affect the tile. A mapped file would raise SIGBUS when truncated or when
    /// its disk fails, and would change when overwritten. Computing the hash reads all bytes anyway.
    package func loadTile(_ entry: Tileset.Entry) throws(NodeError) -> RoadTile {
        do throws(Failure) { return try load(entry) } catch { throw explained(error, entry) }
    }

    private func load(_ entry: Tileset.Entry) throws(Failure) -> RoadTile {
        guard let id = entry.tile else {
            throw .other(
                NodeError(
                    .invalid,
                    "tileset '\(path)': tile \(entry.id) has an invalid id or file name '\(entry.file)'; rebuild it"))
        }
        let ranks = try readFile(entry.ranks.file, bytes: entry.ranks.bytes, sha256: entry.ranks.sha256)
        let tile = try readFile(entry.file, bytes: entry.bytes, sha256: entry.sha256)
        do throws(TileError) {
            return try RoadTile(tile, expected: id, ranks: ranks)
        } catch {
            throw .other(Self.damaged(path + "/" + entry.file, "\(error)"))
        }
    }

    private static func damaged(_ file: String, _ what: String) -> NodeError {
        NodeError(.invalid, "'\(file)': \(what); rebuild the tiles with 'navbus map build'")
    }

    /// Reads a file of the directory, which must have the size and the hash that the tileset gives.
    ///
    /// - Throws: a ``NodeError`` `system` when a system error prevents reading the file, which may be valid.
    private func readFile(_ name: String, bytes size: Int, sha256: String) throws(Failure) -> TileStorage {
        let file = path + "/" + name
        func refused(_ what: String) -> Failure {
            guard errno != ENOENT else { return .absent(file: file) }
            return .other(
                NodeError(
                    .system,
                    "'\(file)' cannot be \(what): \(String(cString: strerror(errno))); check the disk, the memory and the "
                        + "open-file limit (ulimit -n)"))
        }
        func damaged(_ what: String) -> Failure { .other(Self.damaged(file, what)) }
        // If the path is a pipe, opening it must not block the node.
        let descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw refused("opened") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw refused("inspected") }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else {
            throw damaged("not a regular file, or empty")
        }
        guard Int(status.st_size) == size else {
            throw damaged("size \(status.st_size) bytes, but the tileset says \(size)")
        }
        guard
            let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            memory != MAP_FAILED
        else { throw refused("read into \(size) bytes of memory") }
        let address = UInt(bitPattern: memory)
        let storage = TileStorage(bytes: UnsafeRawBufferPointer(start: memory, count: size)) {
            munmap(UnsafeMutableRawPointer(bitPattern: address), size)
        }
        var count = 0
        while count < size {
            let more = pread(descriptor, memory + count, size - count, off_t(count))
            if more < 0, errno == EINTR { continue }
            guard more >= 0 else { throw refused("read") }
            guard more > 0 else { throw damaged("truncated while being read") }
            count += more
        }
        switch storage.withUnsafeBytes({ ContentHash(of: $0) })?.hexadecimal {
        case sha256: return storage
        case nil: throw .other(NodeError(.system, "'\(file)' cannot be checked: \(ContentHash.refusal)"))
        default: throw damaged("checksum mismatch")
        }
    }
}
