/// The nodes of this host that other hosts can reach, and the nodes of other hosts that this host connects to.
///
/// All nodes of the host read them from one file:
///
/// ```yaml
/// secret_key_file: vehicle.key
/// allowed_keys_file: allowed.keys
/// listen:
///   navigation-node: tcp://192.168.1.10:7600
/// peers:
///   - endpoint: tcp://192.168.1.20:7600
///     key_file: desk.pub
/// ```
///
/// Paths are relative to the file. `allowed_keys: ['…']` and `key: '…'` may replace the key files; `insecure: true` replaces all keys.
/// Values are plain text; their consumers validate them.
public struct HostsFile: Sendable, Equatable {
    /// A node of another host.
    public struct Peer: Sendable, Equatable {
        /// The address that it listens on.
        public var endpoint: String
        /// Its host's public key; nil when a file holds it.
        public var key: String?
        /// The path of the file that holds the public key.
        public var keyFile: String?
    }

    /// The path of this host's secret key.
    public var secretKeyFile: String?
    /// The public keys that may connect.
    public var allowedKeys: [String] = []
    /// The path of the file that holds the allowed keys.
    public var allowedKeysFile: String?
    /// The address that each node listens on, by the node's name.
    public var listen: [String: String] = [:]
    /// The nodes of other hosts.
    public var peers: [Peer] = []
    /// Whether connections are made without keys.
    public var insecure = false

    private static let keys = [
        "secret_key_file", "allowed_keys", "allowed_keys_file", "listen", "peers", "insecure",
    ]

    /// Reads a file.
    ///
    /// - Throws: ``ConfigError`` when it cannot be read, is not YAML, or has an unknown key or an invalid value.
    public init(contentsOf path: String) throws(ConfigError) {
        let folder = path.contains("/") ? String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) + "/" : ""
        func file(_ name: String) -> String { name.hasPrefix("/") ? name : folder + name }
        let root = try YAMLValue(contentsOf: path, kind: "hosts file")
        for pair in try root.pairs("the file", Self.keys) {
            let (key, value) = (pair.key, pair.value)
            switch key {
            case "secret_key_file": secretKeyFile = file(try value.text(key))
            case "allowed_keys_file": allowedKeysFile = file(try value.text(key))
            case "allowed_keys":
                for item in try value.list(key) { allowedKeys.append(try item.text(key)) }
            case "listen":
                for pair in try value.pairs(key, nil) { listen[pair.key] = try pair.value.text("listen.\(pair.key)") }
            case "peers":
                for item in try value.list(key) {
                    var (endpoint, key, keyFile) = (String?.none, String?.none, String?.none)
                    for pair in try item.pairs("each of 'peers'", ["endpoint", "key", "key_file"]) {
                        switch pair.key {
                        case "endpoint": endpoint = try pair.value.text("peers.endpoint")
                        case "key": key = try pair.value.text("peers.key")
                        default: keyFile = file(try pair.value.text("peers.key_file"))
                        }
                    }
                    guard let endpoint else { throw item.wrong("each of 'peers' needs an 'endpoint'") }
                    peers.append(Peer(endpoint: endpoint, key: key, keyFile: keyFile))
                }
            default: insecure = try value.flag(key)
            }
        }
    }
}
