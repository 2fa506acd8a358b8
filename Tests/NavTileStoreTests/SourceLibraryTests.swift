import Foundation
import NavGeo
import NavHTTP
import NavMap
import NavTestSystem
import NavTileCache
import NavTileStore
import Testing

@Suite("Limits of libcurl and of the machine")
struct SourceLibraryTests {
    private static func template(_ address: String) -> TileSourceConfiguration {
        TileSourceConfiguration("map", .maps, address: address + "/{z}/{x}/{y}.pbf")
    }

    private func failure(_ configuration: TileSourceConfiguration) -> TileSourceError? {
        do throws(TileSourceError) {
            _ = try configuration.open()
            return nil
        } catch {
            return error
        }
    }

    @Test("An option that libcurl rejects fails at opening, with advice")
    func refusedOption() throws {
        var configuration = Self.template("https://127.0.0.1:9")
        // Longer than the limit of libcurl for any string.
        configuration.authorities = String(repeating: "a", count: 8_000_001)
        let error = try #require(failure(configuration))
        #expect(error.code == .configuration && !error.isRetryable && !error.blamesSource)
        #expect(
            error.message.contains("CAINFO") && error.message.contains("certificates"), "\(error.message.prefix(300))")
        #expect(error.message.count < 400)
    }

    @Test("Without TLS in libcurl, https is a configuration error, also after a redirect, and http works")
    func noTLS() async throws {
        var secure = Self.template("https://127.0.0.1:9")
        secure.library = CurlLibrary(version: "7.99", hasTLS: false)
        let error = try #require(failure(secure))
        #expect(error.code == .configuration)
        #expect(error.message.contains("7.99") && error.message.contains("TLS"), "\(error)")
        secure.library = .present
        #expect(CurlLibrary.present.hasTLS && failure(secure) == nil)

        let server = try LoopbackServer(.answer(body: SourceFixture.vectorTile(1_000)))
        var plain = Self.template(server.url)
        plain.library = CurlLibrary(version: "7.99", hasTLS: false)
        let source = try plain.open()
        let answer = try await source.fetch(SourceFixture.tile(1, 0, 0), edition: nil, known: nil, meter: nil)
        #expect(answer.tile?.parts.first?.data == SourceFixture.vectorTile(1_000))
        await source.close()

        let elsewhere = try LoopbackServer(
            .answer(status: 302, headers: ["Location: https://127.0.0.1:9/other.pbf"]))
        var led = Self.template(elsewhere.url)
        led.library = CurlLibrary(version: "7.99", hasTLS: false)
        led.allowedHosts = ["127.0.0.1"]
        let other = try led.open()
        let refused = await SourceFixture.failure { () throws(TileSourceError) in
            try await other.fetch(SourceFixture.tile(1, 0, 0), edition: nil, known: nil, meter: nil)
        }
        #expect(
            refused.map { [.configuration, .redirected].contains($0.code) } == true, "\(String(describing: refused))")
        await other.close()
    }

    @Test("A process that has no file descriptors left reports so, not a closed or unreachable source")
    func noFiles() throws {
        let server = try LoopbackServer(.answer(body: SourceFixture.vectorTile(1_000)))
        let probe = try Probe("NavTileStoreProbe", ["exhaust", server.url + "/{z}/{x}/{y}.pbf"])
        let lines = probe.rest()
        #expect(lines.first?.hasPrefix("system: ") == true && lines.first?.contains("open files") == true, "\(lines)")
        #expect(lines.last == "opened")
        #expect(server.requests.isEmpty)
    }

    @Test("Large sizes in a list reserve no memory before the tiles arrive")
    func announcedSizes() throws {
        let size = 60_000_000
        let entries = (0..<64).map { index in
            let id = RoadTileID(
                layer: .local, containing: Coordinate(latitude: 41 + 0.1 * Double(index), longitude: -8.6))
            let hash = String(repeating: "0", count: 64)
            return Tileset.Entry(
                id: id.rawValue, file: id.path, bytes: size, sha256: hash,
                ranks: Tileset.RanksEntry(file: id.ranksPath, bytes: 1, sha256: hash))
        }
        let list = Tileset(
            mapVersion: "v1", source: "test", sourceTimestamp: nil,
            bounds: BoundingBox(south: 41, west: -9, north: 48, east: -8), attribution: "nobody", tiles: entries)
        let document = Array(try JSONEncoder().encode(list))
        let head = Array("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n".utf8)
        let server = try LoopbackServer { request, _ in
            request.path.hasSuffix(".json") ? .answer(body: document) : .drip(head, 0)
        }
        let lines = try Probe("NavTileStoreProbe", ["announced", server.url]).rest()
        #expect(server.requests.count == 65)
        // Threads and their heaps take some memory; the tiles would take almost 4 GB.
        let grown = lines.last.flatMap { Int($0) }
        #expect(grown.map { $0 < 1_500_000_000 } == true, "\(lines)")
    }
}
