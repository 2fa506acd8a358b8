import NavHTTP
import Testing

@Suite("HTTP URLs and their redirects")
struct HTTPAddressTests {
    @Test("The description of a URL contains no user, password or query")
    func shown() throws {
        let address = try #require(HTTPAddress("https://me:secret@Tiles.Example:8443/a/b?key=hidden#x"))
        #expect("\(address)" == "https://tiles.example:8443/a/b")
        #expect(address.text == "https://tiles.example:8443/a/b?key=hidden")
        #expect(address.basic == "Basic bWU6c2VjcmV0")
    }

    @Test(
        "Invalid and ambiguous HTTP URLs are rejected",
        arguments: [
            "", "ftp://a/b", "file:///etc/passwd", "http://", "http://a b/", "http://a\\b/", "http://a:0/",
            "http://a:99999/", "http://[::1/", "http://é/", "http://a\r\nHost: b/", "//a/b", "javascript:alert(1)",
        ])
    func refused(text: String) { #expect(HTTPAddress(text) == nil) }

    private func follow(_ from: String, _ to: String, _ hosts: [String] = []) throws -> String? {
        try? #require(HTTPAddress(from)).redirected(to: to, allowedHosts: hosts).text
    }

    @Test("A redirect within an origin is followed")
    func sameOrigin() throws {
        #expect(try follow("http://a/x/y?q", "/z") == "http://a/z")
        #expect(try follow("http://a/x/y?q", "z") == "http://a/x/z")
        #expect(try follow("http://a:80/x", "HTTP://A/z?w") == "http://a/z?w")
    }

    @Test("A redirect to another origin is followed only from https to https at an allowed host")
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

    @Test("A password in a redirect is ignored")
    func foreignPassword() throws {
        let next = try #require(HTTPAddress("http://a/")).redirected(to: "http://u:p@a/z", allowedHosts: [])
        #expect(next.basic == nil)
    }

    @Test("Only addresses of the local host are loopback")
    func loopback() {
        for (text, isLoopback) in [
            ("http://localhost:1/", true), ("http://127.1.2.3/", true), ("http://[::1]/", true),
            ("http://127.0.0.1.example/", false), ("http://localhost.example/", false), ("http://10.0.0.1/", false),
        ] {
            #expect(HTTPAddress(text)?.origin.isLoopback == isLoopback, "\(text)")
        }
    }
}
