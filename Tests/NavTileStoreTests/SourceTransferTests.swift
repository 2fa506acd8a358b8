import NavTestSystem
import NavTileStore
import Testing

@Suite("Answers as they come in", .timeLimit(.minutes(1)))
struct SourceTransferTests {
    private func parsed(_ lines: [String]) -> WebHeaders? {
        var headers = WebHeaders()
        for line in lines {
            guard Array(line.utf8).withUnsafeBufferPointer({ headers.add($0) }) else { return nil }
        }
        return headers
    }

    @Test("Headers are found whatever the case of their names, in their order, without the space around them")
    func lookup() throws {
        let headers = try #require(
            parsed(["ETag: \"a\"", "cache-CONTROL:max-age=1, public ", "Cache-Control:\tno-store", "Empty:"]))
        #expect(headers.first("etag") == "\"a\"")
        #expect(headers.all("Cache-Control") == ["max-age=1, public", "no-store"])
        #expect(headers.elements("CACHE-CONTROL") == ["max-age=1", "public", "no-store"])
        #expect(headers.first("Empty") == "")
        #expect(headers.first("ETa") == nil)
        #expect(headers.elements("Empty") == [])
    }

    @Test(
        "A line that is no field is refused: no name, a space before the colon, a folded one, one without colon, one with a control",
        arguments: [": a", "Name : a", " folded: a", "\tfolded", "none", "", "a: b\rc", "a: \u{0}", "Na\u{e9}me: a"])
    func malformed(line: String) {
        #expect(parsed([line]) == nil)
    }

    @Test("More fields than anybody needs are refused")
    func count() {
        let lines = [String](repeating: "A: b", count: WebHeaders.greatestCount)
        #expect(parsed(lines) != nil)
        #expect(parsed(lines + ["A: b"]) == nil)
    }

    private var limits: TransferLimits {
        var limits = TransferLimits()
        limits.idleTimeout = 10
        limits.totalTimeout = 100
        limits.slowestRate = 100
        limits.slowestWindow = 5
        return limits
    }

    @Test("Waiting for a connection counts for the whole only; after the question, silence counts")
    func idle() {
        var pace = TransferPace(at: .seconds(1))
        #expect(pace.fault(limits, at: .seconds(90)) == nil)
        #expect(pace.fault(limits, at: .seconds(102)) == .total)
        pace.noteSent(at: .seconds(50))
        #expect(pace.fault(limits, at: .seconds(60)) == nil)
        #expect(pace.fault(limits, at: .seconds(61)) == .idle)
        pace.noteWaiting()
        #expect(pace.fault(limits, at: .seconds(61)) == nil)
    }

    @Test("A body below the least rate is too slow; time that the meter takes does not count")
    func rate() {
        var pace = TransferPace(at: .zero)
        pace.noteSent(at: .zero)
        pace.noteHead(at: .seconds(1))
        pace.note(600, at: .seconds(5))
        #expect(pace.fault(limits, at: .seconds(6)) == nil)
        pace.note(400, at: .seconds(10))
        pace.hold(at: .seconds(10))
        #expect(pace.fault(limits, at: .seconds(1_000)) == nil)
        pace.release(at: .seconds(1_000))
        #expect(pace.fault(limits, at: .seconds(1_000.5)) == nil)
        #expect(pace.fault(limits, at: .seconds(1_002)) == .slow)
    }

    /// Fetches a tile by a meter whose clock is moved by hand.
    private func fetch(
        _ size: Int, _ body: (DownloadTestClock, TransferMeter, Task<TileAnswer?, Never>) async throws -> Void
    ) async throws {
        let bytes = SourceFixture.vectorTile(size)
        let server = try LoopbackServer(.answer(body: bytes))
        let source = try TileSourceConfiguration("map", .maps, address: server.url + "/{z}/{x}/{y}.pbf").open()
        let clock = DownloadTestClock()
        let meter = TransferMeter(bytesPerSecond: 100_000, clock: clock.clock)
        let task = Task {
            try? await source.fetch(SourceFixture.tile(1, 0, 0), edition: nil, known: nil, meter: meter)
        }
        try await body(clock, meter, task)
        await source.close()
    }

    @Test("A body waits for its meter as often as it has to, and comes whole", arguments: [2_000, 200_000])
    func metered(size: Int) async throws {
        try await fetch(size) { clock, meter, task in
            let bytes = SourceFixture.vectorTile(size)
            // A part comes, and what is on its way.
            try await eventually { meter.received > 0 }
            try await Task.sleep(for: .milliseconds(100))
            #expect(meter.received < 100_000)
            while meter.received < Int64(bytes.count) {
                clock.advance(by: 0.5)
                try await Task.sleep(for: .milliseconds(1))
            }
            clock.advance(by: 60)
            #expect(await task.value?.tile?.parts.map(\.data) == [bytes])
            #expect(meter.received == Int64(bytes.count))
        }
    }

    @Test("What waits for its meter is not handed on before, and can be taken back")
    func taken() async throws {
        try await fetch(5_000) { _, meter, task in
            try await eventually { meter.received > 5_000 }
            task.cancel()
            #expect(await task.value == nil)
        }
    }
}
