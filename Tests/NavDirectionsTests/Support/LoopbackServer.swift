import Foundation
import Glibc
import Synchronization

/// An HTTP server on loopback that does as it is told, wrong things above all; it ends with its last reference.
final class LoopbackServer: Sendable {
    /// What becomes of a request.
    enum Manner: Sendable {
        /// A whole answer.
        case answer(status: Int = 200, headers: [String] = [], body: Data = Data())
        /// These bytes, and the end of the connection.
        case bytes([UInt8])
        /// These bytes, then some byte again and again.
        case drip([UInt8], UInt8)
        /// These bytes, then as many of them again as are taken.
        case flood([UInt8], [UInt8])
        /// Nothing, until the other side leaves.
        case silence
    }

    private let descriptor: Int32
    /// Where it listens.
    let port: UInt16
    private let manners: Mutex<[Manner]>
    private let heard = Mutex<[String]>([])

    /// A server that treats its first request in the first manner, and so on; the last one holds on.
    init(_ manners: Manner...) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard descriptor >= 0, bound else { throw Failure("no socket to listen on") }
        port = UInt16(bigEndian: address.sin_port)
        self.manners = Mutex(manners)
        let thread = Thread { [weak self] in
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else {
                    // Whoever waits on it closes it: its number is another socket's from then on.
                    close(descriptor)
                    return
                }
                guard let self else {
                    close(connection)
                    continue
                }
                let serve = Thread { [weak self] in
                    while let manner = self?.next(connection), LoopbackServer.send(manner, to: connection) {}
                    close(connection)
                }
                serve.start()
            }
        }
        thread.start()
    }

    deinit { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// What goes before the path.
    var url: String { "http://127.0.0.1:\(port)" }

    /// The requests, heads and bodies.
    var requests: [String] { heard.withLock { $0 } }

    /// Reads a request and says how to treat it; nil when there is none.
    private func next(_ connection: Int32) -> Manner? {
        var text = ""
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !LoopbackServer.isWhole(text) {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            text += String(decoding: buffer[..<count], as: UTF8.self)
        }
        heard.withLock { $0.append(text) }
        return manners.withLock { $0.count > 1 ? $0.removeFirst() : $0.first }
    }

    private static func isWhole(_ text: String) -> Bool {
        guard let end = text.range(of: "\r\n\r\n") else { return false }
        let length = text[..<end.lowerBound].lowercased().split(separator: "\r\n").compactMap { line in
            line.hasPrefix("content-length:") ? Int(line.dropFirst(15).trimmingCharacters(in: .whitespaces)) : nil
        }.first
        return text[end.upperBound...].utf8.count >= length ?? 0
    }

    /// Whether the connection goes on.
    private static func send(_ manner: Manner, to connection: Int32) -> Bool {
        switch manner {
        case .answer(let status, let headers, let body):
            let head = (["HTTP/1.1 \(status) Said", "Content-Length: \(body.count)"] + headers).joined(
                separator: "\r\n")
            return write(Array("\(head)\r\n\r\n".utf8) + body, to: connection)
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
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }
}
