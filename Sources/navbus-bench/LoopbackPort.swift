import Glibc
import NavBench

/// TCP on this machine's own address.
enum LoopbackPort {
    /// A port that nobody listened on a moment ago.
    static func free() throws -> UInt16 {
        let (descriptor, port) = try listen()
        close(descriptor)
        return port
    }

    /// Several of them, all different.
    static func free(_ count: Int) throws -> [UInt16] {
        var taken: [(descriptor: Int32, port: UInt16)] = []
        defer { for socket in taken { close(socket.descriptor) } }
        for _ in 0..<count { taken.append(try listen()) }
        return taken.map(\.port)
    }

    /// A socket that listens, and its port.
    static func listen() throws -> (descriptor: Int32, port: UInt16) {
        let descriptor = try socket()
        var address = address(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isDone = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        guard isDone, Glibc.listen(descriptor, 64) == 0 else {
            close(descriptor)
            throw BenchError("no port of 127.0.0.1 can be listened on: \(String(cString: strerror(errno)))")
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    /// A connection to a port; nil when nobody listens.
    static func connect(_ port: UInt16) -> Int32? {
        guard let descriptor = try? socket() else { return nil }
        var address = address(port)
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if code == 0 { return descriptor }
        close(descriptor)
        return nil
    }

    /// Whether somebody listens.
    static func isOpen(_ port: UInt16) -> Bool {
        guard let descriptor = connect(port) else { return false }
        close(descriptor)
        return true
    }

    private static func socket() throws -> Int32 {
        let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw BenchError("no socket: \(String(cString: strerror(errno)))") }
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
