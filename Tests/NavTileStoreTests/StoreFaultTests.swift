import Foundation
import GRDB
import Glibc
import NavDigest
import NavGeo
import NavStorage
import NavTestKit
import NavTestSystem
import NavTileCache
import NavTileStore
import Testing

@Suite("Faults of a store's files")
struct StoreFaultTests {
    /// Returns a store with two road tiles, a region that pins them, and a map tile.
    private func bench() throws -> (StoreBench, RoadEdition) {
        let bench = try StoreBench()
        let roads = try RoadEdition("v1", count: 2)
        try bench.store.addEdition(roads.edition, now: at(0))
        try bench.addMaps()
        _ = try bench.store.commit(roads.tiles, now: at(1))
        try bench.store.putRegion(
            StoredRegionDefinition(id: "home", name: "Home", geometry: [5]), tiles: roads.addresses,
            editions: ["roads": "v1"], now: at(1))
        try bench.store.completeRegions(["home": StoredRegionProgress()], now: at(2))
        try bench.put(1, "map")
        return (bench, roads)
    }

    @Test("A changed file is never served: it is quarantined, counted, and its tile fetched again")
    func corrupted() throws {
        let (bench, roads) = try bench()
        let tile = try #require(try bench.find(roads.addresses[0]))
        try overwrite(tile.body.path, at: 3, with: [0x58])
        #expect(code { _ = try bench.store.reader.data(of: tile) } == .corruptObject)
        #expect(try bench.find(roads.addresses[0]) != nil)
        #expect(code { _ = try bench.store.data(of: tile) } == .corruptObject)
        #expect(try bench.find(roads.addresses[0]) == nil)
        #expect(try bench.totals().corruptCount == 1)
        #expect(bench.folder.files(below: "store/quarantine") == [tile.body.hash.hexadecimal])
        #expect(!bench.folder.files(below: "store/tilesets").contains("roads/v1/12/0/7.road"))
        // The region lists the missing tile and is complete after it is fetched again.
        #expect(
            try bench.store.reader.missingTiles(ofRegion: "home") == [RegionTile(roads.addresses[0], edition: "v1")])
        _ = try bench.store.commit([roads.tiles[0]], now: at(3))
        #expect(try bench.text(roads.addresses[0]) == "road 0 of v1")
        #expect(try bench.find(roads.addresses[0])?.isPinned == true)
        try bench.expectSound()
    }

    @Test("A missing or truncated file removes its tile", arguments: [true, false])
    func lost(isGone: Bool) throws {
        let (bench, roads) = try bench()
        let tile = try #require(try bench.find(roads.addresses[1]))
        if isGone { unlink(tile.parts[1].path) } else { truncate(tile.parts[1].path, 2) }
        #expect(code { _ = try bench.store.data(of: tile, part: .ranks) } == .corruptObject)
        #expect(try bench.find(roads.addresses[1]) == nil)
        #expect(try bench.store.reader.missingTiles(ofRegion: "home").count == 1)
        #expect(try bench.totals().corruptCount == 1)
        try bench.expectSound()
    }

    @Test("Refetching a tile replaces its damaged file for every tile that shares it")
    func fetchedAgain() throws {
        let (bench, roads) = try bench()
        let second = try RoadEdition("v2", count: 1)
        try bench.store.addEdition(second.edition, now: at(4))
        _ = try bench.store.commit(second.tiles, now: at(4))
        let ranks = try #require(try bench.find(roads.addresses[0])).parts[1]
        try overwrite(ranks.path, at: 0, with: [0])
        #expect(try !bench.store.reader.check().isSound)
        #expect(try bench.store.commit([roads.tiles[0]], now: at(5)).stored.count == 1)
        #expect(try bench.totals().corruptCount == 1)
        for version in ["v1", "v2"] {
            #expect(
                FileManager.default.contents(atPath: "\(bench.path)/tilesets/roads/\(version)/12/0/7.rank")
                    == Data(roads.tiles[0].parts[1].data))
        }
        try bench.expectSound()
    }

    @Test("A stale record of an evicted tile is not damage")
    func evicted() throws {
        let (bench, _) = try bench()
        let tile = try #require(try bench.find(TileAddress("maps", tileID(1))))
        try bench.store.purge()
        #expect(code { _ = try bench.store.data(of: tile) } == .missing)
        #expect(try bench.totals().corruptCount == 0)
    }

    @Test("A file that cannot be unlinked is unlinked by a later change")
    func unlinkedLater() throws {
        let (bench, roads) = try bench()
        let maps = try #require(try bench.find(TileAddress("maps", tileID(1)))).body.path
        // Folders in place of the files, which unlink(2) rejects.
        unlink(maps)
        mkdir(maps, 0o755)
        let road = bench.path + "/tilesets/roads/v1/12/1/7.road"
        unlink(road)
        mkdir(road, 0o755)
        try bench.store.removeRegion("home")
        try bench.store.purge()
        try bench.store.flush()
        for path in [maps, road] {
            rmdir(path)
            try Data([1]).write(to: URL(fileURLWithPath: path))
        }
        #expect(try bench.find(roads.addresses[1]) == nil)
        try bench.store.flush()
        #expect(!FileManager.default.fileExists(atPath: maps))
        #expect(bench.folder.files(below: "store/tilesets/roads/v1") == ["tileset.json"])
    }

    @Test("A closed store needs no write-ahead log")
    func closed() throws {
        var (bench, roads) = try bench()
        bench.store.close()
        for suffix in ["-wal", "-shm"] { unlink(bench.path + "/index.sqlite" + suffix) }
        bench.store = try TileStore(folder: bench.path, options: StoreBench.options())
        #expect(bench.store.opening.damagedIndex == nil && bench.store.opening.recoveredTiles == 0)
        #expect(try bench.text(roads.addresses[0], version: "v1") == "road 0 of v1")
        #expect(try bench.store.reader.region("home") != nil)
    }

    @Test(
        "A damaged index is set aside; road tiles are recovered from folders, regions from their list",
        arguments: ["garbage", "cut", "marked", "gone", "empty"])
    func damagedIndex(how: String) throws {
        var (bench, roads) = try bench()
        let second = try RoadEdition("v2", count: 1)
        try bench.store.addEdition(second.edition, now: at(4))
        _ = try bench.store.commit(second.tiles, now: at(4))
        try bench.store.completeRegions([:], using: [second.key], now: at(5))
        let view = bench.path + "/tilesets/roads/v1/12/1/7.road"
        bench.store.close()
        let index = bench.path + "/index.sqlite"
        for suffix in ["-wal", "-shm"] where how != "marked" { unlink(index + suffix) }
        switch how {
        case "empty":
            let other = try StoreBench()
            other.store.close()
            unlink(index)
            try FileManager.default.copyItem(atPath: other.path + "/index.sqlite", toPath: index)
        case "garbage": try Data(repeating: 0x47, count: 9_000).write(to: URL(fileURLWithPath: index))
        case "cut":
            let whole = try RoadEdition("v3", count: 1).edition.document
            try Data(Array("SQLite format 3\0".utf8) + whole).write(to: URL(fileURLWithPath: index))
        case "gone": unlink(index)
        default: try Data().write(to: URL(fileURLWithPath: bench.path + "/index.damaged"))
        }
        // A file whose content differs from the list is not recovered.
        try overwrite(view, at: 0, with: [1])
        bench.store = try TileStore(folder: bench.path, options: StoreBench.options())
        let opening = bench.store.opening
        #expect((opening.damagedIndex == nil) == (how == "gone"))
        if let aside = opening.damagedIndex { #expect(FileManager.default.fileExists(atPath: aside)) }
        #expect(opening.recoveredTiles == 2)
        #expect(opening.recoveredRegions == 1)
        #expect(try bench.store.reader.currentEdition(of: "roads") == second.key)
        #expect(try bench.store.reader.edition(roads.key)?.tiles == roads.edition.tiles)
        #expect(try bench.text(roads.addresses[0], version: "v1") == "road 0 of v1")
        #expect(try bench.find(roads.addresses[1], version: "v1") == nil)
        let region = try #require(try bench.store.reader.region("home"))
        #expect(region.needsPlanning && region.state == .incomplete)
        #expect(region.definition.geometry == [5])
        #expect(region.editions == ["roads": "v1"])
        try bench.expectSound()
        try bench.store.putRegion(
            region.definition, tiles: roads.addresses, editions: region.editions, now: at(9))
        #expect(try bench.store.reader.region("home")?.needsPlanning == false)
        #expect(try bench.store.reader.missingTiles(ofRegion: "home").count == 1)
        // A second opening sets nothing aside.
        try bench.reopen()
        #expect(bench.store.opening.damagedIndex == nil)
    }

    @Test("Damaged index pages are detected when read, and the index is rebuilt at the next opening")
    func damagedPages() throws {
        var (bench, roads) = try bench()
        bench.store.close()
        let index = bench.path + "/index.sqlite"
        do {
            let queue = try DatabaseQueue(path: index)
            _ = try queue.writeWithoutTransaction { try $0.checkpoint(.truncate) }
        }
        let size = try #require(
            try FileManager.default.attributesOfItem(atPath: index)[.size] as? Int)
        try overwrite(index, at: 4_096 * 2, with: [UInt8](repeating: 0xff, count: size - 4_096 * 2))
        let opened: TileStore
        do {
            opened = try TileStore(folder: bench.path, options: StoreBench.options())
        } catch {
            #expect(error.code == .corruptIndex)
            opened = try TileStore(folder: bench.path, options: StoreBench.options())
        }
        bench.store = opened
        if opened.opening.damagedIndex == nil {
            _ = code { _ = try opened.reader.check() }
            _ = code { _ = try opened.commit(roads.tiles, now: at(1)) }
            try bench.reopen()
        }
        #expect(bench.store.opening.damagedIndex != nil)
        #expect(try bench.text(roads.addresses[0]) == "road 0 of v1")
        try bench.expectSound()
    }

    @Test("The last two damaged indices are kept")
    func setAside() throws {
        var (bench, _) = try bench()
        for time in 1...4 {
            bench.store.close()
            try Data().write(to: URL(fileURLWithPath: bench.path + "/index.damaged"))
            bench.store = try TileStore(folder: bench.path, options: StoreBench.options())
            #expect(bench.store.opening.damagedIndex == bench.path + "/set-aside/index-\(time).sqlite")
        }
        let kept = bench.folder.files(below: "store/set-aside").filter { $0.hasSuffix(".sqlite") }
        #expect(kept.sorted() == ["index-3.sqlite", "index-4.sqlite"])
        try bench.expectSound()
    }

    @Test("An index of a newer version is rejected and left unchanged")
    func newer() throws {
        var (bench, roads) = try bench()
        bench.store.close()
        do {
            let queue = try DatabaseQueue(path: bench.path + "/index.sqlite")
            try queue.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('3')") }
        }
        #expect(code { _ = try TileStore(folder: bench.path) } == .newerSchema)
        #expect(code { _ = try TileStoreReader(folder: bench.path) } == .newerSchema)
        do {
            let queue = try DatabaseQueue(path: bench.path + "/index.sqlite")
            try queue.write { try $0.execute(sql: "DELETE FROM grdb_migrations WHERE identifier = '3'") }
        }
        bench.store = try TileStore(folder: bench.path, options: StoreBench.options())
        #expect(try bench.text(roads.addresses[0]) == "road 0 of v1")
        #expect(bench.store.opening == OpeningReport())
    }

    @Test("Missing folders and files in their place fail as missing")
    func missing() throws {
        let folder = try TemporaryFolder()
        #expect(code { _ = try TileStore(folder: folder.path + "/no/where") } == .missing)
        #expect(code { _ = try TileStoreReader(folder: folder.path) } == .missing)
        try Data([1]).write(to: URL(fileURLWithPath: folder.path + "/file"))
        #expect(code { _ = try TileStore(folder: folder.path + "/file") } == .missing)
    }

    @Test("Map tile files without an index are removed")
    func lostMaps() throws {
        var bench = try StoreBench()
        try bench.addMaps()
        try bench.put(1, "map")
        bench.store.close()
        for suffix in ["", "-wal", "-shm"] { unlink(bench.path + "/index.sqlite" + suffix) }
        bench.store = try TileStore(folder: bench.path, options: StoreBench.options())
        #expect(bench.folder.files(below: "store/objects").isEmpty)
        try bench.expectSound()
    }

    @Test("Leftover files are swept when the store is opened")
    func sweep() throws {
        var (bench, roads) = try bench()
        bench.store.close()
        for name in ["object-7", "view-1"] {
            try Data([1, 2]).write(to: URL(fileURLWithPath: bench.path + "/incoming/" + name))
        }
        // A batch that was killed between naming its files and writing the index.
        let orphan = part(.body, "an orphan")
        let known = roads.tiles[0].parts[0].hash
        let place = StoreFolder(bench.path).object(orphan.hash)
        try Data(orphan.data).write(to: URL(fileURLWithPath: place))
        try Data(orphan.hash.bytes + known.bytes).write(to: URL(fileURLWithPath: bench.path + "/batch"))
        try FileManager.default.createDirectory(
            atPath: bench.path + "/tilesets/roads/removed/12", withIntermediateDirectories: true)
        unlink(bench.path + "/tilesets/roads/current")
        unlink(bench.path + "/tilesets/roads/v1/tileset.json")
        bench.store = try TileStore(folder: bench.path, options: StoreBench.options())
        #expect(bench.store.opening.removedIncoming == 2)
        #expect(bench.store.opening.removedObjects == 1)
        #expect(!FileManager.default.fileExists(atPath: place))
        #expect(bench.folder.files(below: "store/incoming").isEmpty)
        #expect(!FileManager.default.fileExists(atPath: bench.path + "/tilesets/roads/removed"))
        #expect(try bench.text(roads.addresses[0]) == "road 0 of v1")
        try bench.expectSound()
    }

    @Test("A hash failure is an error: nothing is treated as damaged, quarantined or renamed")
    func unhashed() throws {
        var (bench, _) = try bench()
        let before = bench.folder.files(below: "store/tilesets")
        bench.store.close()
        let settings = bench.folder.path + "/openssl.cnf"
        try Data(
            "openssl_conf = all\n[all]\nproviders = some\n[some]\nnull = nothing\n[nothing]\nactivate = 1\n".utf8
        ).write(to: URL(fileURLWithPath: settings))
        let lines = try Probe("NavTileStoreProbe", ["unhashed", bench.path, settings]).rest()
        let kinds = Set(lines.dropFirst())
        #expect(
            kinds == [
                "check: exhausted", "repair: exhausted", "scrub: exhausted", "data: exhausted",
                "quarantine: exhausted", "edition: exhausted",
            ], "\(lines)")
        bench.store = try TileStore(folder: bench.path, options: StoreBench.options())
        #expect(bench.folder.files(below: "store/quarantine").isEmpty)
        #expect(bench.folder.files(below: "store/tilesets") == before)
        #expect(try bench.totals().corruptCount == 0 && bench.store.reader.region("home")?.state == .complete)
        try bench.expectSound()

        // The name of this edition's folder derives from its hash, so a process without hashes cannot open the store.
        let odd = try RoadEdition("a version of a server's own", count: 1, tileset: "odd")
        try bench.store.addEdition(odd.edition, now: at(0))
        _ = try bench.store.commit(odd.tiles, now: at(1))
        let all = bench.folder.files(below: "store/tilesets")
        bench.store.close()
        let refused = try Probe("NavTileStoreProbe", ["unhashed", bench.path, settings]).rest()
        #expect(refused.first == "no hashes" && refused.last?.hasPrefix("failed exhausted") == true, "\(refused)")
        try bench.reopen()
        #expect(bench.folder.files(below: "store/tilesets") == all && all.count > before.count)
        try bench.expectSound()
    }

    @Test("A folder that cannot be listed does not count as empty: nothing is removed")
    func unlistable() throws {
        var (bench, roads) = try bench()
        bench.store.close()
        let (folder, aside) = (bench.path + "/tilesets", bench.path + "/aside")
        let before = bench.folder.files(below: "store/objects")
        rename(folder, aside)
        // A link to itself simulates a disk that does not respond.
        symlink("tilesets", folder)
        unlink(bench.path + "/index.sqlite")
        #expect(code { _ = try TileStore(folder: bench.path, options: StoreBench.options()) } == .system)
        #expect(bench.folder.files(below: "store/objects") == before)
        unlink(folder)
        rename(aside, folder)
        bench.store = try TileStore(folder: bench.path, options: StoreBench.options())
        #expect(bench.store.opening.recoveredTiles == 2 && bench.store.opening.recoveredRegions == 1)
        #expect(try bench.text(roads.addresses[0]) == "road 0 of v1")
        try bench.expectSound()
    }
}
