internal import Glibc

/// TCP sockets on this machine's loopback address, which started processes do not inherit.
package enum LoopbackSocket {
    /// Creates a listening socket.
    ///
    /// - Parameter port: the port; 0 for a free one, which stays assigned to the socket.
    /// - Returns: the socket and its port.
    /// - Throws: ``BenchError`` if the port is taken.
    package static func listen(port: UInt16 = 0) throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = try socket()
        // The port is reusable immediately after the socket is closed.
        var isReused: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isReused, socklen_t(MemoryLayout<Int32>.size))
        var address = address(port)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && Glibc.listen(descriptor, 64) == 0
                    && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isListening else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw BenchError("cannot listen on 127.0.0.1: \(reason)")
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    /// Returns the next connection; nil once the listening socket is shut down.
    package static func accept(on descriptor: Int32) -> Int32? {
        while true {
            let connection = Glibc.accept(descriptor, nil, nil)
            if connection >= 0 {
                _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
                return connection
            }
            if errno == EINVAL || errno == EBADF { return nil }
            // Failures of a single connection, or for lack of file descriptors, are temporary.
            usleep(1_000)
        }
    }

    /// Connects to a port.
    ///
    /// - Throws: ``BenchError`` if no process listens on the port.
    package static func connect(to port: UInt16) throws -> Int32 {
        let descriptor = try socket()
        var address = address(port)
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw BenchError("cannot connect to 127.0.0.1:\(port): \(reason)")
        }
        return descriptor
    }

    private static func socket() throws -> Int32 {
        let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw BenchError("cannot create a socket: \(String(cString: strerror(errno)))") }
        return descriptor
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }
}
