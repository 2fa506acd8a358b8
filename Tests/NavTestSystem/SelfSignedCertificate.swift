internal import Foundation
internal import NavTestKit

/// A self-signed certificate for 127.0.0.1 and its key; the files are removed when the last reference is released.
package final class SelfSignedCertificate: Sendable {
    private let folder: TemporaryFolder

    /// The path of the certificate.
    package var certificate: String { folder.path + "/certificate.pem" }
    /// The TLS identity for a server.
    package var files: Nginx.Certificate { Nginx.Certificate(certificate, key: folder.path + "/key.pem") }

    /// Whether `openssl`, which creates the certificates, is available.
    package static let isPossible = Programs.succeeds("/usr/bin/env", ["openssl", "version"])

    /// Creates a certificate.
    package init() throws {
        folder = try TemporaryFolder()
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
