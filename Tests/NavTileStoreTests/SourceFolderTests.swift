import Foundation
import NavGeo
import NavHTTP
import NavMap
import NavTestKit
import NavTestSystem
import NavStorage
import NavTileCache
import NavTileStore
import Testing

@Suite("Local tile sources")
struct SourceFolderTests {
    @Test("Road tiles of a folder are verified; a damaged, truncated or missing one is an error")
    func roads() async throws {
        let folder = try TemporaryFolder()
        let tiles = SourceFixture.roadTiles(seed: 5)
        try SourceFixture.write(tiles, to: folder)
        let source = try TileSourceConfiguration("roads", .navigation, address: "file://" + folder.path + "/").open()
        #expect(!source.isRemote)
        let edition = try await SourceFixture.edition(source)
        #expect(
            edition.tiles?.map(\.size).reduce(0, +) == Int64(tiles.reduce(0) { $0 + $1.road.count + $1.rank.count }))
        let answer = try await source.fetch(tiles[0].id.tile, edition: "v1", known: nil, meter: nil)
        #expect(answer.tile?.parts.map(\.data) == [tiles[0].road, tiles[0].rank])

        var damaged = tiles[1].road
        damaged[0] ^= 1
        try folder.write(tiles[1].id.path, damaged)
        try folder.write(tiles[2].id.path, Array(tiles[2].road.dropLast()))
        try FileManager.default.removeItem(atPath: folder.path + "/" + tiles[3].id.ranksPath)
        for tile in tiles[1...3] {
            let error = await SourceFixture.failure { () throws(TileSourceError) in
                try await source.fetch(tile.id.tile, edition: nil, known: nil, meter: nil)
            }
            #expect(error?.code == .mismatch)
        }
    }

    @Test("A changed list of a folder is a new edition")
    func editions() async throws {
        let folder = try TemporaryFolder()
        try SourceFixture.write(SourceFixture.roadTiles(seed: 5), to: folder)
        let source = try TileSourceConfiguration("roads", .navigation, address: folder.path).open()
        guard case .edition(_, let validators) = try await source.edition(known: nil) else {
            throw Failure("no edition")
        }
        guard case .notModified = try await source.edition(known: validators) else { throw Failure("modified") }
        try SourceFixture.write(SourceFixture.roadTiles(seed: 6), to: folder, version: "v2")
        #expect(try await SourceFixture.edition(source, known: validators).version == "v2")
    }

    @Test("Map tiles of a folder are found by extension, listed with sizes, and verified")
    func maps() async throws {
        let folder = try TemporaryFolder()
        let bytes = SourceFixture.vectorTile(500)
        try folder.write("4/3/2.pbf", bytes)
        try folder.write("4/3/1.pbf", Packer.gzip(bytes))
        try folder.write("5/3/2.pbf", Array("<html>".utf8))
        try folder.write("5/03/2.pbf", bytes)
        try folder.write("5/99/2.pbf", bytes)
        let source = try TileSourceConfiguration("map", .maps, address: folder.path).open()
        let edition = try await SourceFixture.edition(source)
        #expect(edition.tiles?.map(\.tile) == [(4, 3, 1), (4, 3, 2), (5, 3, 2)].map { SourceFixture.tile($0, $1, $2) })
        #expect(edition.zooms == 4...5)
        let tile = try await source.fetch(SourceFixture.tile(4, 3, 2), edition: "", known: nil, meter: nil).tile
        #expect(tile?.parts.map(\.data) == [bytes])
        guard
            case .notModified = try await source.fetch(
                SourceFixture.tile(4, 3, 2), edition: "", known: tile?.validators, meter: nil)
        else { throw Failure("read again") }
        #expect(
            try await source.fetch(SourceFixture.tile(4, 3, 1), edition: "", known: nil, meter: nil).tile?.parts.first?
                .contentEncoding == "gzip")
        let error = await SourceFixture.failure { () throws(TileSourceError) in
            try await source.fetch(SourceFixture.tile(5, 3, 2), edition: nil, known: nil, meter: nil)
        }
        #expect(error?.code == .malformed)
        guard case .absent = try await source.fetch(SourceFixture.tile(4, 0, 0), edition: nil, known: nil, meter: nil)
        else { throw Failure("not absent") }
    }

    @Test("A pipe or a folder in a tile's place is rejected without blocking")
    func pipes() async throws {
        let folder = try TemporaryFolder()
        try folder.write("4/3/2.pbf", SourceFixture.vectorTile(5))
        mkfifo(folder.path + "/4/3/1.pbf", 0o600)
        try FileManager.default.createDirectory(atPath: folder.path + "/4/3/0.pbf", withIntermediateDirectories: true)
        let source = try TileSourceConfiguration("map", .maps, address: folder.path).open()
        for row in [0, 1] as [UInt32] {
            let error = await SourceFixture.failure { () throws(TileSourceError) in
                try await source.fetch(SourceFixture.tile(4, 3, row), edition: nil, known: nil, meter: nil)
            }
            #expect(error?.code == .unreadable)
        }
    }

    @Test("MBTiles rows count from the south, sizes are known, and a replaced file is a new edition")
    func mbtiles() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/map.mbtiles"
        let packed = Packer.gzip(SourceFixture.vectorTile(300))
        try SourceMBTiles.write([SourceFixture.tile(3, 1, 2): packed, SourceFixture.tile(2, 0, 0): packed], to: path)
        let source = try TileSourceConfiguration("map", .maps, address: path).open()
        let edition = try await SourceFixture.edition(source)
        #expect(edition.zooms == 2...3)
        #expect(edition.tiles?.map(\.tile) == [SourceFixture.tile(2, 0, 0), SourceFixture.tile(3, 1, 2)])
        #expect(edition.tiles?.first?.size == Int64(packed.count))
        #expect(edition.attribution == "nobody")
        let tile = try await source.fetch(SourceFixture.tile(3, 1, 2), edition: edition.version, known: nil, meter: nil)
        #expect(tile.tile?.parts.map(\.data) == [packed])
        #expect(tile.tile?.parts[0].contentEncoding == "gzip")
        guard case .absent = try await source.fetch(SourceFixture.tile(3, 1, 5), edition: nil, known: nil, meter: nil)
        else { throw Failure("rows count from the north") }
        let other = folder.path + "/other.mbtiles"
        try SourceMBTiles.write([SourceFixture.tile(3, 1, 2): SourceFixture.vectorTile(4)], to: other)
        rename(other, path)
        let error = await SourceFixture.failure { () throws(TileSourceError) in
            try await source.fetch(SourceFixture.tile(3, 1, 2), edition: edition.version, known: nil, meter: nil)
        }
        #expect(error?.code == .editionChanged)
        await source.close()
    }

    @Test("The zoom levels of MBTiles are found without reading the whole index")
    func mbtilesLevels() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/map.mbtiles"
        var tiles = [SourceFixture.tile(3, 1, 2): SourceFixture.vectorTile(4)]
        for index in 0..<20_000 { tiles[SourceFixture.tile(14, UInt32(index % 200), UInt32(index / 200))] = [1] }
        try SourceMBTiles.write(tiles, to: path)
        try SourceMBTiles.addIndexWithDamagedMiddle(to: path)
        var configuration = TileSourceConfiguration("map", .maps, address: path)
        configuration.limits.listedTiles = 1_000
        let source = try configuration.open()
        #expect(try await SourceFixture.edition(source).zooms == 3...14)
        await source.close()
    }

    @Test("Invalid MBTiles, and those that generate endless tiles, are rejected")
    func hostileMBTiles() async throws {
        let folder = try TemporaryFolder()
        try folder.write("text.mbtiles", Array("SQLite format 3\u{0} and more".utf8))
        try folder.write("empty.mbtiles", [])
        try SourceMBTiles.writeEndless(to: folder.path + "/endless.mbtiles")
        for (name, code) in [("text", .malformed), ("empty", .malformed), ("endless", .timedOut), ("none", .missing)]
            as [(String, TileSourceError.Code)]
        {
            var configuration = TileSourceConfiguration("map", .maps, address: "\(folder.path)/\(name).mbtiles")
            configuration.limits.http.idleTimeout = 0.3
            let source = try configuration.open()
            let error = await SourceFixture.failure { () throws(TileSourceError) in try await source.edition(known: nil)
            }
            #expect(error?.code == code, "\(name): \(error?.message ?? "")")
            await source.close()
        }
    }

    @Test("An invalid source configuration fails before any request")
    func configurations() {
        for (domain, address) in [
            (.navigation, "http://a/{z}/{x}/{y}.pbf"), (.navigation, "x.pmtiles"), (.maps, "http://a/b"),
            (.maps, "http://a/{z}/{x}.pbf"), (.navigation, "http:///"), (.navigation, ""), (.navigation, "file://h/x"),
        ] as [(TileDomain, String)] {
            #expect(throws: TileSourceError.self, "\(address)") {
                try TileSourceConfiguration("a", domain, address: address).open()
            }
        }
        #expect(throws: TileSourceError.self) { try TileSourceConfiguration("../a", .maps, address: "/x").open() }
        for address in [
            "ftp://a/b", "FTP://a/{z}/{x}/{y}", "s3://bucket/roads", "x-y.z+1://a", "pmtiles://https://a/b.pmtiles",
        ] {
            for domain in [TileDomain.navigation, .maps] {
                do throws(TileSourceError) {
                    _ = try TileSourceConfiguration("a", domain, address: address).open()
                    Issue.record("\(address) was accepted as a source")
                } catch {
                    #expect(
                        error.code == .configuration && error.message.contains("file:, http: or https:"), "\(error)")
                }
            }
        }
        // A local folder may have any name.
        for path in ["./ftp://a", "/srv/1://a", "a:b/c"] {
            #expect(TileSourceConfiguration("a", .navigation, address: path).fault == nil, "\(path)")
        }
    }
}
