import Foundation
import Glibc
import NavBench
import NavTestSystem
import Synchronization

/// A TCP server that speaks gpsd's protocol with recorded reports: greeting, `?WATCH`, reports.
final class GPSDServer: Sendable {
    let port: UInt16
    private let listener: Int32
    private let client = Mutex<Int32>(-1)
    private let requests = Mutex<String>("")
    private let finished = DispatchSemaphore(value: 0)
    private let isStopped = Atomic<Bool>(false)

    /// Serves `reports` to one client at a time, always from the beginning, until the server is stopped.
    ///
    /// - Parameter port: the port, or 0 for a free one.
    init(_ reports: [UInt8], port wanted: UInt16 = 0) throws {
        (listener, port) = try LoopbackSocket.listen(port: wanted)
        Thread { [self] in serve(reports) }.start()
    }

    /// The requests of the clients so far.
    var asked: String { requests.withLock { $0 } }

    /// Closes every connection and the port, like a crashed daemon.
    func stop() {
        guard !isStopped.exchange(true, ordering: .relaxed) else { return }
        shutdown(listener, Int32(SHUT_RDWR))
        client.withLock { if $0 >= 0 { shutdown($0, Int32(SHUT_RDWR)) } }
        finished.wait()
        close(listener)
    }

    private func serve(_ reports: [UInt8]) {
        defer { finished.signal() }
        while !isStopped.load(ordering: .relaxed) {
            guard let connection = LoopbackSocket.accept(on: listener) else { return }
            client.withLock { $0 = connection }
            talk(connection, reports)
            client.withLock { $0 = -1 }
            close(connection)
        }
    }

    private func talk(_ connection: Int32, _ reports: [UInt8]) {
        let greeting = #"{"class":"VERSION","release":"3.22","rev":"3.22","proto_major":3,"proto_minor":14}"#
        guard write(Array((greeting + "\r\n").utf8), to: connection) else { return }
        var request = ""
        var buffer = [UInt8](repeating: 0, count: 1_024)
        while !request.contains("?WATCH") || !request.contains("}") {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            request += String(decoding: buffer[..<count], as: UTF8.self)
        }
        requests.withLock { $0 += request }
        // One report at a time, as from a receiver, so that subscribers of the client have time to connect.
        for report in reports.split(separator: UInt8(ascii: "\n")) {
            guard !isStopped.load(ordering: .relaxed), write(report + [UInt8(ascii: "\n")], to: connection) else {
                return
            }
            usleep(5_000)
        }
        // The connection stays open until the client closes it or the server is stopped.
        while recv(connection, &buffer, buffer.count, 0) > 0 {}
    }

    private func write(_ bytes: some Collection<UInt8>, to connection: Int32) -> Bool {
        let bytes = Array(bytes)
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes {
                send(connection, $0.baseAddress?.advanced(by: offset), $0.count - offset, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            offset += count
        }
        return true
    }
}

/// A pseudo-terminal whose device acts as the port of a serial receiver.
final class SerialReceiver {
    let device: String
    private let descriptor: Int32
    /// A descriptor of the device itself, which keeps the line up while no reader is connected.
    private let plug: Int32

    init() throws {
        var (line, terminal) = (Int32(-1), Int32(-1))
        var name = [CChar](repeating: 0, count: 128)
        guard openpty(&line, &terminal, &name, nil, nil) == 0 else { throw Failure("cannot create a pseudo-terminal") }
        [line, terminal].forEach(closeOnExec)
        _ = fcntl(line, F_SETFL, O_NONBLOCK)
        (descriptor, plug) = (line, terminal)
        device = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        close(descriptor)
        close(plug)
    }

    /// Sends as much as fits into the line; the rest is lost, as with a real receiver whose reader is too slow.
    func send(_ text: String) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    }
}

private func closeOnExec(_ descriptor: Int32) { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
