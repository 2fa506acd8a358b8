import Foundation
import Glibc
import NavGeo
import NavStorage
import NavTestKit
import NavTileCache
import NavTileStore
import Testing

@Suite("Tileset editions and their folders for memory mapping")
struct StoreEditionTests {
    @Test("An edition is read back as added, with its list")
    func readBack() throws {
        var bench = try StoreBench()
        let roads = try RoadEdition("v1", count: 3)
        try bench.store.addEdition(roads.edition, now: at(5))
        let maps = TilesetEdition(
            tileset: "maps", domain: .maps, version: "", zooms: 3...14, tiles: nil, document: [1, 2],
            attribution: "© them", mediaType: "image/png")
        try bench.store.addEdition(maps, now: at(6))
        try bench.reopen()
        #expect(try bench.store.reader.edition(roads.key) == roads.edition)
        #expect(try bench.store.reader.edition(EditionKey("maps", "")) == maps)
        #expect(try bench.store.reader.edition(EditionKey("maps", "1")) == nil)
        let records = try bench.store.reader.editions()
        #expect(records.map(\.key) == [EditionKey("maps", ""), roads.key])
        #expect(records.map(\.added) == [at(6), at(5)])
        #expect(records.map(\.viewPath) == [nil, bench.path + "/tilesets/roads/v1"])
    }

