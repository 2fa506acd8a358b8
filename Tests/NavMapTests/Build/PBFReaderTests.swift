import Foundation
import NavMapBuild
import NavSimulation
import NavTestKit
import Testing

@Suite("Reading .osm.pbf")
struct PBFReaderTests {
    private func read(_ bytes: [UInt8], jobs: Int = 1) throws -> OSMData {
        let folder = try TemporaryFolder()
        let directory = URL(fileURLWithPath: folder.path)
        let file = directory.appendingPathComponent("in.osm.pbf")
        try Data(bytes).write(to: file)
        return try OSMPBFReader.read(path: file.path, jobs: jobs)
    }

    private func failure(_ bytes: [UInt8]) -> MapBuildError? {
        do {
            _ = try read(bytes)
            return nil
        } catch {
            return error as? MapBuildError
        }
    }

    private static let strings = ["", "highway", "residential", "stop", "footway", "name", "Hauptstraße"]

    @Test("plain nodes, ways and tags are read")
    func plain() throws {
        var file = PBFWriter()
        file.header(timestamp: 1_433_550_182)
        file.data(
            Self.strings,
            [
                PBFWriter.node(1, 480_000_000, -87_000_000)
                    + PBFWriter.node(-5, -10_000_000, 1_790_000_000, tags: [(1, 3)])
                    + PBFWriter.node(7, 1, 1),
                PBFWriter.way(9, [1, -5], tags: [(1, 2), (5, 6)]) + PBFWriter.way(10, [1, 7], tags: [(1, 4)]),
            ])
        let data = try read(file.bytes)
        #expect(data.timestamp == 1_433_550_182)
        #expect(data.statistics.nodes == 3 && data.statistics.ways == 2 && data.statistics.relations == 0)
        #expect(Array(data.nodeIDs) == [-5, 1])
        #expect(Array(data.latitudes) == [-10_000_000, 480_000_000])
        #expect(Array(data.longitudes) == [1_790_000_000, -87_000_000])
        #expect(Array(data.ways.ids) == [9] && Array(data.ways.parts) == [1, 0])
        #expect(data.strings[data.ways.tags.value(.name, of: 0)] == "Hauptstraße")
        #expect(Array(data.taggedNodes) == [0])
    }

    @Test("nodes that only limit vehicles or name crossroads are read")
    func limits() throws {
        var file = PBFWriter()
        file.header()
        file.data(
            ["", "highway", "road", "hgv", "no", "maxheight", "2", "junction", "yes", "name", "X"],
            [
                PBFWriter.node(1, 10, 10, tags: [(3, 4)]) + PBFWriter.node(2, 20, 20, tags: [(5, 6)])
                    + PBFWriter.node(3, 30, 30, tags: [(7, 8), (9, 10)]) + PBFWriter.node(4, 40, 40, tags: [(9, 10)]),
                PBFWriter.way(7, [1, 2, 3, 4], tags: [(1, 2)]),
            ])
        #expect(try Array(read(file.bytes).taggedNodes) == [0, 1, 2])
    }

    @Test("a path is read if a vehicle tag may open it, even only at times")
    func paths() throws {
        var file = PBFWriter()
        file.header()
        file.data(
            ["", "highway", "path", "motor_vehicle", "yes", "hgv:conditional", "yes @ (06:00-10:00)", "bicycle"],
            [
                PBFWriter.node(1, 10, 10) + PBFWriter.node(2, 20, 20),
                PBFWriter.way(7, [1, 2], tags: [(1, 2), (3, 4)]) + PBFWriter.way(8, [1, 2], tags: [(1, 2), (5, 6)])
                    + PBFWriter.way(9, [1, 2], tags: [(1, 2), (7, 4)]),
            ])
        #expect(try Array(read(file.bytes).ways.ids) == [7, 8])
    }

    @Test("in a file with history a deleted version removes the older one")
    func history() throws {
        var file = PBFWriter()
        file.header(["OsmSchema-V0.6", "HistoricalInformation"])
        file.data(
            Self.strings,
            [
                PBFWriter.node(1, 10, 10) + PBFWriter.node(2, 20, 20),
                PBFWriter.way(8, [1, 2], tags: [(1, 2)]) + PBFWriter.way(8, [], tags: [], isVisible: false)
                    + PBFWriter.way(9, [1, 2], tags: [(1, 2)]) + PBFWriter.way(9, [1, 2], tags: [(1, 4)])
                    + PBFWriter.way(10, [1, 2], tags: [(1, 2)]),
            ])
        let (_, report) = try MapBuilder(.init(jobs: 1)).build(try read(file.bytes))
        #expect(report.roads == 1)
    }

    @Test("other formats are not OSM", arguments: ["", "<?xml version='1.0'?><osm/>", "hello", "PK\u{3}\u{4}zip"])
    func notOSM(text: String) {
        let error = failure(Array(text.utf8))
        #expect(error?.code == .notOSM)
        #expect(error?.description.contains("in.osm.pbf") == true)
    }

    @Test("a missing file and a directory are unreadable", arguments: ["/nowhere/at/all.osm.pbf", "/"])
    func unreadable(path: String) {
        #expect { try OSMPBFReader.read(path: path) } throws: { ($0 as? MapBuildError)?.code == .unreadable }
    }

