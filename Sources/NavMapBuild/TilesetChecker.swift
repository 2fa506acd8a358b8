import NavDigest
internal import Foundation
internal import NavMap

/// A checker of a whole tileset on disk: every file named in its `tileset.json`, every tile's invariants, and, if all tiles
/// are valid, the consistency between tiles.
package enum TilesetChecker {
    package struct Problem: Sendable, Codable, Equatable {
        /// The file, relative to the directory.
        package let file: String
        package let reason: String
    }

    package struct Report: Sendable, Codable, Equatable {
        /// The map's version according to the tileset.
        package var mapVersion = ""
        /// The number of tiles in the tileset.
        package var tiles = 0
        /// The number of tiles with a missing file.
        package var missing = 0
        /// The directed edges, nodes and prohibited paths of the valid tiles.
        package var edges = 0, nodes = 0, prohibitedPaths = 0
        /// The readable bytes of the tiles and their ranks.
        package var bytes = 0
        /// The problems by file; empty for a valid tileset.
        package var problems: [Problem] = []

        package init() {}
    }

    private static let largestIndex = 256 << 20

    /// Checks the tileset of a directory.
    ///
    /// - Parameters:
    ///   - directory: The directory of its `tileset.json`.
    ///   - isPartial: Whether missing tiles are tolerated, as in the folder of a tile cache; joins are checked only if none is missing.
    ///   - jobs: The number of threads that check tiles at once; the report does not depend on it.
    ///   - progress: Receives the completed share, 0 … 1, from the working threads.
    /// - Throws: When there is no tileset to check.
    package static func check(
        _ directory: String, isPartial: Bool = false, jobs: Int = 1,
        progress: @escaping @Sendable (Double) -> Void = { _ in }
    ) throws(MapBuildError) -> Report {
        let tileset = try index(directory)
        var report = Report()
        report.mapVersion = tileset.mapVersion
        report.tiles = tileset.tiles.count
        guard tileset.formatVersion == Tileset.formatVersion else {
            let reason = "format version \(tileset.formatVersion), this program reads \(Tileset.formatVersion)"
            report.problems = [Problem(file: "tileset.json", reason: reason)]
            return report
        }
        try checkIndex(tileset, &report)
        // An entry without a valid id is always checked: it is an error of the tileset.
        let present = tileset.tiles.filter { entry in
            entry.tile == nil
                || [entry.file, entry.ranks.file].allSatisfy {
                    FileManager.default.fileExists(atPath: directory + "/" + $0)
                }
        }
        report.missing = tileset.tiles.count - present.count
        let wanted = isPartial ? present : tileset.tiles
        let counter = ProgressCounter { _, fraction in progress(fraction) }
        let checked = Parallel.map(wanted.count, jobs: jobs) { number in
            let result = checkTile(wanted[number], directory)
            counter.advance(.writingTiles, of: wanted.count)
            return result
        }
        var tiles: [RoadTile] = []
        for result in checked {
            report.problems += result.problems
            report.bytes += result.bytes
            guard let tile = result.tile else { continue }
            report.edges += tile.edgeCount
            report.nodes += tile.nodeCount
            report.prohibitedPaths += tile.prohibitedPathCount
            tiles.append(tile)
        }
        // A missing tile would cause a problem in each of its neighbours.
        if tiles.count == tileset.tiles.count {
            report.problems += TileJoins.problems(tiles).map { Problem(file: $0.tile.path, reason: $0.reason) }
        }
        report.problems += strangers(tileset, directory)
        return report
    }

    private static func index(_ directory: String) throws(MapBuildError) -> Tileset {
        let path = directory + "/tileset.json"
        let advice = "Name a directory that 'navbus map build' wrote"
        guard let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int, size <= largestIndex,
            let data = FileManager.default.contents(atPath: path)
        else { throw MapBuildError(.unreadable, path: path, reason: "cannot be read", advice: advice) }
        do {
            return try JSONDecoder().decode(Tileset.self, from: data)
        } catch {
            throw MapBuildError(.malformed, path: path, reason: "is not a tileset", advice: advice)
        }
    }

    private static func checkIndex(_ tileset: Tileset, _ report: inout Report) throws(MapBuildError) {
        func wrong(_ reason: String) { report.problems.append(Problem(file: "tileset.json", reason: reason)) }
        if zip(tileset.tiles, tileset.tiles.dropFirst()).contains(where: { $0.id >= $1.id }) {
            wrong("its tiles are not unique and in ascending order")
        }
        if try MapBuilder.version(tileset.tiles) != tileset.mapVersion {
            wrong("its map version does not match its tiles")
        }
    }

    private static func checkTile(
        _ entry: Tileset.Entry, _ directory: String
    ) -> (tile: RoadTile?, bytes: Int, problems: [Problem]) {
        guard let id = entry.tile else {
            let reason = "has an invalid tile id or file name: \(entry.id) at '\(entry.file)'"
            return (nil, 0, [Problem(file: "tileset.json", reason: reason)])
        }
        var problems: [Problem] = []
        func read(_ file: String, _ bytes: Int, _ sha256: String) -> [UInt8]? {
            guard let content = FileManager.default.contents(atPath: directory + "/" + file).map([UInt8].init) else {
                problems.append(Problem(file: file, reason: "is missing or cannot be read"))
                return nil
            }
            if content.count != bytes {
                problems.append(Problem(file: file, reason: "has \(content.count) bytes; the tileset expects \(bytes)"))
                return content
            }
            switch ContentHash(of: content)?.hexadecimal {
            case sha256: break
            case nil: problems.append(Problem(file: file, reason: "cannot be checked: \(ContentHash.refusal)"))
            default:
                problems.append(Problem(file: file, reason: "does not match the tileset: its SHA-256 differs"))
            }
            return content
        }
        let content = read(entry.file, entry.bytes, entry.sha256)
        let ranks = read(entry.ranks.file, entry.ranks.bytes, entry.ranks.sha256)
        let size = (content?.count ?? 0) + (ranks?.count ?? 0)
        guard let content else { return (nil, size, problems) }
        let tile: RoadTile
        do throws(TileError) {
            tile = try RoadTile(TileStorage(copying: content), expected: id)
        } catch {
            problems.append(Problem(file: entry.file, reason: error.description))
            return (nil, size, problems)
        }
        if let ranks {
            do throws(TileError) {
                _ = try RoadTile(TileStorage(copying: content), expected: id, ranks: TileStorage(copying: ranks))
            } catch {
                problems.append(Problem(file: entry.ranks.file, reason: error.description))
            }
        }
        return (tile, size, problems)
    }

    /// Returns a problem for each tile or ranks file in the directory that the tileset does not list.
    private static func strangers(_ tileset: Tileset, _ directory: String) -> [Problem] {
        var known: Set<String> = []
        for entry in tileset.tiles { known.formUnion([entry.file, entry.ranks.file]) }
        let found = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []
        return found.filter { ($0.hasSuffix(".road") || $0.hasSuffix(".rank")) && !known.contains($0) }.sorted()
            .map { Problem(file: $0, reason: "is not listed in the tileset") }
    }
}
