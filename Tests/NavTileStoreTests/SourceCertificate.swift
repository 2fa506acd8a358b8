import Foundation
import NavTestSystem

/// A certificate for 127.0.0.1 that nobody vouches for but itself, and its key; gone with its last reference.
final class SourceCertificate: Sendable {
    private let folder: SourceFolder

    var certificate: String { folder.path + "/certificate.pem" }
    /// What a server shows.
    var files: Nginx.Certificate { Nginx.Certificate(certificate, key: folder.path + "/key.pem") }

    /// Whether there is an `openssl` to make one with.
    static let isPossible = Programs.succeeds("/usr/bin/env", ["openssl", "version"])

    init() throws {
        folder = try SourceFolder()
        let arguments = [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "2",
            "-subj", "/CN=navbus test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder.path + "/key.pem",
            "-out", folder.path + "/certificate.pem",
        ]
        let run = try Programs.run("/usr/bin/env", arguments)
        guard run.status == 0 else { throw Failure("openssl failed: \(run.errors)") }
    }
}
