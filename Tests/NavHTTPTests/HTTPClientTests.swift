import NavHTTP
import NavTestSystem
import Testing

@Suite("Requests to conforming and misbehaving loopback servers", .timeLimit(.minutes(2)))
struct HTTPClientTests {
    private typealias Behaviour = LoopbackServer.Behaviour

    private static let head = "HTTP/1.1 200 OK\r\n"

    /// Sends one request to a server.
    private func ask(
        _ server: LoopbackServer, path: String = "/a?key=private",
        _ change: (inout HTTPRequest) -> Void = { _ in }, rules: (inout HTTPConfiguration) -> Void = { _ in }
    ) async throws -> Result<HTTPResponse, HTTPError> {
        var configuration = HTTPConfiguration()
        rules(&configuration)
        let address = try #require(HTTPAddress(server.url + path))
        let client = try HTTPClient(configuration, for: address)
        var request = HTTPRequest(address, limit: 100_000)
        change(&request)
        let result: Result<HTTPResponse, HTTPError>
        do throws(HTTPError) {
            result = .success(try await client.ask(request))
        } catch {
            result = .failure(error)
        }
        await client.close()
        return result
    }

    private func failure(
        _ manner: Behaviour, _ change: (inout HTTPRequest) -> Void = { _ in },
        rules: (inout HTTPConfiguration) -> Void = { _ in }
    ) async throws -> HTTPError? {
        guard case .failure(let error) = try await ask(LoopbackServer(manner), change, rules: rules) else { return nil }
        #expect(!error.message.contains("private"), "no message contains a query")
        return error
    }

    // MARK: Requests

    @Test("Method, headers and body are sent as given, and a GET after a POST has no body")
    func requests() async throws {
        let server = try LoopbackServer(.answer(body: [1, 2, 3]))
        let address = try #require(HTTPAddress(server.url + "/a"))
        let client = try HTTPClient(HTTPConfiguration(), for: address)
        var request = HTTPRequest(address, limit: 10)
        request.headers = [("Content-Type", "text/plain"), ("Accept", "a/b")]
        for method in [HTTPRequest.Method.post(Array("body".utf8)), .get, .head, .post([]), .get] {
            request.method = method
            let response = try await client.ask(request)
            #expect(response.status == 200 && response.body == (method == .head ? [] : [1, 2, 3]))
        }
        await client.close()
        #expect(server.requests.map(\.method) == ["POST", "GET", "HEAD", "POST", "GET"])
        #expect(server.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["body", "", "", "", ""])
        let post = try #require(server.requests.first)
        #expect(post.header("Content-Type") == "text/plain" && post.header("Accept") == "a/b")
        #expect(post.header("User-Agent") == "navbus" && post.header("Expect") == nil)
    }

    @Test("Bodies are read on success, and on failure only if requested")
    func bodies() async throws {
        for (status, reads, expected) in [
            (200, false, 2), (206, false, 2), (404, false, 0), (404, true, 2), (503, true, 2), (304, true, 0),
        ] {
            let server = try LoopbackServer(.answer(status: status, headers: ["Retry-After: 17"], body: [7, 8]))
            let response = try await ask(server, { $0.readsFailures = reads }).get()
            #expect(response.status == status && response.body.count == expected, "\(status) \(reads)")
            #expect(response.retryAfter == 17)
        }
    }

    @Test("All requests use the proxy, and its tunnel reply is not the server's response")
    func proxies() async throws {
        let server = try LoopbackServer(.answer(body: [1]))
        let proxy = try LoopbackServer { request, _ in
            request.method == "CONNECT" ? .answer(status: 403) : .answer(body: [9])
        }
        let through = { (rules: inout HTTPConfiguration) in rules.proxy = "127.0.0.1:\(proxy.port)" }
        #expect(try await ask(server, path: "/a", rules: through).get().body == [9])
        #expect(proxy.requests.first?.path == server.url + "/a" && server.requests.isEmpty)
        var rules = HTTPConfiguration()
        through(&rules)
        let secure = try #require(HTTPAddress("https://127.0.0.1:\(server.port)/a"))
        let client = try HTTPClient(rules, for: secure)
        var request = HTTPRequest(secure, limit: 10)
        request.credential = ("Authorization", "Bearer secret")
        let error = await #expect(throws: HTTPError.self) { try await client.ask(request) }
        #expect(error?.code == .unreachable)
        let tunnel = try #require(proxy.requests.last)
        #expect(tunnel.path == "127.0.0.1:\(server.port)" && !tunnel.head.contains("secret"))
        await client.close()
    }

    // MARK: Bounds

