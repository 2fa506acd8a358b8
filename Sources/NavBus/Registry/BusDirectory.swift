internal import Glibc

/// The directory of a domain, in which its nodes find each other: `<path>/<domain>/<node>/`.
///
/// Every live node owns one directory:
///
/// | entry | what it is |
/// |---|---|
/// | `lock` | held with `flock` while the node lives; its text is the process id |
/// | `announcement.json` | what the node publishes, see ``Announcement``; replaced whole by rename |
/// | `pub` | Unix socket, ZeroMQ XPUB |
/// | `rpc` | Unix socket, ZeroMQ ROUTER, when the node serves something |
///
/// A directory whose lock is free is left over from a crash; readers ignore it and the next node removes it.
///
/// Once a node has announced itself, others briefly take its lock in shared mode to check whether it is alive. Therefore a node that claims
/// the name of a crashed one retries for a second before it accepts a refusal.
public struct BusDirectory: Sendable, Hashable {
    /// The longest path of a Unix socket, in bytes: `sun_path` less its NUL (unix(7)).
    public static let maximumSocketPathLength = 107

    /// The directory of all domains, without a trailing slash.
    public let path: String

    /// The domain: nodes of different domains cannot see each other.
    public let domain: String

    /// Whether this is the default location, whose mode must be 0700; a configured path only must not be writable by other
    /// users.
    let isPrivate: Bool

    /// Creates a registry at an absolute `path`; nothing is created on disk yet.
    public init(path: String, domain: String = "0") throws(BusError) {
        try self.init(path: path, domain: domain, isPrivate: false)
    }

    private init(path: String, domain: String, isPrivate: Bool) throws(BusError) {
        try Names.checkDirectoryName(domain, "domain (NAVBUS_DOMAIN)")
        guard path.hasPrefix("/"), !path.utf8.contains(0) else {
            throw BusError(
                .invalidArgument, "the bus directory '\(path)' is not absolute: set NAVBUS_DIR to a full path")
        }
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        self.path = path
        self.domain = domain
        self.isPrivate = isPrivate
    }

    /// Returns the registry named by the environment: `NAVBUS_DIR` and `NAVBUS_DOMAIN`, else `$XDG_RUNTIME_DIR/navbus`,
    /// else `navbus-<uid>` in the temporary directory; domain `0`.
    public static func fromEnvironment() throws(BusError) -> BusDirectory {
        try named { name in getenv(name).map { String(cString: $0) } }
    }

    /// Returns the registry of a process whose environment has the values that `value` returns, see ``fromEnvironment()``.
    package static func named(by value: (String) -> String?) throws(BusError) -> BusDirectory {
        func variable(_ name: String) -> String? {
            guard let text = value(name), !text.isEmpty else { return nil }
            return text
        }
        let domain = variable("NAVBUS_DOMAIN") ?? "0"
        if let path = variable("NAVBUS_DIR") { return try BusDirectory(path: path, domain: domain) }
        if let runtime = variable("XDG_RUNTIME_DIR"), access(runtime, W_OK | X_OK) == 0 {
            return try BusDirectory(path: runtime + "/navbus", domain: domain, isPrivate: true)
        }
        let temporary = variable("TMPDIR") ?? "/tmp"
        return try BusDirectory(path: "\(temporary)/navbus-\(geteuid())", domain: domain, isPrivate: true)
    }

    package var domainPath: String { "\(path)/\(domain)" }

    package func nodePath(_ node: String) -> String { "\(domainPath)/\(node)" }

    package func lockPath(_ node: String) -> String { nodePath(node) + "/lock" }

    package func announcementPath(_ node: String) -> String { nodePath(node) + "/announcement.json" }

    package func publisherPath(_ node: String) -> String { nodePath(node) + "/pub" }

    package func servicePath(_ node: String) -> String { nodePath(node) + "/rpc" }

    /// Checks that a node's sockets can be bound here, before anything is created.
    func checkSocketPath(of node: String) throws(BusError) {
        let longest = publisherPath(node)
        let length = longest.utf8.count
        guard length <= Self.maximumSocketPathLength else {
            throw BusError(
                .pathTooLong,
                "the socket path \(longest) has \(length) bytes, more than the "
                    + "\(Self.maximumSocketPathLength) of a Unix socket: set NAVBUS_DIR to a directory whose path is "
                    + "\(length - Self.maximumSocketPathLength) bytes shorter")
        }
    }

    /// Creates the directories down to the domain's and refuses unsafe ones.
    func prepare() throws(BusError) {
        var parent = ""
        for component in path.split(separator: "/") {
            parent += "/" + component
            try FileSystem.makeDirectory(parent)
        }
        try FileSystem.checkDirectory(path, isPrivate: isPrivate)
        try FileSystem.makeDirectory(domainPath)
        try FileSystem.checkDirectory(domainPath, isPrivate: isPrivate)
    }
}