    @Test("An edition's folder has its tileset.json and links to both files of each stored tile")
    func view() throws {
        let bench = try StoreBench()
        let roads = try RoadEdition("v1", count: 3)
        try bench.store.addEdition(roads.edition, now: at(0))
        #expect(bench.folder.files(below: "store/tilesets/roads/v1") == ["tileset.json"])
        _ = try bench.store.commit(Array(roads.tiles[..<2]), now: at(1))
        #expect(
            bench.folder.files(below: "store/tilesets/roads/current/")
                == ["12/0/7.rank", "12/0/7.road", "12/1/7.rank", "12/1/7.road", "tileset.json"])
        let tile = try #require(try bench.find(roads.addresses[1]))
        #expect(inode(tile.parts[0].path) == inode(bench.path + "/tilesets/roads/current/12/1/7.road"))
        #expect(inode(tile.parts[1].path) == inode(bench.path + "/tilesets/roads/v1/12/1/7.rank"))
        #expect(
            FileManager.default.contents(atPath: bench.path + "/tilesets/roads/v1/tileset.json")
                == Data(roads.edition.document))
        try bench.store.purge()
        #expect(bench.folder.files(below: "store/tilesets/roads/v1") == ["tileset.json"])
        try bench.expectSound()
    }

    @Test("A mapping of an evicted tile stays valid")
    func mapping() throws {
        let bench = try StoreBench()
        let roads = try RoadEdition("v1", count: 1)
        try bench.store.addEdition(roads.edition, now: at(0))
        _ = try bench.store.commit(roads.tiles, now: at(1))
        let file = open(bench.path + "/tilesets/roads/current/12/0/7.road", O_RDONLY)
        let bytes = roads.tiles[0].parts[0].data
        let mapping = try #require(mmap(nil, bytes.count, PROT_READ, MAP_PRIVATE, file, 0))
        close(file)
        defer { munmap(mapping, bytes.count) }
        #expect(try bench.store.purge().removedCount == 1)
        #expect([UInt8](UnsafeRawBufferPointer(start: mapping, count: bytes.count)) == bytes)
    }

    @Test("Editions coexist and share equal files; one of them is in use")
    func sideBySide() throws {
        let bench = try StoreBench()
        let old = try RoadEdition("v1", count: 2)
        let new = try RoadEdition("v2", count: 2)
        for roads in [old, new] {
            try bench.store.addEdition(roads.edition, now: at(0))
            _ = try bench.store.commit(roads.tiles, now: at(1))
        }
        // The ranks are the same in both editions.
        #expect(bench.folder.files(below: "store/objects").count == 6)
        #expect(try bench.store.reader.currentEdition(of: "roads") == old.key)
        #expect(try bench.text(old.addresses[0]) == "road 0 of v1")
        #expect(try bench.text(old.addresses[0], version: "v2") == "road 0 of v2")
        let link = bench.path + "/tilesets/roads/current"
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "v1")
        try bench.store.completeRegions([:], using: [new.key], now: at(9))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "v2")
        #expect(try bench.text(old.addresses[0]) == "road 0 of v2")
        #expect(try bench.store.reader.editions().map(\.inUseSince) == [nil, at(9)])
        try bench.expectSound()
        #expect(code { _ = try bench.store.removeEdition(new.key) } == .inUse)
        let removed = try bench.store.removeEdition(old.key)
        #expect(removed.removedCount == 2)
        #expect(removed.freedBytes == 2 * Int64("road 0 of v1".utf8.count))
        #expect(!FileManager.default.fileExists(atPath: bench.path + "/tilesets/roads/v1"))
        #expect(bench.folder.files(below: "store/objects").count == 4)
        #expect(try bench.text(old.addresses[1]) == "road 1 of v2")
        try bench.expectSound()
    }

    @Test("A version that would escape its folder gets a derived folder name")
    func hostileVersion() throws {
        var bench = try StoreBench()
        for version in ["../../../escape", "", ".", "current", "a/b", "v-1", String(repeating: "x", count: 200)] {
            var roads = try RoadEdition("v1", count: 1).edition
            roads.version = version
            try bench.store.addEdition(roads, now: at(0))
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: bench.path + "/tilesets/roads").sorted()
        #expect(names.count == 8)
        #expect(names.filter { $0 != "current" }.allSatisfy { $0.hasPrefix("v-") && $0.utf8.count == 34 })
        #expect(!FileManager.default.fileExists(atPath: bench.folder.path + "/escape"))
        try bench.reopen()
        #expect(try bench.store.reader.editions().count == 7)
        try bench.expectSound()
    }

    @Test(
        "Invalid names, documents and purposes are refused",
        arguments: [
            TilesetEdition(tileset: "../x", domain: .maps, version: "", zooms: 0...1),
            TilesetEdition(tileset: "x", domain: .maps, version: String(repeating: "v", count: 257), zooms: 0...1),
            TilesetEdition(tileset: "x", domain: .navigation, version: "1", zooms: 0...1, document: []),
            TilesetEdition(tileset: "maps", domain: .navigation, version: "1", zooms: 0...1, document: [1]),
        ])
    func refused(edition: TilesetEdition) throws {
        let bench = try StoreBench()
        try bench.addMaps()
        #expect(code { try bench.store.addEdition(edition, now: at(0)) } == .invalid)
        #expect(try bench.store.reader.editions().count == 1)
    }

    @Test("Adding an edition again replaces its list and document and keeps its tiles")
    func again() throws {
        let bench = try StoreBench()
        let roads = try RoadEdition("v1", count: 2)
        try bench.store.addEdition(roads.edition, now: at(0))
        _ = try bench.store.commit(roads.tiles, now: at(1))
        var changed = roads.edition
        changed.document = Array("{}".utf8)
        changed.tiles = []
        try bench.store.addEdition(changed, now: at(2))
        #expect(try bench.store.reader.edition(roads.key) == changed)
        #expect(try bench.store.reader.editions().first?.tileCount == 2)
        #expect(
            FileManager.default.contents(atPath: bench.path + "/tilesets/roads/current/tileset.json")
                == Data(changed.document))
        try bench.expectSound()
    }

    @Test("A tile appears in the folder only once its ranks can be linked")
    func ranksFirst() throws {
        var bench = try StoreBench()
        let roads = try RoadEdition("v1", count: 1)
        try bench.store.addEdition(roads.edition, now: at(0))
        let obstacle = bench.path + "/tilesets/roads/v1/12/0/7.rank"
        try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: true)
        try Data([1]).write(to: URL(fileURLWithPath: obstacle + "/x"))
        _ = try bench.store.commit(roads.tiles, now: at(1))
        #expect(!FileManager.default.fileExists(atPath: bench.path + "/tilesets/roads/v1/12/0/7.road"))
        #expect(try bench.text(roads.addresses[0]) == "road 0 of v1")
        try FileManager.default.removeItem(atPath: obstacle)
        try bench.reopen()
        #expect(bench.store.opening.settledTiles == 1)
        #expect(FileManager.default.fileExists(atPath: bench.path + "/tilesets/roads/v1/12/0/7.road"))
        try bench.expectSound()
    }

    @Test(
        "Without hard links a file is copied",
        .enabled(if: canFreeze, "only root on a file system with attributes can forbid links"))
    func copied() throws {
        let bench = try StoreBench()
        let old = try RoadEdition("v1", count: 1)
        let new = try RoadEdition("v2", count: 1)
        try bench.store.addEdition(old.edition, now: at(0))
        _ = try bench.store.commit(old.tiles, now: at(1))
        // Linux rejects links to an immutable file just as a file system without hard links does.
        let ranks = try #require(try bench.find(old.addresses[0])).parts[1].path
        try #require(Self.setImmutable(ranks, true))
        defer { _ = Self.setImmutable(ranks, false) }
        try bench.store.addEdition(new.edition, now: at(2))
        _ = try bench.store.commit(new.tiles, now: at(2))
        let copy = bench.path + "/tilesets/roads/v2/12/0/7.rank"
        #expect(FileManager.default.contents(atPath: copy) == Data(new.tiles[0].parts[1].data))
        #expect(inode(copy) != inode(ranks))
        try bench.expectSound()
    }

    /// Whether this process can make a file immutable.
    private static let canFreeze: Bool = {
        guard let folder = try? TemporaryFolder() else { return false }
        let file = folder.path + "/file"
        return FileManager.default.createFile(atPath: file, contents: Data()) && setImmutable(file, true)
            && setImmutable(file, false)
    }()

    /// Sets or clears attribute `i` of a file; returns false where the file system or the user does not permit it.
    private static func setImmutable(_ path: String, _ isImmutable: Bool) -> Bool {
        let file = open(path, O_RDONLY)
        guard file >= 0 else { return false }
        defer { close(file) }
        let (getFlags, setFlags): (UInt, UInt) = (0x8008_6601, 0x4008_6602)
        var flags = 0
        guard ioctl(file, getFlags, &flags) == 0 else { return false }
        flags = isImmutable ? flags | 0x10 : flags & ~0x10
        return ioctl(file, setFlags, &flags) == 0
    }

    private func inode(_ path: String) -> UInt64? {
        var status = stat()
        return stat(path, &status) == 0 ? UInt64(status.st_ino) : nil
    }
}
