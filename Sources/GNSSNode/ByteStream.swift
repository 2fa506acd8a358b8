import Foundation
import Glibc
import NavGeo
import NavKit

/// A descriptor for reading bytes, a socket or a serial device, closed with its owner.
final class ByteStream {
    enum Reading {
        case bytes([UInt8])
        case nothing
        case ended(String)
    }

    private let descriptor: Int32

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Connects to a TCP server, waiting at most `timeout` seconds per address, and only while `isWanted`.
    static func connect(
        host: String, port: Int, timeout: Double, while isWanted: () -> Bool
    ) throws(NodeError) -> ByteStream {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        // An IPv6 address is written in brackets, which are not part of it.
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        let status = getaddrinfo(
            isBracketed ? String(host.dropFirst().dropLast()) : host, String(port), &hints, &list)
        guard status == 0 else {
            throw NodeError(.missing, "cannot find host '\(host)': \(String(cString: gai_strerror(status)))")
        }
        defer { freeaddrinfo(list) }
        var reason = "no address"
        var entry = list
        while let address = entry?.pointee {
            let flags = address.ai_socktype | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
            let candidate = socket(address.ai_family, flags, address.ai_protocol)
            if candidate >= 0 {
                let stream = ByteStream(candidate)
                stream.keepAlive()
                if Glibc.connect(candidate, address.ai_addr, address.ai_addrlen) == 0 { return stream }
                if errno == EINPROGRESS, stream.isConnected(within: timeout, while: isWanted) { return stream }
                reason = String(cString: strerror(errno))
            } else {
                reason = String(cString: strerror(errno))
            }
            entry = address.ai_next
        }
        throw NodeError(.system, "cannot connect to \(host):\(port): \(reason)")
    }

    /// Opens a serial device in raw mode.
    static func serial(path: String, baud: Int) throws(NodeError) -> ByteStream {
        let descriptor = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw NodeError(.missing, "cannot open '\(path)': \(String(cString: strerror(errno)))")
        }
        let stream = ByteStream(descriptor)
        var settings = termios()
        // A pipe in place of a device has no speed to set.
        guard tcgetattr(descriptor, &settings) == 0 else { return stream }
        cfmakeraw(&settings)
        settings.c_cflag |= tcflag_t(CLOCAL | CREAD)
        let speed = ByteStream.speed(baud)
        cfsetispeed(&settings, speed)
        cfsetospeed(&settings, speed)
        guard tcsetattr(descriptor, TCSANOW, &settings) == 0 else {
            throw NodeError(.system, "cannot set '\(path)' to \(baud) baud: \(String(cString: strerror(errno)))")
        }
        return stream
    }

    /// Returns the kind of a file, such as `S_IFREG`; nil when it does not exist.
    static func kind(of path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }

    func send(_ bytes: [UInt8]) throws(NodeError) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress?.advanced(by: sent), $0.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count > 0 {
                sent += count
            } else if errno == EAGAIN {
                guard wait(for: POLLOUT, milliseconds: 2_000) else {
                    throw NodeError(.system, "the peer accepts no data")
                }
            } else if errno != EINTR {
                throw NodeError(.system, "cannot send: \(String(cString: strerror(errno)))")
            }
        }
    }

    /// Returns the bytes that have arrived, after waiting at most `milliseconds`.
    func read(milliseconds: Int32) -> Reading {
        guard wait(for: POLLIN, milliseconds: milliseconds) else { return .nothing }
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        let count = buffer.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
        if count > 0 { return .bytes(Array(buffer[..<count])) }
        if count == 0 { return .ended("the other side closed the connection") }
        return errno == EAGAIN || errno == EINTR ? .nothing : .ended(String(cString: strerror(errno)))
    }

    /// Lets the system end a connection whose peer has been silent for 11 s and answers no probe.
    ///
    /// A peer that loses its power or its cable does not close the connection, and this side sends no data whose
    /// failure would reveal it.
    private func keepAlive() {
        for (level, option, value) in [
            (SOL_SOCKET, SO_KEEPALIVE, 1), (Int32(IPPROTO_TCP), TCP_KEEPIDLE, 5),
            (Int32(IPPROTO_TCP), TCP_KEEPINTVL, 2), (Int32(IPPROTO_TCP), TCP_KEEPCNT, 3),
        ] as [(Int32, Int32, Int32)] {
            var value = value
            // The connection also works where the system refuses.
            setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
        }
    }

    private func isConnected(within timeout: Double, while isWanted: () -> Bool) -> Bool {
        let deadline = MonotonicClock.now() + Duration(clampingSeconds: timeout)
        while !wait(for: POLLOUT, milliseconds: 50) {
            guard isWanted(), MonotonicClock.now() < deadline else {
                errno = ETIMEDOUT
                return false
            }
        }
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) == 0 else { return false }
        errno = code
        return code == 0
    }

    private func wait(for events: Int32, milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        return poll(&entry, 1, milliseconds) > 0
    }

    private static func speed(_ baud: Int) -> speed_t {
        switch baud {
        case 4_800: speed_t(B4800)
        case 19_200: speed_t(B19200)
        case 38_400: speed_t(B38400)
        case 57_600: speed_t(B57600)
        case 115_200: speed_t(B115200)
        case 230_400: speed_t(B230400)
        case 460_800: speed_t(B460800)
        default: speed_t(B9600)
        }
    }
}