    @Test("the error names an unsupported feature")
    func unsupportedFeature() {
        var file = PBFWriter()
        file.header(["OsmSchema-V0.6", "SpiralNodes"])
        let error = failure(file.bytes)
        #expect(error?.code == .unsupported && error?.reason.contains("SpiralNodes") == true)
    }

    @Test("the error names an unsupported compression")
    func unsupportedCompression() {
        var file = PBFWriter()
        file.header()
        let place = file.bytes.count
        file.block("OSMData", blob: PBFWriter.field(2, 10) + PBFWriter.field(7, [1, 2, 3]))
        let error = failure(file.bytes)
        #expect(error?.code == .unsupported && error?.reason.contains("zstd") == true)
        #expect((error?.offset ?? 0) > place)
    }

    @Test("blocks beyond the format's 32 MiB are refused before they are read or inflated")
    func tooLarge() {
        var declared = PBFWriter()
        declared.header()
        let header = PBFWriter.field(1, "OSMData") + PBFWriter.field(3, 33 << 20)
        #expect(failure(declared.bytes + [0, 0, 0, UInt8(header.count)] + header)?.code == .blobTooLarge)
        var inflated = PBFWriter()
        inflated.header()
        inflated.block("OSMData", blob: PBFWriter.field(2, 1 << 40) + PBFWriter.field(3, [1, 2, 3]))
        #expect(failure(inflated.bytes)?.code == .blobTooLarge)
    }

    @Test("an index outside its string table is detected")
    func badIndex() {
        for tag in [(UInt64(99), UInt64(2)), (1, 99), (UInt64.max, 1)] {
            var file = PBFWriter()
            file.header()
            file.data(Self.strings, [PBFWriter.way(9, [1, 2], tags: [tag])])
            #expect(failure(file.bytes)?.code == .malformed)
        }
    }

    @Test("nodes with coordinates out of range are counted and treated as missing")
    func outside() throws {
        var file = PBFWriter()
        file.header()
        file.data(
            Self.strings,
            [
                PBFWriter.node(1, 910_000_000, 0) + PBFWriter.node(2, 0, .max / 4) + PBFWriter.node(3, 5, 5),
                PBFWriter.way(9, [1, 2, 3], tags: [(1, 2)]),
            ])
        let data = try read(file.bytes)
        #expect(data.statistics.invalidCoordinates == 2)
        #expect((0..<3).map { data.isPresent($0) } == [false, false, true])
    }
}

@Suite("Damaged extracts")
struct DamagedExtractTests {
    /// Reads and builds a file, which must end with data or a `MapBuildError`; a trap would end the tests.
    private func attempt(_ bytes: [UInt8], _ file: URL) throws -> MapBuildError? {
        try Data(bytes).write(to: file)
        do throws(MapBuildError) {
            let data = try OSMPBFReader.read(path: file.path, jobs: 1)
            _ = try MapBuilder(.init(jobs: 1)).build(data)
            return nil
        } catch {
            return error
        }
    }

    @Test("a truncated file gives an error with its offset, or is complete")
    func truncated() throws {
        let folder = try TemporaryFolder()
        let directory = URL(fileURLWithPath: folder.path)
        let file = directory.appendingPathComponent("cut.osm.pbf")
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: TestData.helsinki)))
        #expect(try attempt(whole, file) == nil)
        var lengths = Array(0..<200) + stride(from: 200, to: whole.count, by: whole.count / 200)
        lengths.append(whole.count - 1)
        for length in lengths {
            let error = try attempt(Array(whole.prefix(length)), file)
            // A cut between two blocks leaves a valid, shorter file.
            if let error {
                #expect([.notOSM, .truncated, .noRoads, .malformed].contains(error.code), "\(length): \(error)")
                #expect(error.path == file.path || error.code == .noRoads)
            }
        }
        #expect(try attempt(Array(whole.dropLast()), file)?.code == .truncated)
    }

    @Test("changed bytes in compressed or inflated blocks never trap", arguments: 1...4)
    func mutated(seed: UInt64) throws {
        let folder = try TemporaryFolder()
        let directory = URL(fileURLWithPath: folder.path)
        let file = directory.appendingPathComponent("changed.osm.pbf")
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: TestData.helsinki)))
        // The same content without compression, so that changes reach the block reader.
        let source = try PBFFile(path: TestData.helsinki)
        var writer = PBFWriter()
        writer.header()
        for blob in try source.scan().blobs { writer.block("OSMData", Array(try source.contents(blob))) }
        let plain = writer.bytes
        var random = SeededRandom(seed: seed)
        for round in 0..<30 {
            var bytes = round % 4 == 0 ? whole : plain
            for _ in 0..<(1 + Int(random.next() % 8)) {
                let place = Int(random.next() % UInt64(bytes.count))
                switch random.next() % 3 {
                case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes[place] ^= 1 << UInt8(random.next() % 8)
                default: bytes[place] = random.next() % 2 == 0 ? 0xFF : 0
                }
            }
            _ = try attempt(bytes, file)
        }
    }
}
