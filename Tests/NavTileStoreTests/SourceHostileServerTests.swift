import Foundation
import NavGeo
import NavHTTP
import NavMap
import NavTestKit
import NavTestSystem
import NavStorage
import NavTileCache
import NavTileStore
import Synchronization
import Testing

@Suite("Hostile servers")
struct SourceHostileServerTests {
    private typealias Behaviour = LoopbackServer.Behaviour

    private static let tile = SourceFixture.tile(1, 0, 0)

    /// Returns the error of a map tile whose server gives this answer.
    private func failure(
        of manner: LoopbackServer.Behaviour, format: String = "pbf",
        configure: (inout TileSourceConfiguration) -> Void = { _ in }
    ) async throws -> TileSourceError? {
        let server = try LoopbackServer(manner)
        var configuration = TileSourceConfiguration("map", .maps, address: server.url + "/{z}/{x}/{y}." + format)
        configuration.limits.http.idleTimeout = 2
        configuration.limits.tileBytes = 1 << 20
        configure(&configuration)
        let source = try configuration.open()
        let error = await SourceFixture.failure { () throws(TileSourceError) in
            try await source.fetch(Self.tile, edition: nil, known: nil, meter: nil)
        }
        await source.close()
        return error
    }

    @Test("Each HTTP error code maps to the source error code of the same name", arguments: HTTPError.Code.allCases)
    func failures(code: HTTPError.Code) {
        let error = TileSourceError(HTTPError(code, "why"))
        #expect(error.code.rawValue == code.rawValue && error.message == "why")
    }

    @Test("A body without a length is rejected, since truncation would be undetected")
    func noLength() async throws {
        let head = Array("HTTP/1.1 200 OK\r\n\r\n".utf8)
        #expect(try await failure(of: .bytes(head + SourceFixture.vectorTile(100)))?.code == .malformed)
    }

