import Foundation
import NavTestSystem
import NavTileStore
import Testing

@Suite(
    "Servers that must show who they are",
    .enabled(
        if: Nginx.program != nil && SourceCertificate.isPossible,
        "needs nginx (NAVBUS_NGINX names the program) and openssl"))
struct SourceSecureTests {
    private static let tile = SourceFixture.tile(1, 0, 0)

    /// What becomes of a question to a server with a certificate of its own.
    private func ask(
        _ nginx: Nginx, host: String = "127.0.0.1", authorities: String?
    ) async throws -> Result<TileAnswer, TileSourceError> {
        var configuration = TileSourceConfiguration(
            "map", .maps, address: "https://\(host):\(nginx.port)/{z}/{x}/{y}.pbf")
        configuration.authorities = authorities
        let source = try configuration.open()
        let answer: Result<TileAnswer, TileSourceError>
        do throws(TileSourceError) {
            answer = .success(try await source.fetch(Self.tile, edition: nil, known: nil, meter: nil))
        } catch {
            answer = .failure(error)
        }
        await source.close()
        return answer
    }

    private func failure(_ answer: Result<TileAnswer, TileSourceError>) -> TileSourceError? {
        if case .failure(let error) = answer { error } else { nil }
    }

    @Test("A certificate that no authority vouches for is refused, and believed when its owner names it")
    func authorities() async throws {
        let certificate = try SourceCertificate()
        let site = try SourceFolder()
        let nginx = try Nginx(serving: site.path, certificate: certificate.files)
        let bytes = SourceFixture.vectorTile(100_000)
        try site.write("1/0/0.pbf", bytes)
        let refused = failure(try await ask(nginx, authorities: nil))
        #expect(refused?.code == .unreachable)
        #expect(refused?.message.contains("certificate") == true)
        let other = try SourceCertificate()
        #expect(failure(try await ask(nginx, authorities: other.certificate))?.code == .unreachable)
        let answer = try await ask(nginx, authorities: certificate.certificate).get()
        #expect(answer.tile?.parts.map(\.data) == [bytes])
    }

    @Test("A certificate for another name is refused, whoever vouches for it")
    func names() async throws {
        let certificate = try SourceCertificate()
        let site = try SourceFolder()
        let nginx = try Nginx(serving: site.path, certificate: certificate.files)
        let error = failure(try await ask(nginx, host: "localhost", authorities: certificate.certificate))
        #expect(error?.code == .unreachable)
    }

    @Test("Without the file of authorities nobody is asked")
    func noFile() async throws {
        let site = try SourceFolder()
        let certificate = try SourceCertificate()
        let nginx = try Nginx(serving: site.path, certificate: certificate.files)
        let error = failure(try await ask(nginx, authorities: site.path + "/none.pem"))
        #expect(error?.code == .configuration)
    }
}
