import NavTileStore
import Testing

@Suite("Addresses of tiles and where they may lead")
struct SourceWebAddressTests {
    @Test("What is shown of an address holds no user, password or query")
    func shown() throws {
        let address = try #require(WebAddress("https://me:secret@Tiles.Example:8443/a/b?key=hidden#x"))
        #expect("\(address)" == "https://tiles.example:8443/a/b")
        #expect(address.text == "https://tiles.example:8443/a/b?key=hidden")
        #expect(address.basic == "Basic bWU6c2VjcmV0")
    }

    @Test(
        "What is no address of HTTP, or could be read in two ways, is refused",
        arguments: [
            "", "ftp://a/b", "file:///etc/passwd", "http://", "http://a b/", "http://a\\b/", "http://a:0/",
            "http://a:99999/", "http://[::1/", "http://é/", "http://a\r\nHost: b/", "//a/b", "javascript:alert(1)",
        ])
    func refused(text: String) { #expect(WebAddress(text) == nil) }

    private func follow(_ from: String, _ to: String, _ hosts: [String] = []) throws -> String? {
        try? #require(WebAddress(from)).redirected(to: to, allowedHosts: hosts).get().text
    }

    @Test("A redirection within an origin is followed")
    func sameOrigin() throws {
        #expect(try follow("http://a/x/y?q", "/z") == "http://a/z")
        #expect(try follow("http://a/x/y?q", "z") == "http://a/x/z")
        #expect(try follow("http://a:80/x", "HTTP://A/z?w") == "http://a/z?w")
    }

    @Test("From https to https at an allowed host as well, and nowhere else")
    func otherOrigins() throws {
        #expect(try follow("https://a/x", "https://b/z", ["b"]) == "https://b/z")
        #expect(try follow("https://a/x", "//b/z", ["b"]) == "https://b/z")
        for (from, to, hosts) in [
            ("https://a/x", "https://b/z", []), ("http://a/x", "https://b/z", ["b"]),
            ("https://a/x", "http://a/z", ["a"]), ("http://a/x", "file:///etc/passwd", []),
            ("http://a/x", "http://a:8080/z", []), ("http://a/x", "http://a@b/z", []),
            ("https://a/x", "https://ab/z", ["b"]), ("http://a/x", "http://a\\@b/", []),
        ] as [(String, String, [String])] {
            #expect(try follow(from, to, hosts) == nil, "\(from) -> \(to)")
        }
    }

    @Test("A password that a redirection brings along is not taken")
    func foreignPassword() throws {
        let next = try #require(WebAddress("http://a/")).redirected(to: "http://u:p@a/z", allowedHosts: []).get()
        #expect(next.basic == nil)
    }
}

@Suite("Templates of addresses")
struct SourceTemplateTests {
    @Test("Numbers, the row from the south, and the ratio are put in their places")
    func places() throws {
        let tile = SourceFixture.tile(3, 5, 1)
        #expect(try TileTemplate("a/{z}/{x}/{y}{ratio}.png", ratio: 2).text(tile) == "a/3/5/1@2x.png")
        #expect(try TileTemplate("a/{z}/{x}/{-y}{ratio}.png", ratio: 1).text(tile) == "a/3/5/6.png")
        #expect(try TileTemplate("{z}{x}{y}", ratio: 1, isFromSouth: true).text(tile) == "356")
        #expect(try TileTemplate("{z}/{x}/{y}.mvt?key=a.b", ratio: 1).fileExtension == "mvt")
    }

    @Test(
        "One that leaves a number out, or wants what is not known, is refused", arguments: ["{z}/{x}", "{z}{x}{y}{s}"])
    func refused(text: String) {
        #expect(throws: TileSourceError.self) { try TileTemplate(text, ratio: 1) }
    }
}
