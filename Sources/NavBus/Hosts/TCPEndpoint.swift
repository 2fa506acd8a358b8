internal import Glibc

/// An address at which other hosts reach a node: `tcp://ADDRESS:PORT` or `tcp://ADDRESS:PORT,PUBPORT`.
///
/// `PORT` carries calls and announcements. `PUBPORT` carries topics and defaults to the next port, so that a firewall
/// needs only two fixed ports. The address is numeric, IPv6 in brackets: a host name would be resolved on the thread that
/// carries the traffic, which would stall while the name server is unreachable.
public struct TCPEndpoint: Sendable, Hashable, CustomStringConvertible {
    /// A numeric IPv4 or IPv6 address in its canonical form, without brackets, or `*` for all addresses of the machine.
    public let address: String
    /// The port of calls and announcements; 0 for a free one chosen by the system.
    public let port: UInt16
    /// The port of topics; 0 for a free one chosen by the system.
    public let publisherPort: UInt16

    /// Parses `tcp://ADDRESS:PORT` or `tcp://ADDRESS:PORT,PUBPORT`.
    public init(_ text: String) throws(BusError) {
        guard let parsed = Self.parse(text) else {
            throw BusError(
                .invalidArgument,
                "'\(text.prefix(100))' is not an endpoint: write tcp://ADDRESS:PORT with a numeric address, such as "
                    + "tcp://192.168.1.10:7600 or tcp://[fd00::10]:7600; topics use the next port, or the one given "
                    + "after a comma")
        }
        self = parsed
    }

    init(address: String, port: UInt16, publisherPort: UInt16) {
        (self.address, self.port, self.publisherPort) = (address, port, publisherPort)
    }

    private static func parse(_ text: String) -> TCPEndpoint? {
        guard text.utf8.count <= 100, text.hasPrefix("tcp://") else { return nil }
        let text = text.dropFirst("tcp://".count)
        guard let colon = text.lastIndex(of: ":") else { return nil }
        var address = String(text[..<colon])
        if address.hasPrefix("["), address.hasSuffix("]"), address.count > 2 {
            guard let canonical = canonical(String(address.dropFirst().dropLast()), AF_INET6) else { return nil }
            address = canonical
        } else if address != "*" {
            guard let canonical = canonical(address, AF_INET) else { return nil }
            address = canonical
        }
        let ports = text[text.index(after: colon)...].split(separator: ",", omittingEmptySubsequences: false)
        guard ports.count <= 2, let first = ports.first.flatMap(port) else { return nil }
        if ports.count == 2 {
            guard let second = port(ports[1]), second != first || first == 0 else { return nil }
            return TCPEndpoint(address: address, port: first, publisherPort: second)
        }
        guard first < UInt16.max else { return nil }
        return TCPEndpoint(address: address, port: first, publisherPort: first == 0 ? 0 : first + 1)
    }

    /// Parses a port made of digits only; `UInt16` would also accept a sign.
    private static func port(_ text: Substring) -> UInt16? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? UInt16(text) : nil
    }

    /// Returns an address as ZeroMQ's events write it, so that both can be compared; nil for anything else.
    private static func canonical(_ text: String, _ family: Int32) -> String? {
        var address = in6_addr()
        var name = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_pton(family, text, &address) == 1,
            inet_ntop(family, &address, &name, socklen_t(name.count)) != nil
        else { return nil }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Returns the port in `tcp://*:PORT`, as announcements write it; nil for anything else.
    static func announcedPort(_ text: String) -> UInt16? {
        guard text.hasPrefix("tcp://*:") else { return nil }
        return port(text.dropFirst(8)).flatMap { $0 > 0 ? $0 : nil }
    }

    var isIPv6: Bool { address.contains(":") }

    /// Returns the endpoint of a port at this address, as ZeroMQ writes it.
    func socketEndpoint(_ port: UInt16) -> String {
        let host = isIPv6 ? "[\(address)]" : address
        return "tcp://\(host):\(port == 0 ? "*" : String(port))"
    }

    /// The endpoint in the notation of a configuration.
    public var description: String {
        let first = "tcp://\(isIPv6 ? "[\(address)]" : address):\(port)"
        return publisherPort == (port == 0 ? 0 : port &+ 1) ? first : "\(first),\(publisherPort)"
    }
}