    @Test(
        "Invalid or incomplete HTTP is a failure",
        arguments: [
            ("\u{0}\u{1}\u{2}", [.malformed, .unreachable]), ("<html>", [.malformed, .unreachable]),
            ("220 smtp.example ESMTP\r\n", [.malformed, .unreachable]), ("", [.unreachable]),
            ("HTTP/9.9 200 OK\r\n\r\n", [.malformed, .unreachable]), ("\r\n\r\n\r\n", [.malformed, .unreachable]),
            (head + "Content-Le", [.malformed, .unreachable]), (head + "Content-Length: 500\r\n\r\nab", [.truncated]),
            (head + "Transfer-Encoding: chunked\r\n\r\n40\r\nab", [.truncated]),
            (head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", [.malformed, .unreachable]),
            (head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", [.malformed, .unreachable]),
            (head + "Content-Length: -5\r\n\r\n{}", [.malformed, .unreachable]), (head + "\r\nhalf", [.malformed]),
            (head + "Content-Length: 99999999999\r\n\r\n{", [.tooLarge]),
            (head + "Content-Length: 99999999999999999999999\r\n\r\n{", [.malformed, .unreachable, .tooLarge]),
        ] as [(String, [HTTPError.Code])])
    func garbage(text: String, codes: [HTTPError.Code]) async throws {
        let error = try await failure(.bytes(Array(text.utf8))) { $0.needsLength = true }
        #expect(error.map { codes.contains($0.code) } == true, "\(String(describing: error))")
    }

    @Test("Endless bodies and headers are read up to their limits")
    func endless() async throws {
        let head = Array((Self.head + "Transfer-Encoding: chunked\r\n\r\n").utf8)
        let chunk = Array("1000\r\n".utf8) + [UInt8](repeating: 32, count: 4_096) + Array("\r\n".utf8)
        #expect(try await failure(.flood(head, chunk))?.code == .tooLarge)
        let line = Array("X-More: \(String(repeating: "y", count: 8_000))\r\n".utf8)
        let code = try #require(try await failure(.flood(Array(Self.head.utf8), line))?.code)
        #expect([.malformed, .unreachable].contains(code), "\(code)")
    }

    private static let body = Array((head + "Content-Length: 100000\r\n\r\n").utf8)

    @Test(
        "A server that stalls causes a timeout",
        arguments: [Behaviour.silence, .drip(Array((head + "X: ").utf8), UInt8(ascii: "a")), .drip(body, 0)])
    private func stalls(manner: Behaviour) async throws {
        let late = try await failure(manner) { $0.timeout = 0.3 }
        #expect(late?.code == .timedOut && late?.message.contains("within 0.3 s") == true, "\(late?.message ?? "")")
        #expect(try await failure(manner, rules: { $0.limits.totalTimeout = 0.3 })?.code == .timedOut)
    }

    @Test("Idle and slow responses have separate timeouts")
    func silence() async throws {
        let silent = try await failure(.silence, rules: { $0.limits.idleTimeout = 0.3 })
        #expect(silent?.code == .timedOut && silent?.message.contains("nothing for 0.3 s") == true)
        let slow = try await failure(
            .drip(Self.body, 0),
            rules: {
                $0.limits.slowestRate = 10_000
                $0.limits.slowestWindow = 0.3
            })
        #expect(slow?.code == .tooSlow)
    }

    // MARK: Redirects

    @Test("Redirects within an origin keep the credential and are limited in number")
    func followed() async throws {
        let server = try LoopbackServer { request, _ in
            request.path == "/new" ? .answer(body: [5]) : .answer(status: 307, headers: ["Location: /new"])
        }
        #expect(try await ask(server, { $0.credential = ("X-Key", "hidden") }).get().body == [5])
        #expect(server.requests.map { $0.header("X-Key") } == ["hidden", "hidden"])
        let ring = try LoopbackServer(.answer(status: 301, headers: ["Location: /a"]))
        guard case .failure(let error) = try await ask(ring, rules: { $0.limits.redirects = 3 }) else {
            Issue.record("a redirect loop was followed to an answer")
            return
        }
        #expect(error.code == .redirected && ring.requests.count == 4)
    }

    @Test("A forbidden redirect is a failure that names the target")
    func refused() async throws {
        let other = try LoopbackServer(.answer(body: [1]))
        for location in ["file:///etc/passwd", other.url + "/x?token=private", "ftp://a/b", "http://127.0.0.1:1\u{1}/"]
        {
            let error = try await failure(.answer(status: 302, headers: ["Location: \(location)"]))
            #expect([.redirected, .malformed].contains(error?.code), "\(location)")
        }
        for status in [301, 302, 303, 307, 308] {
            let manner = Behaviour.answer(status: status, headers: ["Location: \(other.url)/drive/1,2?token=private"])
            let error = try await failure(manner, { $0.hidesPath = true }, rules: { $0.limits.redirects = 0 })
            #expect(error?.code == .redirected)
            #expect(error?.message.contains(other.url) == true && error?.message.contains("/drive") == false)
        }
        #expect(other.requests.isEmpty)
    }

    @Test("A redirect without Location is a failure and is not retried")
    func nowhere() async throws {
        for headers in [[], ["Location: "]] {
            let server = try LoopbackServer(.answer(status: 302, headers: headers))
            guard case .failure(let error) = try await ask(server) else {
                Issue.record("a redirect without Location was answered")
                return
            }
            #expect(error.code == .redirected && error.message.contains("Location"), "\(error)")
            #expect(server.requests.count == 1)
        }
    }
}
