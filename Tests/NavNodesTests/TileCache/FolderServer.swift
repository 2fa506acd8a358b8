import Foundation
import Glibc
import Synchronization

/// An HTTP server on loopback for the files of a folder; it ends with its last reference.
final class FolderServer: Sendable {
    private let descriptor: Int32
    /// Its address.
    let url: String
    private let heard = Mutex<[String]>([])

    init(_ folder: String) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && listen(descriptor, 64) == 0
                    && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isBound else { throw CocoaError(.fileReadUnknown) }
        self.descriptor = descriptor
        url = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
        Thread.detachNewThread { [weak self] in
            while case let connection = accept(descriptor, nil, nil), connection >= 0 {
                Thread.detachNewThread { [weak self] in
                    while let path = self?.hear(connection), Self.answer(connection, folder + path) {}
                    close(connection)
                }
            }
            close(descriptor)
        }
    }

    deinit { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// The paths that were asked for, in order.
    var requests: [String] { heard.withLock { $0 } }

    private func hear(_ connection: Int32) -> String? {
        var text = ""
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while !text.contains("\r\n\r\n") {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            text += String(decoding: buffer[..<count], as: UTF8.self)
        }
        let words = text.split(separator: " ", maxSplits: 2)
        guard words.count == 3, !words[1].contains("..") else { return nil }
        heard.withLock { $0.append(String(words[1])) }
        return String(words[1])
    }

    private static func answer(_ connection: Int32, _ file: String) -> Bool {
        let body = FileManager.default.contents(atPath: file)
        let head = "HTTP/1.1 \(body == nil ? "404 None" : "200 OK")\r\nContent-Length: \(body?.count ?? 0)\r\n\r\n"
        let bytes = Array(head.utf8) + [UInt8](body ?? Data())
        return bytes.withUnsafeBytes { bytes in
            var offset = 0
            while offset < bytes.count {
                let count = send(
                    connection, bytes.baseAddress.map { $0 + offset }, bytes.count - offset, Int32(MSG_NOSIGNAL))
                guard count > 0 else { return false }
                offset += count
            }
            return true
        }
    }
}
