import Glibc
import NavBench

/// Free loopback ports for programs that take a port as an argument.
enum LoopbackPort {
    /// Returns a port that is currently free.
    static func free() throws -> UInt16 {
        let (descriptor, port) = try LoopbackSocket.listen()
        close(descriptor)
        return port
    }

    /// Returns several ports, all different.
    static func free(_ count: Int) throws -> [UInt16] {
        var taken: [(descriptor: Int32, port: UInt16)] = []
        defer { for socket in taken { close(socket.descriptor) } }
        for _ in 0..<count { taken.append(try LoopbackSocket.listen()) }
        return taken.map(\.port)
    }

    /// Whether a process listens on a port.
    static func isOpen(_ port: UInt16) -> Bool {
        guard let descriptor = try? LoopbackSocket.connect(to: port) else { return false }
        close(descriptor)
        return true
    }
}
