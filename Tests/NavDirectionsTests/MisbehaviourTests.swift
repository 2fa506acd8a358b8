import Foundation
import NavDirections
import NavHTTP
import NavMatching
import NavRouting
import NavSimulation
import NavTestKit
import NavTestSupport
import NavTestSystem
import Testing

/// Misbehaving providers on loopback: each causes a typed failure, and a valid answer is still accepted.
struct MisbehaviourTests {
    /// The longest deadline, seconds.
    private static let longestDeadline = 60.0

    private func configuration(_ url: String) -> DirectionsConfiguration {
        var configuration = DirectionsConfiguration()
        configuration.url = url
        configuration.deadline = Self.longestDeadline
        configuration.attemptTimeout = Self.longestDeadline
        configuration.retries = 0
        configuration.firstPause = 0
        return configuration
    }

    private func ask(
        _ configuration: DirectionsConfiguration, token: AccessToken? = nil
    ) async throws -> Result<OnlineRoutes, DirectionsError> {
        let router = try RealMap.helsinki.get().router()
        let provider = try OnlineRouteProvider(configuration, token: token, random: SeededRandom(seed: 1))
        let result: Result<OnlineRoutes, DirectionsError>
        do throws(DirectionsError) {
            result = .success(try await provider.routes(Recorded.direct, on: router))
        } catch {
            result = .failure(error)
        }
        return result
    }

    /// Repeats a request if the longest deadline expires on a busy machine.
    private func askPatiently(
        _ ask: () async throws -> Result<OnlineRoutes, DirectionsError>
    ) async throws -> Result<OnlineRoutes, DirectionsError> {
        for _ in 0..<9 {
            let start = ContinuousClock.now
            let result = try await ask()
            if code(result) == nil || ContinuousClock.now - start < .seconds(Self.longestDeadline - 10) {
                return result
            }
        }
        return try await ask()
    }

    private func code(_ result: Result<OnlineRoutes, DirectionsError>) -> DirectionsError.Code? {
        if case .failure(let error) = result { return error.code }
        return nil
    }

