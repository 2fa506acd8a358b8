import Foundation
import NavBus
import NavKit

// Two workers as hosts that are peers of each other.
extension BusWorker {
    /// Returns a configuration that listens at free loopback ports and has `other` as a peer; each host writes its
    /// addresses and waits for those of the other.
    func loopbackHosts(_ name: String, other: String) throws -> HostConfiguration {
        let ports = try LoopbackPort.free(2)
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
        throw NodeError(.system, "'\(other)' did not report its address")
    }
}
