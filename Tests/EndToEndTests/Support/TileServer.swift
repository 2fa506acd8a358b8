import Foundation
import Glibc

/// A real nginx on loopback that serves a folder; it ends with its sandbox, or when it is stopped.
final class TileServer: Sendable {
    private static let program = ProcessInfo.processInfo.environment["NAVBUS_NGINX"] ?? "/usr/sbin/nginx"
    /// Whether there is one on this machine.
    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: program) }

    private let port: UInt16
    private let log: String
    private let process: Program

    /// Where the folder is.
    var url: String { "http://127.0.0.1:\(port)" }

    /// Serves a folder from now on.
    ///
    /// - Parameter directives: What nginx is told besides, of the server.
    init(serving folder: String, in box: Sandbox, directives: String = "") async throws {
        port = try Self.freePort()
        log = box.path + "/access.log"
        let home = box.path + "/nginx"
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: false)
        let configuration = try box.write(
            "nginx.conf",
            """
            daemon off; worker_processes 1; pid \(home)/pid; error_log \(home)/error.log warn;
            events { worker_connections 256; }
            http {
                log_format tiles '$status $realpath_root $uri'; access_log \(log) tiles;
                client_body_temp_path \(home)/body; proxy_temp_path \(home)/proxy;
                fastcgi_temp_path \(home)/fastcgi; uwsgi_temp_path \(home)/uwsgi; scgi_temp_path \(home)/scgi;
                types { application/json json; }
                default_type application/octet-stream;
                server { listen 127.0.0.1:\(port); root \(folder); \(directives) }
            }
            """)
        // Where nobody may read but its owner, workers must be its owner.
        let user = getuid() == 0 ? ["-g", "user root;"] : []
        process = try box.start(Self.program, ["-p", home, "-c", configuration, "-e", home + "/start.log"] + user)
        let address = Self.address(port)
        try await eventually("nginx listens on port \(port)") { Self.isOpen(address) }
    }

    /// Ends it at once: whoever is connected is cut off.
    func stop() async throws {
        process.send(SIGTERM)
        _ = try await process.wait()
    }

    /// How many requests it has answered.
    var answeredCount: Int { (readFile(log) ?? "").split(separator: "\n").count }

    /// The files that it has sent, in order: where they really lie, whatever links lead there.
    var sentFiles: [String] {
        (readFile(log) ?? "").split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ", maxSplits: 2)
            return words.count == 3 && words[0] == "200" ? String(words[1] + words[2]) : nil
        }
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }

    private static func isOpen(_ address: sockaddr_in) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        return withUnsafePointer(to: address) { pointer in
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
        guard isBound else { throw Failure("no free port") }
        return UInt16(bigEndian: address.sin_port)
    }
}
