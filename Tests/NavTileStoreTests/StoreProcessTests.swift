import Foundation
import Glibc
import NavGeo
import NavTestKit
import NavTestSupport
import NavTestSystem
import NavStorage
import NavTileCache
import NavTileStore
import Synchronization
import Testing

@Suite("A store shared by several processes")
struct StoreProcessTests {
    @Test("A second owner is rejected with the name of the first, and admitted after it has exited")
    func owner() throws {
        let folder = try TemporaryFolder()
        let probe = try Probe("NavTileStoreProbe", ["hold", folder.path])
        #expect(probe.line() == "ready")
        do {
            _ = try TileStore(folder: folder.path)
            Issue.record("two owners")
        } catch {
            #expect(error.code == .busy)
            #expect(error.description.contains("process \(probe.processID) (the probe)"), "\(error)")
            #expect(error.description.contains(folder.path))
        }
        // Reading needs no ownership.
        #expect(try TileStoreReader(folder: folder.path).editions().isEmpty)
        try probe.kill()
        let store = try TileStore(folder: folder.path)
        #expect(code { _ = try TileStore(folder: folder.path) } == .busy)
        store.close()
        #expect(code { try TileStore(folder: folder.path).close() } == nil)
    }

    @Test("Checking whether a store is owned does not block an owner")
    func ownershipChecks() throws {
        let scratch = try TemporaryFolder()
        let folder = StoreFolder(scratch.path)
        let isOver = Atomic(false)
        let lookers = DispatchGroup()
        for _ in 0..<3 {
            lookers.enter()
            Thread.detachNewThread {
                while !isOver.load(ordering: .relaxed) { _ = FolderLock.isHeld(folder) }
                lookers.leave()
            }
        }
        defer {
            isOver.store(true, ordering: .relaxed)
            lookers.wait()
        }
        #expect(!FolderLock.isHeld(folder))
        for _ in 0..<500 {
            let lock = try FolderLock(folder, holder: "a test")
            withExtendedLifetime(lock) { #expect(FolderLock.isHeld(folder)) }
        }
        #expect(!FolderLock.isHeld(folder))
    }

    @Test("A reader sees only complete regions and a sound store while the owner changes it")
    func readerBesideWriter() throws {
        let folder = try TemporaryFolder()
        let probe = try Probe("NavTileStoreProbe", ["churn", folder.path, "3"])
        #expect(probe.line() == "ready")
        var line = probe.line()
        let reader = try TileStoreReader(folder: folder.path)
        var seen: Set<String> = []
        for _ in 0..<6 {
            let address = TileAddress("roads", tileID(0, zoom: 12))
            let region = try #require(try reader.region("home"))
            seen.insert(region.editions["roads"] ?? "")
            if let tile = try reader.tile(address, now: at(0)), let bytes = try? reader.data(of: tile) {
                #expect(bytes.starts(with: Array("road \(tile.edition) 0\n".utf8)))
            }
            // A complete region is complete in every consistent view; its folder has its tiles, each with ranks.
            let files = folder.files(below: "tilesets/roads/current/")
            let roads = Set(files.filter { $0.hasSuffix(".road") }.map { $0.dropLast(5) })
            let ranks = Set(files.filter { $0.hasSuffix(".rank") }.map { $0.dropLast(5) })
            #expect(roads.isSubset(of: ranks))
            let report = try reader.check()
            #expect(report.isSound, "\(report.findings)")
            line = probe.line()
        }
        #expect(line?.hasPrefix("region ") == true)
        #expect(seen.count > 1)
        #expect(probe.release().allSatisfy { $0.hasPrefix("region ") })
    }

    @Test(
        "A store on a read-only disk is served and not changed",
        .enabled(if: SmallDisk.isPossible, "mounting a small disk needs root"))
    func readOnlyFolder() throws {
        let disk = try #require(SmallDisk(megabytes: 8))
        var options = StoreBench.options()
        options.reserveBytes = 1 << 16
        let store = try TileStore(folder: disk.path + "/store", options: options)
        try store.addEdition(
            TilesetEdition(tileset: "maps", domain: .maps, version: "", zooms: 0...14), now: at(0))
        _ = try store.commit([mapTile(1, "x")], now: at(1))
        store.close()
        try #require(disk.remount("ro"))
        #expect(code { _ = try TileStore(folder: disk.path + "/other", options: options) } == .readOnly)
        // No process can write, so none needs to exclude others.
        let first = try TileStore(folder: disk.path + "/store", options: options)
        let second = try TileStore(folder: disk.path + "/store", options: options)
        for reader in [first.reader, second.reader, try TileStoreReader(folder: disk.path + "/store")] {
            let tile = try #require(try reader.tile(TileAddress("maps", tileID(1)), now: at(1)))
            #expect(try reader.data(of: tile) == Array("x".utf8))
            first.touch([tile], now: at(2))
            #expect(try reader.check().isSound)
        }
        #expect(first.isReadOnly)
        #expect(code { _ = try first.commit([mapTile(2, "y")], now: at(2)) } == .readOnly)
        #expect(code { try first.flush() } == .readOnly)
        first.close()
        second.close()
        try #require(disk.remount("rw"))
        let later = try TileStore(folder: disk.path + "/store", options: options)
        #expect(!later.isReadOnly)
        _ = try later.commit([mapTile(2, "y")], now: at(3))
        later.close()
    }
}
