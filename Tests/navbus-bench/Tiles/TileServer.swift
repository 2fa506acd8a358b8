import Foundation
import NavBench
import NavBus
import NavKit
import TileCacheNode

/// An nginx that serves a folder of tiles, reachable only from this machine; it ends with the measurement.
final class TileServer {
    /// The port on which nginx listens.
    let port: UInt16
    /// The folder that nginx serves in addition to the given locations.
    var root: String { workers.folder + "/www" }
    var url: String { "http://127.0.0.1:\(port)" }
    private let workers: Workers

    /// Starts nginx.
    ///
    /// - Parameter locations: additional directives of the server block.
    init(_ program: String, locations: String = "") throws {
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw NodeError(.missing, "'\(program)' is missing: install nginx or pass --nginx")
        }
        workers = try Workers()
        port = try LoopbackPort.free()
        let home = workers.folder
        try FileManager.default.createDirectory(atPath: home + "/www", withIntermediateDirectories: true)
        // A single process, so that none remains when it is killed; as root, nginx must keep its privileges to read
        // files of root.
        let configuration = """
            \(getuid() == 0 ? "user root;" : "")
            daemon off; master_process off; pid \(home)/pid; error_log \(home)/error.log warn;
            events { worker_connections 512; }
            http {
                access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
                client_body_temp_path \(home)/body; proxy_temp_path \(home)/proxy;
                fastcgi_temp_path \(home)/fastcgi; uwsgi_temp_path \(home)/uwsgi; scgi_temp_path \(home)/scgi;
                types { application/json json; application/vnd.mapbox-vector-tile pbf; }
                default_type application/octet-stream;
                server { listen 127.0.0.1:\(port); root \(home)/www; \(locations) }
            }
            """
        try configuration.write(toFile: home + "/nginx.conf", atomically: true, encoding: .utf8)
        try workers.start("nginx", [program, "-p", home, "-c", home + "/nginx.conf", "-e", home + "/start.log"])
        let deadline = Clocks.monotonic() + 10_000_000_000
        while !LoopbackPort.isOpen(port) {
            guard Clocks.monotonic() < deadline else {
                let log = (try? String(contentsOfFile: home + "/start.log", encoding: .utf8)) ?? ""
                throw BenchError("nginx did not listen within 10 s\n\(log)")
            }
            sleep(until: Clocks.monotonic() + 10_000_000)
        }
    }
}
