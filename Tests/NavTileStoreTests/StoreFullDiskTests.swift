import Foundation
import Glibc
import NavGeo
import NavTestKit
import NavTestSupport
import NavTestSystem
import NavStorage
import NavTileCache
import NavTileStore
import Testing

@Suite("A store on a full disk")
struct StoreFullDiskTests {
    @Test("A file size limit gives a typed error, loses nothing, and the store remains usable")
    func greatestFile() throws {
        let folder = try TemporaryFolder()
        let probe = try Probe("NavTileStoreProbe", ["fill", folder.path, "6000000"])
        expectRecovery(probe.rest())
    }

    @Test(
        "A full disk gives a typed error, loses nothing, and the store remains usable",
        .enabled(if: SmallDisk.isPossible, "mounting a small disk needs root"), arguments: [12, 17, 23])
    func smallDisk(megabytes: Int) throws {
        let disk = try #require(SmallDisk(megabytes: megabytes))
        let probe = try Probe("NavTileStoreProbe", ["fill", disk.path + "/store", "0"])
        expectRecovery(probe.rest())
        let store = try TileStore(folder: disk.path + "/store", options: StoreBench.options(1 << 40))
        let report = try store.checkAndRepair()
        #expect(report.isSound, "\(report.findings)")
        store.close()
    }

    /// Expects the probe's output of a recovery.
    private func expectRecovery(_ lines: [String]) {
        var said: [String: String] = [:]
        for line in lines {
            let words = line.split(separator: " ", maxSplits: 1).map(String.init)
            said[words[0]] = words.count > 1 ? words[1] : ""
        }
        let stored = Int(said["stored"] ?? "") ?? 0
        #expect(stored > 20, "\(lines)")
        #expect(said["failure"] == "diskFull", "\(lines)")
        #expect(said["readable"] == "\(stored)", "\(lines)")
        #expect((Int(said["removed"] ?? "") ?? 0) > 0, "\(lines)")
        #expect(said["again"] == "1", "\(lines)")
        #expect(said["sound"] == "true", "\(lines)")
    }

    @Test(
        "On a disk filled by others, opening, reading and evicting work, and storing reports the reason",
        .enabled(if: SmallDisk.isPossible, "mounting a small disk needs root"))
    func filledByOthers() throws {
        let disk = try #require(SmallDisk(megabytes: 16))
        var options = StoreBench.options(1 << 40)
        options.reserveBytes = 1 << 20
        let path = disk.path + "/store"
        var store = try TileStore(folder: path, options: options)
        let maps = TilesetEdition(tileset: "maps", domain: .maps, version: "", zooms: 0...14)
        try store.addEdition(maps, now: at(0))
        let roads = try RoadEdition("v1", count: 4)
        try store.addEdition(roads.edition, now: at(0))
        _ = try store.commit(roads.tiles, now: at(0))
        try store.putRegion(
            StoredRegionDefinition(id: "home"), tiles: roads.addresses, editions: ["roads": "v1"], now: at(0))
        _ = try store.commit(
            (0..<100).map { mapTile($0, String(repeating: "x", count: 20_000) + "\($0)") }, now: at(1))
        disk.fillUp()
        let bytes = String(repeating: "y", count: 200_000)
        let failure = code { _ = try store.commit([mapTile(500, bytes)], now: at(2)) }
        #expect(failure == .diskFull)
        let tile = try #require(try store.reader.tile(roads.addresses[0], now: at(2)))
        #expect(try store.data(of: tile) == roads.tiles[0].parts[0].data)

        store.close()
        store = try TileStore(folder: path, options: options)
        #expect(try store.reader.statistics(now: at(2)).tilesets.map(\.tileCount) == [100, 4])
        #expect(try store.reader.missingTiles(ofRegion: "home").isEmpty)
        store.setBudget(500_000)
        #expect(try store.makeRoom(for: 0, needed: nil).removedCount > 50)
        #expect(try store.commit([mapTile(500, bytes)], now: at(3)).stored.count == 1)
        let report = try store.reader.check()
        #expect(report.isSound, "\(report.findings)")
        store.close()
    }
}
