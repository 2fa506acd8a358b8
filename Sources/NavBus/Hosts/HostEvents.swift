/// An event between hosts for the log; repetitions are reported once in ten seconds but always counted.
public enum HostEvent: Sendable, Hashable, CustomStringConvertible {
    /// A client proved that it has a key that is not allowed.
    case denied(key: CurvePublicKey, address: String)
    /// A connection failed its handshake: no encryption, no key, a wrong server key, or not a bus at all.
    case refused(endpoint: String)
    /// The file of allowed keys was read again; `count` keys are allowed now.
    case allowedKeysChanged(path: String, count: Int)
    /// The file of allowed keys changed and cannot be read; the keys read before stay allowed.
    case allowedKeysUnreadable(reason: String)
    /// A peer was reached, for the first time or again.
    case peerFound(endpoint: String, node: String, bootID: UInt64)
    /// A peer left or was silent for too long.
    case peerLost(endpoint: String, node: String, reason: String)
    /// A peer is reachable but refuses this node, or sends something malformed.
    case peerRefused(endpoint: String, reason: String)

    /// One line for a log.
    public var description: String {
        switch self {
        case .denied(let key, let address):
            "denied \(address) with the public key '\(key)': add it to the allowed keys if it may connect"
        case .refused(let endpoint):
            "a connection to \(endpoint) failed in its handshake: it is not encrypted for this host, or not a bus node"
        case .allowedKeysChanged(let path, let count):
            "read the allowed keys again from \(path): \(count) allowed for new connections"
        case .allowedKeysUnreadable(let reason):
            "the allowed keys have changed but are not used, the previous ones stay allowed: \(reason)"
        case .peerFound(let endpoint, let node, _): "found node '\(node)' at \(endpoint)"
        case .peerLost(let endpoint, let node, let reason): "lost node '\(node)' at \(endpoint): \(reason)"
        case .peerRefused(let endpoint, let reason): "the peer at \(endpoint) is not used: \(reason)"
        }
    }

    /// Whether the operator should act on the event.
    public var isWarning: Bool {
        switch self {
        case .peerFound, .allowedKeysChanged: false
        case .denied, .refused, .allowedKeysUnreadable, .peerLost, .peerRefused: true
        }
    }
}

/// A node's counts of its connections with other hosts since it started.
public struct HostStatistics: Sendable, Hashable {
    /// Incoming connections of all kinds.
    public var connections: UInt64 = 0
    /// Clients turned away because their key is not allowed or their authentication request was malformed.
    public var denied: UInt64 = 0
    /// Connections that failed their handshake, including the denied ones.
    public var refused: UInt64 = 0
    /// Malformed messages in which other nodes describe themselves.
    public var malformed: UInt64 = 0
    /// The nodes of other hosts that follow this node's announcement now.
    public var watchers = 0
    /// Configured peers.
    public var peers = 0
    /// The configured peers that answer now.
    public var peersPresent = 0

    /// All counts zero.
    public init() {}
}

/// A limiter that admits one report per subject in ten seconds, for a bounded number of subjects.
struct ReportLimiter<Subject: Hashable & Sendable>: Sendable {
    /// The time for which a subject is not reported again: ten seconds.
    static var pauseNanoseconds: Int64 { 10_000_000_000 }
    /// The most subjects that are remembered; while all are recent, no others are reported.
    static var capacity: Int { 64 }

    private var reported: [(subject: Subject, at: Int64)] = []

    mutating func mayReport(_ subject: Subject, _ now: Int64) -> Bool {
        reported.removeAll { now - $0.at >= Self.pauseNanoseconds }
        guard reported.count < Self.capacity, !reported.contains(where: { $0.subject == subject }) else { return false }
        reported.append((subject, now))
        return true
    }
}
