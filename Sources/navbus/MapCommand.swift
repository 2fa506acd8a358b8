import ArgumentParser
import Foundation
import NavGeo
import NavKit
import NavMap
import NavMapBuild
import NavigationNode

/// `navbus map`.
struct MapCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "map", abstract: "Build, inspect and verify road tiles.",
        subcommands: [MapBuild.self, MapInfo.self, MapCheck.self, MapJunction.self])
}

/// `navbus map build`.
struct MapBuild: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "build", abstract: "Build road tiles from an OpenStreetMap extract.")

    @Argument(help: "The extract (.osm.pbf, or .osm XML).") var input: String
    @Option(help: ArgumentHelp("The directory to write; an existing tileset is replaced.", valueName: "DIR"))
    var out: String
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Number of threads. Default: one per processor.", valueName: "COUNT")
    ) var jobs: Int?
    @Flag(help: "Assume left-hand traffic where tags do not state the side.") var leftHandTraffic = false
    @Option(
        help: ArgumentHelp(
            "The country, such as PT (ISO 3166-1): its default speed limits and driving side apply where tags do not say. Default: by the borders in the extract, or without any by addresses and zone tags where they agree.",
            valueName: "CODE")) var country: String?
    @Flag(help: "Print the report as JSON.") var json = false

    func validate() throws {
        if let jobs, jobs < 1 { throw ValidationError("--jobs must be at least 1") }
        if let country, country.utf8.count != 2 || !country.utf8.allSatisfy({ $0 >= 65 && $0 <= 90 }) {
            throw ValidationError("--country must be two upper-case letters, such as PT")
        }
        // ZZ is ISO's own code for no country.
        if let country, country == "ZZ" || !Locale.Region(country).isISORegion {
            throw ValidationError("--country \(country): no country has this code (ISO 3166-1)")
        }
    }

    func run() throws {
        let bar = ProgressBar()
        let start = Date()
        let builder = MapBuilder(MapBuilder.Options(jobs: jobs, leftHandTraffic: leftHandTraffic, country: country))
        let report: BuildReport
        do throws(MapBuildError) {
            report = try builder.build(input: input, output: out) { phase, fraction in
                bar.show(fraction, phase.rawValue)
            }
        } catch {
            bar.finish()
            throw NodeError(.invalid, error.description)
        }
        bar.finish()
        if json {
            print(try navbus.json(report))
            return
        }
        let seconds = String(format: "%.1f", Date().timeIntervalSince(start))
        print(
            "\(out): \(report.tiles) tiles, \(report.edges) directed edges, \(report.graphNodes) nodes, \(report.bytes) bytes, \(seconds) s"
        )
        print("map version \(report.mapVersion)")
        for (warning, count) in report.warnings.sorted(by: { $0.key.rawValue < $1.key.rawValue }) where count > 0 {
            print("note: \(count) \(warning)")
        }
    }
}

/// `navbus map check`.
struct MapCheck: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Verify a directory of road tiles: hashes, the content of every tile, and the joins between tiles.",
        discussion: "The exit status is 1 when a problem is found; each is printed with its file.")

    @Argument(help: "The directory.") var tiles: String
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Number of threads. Default: one per processor.", valueName: "COUNT")
    ) var jobs: Int?
    @Flag(help: "Accept missing tiles, as in the folder of a tile cache.") var partial = false
    @Flag(help: "Print the report as JSON.") var json = false

    func validate() throws {
        if let jobs, jobs < 1 { throw ValidationError("--jobs must be at least 1") }
    }

    func run() throws {
        let bar = ProgressBar()
        let report: TilesetChecker.Report
        do throws(MapBuildError) {
            report = try TilesetChecker.check(
                tiles, isPartial: partial, jobs: jobs ?? ProcessInfo.processInfo.activeProcessorCount
            ) {
                bar.show($0, "checking tiles")
            }
        } catch {
            bar.finish()
            throw NodeError(.invalid, error.description)
        }
        bar.finish()
        if json {
            print(try navbus.json(report))
        } else {
            print(
                "\(tiles): \(report.tiles) tiles\(report.missing > 0 ? ", \(report.missing) missing" : ""), \(report.edges) directed edges, \(report.prohibitedPaths) prohibited paths, \(report.bytes) bytes, map version \(report.mapVersion)"
            )
            for problem in report.problems {
                StandardError.write("\(tiles)/\(problem.file): \(problem.reason)\n")
            }
            if report.problems.isEmpty { print("sound") }
        }
        guard report.problems.isEmpty else {
            if !json {
                var advice = "rebuild with 'navbus map build', or download the files again"
                if report.missing > 0, !partial { advice += "; in the folder of a tile cache add --partial" }
                StandardError.write("\(report.problems.count) problems: \(advice)\n")
            }
            throw ExitCode.failure
        }
    }
}

/// `navbus map info`.
struct MapInfo: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info", abstract: "Show the contents of a directory of road tiles; every tile is checked.")

    @Argument(help: "The directory.") var tiles: String
    @Flag(help: "Print JSON.") var json = false

    private struct Info: Encodable {
        var tileset: Tileset
        var layers: [String: Layer]
        var edges: Int
        var nodes: Int
        var prohibitedPaths: Int
        var bytes: Int
    }

    private struct Layer: Encodable {
        var tiles = 0
        var edges = 0
        var bytes = 0
    }

    func run() throws {
        let directory = try TilesetDirectory(path: tiles)
        let loaded = try directory.loadTiles()
        var layers: [String: Layer] = [:]
        for tile in loaded {
            var layer = layers["\(tile.id.layer)"] ?? Layer()
            layer.tiles += 1
            layer.edges += tile.edgeCount
            layer.bytes += tile.byteCount
            layers["\(tile.id.layer)"] = layer
        }
        let info = Info(
            tileset: directory.tileset, layers: layers, edges: loaded.reduce(0) { $0 + $1.edgeCount },
            nodes: RoadGraph(tiles: loaded, mapVersion: directory.tileset.mapVersion).nodeCount,
            prohibitedPaths: loaded.reduce(0) { $0 + $1.prohibitedPathCount },
            bytes: loaded.reduce(0) { $0 + $1.byteCount })
        if json {
            print(try navbus.json(info))
            return
        }
        let tileset = directory.tileset
        print("\(tiles): format \(tileset.formatVersion), map version \(tileset.mapVersion)")
        print("source \(tileset.source)\(tileset.sourceTimestamp.map { ", of \($0)" } ?? "") (\(tileset.attribution))")
        let bounds = tileset.bounds
        print(
            "bounds "
                + String(format: "%.7f,%.7f to %.7f,%.7f", bounds.south, bounds.west, bounds.north, bounds.east))
        for name in RoadLayer.allCases.map({ "\($0)" }) {
            guard let layer = layers[name] else { continue }
            print("\(name): \(layer.tiles) tiles, \(layer.edges) directed edges, \(layer.bytes) bytes")
        }
        print(
            "total: \(loaded.count) tiles, \(info.edges) directed edges, \(info.nodes) nodes, \(info.prohibitedPaths) prohibited paths, \(info.bytes) bytes"
        )
    }
}
