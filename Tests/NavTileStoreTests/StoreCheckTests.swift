import Foundation
import GRDB
import Glibc
import NavGeo
import NavTileCache
import NavTileStore
import Testing

@Suite("The check of a store")
struct StoreCheckTests {
    @Test("Each kind of damage is found and repaired where possible", arguments: StoreDamage.all)
    func damage(_ damage: StoreDamage) throws {
        var (bench, roads) = try StoreDamage.bench()
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
        // The map tile is undamaged.
        #expect(try bench.text(TileAddress("maps", tileID(0))) == "map 0")
    }

    @Test("Mapping files and a link that lag behind the index are not faults")
    func unfinished() throws {
        var bench = try StoreBench()
        for version in ["v1", "v2"] {
            let roads = try RoadEdition(version, count: 3)
            try bench.store.addEdition(roads.edition, now: at(0))
            _ = try bench.store.commit(roads.tiles, now: at(1))
        }
        try bench.store.completeRegions([:], using: [EditionKey("roads", "v2")], now: at(2))
        bench.store.close()
        // The state that a process leaves when it is killed after writing the index.
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

    @Test("The check counts what it examines")
    func counts() throws {
        let bench = try StoreBench()
        try bench.addMaps()
        _ = try bench.store.commit((0..<300).map { mapTile($0, "content \($0)") }, now: at(1))
        let report = try bench.store.reader.check()
        #expect(report.isSound && report.tileCount == 300 && report.objectCount == 300)
        #expect(try report.objectBytes == bench.store.reader.storedBytes())
    }

    @Test("A shallow check finds damage that sizes and names reveal")
    func shallow() throws {
        let bench = try StoreBench()
        try bench.addMaps()
        let address = try bench.put(1, "map")
        try overwrite(try #require(try bench.find(address)).body.path, at: 0, with: [0x58])
        #expect(try bench.store.reader.check(readsContent: false).isSound)
        #expect(try !bench.store.reader.check().isSound)
    }
}
