import Foundation
import NavSimulation
import Testing

/// The committed hostile inputs: `zmtp-*` are bytes for a Unix socket; `service-*` are messages with one hexadecimal
/// frame per line (`-` is an empty frame).
enum Corpus {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Corpus")

    static func names(_ prefix: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.hasPrefix(prefix) && $0.hasSuffix(".hex") }.sorted()
    }

    static func frames(_ name: String) throws -> [[UInt8]] {
        let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
        return try text.split(separator: "\n").map { $0 == "-" ? [] : try bytes($0) }
    }

    static func stream(_ name: String) throws -> [UInt8] { try frames(name).flatMap { $0 } }

    private static func bytes(_ line: Substring) throws -> [UInt8] {
        let digits = try line.utf8.map { try #require(Character(UnicodeScalar($0)).hexDigitValue) }
        return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}

extension SeededRandom {
    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }

    /// Returns the bytes with a few changed, removed, duplicated or inserted.
    mutating func mutated(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0...below(4) {
            let at = below(bytes.count)
            switch below(5) {
            case 0 where !bytes.isEmpty: bytes[at] = UInt8(truncatingIfNeeded: next())
            case 1 where !bytes.isEmpty: bytes[at] ^= 1 << UInt8(below(8))
            case 2 where !bytes.isEmpty: bytes.remove(at: at)
            case 3: bytes.insert(contentsOf: bytes.prefix(below(20)), at: at)
            default: bytes.insert([0, 0x7f, 0x80, 0xff][below(4)], at: at)
            }
        }
        return bytes
    }
}

/// A client of a Unix socket that speaks no protocol.
final class RawConnection {
    private let descriptor: Int32

    init?(_ path: String) {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        // If this fails, deinit closes the descriptor, because the object is fully initialized.
        guard withAddress(path, { connect(descriptor, $0, $1) }) == 0 else { return nil }
    }

    deinit { close(descriptor) }

    func write(_ bytes: [UInt8]) { _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }
}

/// A server of a Unix socket that sends the same bytes to every client.
final class RawListener {
    private let descriptor: Int32
    private var accepted: [Int32] = []

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        try #require(withAddress(path) { bind(descriptor, $0, $1) } == 0 && listen(descriptor, 16) == 0)
    }

    deinit { for end in accepted + [descriptor] { close(end) } }

    func answer(_ bytes: [UInt8]) {
        while case let end = accept(descriptor, nil, nil), end >= 0 {
            accepted.append(end)
            _ = send(end, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
        }
    }
}

private func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
}
