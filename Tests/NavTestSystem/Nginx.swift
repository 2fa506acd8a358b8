internal import Foundation
internal import Glibc
internal import NavBench
internal import NavTestKit

/// A real nginx on loopback that serves a folder.
///
/// It ends when it is stopped, with its last reference, and also when this process does, however that ends.
package final class Nginx: Sendable {
    /// The program that `NAVBUS_NGINX` names, or the installed one; nil when there is none.
    package static let program: String? = [
        ProcessInfo.processInfo.environment["NAVBUS_NGINX"] ?? "/usr/sbin/nginx"
    ].first { FileManager.default.isExecutableFile(atPath: $0) }

    /// What it shows over TLS: paths of PEM files.
    package struct Certificate: Sendable {
        var certificate: String
        var key: String

        /// A certificate and its key.
        package init(_ certificate: String, key: String) { (self.certificate, self.key) = (certificate, key) }
    }

    /// Where it listens.
    package let port: UInt16
    /// What goes before the path.
    package let url: String
    private let scratch: TemporaryFolder
    private var home: String { scratch.path }
    private let process: ChildProcess
    /// What closes when this process ends.
    private let leash: Int32

    /// Whoever waits at the other end of the leash, in nginx's group, ends it.
    private static let watch = #"(read word <&4; kill $$) 3<&- & exec "$@" 4<&-"#

    /// Serves a folder from now on.
    ///
    /// - Parameters:
    ///   - directives: further ones of the server block.
    ///   - certificate: nil to speak without TLS.
    /// - Throws: ``Failure`` with what nginx says when it does not start.
    package init(serving folder: String, _ directives: String = "", certificate: Certificate? = nil) throws {
        guard let program = Self.program else { throw Failure("nginx is not installed") }
        let scratch = try TemporaryFolder()
        let home = scratch.path
        do {
            // A port that was free a moment ago may be another test's by now. So this process takes one, and nginx
            // inherits the socket, as it does from its predecessor when it is replaced by a newer version.
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
            // Where nobody may read but its owner, workers must be its owner.
            let user = getuid() == 0 ? ["-g", "user root;"] : []
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else { throw Failure("no pipe to nginx") }
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

    /// Whoever connects before it serves waits for it; one that cannot serve says why.
    private func awaitStart() throws {
        while !FileManager.default.fileExists(atPath: home + "/pid") {
            guard process.exitStatus == nil else {
                let said = (try? String(contentsOfFile: home + "/start.log", encoding: .utf8)) ?? ""
                throw Failure("nginx does not start: \(said)")
            }
            usleep(5_000)
        }
    }

    /// Ends it at once: whoever is connected is cut off, whoever connects is refused.
    package func stop() {
        // It forgets a signal that comes while it starts its worker.
        while process.exitStatus == nil {
            process.send(SIGTERM)
            usleep(5_000)
        }
    }

    // MARK: What it has served

    /// How many requests it has answered.
    package var answeredCount: Int { answers.count }

    /// The files that it has sent, in order: where they really lie, whatever links lead there.
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
