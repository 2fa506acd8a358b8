import Foundation
import NavGeo
import NavMap
import NavMapBuild
import NavMatching
import NavRouting
import NavTestKit
import Testing

/// Real and generated drives with ground truth.
private enum DriveData {
    /// The cells of a CSV file by column, without empty cells.
    static func rows(_ url: URL) throws -> [[String: Double]] {
        let lines = try String(contentsOf: url, encoding: .utf8).split(whereSeparator: \.isNewline)
        let names = lines.first.map { $0.split(separator: ",").map(String.init) } ?? []
        return lines.dropFirst().map { line in
            let cells = line.split(separator: ",", omittingEmptySubsequences: false)
            return Dictionary(
                zip(names, cells).compactMap { name, cell in Double(cell).map { (name, $0) } }, uniquingKeysWith: { $1 }
            )
        }
    }

    static func fixes(_ url: URL) throws -> [Fix] {
        try rows(url).compactMap { row in
            guard let time = row["t_s"].flatMap(Timestamp.init(seconds:)), let latitude = row["lat"],
                let longitude = row["lon"]
            else { return nil }
            return Fix(
                stamp: time, coordinate: Coordinate(latitude: latitude, longitude: longitude),
                horizontalSigma: row["h_acc_m"], speed: row["speed_mps"], course: row["heading_deg"].map(Angle.radians),
                hdop: row["hdop"])
        }
    }
}

/// A map with the length of each OSM segment, by which paths are scored.
private struct ScoredMap {
    let metric: Metric
    private var positions: [Int64: Coordinate] = [:]

    init(_ path: String) throws {
        let data = try OSMPBFReader.read(path: "\(TestData.directory)/\(path)", jobs: 1)
        let built = try MapBuilder(MapBuilder.Options(jobs: 1)).build(data)
        let tiles = try built.tiles.map { try $0.roadTile }
        let graph = RoadGraph(tiles: tiles, mapVersion: built.report.mapVersion)
        for edge in 0..<graph.edgeCount {
            let shape = graph.shape(of: EdgeIndex(edge))
            for index in 0..<shape.count { positions[shape.nodeID(index)] = shape[index].coordinate }
        }
        metric = Metric(TurnGraph(graph), model: CostModel())
    }

    /// Returns the length driven wrongly or missed, and the length of the truth; their quotient is the route mismatch
    /// fraction of Newson and Krumm (2009).
    func mismatch(_ path: [DrivenSegment], truth: [[String: Double]]) -> (wrong: Double, length: Double) {
        struct Pair: Hashable {
            let from: Int64
            let to: Int64
        }
        var counts: [Pair: Int] = [:]
        var result = (wrong: 0.0, length: 0.0)
        func length(_ pair: Pair) -> Double {
            guard let from = positions[pair.from], let to = positions[pair.to] else { return 0 }
            return Geodesy.distance(from, to)
        }
        for row in truth {
            guard let from = row["from_node"], let to = row["to_node"] else { continue }
            let pair = Pair(from: Int64(from), to: Int64(to))
            counts[pair, default: 0] += 1
            result.length += length(pair)
        }
        for segment in path { counts[Pair(from: segment.fromNodeID, to: segment.toNodeID), default: 0] -= 1 }
        result.wrong = counts.reduce(0) { $0 + Double(abs($1.value)) * length($1.key) }
        return result
    }

    func smoothed(_ fixes: [Fix]) -> [DrivenSegment] { DriveSmoother(metric: metric).smooth(fixes).segments }

    func causal(_ fixes: [Fix]) -> [DrivenSegment] {
        var matcher = StreamingMatcher(metric: metric, recordsPath: true)
        var tracker = PathTracker()
        var path: [DrivenSegment] = []
        for fix in fixes {
            _ = matcher.match(fix)
            if let step = matcher.step { path += tracker.append(step) }
        }
        return path + tracker.finish()
    }
}

// These tests are skipped without their data, which is not part of the project.
@Suite("Drives with ground truth")
struct RealDriveTests {
    @Test(
        "158 real drives with only positions every five seconds are matched",
        .needs("gnss/hof"), arguments: [false, true])
    func sparseFleet(isSmoothed: Bool) throws {
        let map = try ScoredMap("gnss/hof/network.osm.pbf")
        let folder = URL(fileURLWithPath: TestData.gnss("hof/open"))
        var wrong = 0.0
        var length = 0.0
        var fractions: [Double] = []
        for drive in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        where drive.hasDirectoryPath {
            let fixes = try DriveData.fixes(drive.appending(path: "trace.csv"))
            let path = isSmoothed ? map.smoothed(fixes) : map.causal(fixes)
            let score = map.mismatch(path, truth: try DriveData.rows(drive.appending(path: "truth_edges.csv")))
            wrong += score.wrong
            length += score.length
            fractions.append(score.wrong / score.length)
        }
        // An offline matcher with access to the whole drive reaches 0.040 pooled and 0.0007 in the median.
        #expect(fractions.count == 158)
        #expect(wrong / length <= (isSmoothed ? 0.03 : 0.035))
        #expect(fractions.sorted()[fractions.count / 2] <= 0.003)
    }

    @Test(
        "clean drives through towns are matched without wrong roads",
        .needs("gnss/synth/liechtenstein", "osm/liechtenstein.osm.pbf"),
        arguments: ["suburban_1hz", "suburban_10hz"])
    func clean(profile: String) throws {
        let map = try ScoredMap("osm/liechtenstein.osm.pbf")
        for drive in 0..<5 {
            let folder = URL(fileURLWithPath: TestData.gnss("synth/liechtenstein/0\(drive)"))
            let fixes = try DriveData.fixes(folder.appending(path: "gnss/\(profile)/trace.csv"))
            let truth = try DriveData.rows(folder.appending(path: "driven_edges.csv"))
            // The partially driven segments at the ends contribute about 0.005.
            for path in [map.causal(fixes), map.smoothed(fixes)] {
                let score = map.mismatch(path, truth: truth)
                #expect(score.wrong / score.length < 0.006, "drive \(drive)")
            }
        }
    }
}
