import Foundation
import GRDB
import Glibc
import NavGeo
import NavTileStore
import Testing

@Suite("The check of a store")
struct StoreCheckTests {
    private struct Damage: Sendable, CustomTestStringConvertible {
        var kind: CheckFinding.Kind
        var name: String
        var isRepairable = true
        /// What is left wrong when it was repaired.
        var leaves: Set<CheckFinding.Kind> = []
        var inflict: @Sendable (StoreBench, RoadEdition) throws -> Void

        var testDescription: String { name }
    }

    private static func object(_ bench: StoreBench, _ roads: RoadEdition, _ tile: Int, _ part: Int = 0) -> String {
        StoreFolder(bench.path).object(roads.tiles[tile].parts[part].hash)
    }

    private static let damages = [
        Damage(kind: .missingObject, name: "a file is gone") { bench, roads in
            unlink(object(bench, roads, 0))
        },
        Damage(kind: .wrongSize, name: "a file is cut short") { bench, roads in
            truncate(object(bench, roads, 1, 1), 3)
        },
        Damage(kind: .wrongHash, name: "a byte of a file is another") { bench, roads in
            try change(object(bench, roads, 0))
        },
        Damage(kind: .orphan, name: "a file that no tile has") { bench, _ in
            let orphan = part(.body, "an orphan")
            try Data(orphan.data).write(to: URL(fileURLWithPath: StoreFolder(bench.path).object(orphan.hash)))
        },
        Damage(kind: .foreign, name: "a file of another name", isRepairable: false) { bench, _ in
            try Data([1]).write(to: URL(fileURLWithPath: bench.path + "/objects/ab/readme"))
        },
        Damage(kind: .view, name: "a tile is not in its folder") { bench, _ in
            unlink(bench.path + "/tilesets/roads/v1/12/0/7.road")
        },
        Damage(kind: .view, name: "its ranks are not") { bench, _ in
            unlink(bench.path + "/tilesets/roads/v1/12/1/7.rank")
        },
        Damage(kind: .view, name: "a tile in the folder is another") { bench, _ in
            let path = bench.path + "/tilesets/roads/v1/12/0/7.road"
            unlink(path)
            try Data(repeating: 1, count: 12).write(to: URL(fileURLWithPath: path))
        },
        Damage(kind: .view, name: "a tile in the folder is not on board") { bench, _ in
            let path = bench.path + "/tilesets/roads/v1/12/2"
            mkdir(path, 0o755)
            try Data([1]).write(to: URL(fileURLWithPath: path + "/7.road"))
        },
        Damage(kind: .view, name: "tileset.json is another") { bench, _ in
            try change(bench.path + "/tilesets/roads/v1/tileset.json")
        },
        Damage(kind: .current, name: "current points elsewhere") { bench, _ in
            unlink(bench.path + "/tilesets/roads/current")
            symlink("/", bench.path + "/tilesets/roads/current")
        },
        Damage(kind: .count, name: "a file's uses are wrong") { bench, _ in
            try sql(bench, "UPDATE objects SET uses = uses + 1 WHERE bytes = 3")
        },
        Damage(kind: .count, name: "a tile's pins are wrong") { bench, _ in
            try sql(bench, "UPDATE tiles SET pins = 5 WHERE ranks IS NULL")
        },
        Damage(kind: .count, name: "an edition's totals are wrong") { bench, _ in
            try sql(bench, "UPDATE editions SET tile_bytes = 1")
        },
        Damage(kind: .count, name: "the store's totals are wrong") { bench, _ in
            try sql(bench, "UPDATE totals SET object_bytes = -4")
        },
        Damage(kind: .region, name: "a complete region lacks a tile") { bench, _ in
            try sql(bench, "DELETE FROM tiles WHERE id = (SELECT min(tile) FROM pins)")
            unlink(bench.path + "/tilesets/roads/v1/12/0/7.road")
            unlink(bench.path + "/tilesets/roads/v1/12/0/7.rank")
        },
    ]

