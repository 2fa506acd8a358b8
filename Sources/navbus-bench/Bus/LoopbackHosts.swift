import Foundation
import NavBus
import NavNodes

// Two workers as two hosts that know each other.
extension BusWorker {
    /// Listens at free ports of loopback and has `other` as its peer; both write where they will be and wait for the
    /// other's word.
    func loopbackHosts(_ name: String, other: String) throws -> HostConfiguration {
        let ports = try Self.freePorts(2)
        let endpoint = "tcp://127.0.0.1:\(ports[0]),\(ports[1])"
        try endpoint.write(toFile: "\(folder)/\(name).endpoint", atomically: true, encoding: .utf8)
        for _ in 0..<1000 {
            if let peer = try? String(contentsOfFile: "\(folder)/\(other).endpoint", encoding: .utf8) {
                return HostConfiguration(
                    listen: try TCPEndpoint(endpoint), peers: [.init(endpoint: try TCPEndpoint(peer), key: nil)],
                    security: .insecure)
            }
            usleep(10_000)
        }
        throw NodeError(.system, "'\(other)' did not say where it listens")
    }

    /// Ports that were free a moment ago, all different.
    private static func freePorts(_ count: Int) throws -> [UInt16] {
        var sockets: [Int32] = []
        defer { for socket in sockets { close(socket) } }
        return try (0..<count).map { _ in
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            guard descriptor >= 0 else { throw NodeError(.system, "there is no socket") }
            sockets.append(descriptor)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let code = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, size) == 0 ? getsockname(descriptor, $0, &size) : -1
                }
            }
            guard code == 0 else { throw NodeError(.system, "there is no free port") }
            return UInt16(bigEndian: address.sin_port)
        }
    }
}
