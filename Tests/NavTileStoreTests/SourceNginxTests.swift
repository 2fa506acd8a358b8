import Foundation
import NavDigest
import NavGeo
import NavMap
import NavTestKit
import NavTestSystem
import NavTileCache
import NavTileStore
import Testing

@Suite(
    "Sources against a real nginx",
    .enabled(if: Nginx.program != nil, "needs nginx: set NAVBUS_NGINX to the program"))
struct SourceNginxTests {
    @Test("Road tiles are complete, verified, and of the list's edition")
    func roads() async throws {
        let site = try TemporaryFolder()
        let nginx = try Nginx(
            serving: site.path, "gzip on; gzip_types *; gzip_min_length 100;")
        let tiles = SourceFixture.roadTiles(seed: 1)
        try SourceFixture.write(tiles, to: site)
        let source = try TileSourceConfiguration("roads", .navigation, address: nginx.url + "/").open()
        let edition = try await SourceFixture.edition(source)
        #expect(edition.version == "v1")
        #expect(edition.tiles?.count == tiles.count)
        #expect(edition.attribution == "nobody")
        for tile in tiles {
            let answer = try await source.fetch(tile.id.tile, edition: "v1", known: nil, meter: nil)
            let parts = try #require(answer.tile?.parts)
            #expect(parts.map(\.data) == [tile.road, tile.rank])
            #expect(parts.map(\.contentEncoding) == [nil, nil])
            #expect(parts[0].hash.hexadecimal == SourceFixture.hash(tile.road))
        }
        let elsewhere = SourceFixture.tile(12, 1, 1)
        guard case .absent = try await source.fetch(elsewhere, edition: nil, known: nil, meter: nil) else {
            Issue.record("a tile outside the list is not absent")
            return
        }
        await source.close()
    }

    @Test(
        "An unchanged list is not sent again; a new one is a new edition, and tiles of the old one are rejected"
    )
    func editions() async throws {
        let site = try TemporaryFolder()
        let nginx = try Nginx(serving: site.path)
        let old = SourceFixture.roadTiles(seed: 1)
        try SourceFixture.write(old, to: site)
        let source = try TileSourceConfiguration("roads", .navigation, address: nginx.url).open()
        guard case .edition(_, let validators) = try await source.edition(known: nil) else {
            throw Failure("no edition")
        }
        #expect(validators.etag != nil)
        guard case .notModified = try await source.edition(known: validators) else {
            throw Failure("modified")
        }
        try SourceFixture.write(SourceFixture.roadTiles(seed: 2, count: 3), to: site, version: "v2")
        #expect(try await SourceFixture.edition(source, known: validators).version == "v2")
        let error = await SourceFixture.failure { () throws(TileSourceError) in
            try await source.fetch(old[0].id.tile, edition: "v1", known: nil, meter: nil)
        }
        #expect(error?.code == .editionChanged)
        await source.close()
    }

    @Test(
        "Map tiles stay compressed and keep their expiry; unchanged ones are not sent again"
    )
    func maps() async throws {
        let site = try TemporaryFolder()
        let nginx = try Nginx(
            serving: site.path, "expires 1h; gzip_static on;")
        let packed = Packer.gzip(SourceFixture.vectorTile(9_000))
        let plain = SourceFixture.vectorTile(5_000, seed: 2)
        try site.write("5/1/2.pbf", packed)
        try site.write("5/1/3.pbf", plain)
        let now = Timestamp(nanoseconds: 1_000_000_000_000_000_000)
        var configuration = TileSourceConfiguration("map", .maps, address: nginx.url + "/{z}/{x}/{y}.pbf")
        configuration.now = { now }
        let source = try configuration.open()
        let first = try await source.fetch(SourceFixture.tile(5, 1, 2), edition: "", known: nil, meter: nil)
        let tile = try #require(first.tile)
        #expect(tile.parts.map(\.data) == [packed])
        #expect(tile.parts[0].contentEncoding == "gzip")
        #expect(tile.parts[0].mediaType == "application/vnd.mapbox-vector-tile")
        #expect(abs(try #require(tile.validators.expires).seconds(since: now) - 3_600) < 60)
        guard
            case .notModified(let again) = try await source.fetch(
                SourceFixture.tile(5, 1, 2), edition: "", known: tile.validators, meter: nil)
        else { throw Failure("sent again") }
        #expect(again.etag == tile.validators.etag)
        let second = try await source.fetch(SourceFixture.tile(5, 1, 3), edition: nil, known: nil, meter: nil)
        #expect(second.tile?.parts[0].contentEncoding == nil)
        guard case .absent = try await source.fetch(SourceFixture.tile(5, 9, 9), edition: nil, known: nil, meter: nil)
        else { throw Failure("not absent") }
        #expect(try await source.size(of: SourceFixture.tile(5, 1, 3)) == .bytes(Int64(plain.count)))
        #expect(try await source.size(of: SourceFixture.tile(5, 9, 9)) == .absent)
        await source.close()
    }

