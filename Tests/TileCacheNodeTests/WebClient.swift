import Foundation
import Glibc
import NavBench
import NavKit
import NavWire
import TileCacheNode

/// A web client for tests: one connection over a plain socket, on its own thread.
enum TestWeb {
    struct Answer: Sendable {
        var status = 0
        var headers: [String: String] = [:]
        var body: [UInt8] = []
    }

    /// Returns a connection to `HOST:PORT` on this machine; negative when there is none.
    static func connect(_ address: String) -> Int32 {
        let port = UInt16(address.split(separator: ":").last ?? "") ?? 0
        return (try? LoopbackSocket.connect(to: port)) ?? -1
    }

    /// Sends bytes.
    static func send(_ text: String, to descriptor: Int32) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    /// Reads until the peer closes the connection.
    static func drain(_ descriptor: Int32) -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return all }
            all += buffer[..<count]
        }
    }

    /// Runs a blocking call on another thread.
    static func beside<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: body()) }
        }
    }

    /// Sends one request and returns the response.
    static func get(
        _ path: String, at address: String, method: String = "GET", _ headers: [String] = []
    ) async -> Answer {
        let lines = ["\(method) \(path) HTTP/1.1", "Host: \(address)", "Connection: close"] + headers
        return await exchange(lines.joined(separator: "\r\n") + "\r\n\r\n", at: address)
    }

    /// Sends a text and reads until the connection ends.
    static func exchange(_ text: String, at address: String) async -> Answer {
        let bytes = await beside { () -> [UInt8] in
            let descriptor = connect(address)
            guard descriptor >= 0 else { return [] }
            defer { close(descriptor) }
            send(text, to: descriptor)
            return drain(descriptor)
        }
        var answer = Answer()
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return answer }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        answer.status = lines.first.flatMap { Int($0.split(separator: " ").dropFirst().first ?? "") } ?? 0
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            answer.headers[line[..<colon].lowercased()] =
                line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        }
        answer.body = Array(bytes[end.upperBound...])
        return answer
    }

    /// A listening port that never answers.
    final class Silence {
        let port: Int
        private let descriptor: Int32

        init() throws {
            let listener = try LoopbackSocket.listen()
            (descriptor, port) = (listener.descriptor, Int(listener.port))
        }

        deinit { close(descriptor) }

        /// Whether a client has connected.
        var wasReached: Bool {
            var set = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            return poll(&set, 1, 0) > 0
        }
    }
}