    @Test func validAnswerBecomesARoute() async throws {
        let server = try LoopbackServer(.answer(body: try Recorded.bytes("osrm-alternatives")))
        let answer = try await ask(configuration(server.url)).get()
        #expect(answer.routes.count == 2 && answer.attempts == 1)
        #expect(answer.routes.allSatisfy { $0.share > 0.99 })
        #expect(abs((answer.routes.first?.route.duration ?? 0) - 251.4) < 0.5)
        #expect(
            server.requests.count == 1
                && server.requests[0].head.hasPrefix("GET /route/v1/driving/24.946565,60.173182;"))
    }

    @Test func valhallaRequestsUsePOST() async throws {
        let server = try LoopbackServer(.answer(body: try Recorded.bytes("valhalla-alternatives")))
        var configuration = configuration(server.url)
        configuration.dialect = .valhalla
        let answer = try await ask(configuration, token: AccessToken("secret")).get()
        #expect(answer.routes.first.map { abs($0.route.duration - 173.862) < 0.5 } == true)
        let request = try #require(server.requests.first?.text)
        #expect(request.hasPrefix("POST /route HTTP/1.1\r\n") && request.contains("\"format\":\"osrm\""))
        #expect(request.contains("Authorization: Bearer secret\r\n"))
    }

    static let good = Array("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n".utf8)

    @Test(arguments: [
        ("silence", LoopbackServer.Behaviour.silence), ("a head that drips", .drip(good, UInt8(ascii: "a"))),
        ("a body that drips", .drip(good + Array("Content-Length: 100000\r\n\r\n{".utf8), UInt8(ascii: " "))),
    ])
    func stallingProviderTimesOut(name: String, manner: LoopbackServer.Behaviour) async throws {
        let server = try LoopbackServer(manner)
        var configuration = configuration(server.url)
        configuration.deadline = 0.3
        #expect(code(try await ask(configuration)) == .timedOut, "\(name)")
    }

    @Test(
        arguments: [
            ("garbage", [0, 255, 13, 10, 13, 10], [.malformed, .unreachable]),
            ("nothing", [], [.unreachable]),
            ("less than was promised", good + Array("Content-Length: 500\r\n\r\n{".utf8), [.unreachable]),
            ("a portal's page", good + Array("Content-Length: 13\r\n\r\n<html></html>".utf8), [.malformed]),
            ("more than is read", good + Array("Content-Length: 99999999999\r\n\r\n{".utf8), [.tooLarge]),
        ] as [(String, [UInt8], [DirectionsError.Code])])
    func invalidAnswersFail(name: String, bytes: [UInt8], codes: [DirectionsError.Code]) async throws {
        let server = try LoopbackServer(.bytes(bytes))
        let code = try #require(code(try await ask(configuration(server.url))))
        #expect(codes.contains(code), "\(name): \(code)")
    }

    @Test(arguments: HTTPError.Code.allCases)
    func httpFailuresBecomeProviderFailures(code: HTTPError.Code) {
        let error = DirectionsError(HTTPError(code, "why"))
        let isConnection = [.truncated, .tooSlow, .system, .closed].contains(code)
        #expect(error.code.rawValue == (isConnection ? "unreachable" : code.rawValue))
        #expect(error.message.contains("why") && error.message.contains("max_bytes") == (code == .tooLarge))
    }

    @Test(arguments: [301, 302, 307, 308])
    func redirectIsReportedNotFollowed(status: Int) async throws {
        let other = try LoopbackServer(.answer(body: try Recorded.bytes("osrm-alternatives")))
        let server = try LoopbackServer(.answer(status: status, headers: ["Location: \(other.url)/elsewhere"]))
        let result = try await ask(configuration(server.url), token: AccessToken("secret"))
        #expect(code(result) == .redirected && other.requests.isEmpty && server.requests.count == 1)
    }

    @Test(.enabled(if: Nginx.program != nil && SelfSignedCertificate.isPossible, "needs nginx and openssl"))
    func privateAuthorityIsTrustedWhenConfigured() async throws {
        let certificate = try SelfSignedCertificate()
        let folder = "\(TestData.project)/Tests/Fixtures/directions"
        let server = try Nginx(
            serving: folder, "location / { try_files /osrm-alternatives.json =404; }", certificate: certificate.files)
        var configuration = configuration(server.url)
        #expect(code(try await ask(configuration)) == .unreachable)
        configuration.authorities = certificate.certificate
        #expect(try await askPatiently { try await ask(configuration) }.get().routes.count == 2)
        configuration.authorities = folder + "/none.pem"
        #expect(code(try await ask(configuration)) == .configuration)
    }

    @Test func refusedConnectionIsNotATimeout() async throws {
        let code = code(try await askPatiently { try await ask(configuration("http://127.0.0.1:1")) })
        #expect(code == .unreachable)
    }

    @Test func plainServerFailsOverTLS() async throws {
        let server = try LoopbackServer(.answer(body: try Recorded.bytes("osrm-alternatives")))
        var configuration = configuration("https://127.0.0.1:\(server.port)")
        configuration.deadline = 0.5
        let result = try await ask(configuration)
        #expect([.unreachable, .timedOut].contains(code(result)))
    }

    @Test func noMessageContainsTheToken() async throws {
        for manner in [
            LoopbackServer.Behaviour.answer(status: 401), .answer(status: 500), .bytes([1, 2, 3]), .bytes([]),
            .answer(status: 302, headers: ["Location: http://elsewhere.example/?access_token=pk.secret"]),
        ] {
            let server = try LoopbackServer(manner)
            var configuration = configuration(server.url)
            configuration.dialect = .mapbox
            guard case .failure(let error) = try await ask(configuration, token: AccessToken("pk.secret")) else {
                continue
            }
            #expect(!"\(error) \(error.message)".contains("pk.secret"), "\(error)")
            #expect(server.requests.first?.text.contains("access_token=pk.secret") == true)
        }
    }

    // MARK: Retries

    @Test func transientFailureIsRetriedWithinTheDeadline() async throws {
        let body = try Recorded.bytes("osrm-alternatives")
        var count = 0
        let answer = try await askPatiently {
            let server = try LoopbackServer(
                .answer(status: 503, headers: ["Retry-After: 0"]), .bytes([]),
                .answer(status: 429, headers: ["Retry-After: 0"]), .answer(body: body))
            defer { count = server.requests.count }
            var configuration = configuration(server.url)
            configuration.retries = 8
            configuration.firstPause = 0.01
            configuration.attemptTimeout = 30
            return try await ask(configuration)
        }.get()
        // Of the four requests, libcurl itself repeats one after a kept connection closes without a byte.
        #expect((3...4).contains(answer.attempts) && count == 4)
    }

    @Test func permanentFailureIsNotRetried() async throws {
        for (name, code) in [("osrm-no-route", DirectionsError.Code.noRoute), ("osrm-invalid-query", .invalidInput)] {
            let server = try LoopbackServer(.answer(status: 400, body: try Recorded.bytes(name)))
            var configuration = configuration(server.url)
            configuration.retries = 3
            #expect(self.code(try await ask(configuration)) == code && server.requests.count == 1)
        }
    }

    @Test func retryAfterOfProviderIsHonoured() async throws {
        let server = try LoopbackServer(.answer(status: 429, headers: ["Retry-After: 60"]))
        let router = try RealMap.helsinki.get().router()
        var configuration = configuration(server.url)
        configuration.retries = 5
        let provider = try OnlineRouteProvider(configuration)
        let first = await #expect(throws: DirectionsError.self) {
            try await provider.routes(Recorded.direct, on: router)
        }
        #expect(first?.code == .rateLimited && first?.retryAfter == 60)
        let second = await #expect(throws: DirectionsError.self) {
            try await provider.routes(Recorded.direct, on: router)
        }
        #expect(second?.code == .paused)
        #expect((second?.retryAfter ?? 0) > 0 && (provider.rest ?? 0) > 0)
        #expect(server.requests.count == 1)
    }

    @Test func recoveredProviderIsUsedAgain() async throws {
        let body = try Recorded.bytes("osrm-alternatives")
        let server = try LoopbackServer(.answer(status: 500), .answer(status: 500), .answer(body: body))
        let router = try RealMap.helsinki.get().router()
        var configuration = configuration(server.url)
        configuration.failuresToOpen = 2
        configuration.firstOpenTime = 0.1
        let provider = try OnlineRouteProvider(configuration)
        for _ in 0..<2 {
            let error = await #expect(throws: DirectionsError.self) {
                try await provider.routes(Recorded.direct, on: router)
            }
            #expect(error?.code == .server)
        }
        #expect(provider.rest != nil)
        try await eventually("the provider's pause ends") { provider.rest == nil }
        #expect(try await provider.routes(Recorded.direct, on: router).routes.count == 2)
        #expect(provider.rest == nil && server.requests.count == 3)
    }

    // MARK: Cancellation

    @Test func cancelledRequestIsNotAFailure() async throws {
        let server = try LoopbackServer(.silence)
        let router = try RealMap.helsinki.get().router()
        let provider = try OnlineRouteProvider(configuration(server.url))
        for _ in 0..<5 {
            let before = server.requests.count
            let task = Task { () -> DirectionsError.Code? in
                do throws(DirectionsError) {
                    _ = try await provider.routes(Recorded.direct, on: router)
                    return nil
                } catch {
                    return error.code
                }
            }
            try await eventually("the request arrives") { server.requests.count > before }
            task.cancel()
            #expect(await task.value == .cancelled)
        }
        #expect(provider.rest == nil)
    }

    @Test func blockingCallWaitsAndCanBeCancelled() async throws {
        let server = try LoopbackServer(.answer(body: try Recorded.bytes("osrm-alternatives")), .silence)
        let router = try RealMap.helsinki.get().router()
        let provider = try OnlineRouteProvider(configuration(server.url))
        let codes = await withCheckedContinuation { done in
            let thread = Thread {
                let first = code(provider.call(Recorded.direct, on: router).wait())
                let call = provider.call(Recorded.direct, on: router)
                call.cancel()
                done.resume(returning: [first, code(call.wait()), code(call.wait())])
            }
            thread.start()
        }
        #expect(codes == [nil, .cancelled, .cancelled])
    }

    @Test func expiredDeadlineSendsNoRequest() async throws {
        let server = try LoopbackServer(.silence)
        let router = try RealMap.helsinki.get().router()
        let provider = try OnlineRouteProvider(configuration(server.url))
        for deadline in [0, -1, .nan] {
            let error = await #expect(throws: DirectionsError.self) {
                try await provider.routes(Recorded.direct, on: router, deadline: deadline)
            }
            #expect(error?.code == .timedOut)
        }
        #expect(server.requests.isEmpty)
    }
}
