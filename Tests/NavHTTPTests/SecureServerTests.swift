import Foundation
import NavHTTP
import NavTestSystem
import Testing

@Suite(
    "Servers that must present a trusted certificate",
    .enabled(
        if: Nginx.program != nil && SelfSignedCertificate.isPossible,
        "needs nginx (NAVBUS_NGINX names the program) and openssl"))
struct SecureServerTests {
    /// Returns the status of a request to a server with its own certificate.
    private func ask(_ nginx: Nginx, host: String = "127.0.0.1", authorities: String?) async throws -> Int {
        var rules = HTTPConfiguration()
        rules.authorities = authorities
        let address = try #require(HTTPAddress("https://\(host):\(nginx.port)/none"))
        let client = try HTTPClient(rules, for: address)
        let status = try await client.ask(HTTPRequest(address, limit: 1_000)).status
        await client.close()
        return status
    }

    private func failure(_ nginx: Nginx, host: String = "127.0.0.1", authorities: String?) async -> HTTPError? {
        await #expect(throws: HTTPError.self) { try await ask(nginx, host: host, authorities: authorities) }
    }

    private func server(_ certificate: SelfSignedCertificate) throws -> Nginx {
        try Nginx(serving: NSTemporaryDirectory(), certificate: certificate.files)
    }

    @Test("A certificate of an unknown authority is rejected, and accepted once configured")
    func authorities() async throws {
        let certificate = try SelfSignedCertificate()
        let nginx = try server(certificate)
        let refused = await failure(nginx, authorities: nil)
        #expect(refused?.code == .unreachable)
        #expect(refused?.message.contains("certificate") == true)
        let other = try SelfSignedCertificate()
        #expect(await failure(nginx, authorities: other.certificate)?.code == .unreachable)
        #expect(try await ask(nginx, authorities: certificate.certificate) == 404)
    }

    @Test("A certificate for another name is rejected, even of a trusted authority")
    func names() async throws {
        let certificate = try SelfSignedCertificate()
        let nginx = try server(certificate)
        let error = await failure(nginx, host: "localhost", authorities: certificate.certificate)
        #expect(error?.code == .unreachable)
    }

    /// The locations of the redirecting servers: the received credential, and redirects to the other server and back.
    private static let ways = """
        location /key { return 200 "key=$http_x_key"; }
        location /away { return 302 https://127.0.0.1:$arg_to/key; }
        location /detour { return 302 https://127.0.0.1:$arg_to/back?to=$server_port; }
        location /back { if ($http_x_key) { return 403; } return 302 https://127.0.0.1:$arg_to/key; }
        """

    @Test(
        "A credential is sent only to its own origin, also after a redirect to another origin and back",
        arguments: [("away", "key="), ("detour", "key=hidden")])
    func credentials(path: String, answer: String) async throws {
        let certificate = try SelfSignedCertificate()
        let folder = NSTemporaryDirectory()
        let server = try Nginx(serving: folder, Self.ways, certificate: certificate.files)
        let other = try Nginx(serving: folder, Self.ways, certificate: certificate.files)
        var rules = HTTPConfiguration()
        rules.authorities = certificate.certificate
        rules.allowedHosts = ["127.0.0.1"]
        let address = try #require(HTTPAddress("\(server.url)/\(path)?to=\(other.port)"))
        let client = try HTTPClient(rules, for: address)
        var request = HTTPRequest(address, limit: 1_000)
        request.credential = ("X-Key", "hidden")
        let response = try await client.ask(request)
        #expect(response.status == 200 && String(decoding: response.body, as: UTF8.self) == answer)
        await client.close()
    }

    @Test("Without the configured file of authorities no request is sent")
    func noFile() async throws {
        let nginx = try server(try SelfSignedCertificate())
        let error = await failure(nginx, authorities: NSTemporaryDirectory() + "none-\(UUID().uuidString).pem")
        #expect(error?.code == .configuration)
    }
}
