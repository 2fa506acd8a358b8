internal import Foundation

/// A self-signed certificate for 127.0.0.1 and its key; its files go with its last reference.
package final class SelfSignedCertificate: Sendable {
    private let folder: String

    /// The file of the certificate.
    package var certificate: String { folder + "/certificate.pem" }
    /// The files for a server.
    package var files: Nginx.Certificate { Nginx.Certificate(certificate, key: folder + "/key.pem") }

    /// Whether there is an `openssl` to make one with.
    package static let isPossible = Programs.succeeds("/usr/bin/env", ["openssl", "version"])

    /// Makes a certificate.
    package init() throws {
        folder = NSTemporaryDirectory() + "navbus-certificate-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let arguments = [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "2",
            "-subj", "/CN=navbus test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder + "/key.pem",
            "-out", folder + "/certificate.pem",
        ]
        let run = try Programs.run("/usr/bin/env", arguments)
        guard run.status == 0 else { throw Failure("openssl failed: \(run.errors)") }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }
}
