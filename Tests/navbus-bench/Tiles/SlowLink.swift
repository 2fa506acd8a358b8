import Foundation
import Glibc
import NavBench
import NavBus
import Synchronization

/// A link of a given rate between a client and a server, independent of the client's own limits.
///
/// Data from the server passes packet by packet at that rate, over all connections together, including the headers of
/// Ethernet, IP and TCP; data from the client is delayed by the round-trip time.
final class SlowLink: Sendable {
    /// The port to which the client connects.
    let port: UInt16
    private let server: UInt16
    private let rate: Double
    private let roundTrip: Int64
    private let listener: Int32
    private let state = Mutex(State())

    private struct State {
        /// The time at which the link becomes free, monotonic ns.
        var free: Int64 = 0
        var passed: Int64 = 0
        var connections: Set<Int32> = []
        var isClosed = false
    }

    /// The maximum size of a packet, and the size of its headers, bytes.
    private static let (packet, headers) = (1_448, 66)

    /// - Parameters:
    ///   - bytesPerSecond: the rate of the link.
    ///   - roundTrip: the round-trip time, seconds.
    init(to server: UInt16, bytesPerSecond: Double, roundTrip: Double) throws {
        (listener, port) = try LoopbackSocket.listen()
        self.server = server
        rate = bytesPerSecond
        self.roundTrip = Int64(roundTrip * 1e9)
        Thread.detachNewThread { self.accept() }
    }

    /// The number of bytes transferred, without headers.
    var passed: Int64 { state.withLock { $0.passed } }

    /// Ends all connections.
    func close() {
        let open = state.withLock { state in
            state.isClosed = true
            return state.connections
        }
        for descriptor in open { shutdown(descriptor, Int32(SHUT_RDWR)) }
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func accept() {
        while let client = LoopbackSocket.accept(on: listener) {
            guard let upstream = try? LoopbackSocket.connect(to: server) else {
                Glibc.close(client)
                continue
            }
            let isOpen = state.withLock { state in
                guard !state.isClosed else { return false }
                state.connections.formUnion([client, upstream])
                return true
            }
            guard isOpen else {
                Glibc.close(client)
                Glibc.close(upstream)
                break
            }
            Thread.detachNewThread { self.serve(client, upstream) }
        }
        Glibc.close(listener)
    }

    /// Receives the server's data on this thread, and the client's data on another thread.
    private func serve(_ client: Int32, _ upstream: Int32) {
        let requests = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            self.forward(from: client, to: upstream) { _ in
                sleep(until: Clocks.monotonic() + self.roundTrip)
            }
            requests.signal()
        }
        forward(from: upstream, to: client, waiting: pass)
        requests.wait()
        state.withLock { $0.connections.subtract([client, upstream]) }
        Glibc.close(client)
        Glibc.close(upstream)
    }

    /// Waits until the link has transferred a packet, which is queued behind all others.
    private func pass(_ count: Int) {
        let due = state.withLock { state in
            state.passed += Int64(count)
            state.free = max(state.free, Clocks.monotonic()) + Int64(Double(count + Self.headers) / rate * 1e9)
            return state.free
        }
        sleep(until: due)
    }

    /// Forwards data until one of the two sockets is closed.
    private func forward(from source: Int32, to target: Int32, waiting wait: (Int) -> Void) {
        var buffer = [UInt8](repeating: 0, count: Self.packet)
        reading: while true {
            let count = recv(source, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            wait(count)
            var sent = 0
            while sent < count {
                let written = buffer.withUnsafeBytes { bytes in
                    send(target, bytes.baseAddress?.advanced(by: sent), count - sent, Int32(MSG_NOSIGNAL))
                }
                guard written > 0 else { break reading }
                sent += written
            }
        }
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(target, Int32(SHUT_RDWR))
    }
}