    @Test("Each damage is found by its kind, and put right where that can be", arguments: damages.indices)
    func damage(number: Int) throws {
        let damage = Self.damages[number]
        var bench = try StoreBench()
        let roads = try RoadEdition("v1", count: 2)
        try bench.store.addEdition(roads.edition, now: at(0))
        try bench.addMaps()
        _ = try bench.store.commit(roads.tiles, now: at(1))
        try bench.put(3, "map")
        try bench.store.putRegion(
            StoredRegionDefinition(id: "home"), tiles: roads.addresses, editions: ["roads": "v1"], now: at(1))
        try bench.store.completeRegions(["home": StoredRegionProgress()], now: at(2))
        try bench.expectSound()
        try damage.inflict(bench, roads)
        let found = try bench.store.reader.check()
        #expect(found.findings.contains { $0.kind == damage.kind }, "\(damage.name): \(found.findings)")
        #expect(!found.findings.contains { $0.isRepaired })
        let repaired = try bench.store.checkAndRepair()
        #expect(repaired.findingCount >= 1)
        let repair = repaired.findings.first { $0.kind == damage.kind }
        #expect(repair?.isRepaired == damage.isRepairable, "\(damage.name): \(repaired.findings)")
        _ = try bench.store.checkAndRepair()
        let after = try bench.store.reader.check()
        #expect(after.isSound == damage.isRepairable, "\(damage.name): \(after.findings)")
        try bench.reopen()
        // The map tile was nobody's damage.
        #expect(try bench.text(TileAddress("maps", tileID(3))) == "map")
    }

    @Test("What the next owner sees to is no fault: files for mapping and a link that have yet to follow the index")
    func unfinished() throws {
        var bench = try StoreBench()
        for version in ["v1", "v2"] {
            let roads = try RoadEdition(version, count: 3)
            try bench.store.addEdition(roads.edition, now: at(0))
            _ = try bench.store.commit(roads.tiles, now: at(1))
        }
        try bench.store.use(EditionKey("roads", "v2"), now: at(2))
        bench.store.close()
        // As a process leaves it that is killed after the index was written.
        let current = bench.path + "/tilesets/roads/current"
        try FileManager.default.removeItem(atPath: current)
        try FileManager.default.createSymbolicLink(atPath: current, withDestinationPath: "v1")
        let view = bench.path + "/tilesets/roads/v2/12/0/7.road"
        try FileManager.default.removeItem(atPath: view)
        #expect(try TileStoreReader(folder: bench.path).check().findings.map(\.kind) == [.view])
        do {
            let index = try DatabaseQueue(path: bench.path + "/index.sqlite")
            try index.write { try $0.execute(sql: "INSERT INTO unsettled SELECT id FROM tiles") }
        }
        #expect(try TileStoreReader(folder: bench.path).check().isSound)
        try bench.reopen()
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: current) == "v2")
        #expect(FileManager.default.fileExists(atPath: view))
        try bench.expectSound()
    }

    @Test("It counts what it looks at, says how far it is, and ends when asked to")
    func progress() throws {
        let bench = try StoreBench()
        try bench.addMaps()
        _ = try bench.store.commit((0..<300).map { mapTile($0, "content \($0)") }, now: at(1))
        var last: CheckProgress?
        var calls = 0
        let report = try bench.store.reader.check { progress in
            #expect(progress.files >= last?.files ?? 0 && progress.bytes >= last?.bytes ?? 0)
            (last, calls) = (progress, calls + 1)
            return true
        }
        #expect(report.isSound)
        #expect(report.tileCount == 300 && report.objectCount == 300)
        #expect(last?.files == 300 && last?.totalFiles == 300)
        #expect(last?.bytes == last?.totalBytes && report.objectBytes == last?.bytes)
        #expect(calls >= 256)
        let early = try bench.store.reader.check { $0.files < 100 }
        #expect(early.isCancelled && !early.isSound)
        #expect(early.objectCount < 200)
    }

    @Test("Without reading contents it finds what sizes and names show")
    func shallow() throws {
        let bench = try StoreBench()
        try bench.addMaps()
        let address = try bench.put(1, "map")
        try Self.change(try #require(try bench.find(address)).body.path)
        var options = CheckOptions()
        options.readsContent = false
        #expect(try bench.store.reader.check(options).isSound)
        options.readsContent = true
        options.greatestFindings = 0
        let report = try bench.store.reader.check(options)
        #expect(report.findings.isEmpty && report.findingCount == 1 && !report.isSound)
    }

    private static func change(_ path: String) throws {
        var data = try Data(contentsOf: URL(fileURLWithPath: path))
        data[0] ^= 1
        let file = open(path, O_WRONLY)
        try #require(file >= 0)
        defer { close(file) }
        try #require(pwrite(file, Array(data), data.count, 0) == data.count)
    }

    private static func sql(_ bench: StoreBench, _ statement: String) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        let queue = try DatabaseQueue(path: bench.path + "/index.sqlite", configuration: configuration)
        try queue.write { try $0.execute(sql: statement) }
    }
}
