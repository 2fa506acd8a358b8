internal import Foundation
internal import Glibc
internal import NavBench
internal import Synchronization

/// An HTTP server on loopback with scripted behaviour, mostly faults; it stops when its last reference is released.
package final class LoopbackServer: Sendable {
    /// The treatment of a request.
    package enum Behaviour: Sendable {
        /// A complete answer.
        case answer(status: Int = 200, headers: [String] = [], body: [UInt8] = [])
        /// These bytes, then the end of the connection.
        case bytes([UInt8])
        /// These bytes, then one byte sent repeatedly.
        case drip([UInt8], UInt8)
        /// These bytes, then the other bytes repeatedly, as long as the client reads.
        case flood([UInt8], [UInt8])
        /// No answer until the client disconnects.
        case silence
    }

    /// A request as it was received.
    package struct Request: Sendable {
        /// The first line and the headers, with the empty line at their end.
        package var head: String
        /// The body, as long as the headers state.
        package var body: [UInt8] = []

        /// The method, for example `GET`.
        package var method: String { head.split(separator: " ").first.map(String.init) ?? "" }
        /// The requested path, with the query.
        package var path: String { head.split(separator: " ").dropFirst().first.map(String.init) ?? "" }
        /// Head and body.
        package var text: String { head + String(decoding: body, as: UTF8.self) }

        /// Returns a header's value; nil if the header is missing.
        package func header(_ name: String) -> String? {
            for line in head.split(separator: "\r\n") where line.lowercased().hasPrefix(name.lowercased() + ":") {
                return line.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces)
            }
            return nil
        }
    }

    /// The state shared with the serving threads, which do not keep the server alive.
    private final class Shared: Sendable {
        struct State {
            var requests: [Request] = []
            var connections: Set<Int32> = []
            var isClosed = false
        }

        let state = Mutex(State())
    }

    /// The port on which the server listens.
    package let port: UInt16
    private let descriptor: Int32
    private let shared = Shared()

    /// Creates a server with a behaviour chosen for each request.
    ///
    /// - Parameter treat: returns the behaviour for a request and its number from 0.
    /// - Throws: ``Failure`` if no port is available.
    package init(_ treat: @escaping @Sendable (Request, Int) -> Behaviour) throws {
        (descriptor, port) = try LoopbackSocket.listen()
        let (descriptor, shared) = (descriptor, shared)
        Thread.detachNewThread {
            while let connection = LoopbackSocket.accept(on: descriptor) {
                Thread.detachNewThread { Self.serve(connection, shared, treat) }
            }
            // The thread that waits on the socket closes it, because its number may be reused afterwards.
            close(descriptor)
        }
    }

    /// Creates a server with a behaviour for each request in order; the last one applies to all further requests.
    package convenience init(_ first: Behaviour, _ more: Behaviour...) throws {
        let behaviours = [first] + more
        try self.init { _, number in behaviours[min(number, behaviours.count - 1)] }
    }

    /// Creates a server for the files of a folder.
    package convenience init(serving folder: String) throws {
        try self.init { request, _ in
            guard !request.path.contains(".."), let body = FileManager.default.contents(atPath: folder + request.path)
            else { return .answer(status: 404) }
            return .answer(body: [UInt8](body))
        }
    }

    deinit {
        shutdown(descriptor, Int32(SHUT_RDWR))
        shared.state.withLock { state in
            state.isClosed = true
            for connection in state.connections { shutdown(connection, Int32(SHUT_RDWR)) }
        }
    }

    /// The URL up to the path.
    package var url: String { "http://127.0.0.1:\(port)" }

    /// All requests so far.
    package var requests: [Request] { shared.state.withLock { $0.requests } }

    /// Serves one connection until it ends.
    private static func serve(
        _ connection: Int32, _ shared: Shared, _ treat: @Sendable (Request, Int) -> Behaviour
    ) {
        let isOpen = shared.state.withLock { state in
            if !state.isClosed { state.connections.insert(connection) }
            return !state.isClosed
        }
        var reader = RequestReader(connection)
        while isOpen, let request = reader.next() {
            let number = shared.state.withLock { state in
                state.requests.append(request)
                return state.requests.count - 1
            }
            guard treat(request, number).perform(on: connection, asksForHead: request.method == "HEAD") else { break }
        }
        shared.state.withLock { state in
            state.connections.remove(connection)
            close(connection)
        }
    }
}

/// A splitter of a connection's bytes into requests.
private struct RequestReader {
    private let connection: Int32
    private var unread: [UInt8] = []

    init(_ connection: Int32) { self.connection = connection }

    /// Returns the next request; nil when the client disconnects.
    mutating func next() -> LoopbackServer.Request? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            if let request = take() { return request }
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            unread += buffer[..<count]
        }
    }

    /// Returns the request if it has been read completely.
    private mutating func take() -> LoopbackServer.Request? {
        guard let end = unread.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound else { return nil }
        var request = LoopbackServer.Request(head: String(decoding: unread[..<end], as: UTF8.self))
        let length = request.header("Content-Length").flatMap { Int($0) } ?? 0
        guard length >= 0, unread.count - end >= length else { return nil }
        request.body = Array(unread[end..<end + length])
        unread.removeFirst(end + length)
        return request
    }
}

extension LoopbackServer.Behaviour {
    /// Performs the behaviour for a request; returns whether the connection continues.
    fileprivate func perform(on connection: Int32, asksForHead: Bool) -> Bool {
        switch self {
        case .answer(let status, let headers, let body):
            let length = status == 304 ? [] : ["Content-Length: \(body.count)"]
            let head = (["HTTP/1.1 \(status) Said"] + length + headers).joined(separator: "\r\n") + "\r\n\r\n"
            // If an answer has no body, further bytes would be parsed as the next answer.
            return Self.write(Array(head.utf8) + (asksForHead || status == 304 ? [] : body), to: connection)
        case .bytes(let bytes):
            _ = Self.write(bytes, to: connection)
            return false
        case .drip(let bytes, let byte):
            var goesOn = Self.write(bytes, to: connection)
            while goesOn {
                usleep(20_000)
                goesOn = Self.write([byte], to: connection)
            }
            return false
        case .flood(let bytes, let more):
            var goesOn = Self.write(bytes, to: connection)
            while goesOn { goesOn = Self.write(more, to: connection) }
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