    @Test("A TileJSON provides the tile URL")
    func tileJSON() async throws {
        let site = try TemporaryFolder()
        let nginx = try Nginx(serving: site.path)
        let json = #"{"tiles":["t/{z}/{x}/{y}.png"],"minzoom":2,"maxzoom":9,"bounds":[-9,41,-8,42],"scheme":"tms"}"#
        try site.write("a/map.json", Array(json.utf8))
        try site.write("a/t/3/1/6.png", SourceFixture.png)
        let source = try TileSourceConfiguration("map", .maps, address: nginx.url + "/a/map.json").open()
        let edition = try await SourceFixture.edition(source)
        #expect(edition.zooms == 2...9)
        #expect(edition.bounds == BoundingBox(south: 41, west: -9, north: 42, east: -8))
        #expect(edition.mediaType == "image/png")
        let answer = try await source.fetch(SourceFixture.tile(3, 1, 1), edition: nil, known: nil, meter: nil)
        #expect(answer.tile?.parts.map(\.data) == [SourceFixture.png])
        await source.close()
    }

    @Test("PMTiles by range requests: tiles from leaves, and a changed archive is a new edition, never a mixture")
    func ranges() async throws {
        let site = try TemporaryFolder()
        let nginx = try Nginx(serving: site.path)
        var archive = SourceArchive()
        archive.leafSize = 50
        var tiles: [TileID: [UInt8]] = [:]
        for index in 0..<1_000 as Range<UInt32> {
            tiles[SourceFixture.tile(10, index % 40, index / 40)] = SourceFixture.vectorTile(
                50 + Int(index), seed: UInt64(index))
        }
        try site.write("map.pmtiles", archive.archive(tiles))
        let source = try TileSourceConfiguration("map", .maps, address: nginx.url + "/map.pmtiles").open()
        let edition = try await SourceFixture.edition(source)
        #expect(edition.tiles?.count == 1_000)
        for (tile, bytes) in tiles.sorted(by: { $0.key < $1.key }).prefix(60) {
            let answer = try await source.fetch(tile, edition: edition.version, known: nil, meter: nil)
            #expect(answer.tile?.parts.map(\.data) == [bytes])
        }
        tiles[SourceFixture.tile(10, 0, 0)] = SourceFixture.vectorTile(77, seed: 9)
        try site.write("map.pmtiles", archive.archive(tiles))
        let error = await SourceFixture.failure { () throws(TileSourceError) in
            try await source.fetch(SourceFixture.tile(10, 5, 5), edition: edition.version, known: nil, meter: nil)
        }
        #expect(error?.code == .editionChanged)
        let next = try await SourceFixture.edition(source)
        #expect(next.version != edition.version)
        let answer = try await source.fetch(
            SourceFixture.tile(10, 0, 0), edition: next.version, known: nil, meter: nil)
        #expect(answer.tile?.parts.map(\.data) == [SourceFixture.vectorTile(77, seed: 9)])
        await source.close()
    }

    @Test("A bearer token is sent, reread when its file changes, and a wrong one is an error")
    func token() async throws {
        let site = try TemporaryFolder()
        let nginx = try Nginx(
            serving: site.path,
            #"location /t/ { if ($http_authorization != "Bearer right") { return 401; } alias \#(NSTemporaryDirectory()); }"#
        )
        let folder = try TemporaryFolder()
        try folder.write("token", Array("wrong\n".utf8))
        chmod(folder.path + "/token", 0o600)
        var configuration = TileSourceConfiguration("map", .maps, address: nginx.url + "/t/{z}/{x}/{y}.pbf")
        configuration.credential = .bearer(file: folder.path + "/token")
        let source = try configuration.open()
        let error = await SourceFixture.failure { () throws(TileSourceError) in
            try await source.fetch(SourceFixture.tile(1, 0, 0), edition: nil, known: nil, meter: nil)
        }
        #expect(error?.code == .unauthorized)
        #expect(error?.message.contains("wrong") == false)
        try folder.write("token", Array("right\n".utf8))
        guard case .absent = try await source.fetch(SourceFixture.tile(1, 0, 0), edition: nil, known: nil, meter: nil)
        else { throw Failure("the new token was rejected") }
        await source.close()
    }

    @Test("A stopped server is an error at once, and is used again when it is back")
    func stops() async throws {
        let site = try TemporaryFolder()
        let nginx = try Nginx(serving: site.path)
        try site.write("1/0/0.pbf", SourceFixture.vectorTile(10))
        let source = try TileSourceConfiguration("map", .maps, address: nginx.url + "/{z}/{x}/{y}.pbf").open()
        #expect(
            try await source.fetch(SourceFixture.tile(1, 0, 0), edition: nil, known: nil, meter: nil).tile != nil)
        nginx.stop()
        let error = await SourceFixture.failure { () throws(TileSourceError) in
            try await source.fetch(SourceFixture.tile(1, 0, 0), edition: nil, known: nil, meter: nil)
        }
        #expect(error?.code == .unreachable)
        #expect(error?.isRetryable == true)
        await source.close()
    }
}
