internal import Foundation
internal import Glibc
internal import NavBench
internal import NavTestKit

/// A real nginx on loopback that serves a folder.
///
/// It ends when it is stopped, when its last reference is released, or when this process ends for any reason.
package final class Nginx: Sendable {
    /// The program named by `NAVBUS_NGINX`, otherwise the installed one; nil when there is none.
    package static let program: String? = [
        ProcessInfo.processInfo.environment["NAVBUS_NGINX"] ?? "/usr/sbin/nginx"
    ].first { FileManager.default.isExecutableFile(atPath: $0) }

    /// The TLS identity of the server, as paths of PEM files.
    package struct Certificate: Sendable {
        var certificate: String
        var key: String

        /// Creates an identity from a certificate and its key.
        package init(_ certificate: String, key: String) { (self.certificate, self.key) = (certificate, key) }
    }

    /// The port on which the server listens.
    package let port: UInt16
    /// The URL up to the path.
    package let url: String
    private let scratch: TemporaryFolder
    private var home: String { scratch.path }
    private let process: ChildProcess
    /// A descriptor that closes when this process ends.
    private let leash: Int32

    /// The command of a process in nginx's group that reads the other end of the leash and then ends nginx.
    private static let watch = #"(read word <&4; kill $$) 3<&- & exec "$@" 4<&-"#

    /// Starts serving a folder.
    ///
    /// - Parameters:
    ///   - directives: additional directives of the server block.
    ///   - certificate: the TLS identity; nil to serve without TLS.
    /// - Throws: ``Failure`` with nginx's output if it does not start.
    package init(serving folder: String, _ directives: String = "", certificate: Certificate? = nil) throws {
        guard let program = Self.program else { throw Failure("nginx is not installed") }
        let scratch = try TemporaryFolder()
        let home = scratch.path
        do {
            // Another test could take a free port before nginx binds it, so this process binds the port and nginx
            // inherits the socket, as when nginx is upgraded.
            let (listener, port) = try LoopbackSocket.listen()
            defer { close(listener) }
            _ = fcntl(listener, F_SETFL, O_NONBLOCK)
            let secrets = certificate.map { "ssl_certificate \($0.certificate); ssl_certificate_key \($0.key);" } ?? ""
            let configuration = """
                daemon off; worker_processes 1; pid \(home)/pid; error_log \(home)/error.log warn;
                events { worker_connections 512; }
                http {
                    log_format files '$status $realpath_root $uri'; access_log \(home)/access.log files;
                    sendfile on; tcp_nopush on; keepalive_requests 100000;
                    client_body_temp_path \(home)/body; proxy_temp_path \(home)/proxy;
                    fastcgi_temp_path \(home)/fastcgi; uwsgi_temp_path \(home)/uwsgi; scgi_temp_path \(home)/scgi;
                    types { application/json json; image/png png; application/vnd.mapbox-vector-tile pbf mvt; }
                    default_type application/octet-stream;
                    server {
                        listen 127.0.0.1:\(port)\(certificate == nil ? "" : " ssl"); \(secrets)
                        root \(folder); \(directives)
                    }
                }
                """
            try configuration.write(toFile: home + "/nginx.conf", atomically: true, encoding: .utf8)
            // The workers must run as the owner of files that only the owner may read.
            let user = getuid() == 0 ? ["-g", "user root;"] : []
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else { throw Failure("cannot create a pipe to nginx") }
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            defer { close(ends[0]) }
            leash = ends[1]
            (self.scratch, self.port) = (scratch, port)
            url = "\(certificate == nil ? "http" : "https")://127.0.0.1:\(port)"
            let command = [program, "-p", home, "-c", home + "/nginx.conf", "-e", home + "/start.log"] + user
            process = try ChildProcess(
                ["/bin/sh", "-c", Self.watch, "sh"] + command, environment: ["NGINX": "3;"],
                streams: [nil, nil, nil, listener, ends[0]])
            try awaitStart()
        } catch {
            try? FileManager.default.removeItem(atPath: home)
            throw error
        }
    }

    deinit {
        stop()
        close(leash)
        try? FileManager.default.removeItem(atPath: home)
    }

    /// A client that connects before nginx serves is queued; if nginx cannot serve, it prints the reason.
    private func awaitStart() throws {
        while !FileManager.default.fileExists(atPath: home + "/pid") {
            guard process.exitStatus == nil else {
                let said = (try? String(contentsOfFile: home + "/start.log", encoding: .utf8)) ?? ""
                throw Failure("nginx does not start: \(said)")
            }
            usleep(5_000)
        }
    }

    /// Ends nginx immediately: open connections are cut, and new ones are refused.
    package func stop() {
        // nginx ignores a signal that arrives while it is starting its worker.
        while process.exitStatus == nil {
            process.send(SIGTERM)
            usleep(5_000)
        }
    }

    // MARK: What it has served

    /// The number of answered requests.
    package var answeredCount: Int { answers.count }

    /// The files sent, in order, by their paths with symbolic links resolved.
    package var sentFiles: [String] {
        answers.compactMap { answer in
            let words = answer.split(separator: " ", maxSplits: 2)
            return words.count == 3 && words[0] == "200" ? String(words[1] + words[2]) : nil
        }
    }

    private var answers: [Substring] {
        ((try? String(contentsOfFile: home + "/access.log", encoding: .utf8)) ?? "").split(separator: "\n")
    }
}