    @Test("Failures are distinguished, and Retry-After is read")
    func statuses() async throws {
        let expected: [(Int, TileSourceError.Code, Bool)] = [
            (500, .server, true), (503, .server, true), (429, .rateLimited, true), (401, .unauthorized, false),
            (403, .unauthorized, false), (400, .refused, false), (418, .refused, false), (101, .malformed, true),
            (206, .malformed, true), (304, .malformed, true),
        ]
        for (status, code, isRetryable) in expected where status != 101 {
            let error = try await failure(of: .answer(status: status, headers: ["Retry-After: 17"]))
            #expect(error?.code == code, "\(status)")
            #expect(error?.isRetryable == isRetryable, "\(status)")
            if [429, 503].contains(status) { #expect(error?.retryAfter == 17) }
        }
    }

    @Test("204, 404 and 410 mean that the tile does not exist", arguments: [204, 404, 410])
    func absent(status: Int) async throws {
        let server = try LoopbackServer(.answer(status: status, headers: ["Cache-Control: max-age=60"]))
        let source = try TileSourceConfiguration("map", .maps, address: server.url + "/{z}/{x}/{y}.pbf").open()
        guard case .absent(let validators) = try await source.fetch(Self.tile, edition: nil, known: nil, meter: nil)
        else { throw Failure("not absent") }
        #expect(validators.expires != nil)
        await source.close()
    }

    @Test("An HTML page with status 200 is rejected for every media type")
    func pages() async throws {
        let page = Array("\n<!DOCTYPE html><p>Log in".utf8)
        for (format, type) in [
            ("pbf", "text/html"), ("pbf", "application/x-protobuf"), ("png", "image/png"), ("xyz", "text/html; x"),
            ("xyz", "application/octet-stream"),
        ] {
            let error = try await failure(of: .answer(headers: ["Content-Type: \(type)"], body: page), format: format)
            #expect(error?.code == .malformed, "\(format) \(type)")
        }
        let packed = Behaviour.answer(headers: ["Content-Encoding: gzip"], body: Packer.gzip(page))
        #expect(try await failure(of: packed)?.code == .malformed)
        #expect(try await failure(of: .answer(body: Packer.gzip(page)))?.code == .malformed)
    }

    @Test("A compressed tile beyond the limit is rejected, whether HTTP or the tile declares the compression")
    func bombs() async throws {
        let zeros = [UInt8](repeating: 0, count: 64 << 20)
        for (name, bomb) in [("gzip", Packer.gzip(zeros)), ("zstd", Packer.zstd(zeros))] {
            let declared = Behaviour.answer(headers: ["Content-Encoding: \(name)"], body: bomb)
            #expect(try await failure(of: declared)?.code == .tooLarge)
            #expect(try await failure(of: .answer(body: bomb))?.code == .tooLarge)
        }
    }

    @Test("A tile beyond the size limit is rejected by its declared length or while it arrives")
    func huge() async throws {
        let announced = Array("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n".utf8)
        #expect(try await failure(of: .bytes(announced))?.code == .tooLarge)
        let endless = Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
        let chunk = Array("10000\r\n".utf8) + [UInt8](repeating: 0x1a, count: 65_536) + Array("\r\n".utf8)
        #expect(try await failure(of: .flood(endless, chunk))?.code == .tooLarge)
    }

    @Test("Redirects to a file, to another origin and in a loop are not followed")
    func redirections() async throws {
        let other = try LoopbackServer(.answer(body: SourceFixture.vectorTile(10)))
        for location in ["file:///etc/passwd", other.url + "/x", "ftp://a/b", "", "http://127.0.0.1:1\u{1}/"] {
            let error = try await failure(of: .answer(status: 302, headers: ["Location: \(location)"]))
            #expect([.redirected, .malformed].contains(error?.code), "\(location)")
        }
        #expect(other.requests.isEmpty)
        #expect(try await failure(of: .answer(status: 301, headers: ["Location: /1/0/0.pbf"]))?.code == .redirected)
    }

    @Test("A redirect within an origin is followed with the credential")
    func followed() async throws {
        let bytes = SourceFixture.vectorTile(10)
        let server = try LoopbackServer { request, _ in
            request.path == "/new" ? .answer(body: bytes) : .answer(status: 307, headers: ["Location: /new"])
        }
        let address = server.url.replacingOccurrences(of: "http://", with: "http://me:secret@")
        let source = try TileSourceConfiguration("map", .maps, address: address + "/{z}/{x}/{y}.pbf").open()
        #expect(source.place.contains("secret") == false)
        let answer = try await source.fetch(Self.tile, edition: nil, known: nil, meter: nil)
        #expect(answer.tile?.parts.map(\.data) == [bytes])
        #expect(server.requests.map { $0.header("Authorization") } == ["Basic bWU6c2VjcmV0", "Basic bWU6c2VjcmV0"])
        await source.close()
    }

    @Test("A TileJSON with tiles of another origin is rejected")
    func tileJSON() async throws {
        for text in ["http://elsewhere.example/{z}/{x}/{y}.pbf", "file:///{z}/{x}/{y}", "{z}/{x}", "{z}/{x}/{y}/{s}"] {
            let json = #"{"tiles":["\#(text)"],"minzoom":0,"maxzoom":5}"#
            let server = try LoopbackServer(.answer(body: Array(json.utf8)))
            let source = try TileSourceConfiguration("map", .maps, address: server.url + "/map.json").open()
            let error = await SourceFixture.failure { () throws(TileSourceError) in try await source.edition(known: nil)
            }
            #expect([.redirected, .malformed].contains(error?.code), "\(text)")
            await source.close()
        }
    }

    @Test("no-store tiles are delivered but not stored, unless configured otherwise")
    func noStore() async throws {
        let server = try LoopbackServer(
            .answer(headers: ["Cache-Control: no-store"], body: SourceFixture.vectorTile(10)))
        var configuration = TileSourceConfiguration("map", .maps, address: server.url + "/{z}/{x}/{y}.pbf")
        for storesAnyway in [false, true] {
            configuration.storesAnyway = storesAnyway
            let source = try configuration.open()
            switch try await source.fetch(Self.tile, edition: nil, known: nil, meter: nil) {
            case .unstorable: #expect(!storesAnyway)
            case .fetched: #expect(storesAnyway)
            default: Issue.record("no tile")
            }
            await source.close()
        }
    }

    @Test("A world-readable credential is reported once and never appears in a message")
    func credential() async throws {
        let folder = try TemporaryFolder()
        try folder.write("key", Array("hidden".utf8))
        chmod(folder.path + "/key", 0o644)
        let notes = Mutex<[String]>([])
        let server = try LoopbackServer(.answer(status: 403))
        var configuration = TileSourceConfiguration("map", .maps, address: server.url + "/{z}/{x}/{y}.pbf?k=private")
        configuration.credential = TileCredential(header: "X-Key", file: folder.path + "/key")
        configuration.note = { note in notes.withLock { $0.append(note) } }
        let source = try configuration.open()
        for _ in 0..<2 {
            let error = await SourceFixture.failure { () throws(TileSourceError) in
                try await source.fetch(Self.tile, edition: nil, known: nil, meter: nil)
            }
            let message = error?.message ?? ""
            #expect(!message.contains("hidden") && !message.contains("private"))
        }
        #expect(server.requests.first?.header("X-Key") == "hidden")
        #expect(server.requests.first?.path.hasSuffix("?k=private") == true)
        #expect(notes.withLock { $0 }.count { $0.contains("chmod 600") } == 1)
        await source.close()
    }

    // Road tiles.

    private func roadFailure(
        _ change: @escaping @Sendable (LoopbackServer.Request) -> LoopbackServer.Behaviour?
    ) async throws -> TileSourceError? {
        let tiles = SourceFixture.roadTiles(seed: 3, count: 1)
        let list = try SourceFixture.list(tiles)
        let server = try LoopbackServer { request, _ in
            if let manner = change(request) { return manner }
            if request.path.hasSuffix("tileset.json") { return .answer(body: list) }
            return .answer(body: request.path.hasSuffix("rank") ? tiles[0].rank : tiles[0].road)
        }
        var configuration = TileSourceConfiguration("roads", .navigation, address: server.url)
        configuration.limits.listBytes = 1 << 20
        let source = try configuration.open()
        let error = await SourceFixture.failure { () throws(TileSourceError) in
            try await source.fetch(tiles[0].id.tile, edition: nil, known: nil, meter: nil)
        }
        await source.close()
        return error
    }

    @Test("A road tile with wrong content or length, or a missing part, is rejected")
    func wrongRoads() async throws {
        #expect(try await roadFailure { _ in nil } == nil)
        let sound = SourceFixture.roadTiles(seed: 3, count: 1)[0]
        var changed = sound.road
        changed[7] ^= 1
        for bytes in [changed, Array(sound.road.dropLast()), sound.road + [0], []] {
            let error = try await roadFailure { $0.path.hasSuffix("road") ? .answer(body: bytes) : nil }
            #expect(error?.code == .mismatch)
            #expect(error?.isRetryable == true)
        }
        #expect(try await roadFailure { $0.path.hasSuffix("rank") ? .answer(status: 404) : nil }?.code == .mismatch)
    }

    @Test("A list with an earlier date, from a server without ETags, is found by the next poll")
    func olderRoads() async throws {
        let tiles = SourceFixture.roadTiles(seed: 3, count: 1)
        let lists = try ["v2", "v1"].map { try SourceFixture.list(tiles, version: $0) }
        let dates = ["Wed, 01 May 2024 00:00:00 GMT", "Mon, 01 Apr 2024 00:00:00 GMT"]
        let current = Mutex(0)
        let server = try LoopbackServer { request, _ in
            // The date is earlier than the If-Modified-Since of the client.
            if request.header("If-Modified-Since") != nil { return .answer(status: 304) }
            let number = current.withLock { $0 }
            return .answer(headers: ["Last-Modified: \(dates[number])"], body: lists[number])
        }
        let source = try TileSourceConfiguration("roads", .navigation, address: server.url).open()
        guard case .edition(let first, let validators) = try await source.edition(known: nil) else {
            throw Failure("no edition")
        }
        current.withLock { $0 = 1 }
        #expect(first.version == "v2")
        #expect(try await SourceFixture.edition(source, known: validators).version == "v1")
        await source.close()
    }

    @Test("A compressed road tile is decompressed only up to its listed size")
    func packedRoads() async throws {
        let sound = SourceFixture.roadTiles(seed: 3, count: 1)[0]
        let bomb = Packer.gzip([UInt8](repeating: 7, count: 32 << 20))
        for (body, encoding, code) in [
            (Packer.gzip(sound.road), "gzip", nil), (Packer.zstd(sound.road), "zstd", nil),
            (Packer.deflate(sound.road, windowBits: 15), "deflate", nil), (sound.road, "identity", nil),
            (bomb, "gzip", .mismatch), (sound.road, "br", .malformed), (sound.road, "gzip, gzip", .malformed),
        ] as [([UInt8], String, TileSourceError.Code?)] {
            let error = try await roadFailure {
                $0.path.hasSuffix("road") ? .answer(headers: ["Content-Encoding: \(encoding)"], body: body) : nil
            }
            #expect(error?.code == code, "\(encoding)")
        }
    }

    @Test("A list with invalid names, sizes or hashes is rejected as a whole")
    func hostileLists() async throws {
        let tiles = SourceFixture.roadTiles(seed: 3, count: 2)
        let changes: [@Sendable (inout Tileset) -> Void] = [
            { $0.tiles[0].file = "../../etc/passwd" }, { $0.tiles[1].file = "/etc/passwd" },
            { $0.tiles[0].ranks.file = "12/1/1.rank" }, { $0.tiles[0].id = .max }, { $0.tiles[0].bytes = -1 },
            { $0.tiles[0].bytes = 1 << 40 }, { $0.tiles[0].sha256 = "00" }, { $0.tiles[1] = $0.tiles[0] },
            { $0.mapVersion = "../../x" }, { $0.mapVersion = "" }, { $0.mapVersion = "." }, { $0.formatVersion = 1 },
            { $0.tiles[0].ranks.bytes = 0 },
        ]
        for (index, change) in changes.enumerated() {
            let list = try SourceFixture.list(tiles, change: change)
            let error = try await roadFailure { $0.path.hasSuffix("json") ? .answer(body: list) : nil }
            #expect(error?.code == .malformed, "change \(index)")
        }
        for list in [Array("{}".utf8), [], Array("[".utf8), Array(repeating: UInt8(ascii: "["), count: 100_000)] {
            #expect(try await roadFailure { $0.path.hasSuffix("json") ? .answer(body: list) : nil }?.code == .malformed)
        }
        let bomb = Packer.gzip([UInt8](repeating: 0x20, count: 64 << 20))
        let manner = Behaviour.answer(headers: ["Content-Encoding: gzip"], body: bomb)
        #expect(try await roadFailure { $0.path.hasSuffix("json") ? manner : nil }?.code == .tooLarge)
        #expect(try await roadFailure { $0.path.hasSuffix("json") ? .answer(status: 404) : nil }?.code == .missing)
    }

    @Test(
        "A rejected poll counts against the server, like a failed connection", arguments: [400, 412, 451]
    )
    func refusedLists(status: Int) async throws {
        let list = try await roadFailure { $0.path.hasSuffix("json") ? .answer(status: status) : nil }
        #expect(list?.code == .missing && list?.blamesSource == true, "\(String(describing: list))")
        let server = try LoopbackServer(.answer(status: status))
        let archive = try TileSourceConfiguration("map", .maps, address: server.url + "/map.pmtiles").open()
        let error = await SourceFixture.failure { () throws(TileSourceError) in
            _ = try await archive.edition(known: nil)
        }
        #expect(error?.code == .missing && error?.blamesSource == true, "\(String(describing: error))")
        await archive.close()
    }

    @Test("Cancelling a request ends it soon, and closing a source ends all")
    func cancelled() async throws {
        let server = try LoopbackServer(.silence)
        let source = try TileSourceConfiguration("map", .maps, address: server.url + "/{z}/{x}/{y}.pbf").open()
        let ask = { @Sendable in
            await SourceFixture.failure { () throws(TileSourceError) in
                try await source.fetch(Self.tile, edition: nil, known: nil, meter: nil)
            }
        }
        let task = Task { await ask() }
        try await eventually("the request arrives") { !server.requests.isEmpty }
        task.cancel()
        #expect(await task.value?.code == .cancelled)
        let second = Task { await ask() }
        try await eventually("the second request arrives") { server.requests.count == 2 }
        await source.close()
        #expect(await second.value?.code == .closed)
        #expect(await ask()?.code == .closed)
    }
}
