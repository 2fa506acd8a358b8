import Foundation
import Yams

/// The nodes of this host that others reach, and the nodes of other hosts that are reached from here, as a file
/// says it that all nodes of the host read:
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
/// Paths are relative to the file. `allowed_keys: ['…']` and `key: '…'` stand for the files where that is shorter;
/// `insecure: true` stands for all keys. Values are texts: whoever uses them checks what they mean.
public struct HostsFile: Sendable, Equatable {
    /// A node of another host.
    public struct Peer: Sendable, Equatable {
        /// The address that it listens on.
        public var endpoint: String
        /// Its host's public key.
        public var key: String?
        /// The path of the file that holds it.
        public var keyFile: String?
    }

    /// The path of this host's secret key.
    public var secretKeyFile: String?
    /// The public keys of those who may connect.
    public var allowedKeys: [String] = []
    /// The path of the file that holds them.
    public var allowedKeysFile: String?
    /// The address that each node listens on, by its name.
    public var listen: [String: String] = [:]
    /// The nodes of other hosts.
    public var peers: [Peer] = []
    /// Whether all goes without keys.
    public var insecure = false

    private static let keys = [
        "secret_key_file", "allowed_keys", "allowed_keys_file", "listen", "peers", "insecure",
    ]

    /// Reads a file.
    ///
    /// - Throws: ``ConfigError`` when it cannot be read, is not YAML, or has a key or value that is none of the above.
    public init(contentsOf path: String) throws(ConfigError) {
        let text: String
        do throws(ConfigError) {
            text = try TextFile.read(path, limit: TextFile.greatestConfiguration)
        } catch {
            throw ConfigError("hosts file \(error.description)")
        }
        let folder = path.contains("/") ? String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) + "/" : ""
        try self.init(yaml: text, path: path, folder: folder)
    }

    private init(yaml: String, path: String, folder: String) throws(ConfigError) {
        let node: Node?
        do {
            node = try Yams.compose(yaml: yaml)
        } catch {
            let message = "\(error)".split(separator: "\n").first ?? ""
            throw ConfigError("hosts file '\(path)' is not YAML: \(message)")
        }
        let reader = Reader(path: path, folder: folder)
        guard let node else { throw ConfigError("hosts file '\(path)' is empty") }
        for (key, value) in try reader.pairs(node, "the file", Self.keys) {
            switch key {
            case "secret_key_file": secretKeyFile = reader.file(try reader.text(value, key))
            case "allowed_keys_file": allowedKeysFile = reader.file(try reader.text(value, key))
            case "allowed_keys":
                for item in try reader.list(value, key) { allowedKeys.append(try reader.text(item, key)) }
            case "listen":
                for (name, endpoint) in try reader.pairs(value, key, nil) {
                    listen[name] = try reader.text(endpoint, "listen.\(name)")
                }
            case "peers":
                for item in try reader.list(value, key) { peers.append(try reader.peer(item)) }
            default: insecure = try reader.flag(value, key)
            }
        }
    }
}

/// Reads YAML nodes and says which key of which file is wrong.
private struct Reader {
    let path: String
    let folder: String

    func pairs(_ node: Node, _ what: String, _ known: [String]?) throws(ConfigError) -> [(String, Node)] {
        guard case .mapping(let mapping) = node else { throw wrong("\(what) takes keys and values") }
        var result: [(String, Node)] = []
        for (key, value) in mapping {
            let name = key.scalar?.string ?? "?"
            if let known, !known.contains(name) {
                let hint = nearestName(to: name, among: known).map { "did you mean '\($0)'?" }
                throw wrong("unknown key '\(name)': \(hint ?? "it takes \(known.joined(separator: ", "))")")
            }
            result.append((name, value))
        }
        return result
    }

    func list(_ node: Node, _ what: String) throws(ConfigError) -> [Node] {
        guard case .sequence(let sequence) = node else { throw wrong("'\(what)' takes a list") }
        return Array(sequence)
    }

    func text(_ node: Node, _ what: String) throws(ConfigError) -> String {
        guard let text = node.scalar?.string, !text.isEmpty else {
            throw wrong("'\(what)' takes a text (a key needs single quotes)")
        }
        return text
    }

    func flag(_ node: Node, _ what: String) throws(ConfigError) -> Bool {
        guard let value = node.bool else { throw wrong("'\(what)' is true or false") }
        return value
    }

    func file(_ name: String) -> String { name.hasPrefix("/") ? name : folder + name }

    func peer(_ node: Node) throws(ConfigError) -> HostsFile.Peer {
        var (endpoint, key, keyFile) = (String?.none, String?.none, String?.none)
        for (name, value) in try pairs(node, "each of 'peers'", ["endpoint", "key", "key_file"]) {
            switch name {
            case "endpoint": endpoint = try text(value, "peers.endpoint")
            case "key": key = try text(value, "peers.key")
            default: keyFile = file(try text(value, "peers.key_file"))
            }
        }
        guard let endpoint else { throw wrong("each of 'peers' needs an 'endpoint'") }
        return HostsFile.Peer(endpoint: endpoint, key: key, keyFile: keyFile)
    }

    private func wrong(_ text: String) -> ConfigError { ConfigError("hosts file '\(path)': \(text)") }
}
