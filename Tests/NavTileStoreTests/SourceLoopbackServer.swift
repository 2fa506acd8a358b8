import Foundation
import Glibc
import Synchronization

/// An HTTP server on loopback that does as it is told, wrong things above all; it ends with its last reference.
final class SourceLoopbackServer: Sendable {
    /// What becomes of a request.
    enum Manner: Sendable {
        /// A whole answer.
        case answer(status: Int = 200, headers: [String] = [], body: [UInt8] = [])
        /// These bytes, and the end of the connection.
        case bytes([UInt8])
        /// These bytes, then some byte again and again.
        case drip([UInt8], UInt8)
        /// These bytes, then as many of the others, again and again, as are taken.
        case flood([UInt8], [UInt8])
        /// Nothing, until the other side leaves.
        case silence
    }

    /// A request's first line and headers.
    struct Request: Sendable {
        var text: String

        var path: String { text.split(separator: " ").dropFirst().first.map(String.init) ?? "" }
        var method: String { text.split(separator: " ").first.map(String.init) ?? "" }

        func header(_ name: String) -> String? {
            for line in text.split(separator: "\r\n") where line.lowercased().hasPrefix(name.lowercased() + ":") {
                return line.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces)
            }
            return nil
        }
    }

    private let descriptor: Int32
    let port: UInt16
    private let heard = Mutex<[Request]>([])

    /// - Parameter treat: how to treat a request, and its number from 0.
    init(_ treat: @escaping @Sendable (Request, Int) -> Manner) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && listen(descriptor, 64) == 0
                    && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard descriptor >= 0, isBound else { throw SourceFailure("no socket to listen on") }
        port = UInt16(bigEndian: address.sin_port)
        let thread = Thread { [weak self] in
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else {
                    // Whoever waits on it closes it: its number is another socket's from then on.
                    close(descriptor)
                    return
                }
                guard self != nil else {
                    close(connection)
                    continue
                }
                let serve = Thread { [weak self] in
                    while let request = self?.hear(connection) {
                        guard Self.send(treat(request.0, request.1), to: connection) else { break }
                    }
                    close(connection)
                }
                serve.start()
            }
        }
        thread.start()
    }

    /// Answers all requests in one manner.
    convenience init(_ manner: Manner) throws { try self.init { _, _ in manner } }

    deinit { shutdown(descriptor, Int32(SHUT_RDWR)) }

    var url: String { "http://127.0.0.1:\(port)" }
    var requests: [Request] { heard.withLock { $0 } }

    private func hear(_ connection: Int32) -> (Request, Int)? {
        var text = ""
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !text.contains("\r\n\r\n") {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            text += String(decoding: buffer[..<count], as: UTF8.self)
        }
        let request = Request(text: text)
        return heard.withLock { heard in
            heard.append(request)
            return (request, heard.count - 1)
        }
    }

    /// Whether the connection goes on.
    private static func send(_ manner: Manner, to connection: Int32) -> Bool {
        switch manner {
        case .answer(let status, let headers, let body):
            let lines = ["HTTP/1.1 \(status) Said"] + (status == 304 ? [] : ["Content-Length: \(body.count)"]) + headers
            return write(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body, to: connection)
        case .bytes(let bytes):
            _ = write(bytes, to: connection)
            return false
        case .drip(let bytes, let byte):
            var goesOn = write(bytes, to: connection)
            while goesOn {
                usleep(20_000)
                goesOn = write([byte], to: connection)
            }
            return false
        case .flood(let bytes, let more):
            var goesOn = write(bytes, to: connection)
            while goesOn { goesOn = write(more, to: connection) }
            return false
        case .silence:
            var byte: UInt8 = 0
            while recv(connection, &byte, 1, 0) > 0 {}
            return false
        }
    }

    private static func write(_ bytes: [UInt8], to connection: Int32) -> Bool {
        var offset = 0
        while offset < bytes.count {
            let count = bytes[offset...].withUnsafeBytes {
                Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            offset += count
        }
        return true
    }
}

struct SourceFailure: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
