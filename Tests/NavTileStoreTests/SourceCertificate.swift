import Foundation

/// A certificate for 127.0.0.1 that nobody vouches for but itself, and its key; gone with its last reference.
final class SourceCertificate: Sendable {
    private let folder: SourceFolder

    var certificate: String { folder.path + "/certificate.pem" }
    var key: String { folder.path + "/key.pem" }

    /// Whether there is an `openssl` to make one with.
    static let isPossible = (try? run(["version"])) != nil

    init() throws {
        folder = try SourceFolder()
        try Self.run([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=navbus test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder.path + "/key.pem",
            "-out", folder.path + "/certificate.pem",
        ])
    }

    private static func run(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw SourceFailure("openssl failed") }
    }
}
