import NavHTTP
import Testing

@Suite("Header fields of responses")
struct HTTPHeadersTests {
    private func parsed(_ lines: [String]) -> HTTPHeaders? {
        var headers = HTTPHeaders()
        for line in lines {
            guard Array(line.utf8).withUnsafeBufferPointer({ headers.add($0) }) else { return nil }
        }
        return headers
    }

    @Test("Headers are found regardless of case, in order, and trimmed")
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
        "A malformed header line is rejected: no name, space before the colon, folded, no colon, control character",
        arguments: [": a", "Name : a", " folded: a", "\tfolded", "none", "", "a: b\rc", "a: \u{0}", "Na\u{e9}me: a"])
    func malformed(line: String) {
        #expect(parsed([line]) == nil)
    }

    @Test("Too many header fields are rejected")
    func count() {
        let lines = [String](repeating: "A: b", count: HTTPHeaders.greatestCount)
        #expect(parsed(lines) != nil)
        #expect(parsed(lines + ["A: b"]) == nil)
    }
}
