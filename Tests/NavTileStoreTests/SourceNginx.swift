import Foundation
import Glibc

/// A real nginx on loopback with its own configuration, ended with its last reference.
final class SourceNginx: Sendable {
    /// The program that NAVBUS_NGINX names, or the installed one; nil when there is none.
    static let program: String? = [ProcessInfo.processInfo.environment["NAVBUS_NGINX"] ?? "/usr/sbin/nginx"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    let port: UInt16
    /// What it serves.
    let root: SourceFolder
    private let home: SourceFolder
    private let process: Process
    private let certificate: SourceCertificate?

    var url: String { "\(certificate == nil ? "http" : "https")://127.0.0.1:\(port)" }

    /// - Parameters:
    ///   - server: further directives of the server block.
    ///   - certificate: what it shows over TLS; nil to speak without.
    init(_ server: String = "", certificate: SourceCertificate? = nil) throws {
        guard let program = Self.program else { throw SourceFailure("nginx is not installed") }
        root = try SourceFolder()
        home = try SourceFolder()
        port = try Self.freePort()
        self.certificate = certificate
        let secrets = certificate.map { "ssl_certificate \($0.certificate); ssl_certificate_key \($0.key);" } ?? ""
        let configuration = """
            daemon off; worker_processes 1; pid \(home.path)/pid; error_log \(home.path)/error.log warn;
            events { worker_connections 512; }
            http {
                access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000;
                client_body_temp_path \(home.path)/body; proxy_temp_path \(home.path)/proxy;
                fastcgi_temp_path \(home.path)/fastcgi; uwsgi_temp_path \(home.path)/uwsgi;
                scgi_temp_path \(home.path)/scgi;
                types { application/json json; image/png png; application/vnd.mapbox-vector-tile pbf mvt; }
                default_type application/octet-stream;
                server { listen 127.0.0.1:\(port)\(certificate == nil ? "" : " ssl"); \(secrets) root \(root.path); \(server) }
            }
            """
        try home.write("nginx.conf", Array(configuration.utf8))
        // Where nobody may read but its owner, workers must be its owner.
        let user = getuid() == 0 ? "user root;" : ""
        process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = [
            "-p", home.path, "-c", home.path + "/nginx.conf", "-e", home.path + "/start.log", "-g", user,
        ]
        process.standardError = FileHandle.nullDevice
        try process.run()
        for _ in 0..<500 where !Self.isOpen(port) { usleep(10_000) }
        guard Self.isOpen(port) else { throw SourceFailure("nginx does not listen: see \(home.path)/start.log") }
    }

    deinit { stop() }

    func stop() {
        guard process.isRunning else { return }
        process.terminate()
        process.waitUntilExit()
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }

    private static func isOpen(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = address(port)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    private static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = address(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isBound else { throw SourceFailure("no free port") }
        return UInt16(bigEndian: address.sin_port)
    }
}
