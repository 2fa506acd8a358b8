/// The configuration of a node's connections with other hosts, see <doc:Hosts>.
public struct HostConfiguration: Sendable {
    /// A node of another host.
    public struct Peer: Sendable, Hashable {
        /// The address that the peer listens on.
        public var endpoint: TCPEndpoint
        /// The public key of the peer's host; nil only on an insecure network.
        public var key: CurvePublicKey?

        /// A peer at an endpoint.
        public init(endpoint: TCPEndpoint, key: CurvePublicKey?) { (self.endpoint, self.key) = (endpoint, key) }
    }

    /// The method by which unknown hosts are kept out.
    public enum Security: Sendable {
        /// Every connection is encrypted, and clients are identified by their public keys.
        case curve(CurveKeyPair, allowed: Set<CurvePublicKey>)
        /// Plain TCP: any machine that reaches the ports can read and write the bus.
        case insecure
    }

    /// The most peers of a node.
    public static let maximumPeers = 64

    /// The address at which other hosts reach this node; nil when it does not listen.
    public var listen: TCPEndpoint?
    /// The nodes of other hosts that this node connects to.
    public var peers: [Peer]
    /// The method by which unknown hosts are kept out.
    public var security: Security
    /// A file of further allowed keys, as ``CurvePublicKey/list(contentsOf:)`` reads it; nil for none.
    ///
    /// It is read when the node joins the bus, and again after a change when a host connects.
    public var allowedKeysFile: String?
    /// The largest message accepted from a caller on another host, in bytes: 8 MiB, twice a request's default limit.
    public var maximumRequestSize = 8 << 20
    /// Receives connection events on a thread of the bus; it must return soon and not call the node.
    public var onEvent: (@Sendable (HostEvent) -> Void)?

    /// Creates a configuration; it is checked when the node joins the bus.
    public init(listen: TCPEndpoint? = nil, peers: [Peer] = [], security: Security) {
        (self.listen, self.peers, self.security) = (listen, peers, security)
    }

    var isSecure: Bool {
        if case .curve = security { return true }
        return false
    }

    /// Returns the allowed keys, including those in the file now.
    func allowedKeys() throws(BusError) -> AllowedKeys {
        guard case .curve(_, let allowed) = security else { return try AllowedKeys([], file: nil) }
        return try AllowedKeys(allowed, file: allowedKeysFile)
    }

    /// Checks everything that needs no socket, as a node does when it joins the bus.
    package func check() throws(BusError) {
        guard peers.count <= Self.maximumPeers else {
            throw BusError(.invalidArgument, "a node has at most \(Self.maximumPeers) peers, not \(peers.count)")
        }
        guard (1...BusConfiguration.maximumMessageSizeLimit).contains(maximumRequestSize) else {
            throw BusError(.invalidArgument, "maximumRequestSize must be 1 byte to 1 GiB, not \(maximumRequestSize)")
        }
        for peer in peers where peer.endpoint.address == "*" || peer.endpoint.port == 0 {
            throw BusError(.invalidArgument, "the peer \(peer.endpoint) needs an address and a port to connect to")
        }
        guard isSecure else { return }
        try CurveKeyPair.checkCurve()
        let allowed = try allowedKeys()
        if let listen, allowed.keys.isEmpty {
            throw BusError(
                .invalidArgument,
                "no host may connect to \(listen): list the public keys of the other hosts as allowed keys")
        }
        for peer in peers where peer.key == nil {
            throw BusError(
                .invalidArgument,
                "the peer \(peer.endpoint) needs its host's public key (the .pub file that `navbus keygen` wrote there)"
            )
        }
    }
}
