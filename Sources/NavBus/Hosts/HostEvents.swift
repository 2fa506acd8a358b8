/// Something about other hosts that a log should hold. Repetitions are told once in ten seconds and counted always.
public enum HostEvent: Sendable, Hashable, CustomStringConvertible {
    /// A client proved to have a key that is not allowed.
    case denied(key: CurvePublicKey, address: String)
    /// A connection ended in its handshake: plain, without a key, with a wrong server key, or no bus at all.
    case refused(endpoint: String)
    /// A peer was reached for the first time, or again.
    case peerFound(endpoint: String, node: String, bootID: UInt64)
    /// A peer went or was silent for too long.
    case peerLost(endpoint: String, node: String, reason: String)
    /// A peer is there and does not let this node in, or says what cannot be understood.
    case peerRefused(endpoint: String, reason: String)

    /// One line for a log.
    public var description: String {
        switch self {
        case .denied(let key, let address):
            "denied \(address) with the public key '\(key)': add it to the allowed keys if it may connect"
        case .refused(let endpoint):
            "a connection to \(endpoint) ended in its handshake: it was not encrypted for this host, or no bus node"
        case .peerFound(let endpoint, let node, _): "found node '\(node)' at \(endpoint)"
        case .peerLost(let endpoint, let node, let reason): "lost node '\(node)' at \(endpoint): \(reason)"
        case .peerRefused(let endpoint, let reason): "no use of the peer at \(endpoint): \(reason)"
        }
    }

    /// True for what needs somebody's attention.
    public var isWarning: Bool {
        if case .peerFound = self { return false }
        return true
    }
}

/// A node's counts of its dealings with other hosts since it started.
public struct HostStatistics: Sendable, Hashable {
    /// Connections that came, of all kinds.
    public var connections: UInt64 = 0
    /// Clients turned away because their key is not allowed, or their request for admission was malformed.
    public var denied: UInt64 = 0
    /// Connections that ended in their handshake, the denied included.
    public var refused: UInt64 = 0
    /// Messages of others about themselves that could not be understood.
    public var malformed: UInt64 = 0
    /// Nodes of other hosts that follow this one's announcement now.
    public var watchers = 0
    /// Configured peers.
    public var peers = 0
    /// Those of them that answer now.
    public var peersPresent = 0

    /// Nothing seen.
    public init() {}
}

/// Lets each subject be told once in ten seconds, and few subjects at all.
struct ReportLimiter<Subject: Hashable> {
    /// The time that a subject is not logged again: ten seconds.
    static var pauseNanoseconds: Int64 { 10_000_000_000 }
    /// The most subjects that are remembered; while all are fresh, others are not logged.
    static var capacity: Int { 64 }

    private var told: [(subject: Subject, at: Int64)] = []

    mutating func mayTell(_ subject: Subject, _ now: Int64) -> Bool {
        told.removeAll { now - $0.at >= Self.pauseNanoseconds }
        guard told.count < Self.capacity, !told.contains(where: { $0.subject == subject }) else { return false }
        told.append((subject, now))
        return true
    }
}
