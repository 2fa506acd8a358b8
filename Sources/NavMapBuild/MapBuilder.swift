import NavDigest
internal import Foundation
internal import NavGeo
package import NavMap

/// A builder of road tiles from OpenStreetMap data.
///
/// The tiles depend on the data alone: two builds of the same input are byte-identical, whatever the number of jobs.
package struct MapBuilder: Sendable {
    package struct Options: Sendable, Equatable {
        /// The number of worker threads, at least 1.
        package var jobs: Int
        /// Whether traffic keeps to the left everywhere in the input; `driving_side` tags decide for single roads.
        package var leftHandTraffic: Bool
        /// The country of the input, ISO 3166-1, two upper-case letters.
        ///
        /// Its general limits and its side of the road apply where tags give neither. With nil, each road's country is determined from the
        /// borders in the input, else from the road's own zone tags, else from the addresses and zone tags of the whole input.
        package var country: String?

        /// Creates options; `jobs` defaults to the number of processors.
        package init(jobs: Int? = nil, leftHandTraffic: Bool = false, country: String? = nil) {
            self.country = country
            self.jobs = max(1, jobs ?? ProcessInfo.processInfo.activeProcessorCount)
            self.leftHandTraffic = leftHandTraffic
        }
    }

    package struct BuiltTile: Sendable, Equatable {
        package let id: RoadTileID
        package let bytes: [UInt8]
        /// The bytes of the file with the ranks of its edges.
        package let ranks: [UInt8]

        /// A view of the tile in memory.
        package var roadTile: RoadTile {
            get throws(TileError) {
                try RoadTile(TileStorage(copying: bytes), expected: id, ranks: TileStorage(copying: ranks))
            }
        }
    }

    /// The attribution to display with the map, from OpenStreetMap's licence, ODbL 4.3.
    package static let attribution = "© OpenStreetMap contributors"

    package let options: Options

    package init(_ options: Options = Options()) { self.options = options }

    /// Builds the tiles of an .osm.pbf or .osm file into a directory, with its `tileset.json`.
    ///
    /// - Parameters:
    ///   - input: The .osm.pbf or .osm file.
    ///   - output: The directory to create. An empty directory or another tileset there is replaced as a whole, only
    ///     after the new one is complete; anything else is an error.
    ///   - progress: Receives the progress of all phases, from the working threads.
    /// - Throws: ``MapBuildError`` when the input is invalid or the output cannot be written.
    package func build(
        input: String, output: String, progress: @escaping BuildProgress = { _, _ in }
    ) throws(MapBuildError) -> BuildReport {
        let directory = try OutputDirectory(output)
        return try directory.replace { staging throws(MapBuildError) in
            let data = try OSMReader.read(path: input, jobs: options.jobs, progress: progress)
            var report = BuildReport()
            let entries = try assemble(data, source: input, progress: progress, &report) {
                tile throws(MapBuildError) in
                try staging.write(tile.bytes, to: tile.id.path)
                try staging.write(tile.ranks, to: tile.id.ranksPath)
                return try MapBuilder.entry(tile)
            }
            report.bytes = entries.reduce(0) { $0 + $1.bytes + $1.ranks.bytes }
            report.mapVersion = try MapBuilder.version(entries)
            let tileset = Tileset(
                mapVersion: report.mapVersion, source: URL(fileURLWithPath: input).lastPathComponent,
                sourceTimestamp: MapBuilder.timeStamp(data.timestamp), bounds: report.bounds,
                attribution: MapBuilder.attribution, tiles: entries)
            try staging.write(tileset)
            return report
        }
    }

    /// Builds the tiles of data in memory, by ascending id.
    package func build(_ data: OSMData) throws(MapBuildError) -> (tiles: [BuiltTile], report: BuildReport) {
        var report = BuildReport()
        let tiles = try assemble(data, source: "data", progress: { _, _ in }, &report) {
            tile throws(MapBuildError) in tile
        }
        report.bytes = tiles.reduce(0) { $0 + $1.bytes.count + $1.ranks.count }
        let entries = try tiles.map { tile throws(MapBuildError) in try MapBuilder.entry(tile) }
        report.mapVersion = try MapBuilder.version(entries)
        return (tiles, report)
    }

    /// Returns a hash in the form used in tilesets.
    private static func digest(_ bytes: [UInt8], _ file: String) throws(MapBuildError) -> String {
        guard let hash = ContentHash(of: bytes) else {
            throw MapBuildError(
                .unhashed, path: file, reason: "cannot be hashed", advice: "\(ContentHash.refusal), and run it again")
        }
        return hash.hexadecimal
    }

    private static func entry(_ tile: BuiltTile) throws(MapBuildError) -> Tileset.Entry {
        Tileset.Entry(
            id: tile.id.rawValue, file: tile.id.path, bytes: tile.bytes.count,
            sha256: try digest(tile.bytes, tile.id.path),
            ranks: Tileset.RanksEntry(
                file: tile.id.ranksPath, bytes: tile.ranks.count, sha256: try digest(tile.ranks, tile.id.ranksPath)))
    }

    /// Creates all tiles in parallel and passes each to `consume`; returns the results in tile order.
    private func assemble<T: Sendable>(
        _ data: OSMData, source: String, progress: @escaping BuildProgress, _ report: inout BuildReport,
        _ consume: @Sendable (BuiltTile) throws(MapBuildError) -> T
    ) throws(MapBuildError) -> [T] {
        let counter = ProgressCounter(progress)
        let rules = CountryRules(data, country: options.country, leftHandTraffic: options.leftHandTraffic)
        let roads = RoadTable(data, jobs: options.jobs, rules: rules, counter: counter)
        var network = RoadNetwork(data, roads: roads)
        network.shareCrossingTimes(data)
        guard !network.nodes.isEmpty else {
            throw MapBuildError(
                .noRoads, path: source, reason: "contains no road",
                advice: "Take an extract of an area with roads, with ways and their nodes")
        }
        let restrictions = Restrictions(data, network)
        let assembly = TileAssembly(data, network, restrictions)
        let ranks = network.ranks(data, jobs: options.jobs, counter)
        fill(&report, data, network, restrictions, tiles: assembly.tiles.count)
        return try Parallel.map(assembly.tiles.count, jobs: options.jobs) { number throws(MapBuildError) in
            let id = assembly.tiles[number]
            let (content, edges) = assembly.content(number)
            let bytes: [UInt8]
            do throws(TileEncodingError) {
                bytes = try TileEncoder.encode(content)
            } catch {
                if case .tooManyEdges(let node) = error {
                    throw MapBuildError(
                        .tooLarge, path: source,
                        reason: "more roads leave node \(node) than the tile \(id) can hold (\(UInt16.max))",
                        advice: "Correct the data at this node, or take an extract without it")
                }
                throw MapBuildError(
                    .tooLarge, path: source, reason: "the tile \(id) cannot be encoded (\(error))",
                    advice: "Build a smaller extract and report the area")
            }
            let order = EdgeRanks(tile: id, values: ContiguousArray(edges.map { ranks[$0.segment] }))
            let result = try consume(BuiltTile(id: id, bytes: bytes, ranks: order.encoded()))
            counter.advance(.writingTiles, of: assembly.tiles.count)
            return result
        }
    }

    private func fill(
        _ report: inout BuildReport, _ data: OSMData, _ network: RoadNetwork, _ restrictions: Restrictions, tiles: Int
    ) {
        report.nodes = data.statistics.nodes
        report.ways = data.statistics.ways
        report.relations = data.statistics.relations
        report.roads = network.roads.ways.count
        report.graphNodes = network.nodes.count
        report.edges = network.departures.count
        report.tiles = tiles
        report.restrictions = restrictions.applied
        report.restrictionProblems = restrictions.problems
        report.maneuvers = restrictions.prescribed.count
        report.maneuverProblems = restrictions.maneuverProblems
        report.warnings = [
            .missingNodes: network.anomalies.missingNodes, .shortWays: network.anomalies.shortWays,
            .repeatedNodes: network.anomalies.repeatedNodes, .duplicateIDs: data.statistics.duplicateIDs,
            .invalidCoordinates: data.statistics.invalidCoordinates,
            .unknownConditions: network.roads.unknownConditions,
        ].filter { $0.value > 0 }
        var lengths: [UInt16: Double] = [:]
        for segment in network.segmentRoads.indices {
            let length = network.length(segment, data)
            for isBackward in [false, true] {
                let edge = DirectedEdge(segment, isBackward: isBackward)
                guard network.exists(edge) else { continue }
                report.edgeLength += length
                lengths[network.roads.attributes[Int(network.attributes(edge))].country, default: 0] += length
            }
        }
        report.countries = lengths.map { CountryShare(country: CountryCode.text($0.key), edgeLength: $0.value) }
            .sorted { ($1.edgeLength, $0.country) < ($0.edgeLength, $1.country) }
        if report.countries.count == 1 { report.country = report.countries[0].country }
        let unknown = lengths[0] ?? 0
        if unknown >= 1_000 { report.warnings[.unknownCountry] = Int(unknown / 1_000) }
        var (south, west, north, east) = (Int32.max, Int32.max, Int32.min, Int32.min)
        for node in network.lineNodes {
            let position = data.position(node)
            south = min(south, position.latitudeE7)
            north = max(north, position.latitudeE7)
            west = min(west, position.longitudeE7)
            east = max(east, position.longitudeE7)
        }
        let low = FixedCoordinate(latitudeE7: south, longitudeE7: west).coordinate
        let high = FixedCoordinate(latitudeE7: north, longitudeE7: east).coordinate
        report.bounds = BoundingBox(
            south: low.latitude, west: low.longitude, north: high.latitude, east: high.longitude)
    }

    /// Returns the hash over the hashes of all tiles, 32 hexadecimal digits.
    static func version(_ entries: [Tileset.Entry]) throws(MapBuildError) -> String {
        let text = entries.map { "\($0.id) \($0.sha256)\n" }.joined()
        return String(try digest(Array(text.utf8), "tileset.json").prefix(32))
    }

    /// Returns seconds since 1970 as ISO 8601; nil without a stamp, or when it is outside the calendar.
    private static func timeStamp(_ seconds: Int64?) -> String? {
        guard let seconds, seconds > 0, seconds < 253_402_300_800 else { return nil }
        return ISO8601DateFormatter().string(from: Date(timeIntervalSince1970: Double(seconds)))
    }
}
