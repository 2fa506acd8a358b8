import Foundation
import Glibc
import NavBus
import NavGeo
import NavKit
import NavMessages
import NavTestBus
import NavTileCache
import NavWire
import Testing
import TileCacheNode

/// Single tiles: through the service, and for web maps.
struct CacheTileTests {
    private static let maps = "tilesets=name=map,domain=maps,source=FOLDER/map,zooms=9-13"

    private static func key(_ tile: TileID, _ tileset: String? = "map") -> TileKey {
        TileKey(domain: .maps, tileset: tileset, zoom: UInt32(tile.zoom), x: tile.x, y: tile.y)
    }

    private static let middle = TileID(containing: TileFolders.porto, zoom: 12)

    @Test func tileIsFetchedOnceAndThenServedFromCache() async throws {
        // Only a request finds the damage.
        let table = try CacheTable([Self.maps, "store.patrol_bytes_per_s=0"]) {
            try TileFolders.maps(in: $0 + "/map", zooms: 9...13, reach: 5_000)
        }
        try await table.settle()
        let get = { (request: GetTileRequest) in try await table.call(TileCacheService.getTile, request) }
        let key = Self.key(Self.middle)
        let before = try await get(GetTileRequest(key: key, cacheOnly: true))
        #expect(before.error?.code == .notFound && before.error?.retryable == true && before.data == nil)
        let first = try await get(GetTileRequest(key: key))
        let content = TileFolders.png(Self.middle)
        #expect(first.data == content && first.fromCache == false)
        try await table.until("it is stored") { try !table.onBoard("map", of: [Self.middle]).isEmpty }
        let second = try await get(GetTileRequest(key: Self.key(Self.middle, nil), cacheOnly: true))
        #expect(second.data == content && second.fromCache == true && second.sha256 == first.sha256)
        let path = try await get(GetTileRequest(key: key, acceptPath: true))
        #expect(path.data == nil && path.path.map { FileManager.default.contents(atPath: $0) } == Data(content))
        let statistics = try await table.call(TileCacheService.statistics, StatisticsRequest())
        #expect(statistics.hitCount == 2 && statistics.missCount == 1)

        // A tile that is damaged on the disk is not served but fetched again.
        let file = try #require(path.path)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        try Data("rubbish".utf8).write(to: URL(fileURLWithPath: file))
        let healed = try await get(GetTileRequest(key: key))
        #expect(healed.data == content && healed.fromCache == false, "\(String(describing: healed.error))")
        for (wrong, code) in [
            (TileKey(domain: .maps, tileset: "sea", zoom: 1, x: 0, y: 0), .notFound),
            (TileKey(domain: .maps, tileset: "map", zoom: 12, x: 5_000, y: 0), .invalidRequest),
            (TileKey(domain: .maps, tileset: "map", zoom: 300, x: 0, y: 0), .invalidRequest),
            (TileKey(domain: .navigation, zoom: 12, x: 0, y: 0), .notFound),
            (TileKey(zoom: 12, x: 0, y: 0), .invalidRequest),
            (
                TileKey(domain: .navigation, tileset: "map", zoom: 12, x: Self.middle.x, y: Self.middle.y),
                .invalidRequest
            ),
            (Self.key(try #require(TileID(zoom: 12, x: 0, y: 0))), .notFound),
        ] as [(TileKey, ErrorCode)] {
            #expect(try await get(GetTileRequest(key: wrong)).error?.code == code)
        }
        #expect(try await get(GetTileRequest()).error?.code == .invalidRequest)
        await table.end()
    }

    @Test func callsEndAtTheirDeadlineAndOfflineConnectsToNothing() async throws {
        let silence = try TestWeb.Silence()
        let source = "tilesets=name=map,domain=maps,source=http://127.0.0.1:\(silence.port)/{z}/{x}/{y}.png,zooms=0-14"
        let table = try CacheTable([source, "predictive.enabled=true", "network.mode=offline", "region.retry_s=86400"])
        table.position(TileFolders.porto)
        table.route(TileFolders.line(5_000))
        let offline = try await table.call(TileCacheService.getTile, GetTileRequest(key: Self.key(Self.middle)))
        #expect(offline.error?.code == .providerUnavailable && offline.error?.retryable == true)
        let region = try await table.load(
            RegionDefinition(
                regionId: "r", geometry: MultiPolygon(try RegionArea.circle(around: TileFolders.porto, radius: 1_000)),
                descriptors: [TilesetDescriptor(tileset: "map", zoomMin: 12, zoomMax: 12)]))
        #expect(region.last?.error?.code == .providerUnavailable, "\(String(describing: region.last))")
        for _ in 0..<100 { try table.turn() }
        #expect(!silence.wasReached)
        try await table.set("network.mode", .stringValue("unmetered"))
        try await table.until("the source receives a request") { silence.wasReached }
        do {
            let late = try await table.call(
                TileCacheService.getTile, GetTileRequest(key: Self.key(Self.middle)), timeout: .milliseconds(400))
            #expect(late.error?.code == .deadlineExceeded || late.error?.code == .providerUnavailable)
        } catch let status as CallStatus {
            // On a busy machine the bus may report the deadline first.
            #expect(status.code == .deadlineExceeded)
        }
        await table.end()
    }

    @Test func cancelledCallDropsItsPendingTile() async throws {
        let silence = try TestWeb.Silence()
        let source = "tilesets=name=map,domain=maps,source=http://127.0.0.1:\(silence.port)/{z}/{x}/{y}.png,zooms=0-14"
        let table = try CacheTable([source, "network.concurrency=1", "network.retries=100"])
        var calls: [CallID] = []
        for x in [0, 1] as [UInt32] {
            let tile = try #require(TileID(zoom: 12, x: x, y: 0))
            let call = try table.caller.call(
                TileCacheService.getTile, GetTileRequest(key: Self.key(tile)),
                options: CallOptions(timeout: .seconds(600))
            ) { _ in }
            calls.append(call)
        }
        try await table.until("one tile is pending") { try table.states.last?.pendingCount == 1 }
        try table.caller.cancel(calls[1])
        try await table.until("no tile is pending") { try table.states.last?.pendingCount == 0 }
        try await table.until("the source receives a request") { silence.wasReached }
        await table.end()
    }

    @Test func webMapsGetTilesAndDescriptionsOnly() async throws {
        let table = try CacheTable([Self.maps, "http.listen=127.0.0.1:0"]) {
            try TileFolders.maps(in: $0 + "/map", zooms: 9...13, reach: 5_000)
        }
        try await table.settle()
        let address = try #require(table.node?.node.serverAddress)
        let path = "/map/12/\(Self.middle.x)/\(Self.middle.y)"
        for path in [path, path + ".png", path + "?v=1"] {
            let answer = await TestWeb.get(path, at: address)
            #expect(answer.status == 200 && answer.body == TileFolders.png(Self.middle))
            #expect(answer.headers["content-type"] == "image/png")
            #expect(answer.headers["access-control-allow-origin"] == "*")
            #expect(answer.headers["content-length"] == "\(answer.body.count)")
        }
        let head = await TestWeb.get(path, at: address, method: "HEAD")
        let tag = try #require(head.headers["etag"])
        #expect(head.status == 200 && head.body.isEmpty)
        let same = await TestWeb.get(path, at: address, ["If-None-Match: \"x\", \(tag)"])
        #expect(same.status == 304 && same.body.isEmpty)
        let options = await TestWeb.get(path, at: address, method: "OPTIONS")
        #expect(options.status == 204 && options.headers["access-control-allow-methods"] == "GET, HEAD")
        #expect(await TestWeb.get(path, at: address, method: "POST").status == 405)

        let description = await TestWeb.get("/map.json", at: address)
        let json = try #require(try JSONSerialization.jsonObject(with: Data(description.body)) as? [String: Any])
        #expect(json["tilejson"] as? String == "3.0.0")
        #expect(json["tiles"] as? [String] == ["http://\(address)/map/{z}/{x}/{y}"])
        #expect(json["minzoom"] as? Int == 9 && json["maxzoom"] as? Int == 13)
        #expect(await TestWeb.get("/", at: address).status == 200)
        // A missing tile gives an empty response; an impossible tile is not found.
        #expect(await TestWeb.get("/map/12/0/0", at: address).status == 204)
        for path in [
            "/sea.json", "/sea/1/0/0", "/map/12/4096/0", "/map/23/0/0", "/map/-1/0/0", "/map/+1/0/0", "/map/1/0",
            "/../../etc/passwd", "/map/../../etc/passwd", "/map/12/%2e%2e/0", "/map/1/0/0/0", "/MAP/1/0/0", "//1/0/0",
            "/map/1/0/0." + String(repeating: "x", count: 40), "/" + String(repeating: "a", count: 2_000) + ".json",
        ] {
            #expect(await TestWeb.get(path, at: address).status == 404, "\(path)")
        }
        #expect(await TestWeb.exchange("rubbish\r\n\r\n", at: address).status == 400)
        await table.end()
    }

    @Test func uncacheableTilesetIsDescribedByItsKeys() async throws {
        let table = try CacheTable([
            "tilesets=name=map,domain=maps,source=FOLDER/map,zooms=9-12,cacheable=false", "http.listen=127.0.0.1:0",
        ]) { _ = try TileFolders.maps(in: $0 + "/map", zooms: 9...12, reach: 5_000) }
        try await table.settle()
        let address = try #require(table.node?.node.serverAddress)
        let description = await TestWeb.get("/map.json", at: address)
        #expect(description.status == 200)
        let json = try #require(try JSONSerialization.jsonObject(with: Data(description.body)) as? [String: Any])
        #expect(json["tiles"] as? [String] == ["http://\(address)/map/{z}/{x}/{y}"])
        #expect(json["name"] as? String == "map" && json["minzoom"] as? Int == 9 && json["maxzoom"] as? Int == 12)
        await table.end()
    }

    @Test func compressedTilesAreDecompressedOnlyForClientsThatNeedIt() async throws {
        let packed = "H4sIAAAAAAACA5Pi4GKs0GhQqGACAFNFVZUKAAAA"
        let plain: [UInt8] = [0x1a, 0x08, 0x0a, 0x01, 0x78, 0x28, 0x80, 0x20, 0x78, 0x02]
        let bytes = try #require(Data(base64Encoded: packed))
        let table = try CacheTable([
            "tilesets=name=map,domain=maps,source=FOLDER/map,zooms=12-12", "http.listen=127.0.0.1:0",
        ]) { try TileFolders.write(Array(bytes), $0 + "/map/12/\(Self.middle.x)/\(Self.middle.y).pbf") }
        try await table.settle()
        let address = try #require(table.node?.node.serverAddress)
        let path = "/map/12/\(Self.middle.x)/\(Self.middle.y).pbf"
        let taken = await TestWeb.get(path, at: address, ["Accept-Encoding: deflate, gzip;q=0.5"])
        #expect(taken.body == Array(bytes) && taken.headers["content-encoding"] == "gzip")
        #expect(taken.headers["content-type"] == "application/vnd.mapbox-vector-tile")
        let other = await TestWeb.get(path, at: address, ["Accept-Encoding: gzip;q=0, identity"])
        #expect(other.status == 200 && other.headers["content-encoding"] == nil && other.body == plain)
        #expect(other.headers["etag"] != taken.headers["etag"])
        await table.end()
    }

    @Test func endpointIsLoopbackOnlyAndDisconnectsSlowClients() async throws {
        for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:8080", "example.org:80"] {
            #expect(throws: NodeError.self, "\(address)") { try CacheTable([Self.maps, "http.listen=\(address)"]) }
        }
        let table = try CacheTable([
            Self.maps, "http.listen=127.0.0.1:0", "http.idle_s=0.3", "http.max_connections=2",
        ]) { try TileFolders.maps(in: $0 + "/map", zooms: 12...12, reach: 2_000) }
        let address = try #require(table.node?.node.serverAddress)
        // A silent client and one that never completes its request are disconnected; until then a third client is not
        // accepted.
        let isRefused = await TestWeb.beside {
            let (silent, slow) = (TestWeb.connect(address), TestWeb.connect(address))
            TestWeb.send("GET /map.json HTTP/1.1\r\nHost: localhost\r\n", to: slow)
            usleep(50_000)
            let third = TestWeb.connect(address)
            TestWeb.send("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", to: third)
            let answer = TestWeb.drain(third)
            let rest = TestWeb.drain(silent) + TestWeb.drain(slow)
            for descriptor in [silent, slow, third] { close(descriptor) }
            return answer.isEmpty && rest.isEmpty
        }
        #expect(isRefused)
        try await table.settle()
        #expect(await TestWeb.get("/map.json", at: address).status == 200)
        await table.end()
    }

    @Test func storedTilesAreServedWithoutTheirServer() async throws {
        let (server, address) = try await CacheTable.serving(Self.maps) {
            try TileFolders.maps(in: $0 + "/map", zooms: 9...13, reach: 12_000)
        }
        // The server is another cache.
        let table = try CacheTable([
            "tilesets=name=map,domain=maps,source=http://\(address)/map/{z}/{x}/{y},zooms=12-12",
            "predictive.enabled=true", "predictive.maps.zoom_min=12", "predictive.maps.zoom_max=12",
            "predictive.maps.destination_radius_m=1000",
        ])
        let line = TileFolders.line(4_000)
        table.position(TileFolders.porto)
        table.route(line)
        let wanted = Set(line.map { TileID(containing: $0, zoom: 12) })
        try await table.until("the tiles of the route are stored") {
            try server.turn()
            return try table.onBoard("map", of: wanted) == wanted
        }
        await server.end()
        for tile in wanted.sorted() {
            let answer = try await table.call(TileCacheService.getTile, GetTileRequest(key: Self.key(tile)))
            #expect(answer.data == TileFolders.png(tile) && answer.fromCache == true)
        }
        let statistics = try await table.call(TileCacheService.statistics, StatisticsRequest())
        #expect(statistics.downloadedBytes ?? 0 > 0 && statistics.hitCount == UInt64(wanted.count))
        await table.end()
    }

    @Test func expiredTilesAreAcceptedOrRefetchedAsRequested() async throws {
        let (server, address) = try await CacheTable.serving(Self.maps) {
            try TileFolders.maps(in: $0 + "/map", zooms: 12...12, reach: 12_000)
        }
        let asked = { server.node?.node.webRequests ?? 0 }
        // The source declares that its tiles expire at once.
        let table = try CacheTable([
            "tilesets=name=map,domain=maps,source=http://\(address)/map/{z}/{x}/{y},zooms=12-12"
        ])
        let geometry = MultiPolygon(try RegionArea.circle(around: TileFolders.porto, radius: 6_000))
        func load(acceptExpired: Bool) async throws -> LoadRegionResponse {
            let definition = RegionDefinition(
                regionId: "r", geometry: geometry, descriptors: [TilesetDescriptor(tileset: "map")],
                acceptExpired: acceptExpired)
            return try #require(try await table.load(definition).last)
        }
        let first = try await load(acceptExpired: true)
        #expect(first.error == nil, "\(String(describing: first.error))")
        let count = try #require(first.progress?.requiredCount)
        #expect(first.region?.state == .complete && first.progress?.loadedCount == count && count > 1)
        #expect(first.region?.expiresNs != nil)
        var before = asked()
        let taken = try await load(acceptExpired: true)
        #expect(taken.region?.state == .complete && taken.progress?.loadedCount == 0 && asked() == before)
        let renewed = try await load(acceptExpired: false)
        #expect(renewed.region?.state == .complete && renewed.progress?.completedCount == count)
        #expect(asked() == before + Int(count))
        before = asked()
        let update = try await table.call(
            TileCacheService.updateRegion, UpdateRegionRequest(regionId: "r", revalidate: true))
        #expect(update.error == nil)
        try await table.until("all tiles were requested again") { asked() >= before + Int(count) }
        try await table.until("the region is complete again") {
            try table.events.last.map { $0.kind == .loadFinished && $0.success == true } == true
        }

        let key = Self.key(Self.middle)
        let strict = try await table.call(
            TileCacheService.getTile, GetTileRequest(key: key, cacheOnly: true, acceptExpired: false))
        #expect(strict.error?.code == .notFound && strict.error?.message?.contains("expired") == true)
        let asIs = try await table.call(TileCacheService.getTile, GetTileRequest(key: key, cacheOnly: true))
        #expect(asIs.data == TileFolders.png(Self.middle))
        before = asked()
        let fresh = try await table.call(TileCacheService.getTile, GetTileRequest(key: key, acceptExpired: false))
        #expect(fresh.data == TileFolders.png(Self.middle) && asked() == before + 1)
        await server.end()
        await table.end()
    }
}
