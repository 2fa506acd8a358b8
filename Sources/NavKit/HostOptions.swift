import Foundation
public import NavBus
import NavConfig

/// The settings for connections with other hosts, from a node's environment.
public enum HostOptions {
    /// The variable that names the hosts file of all nodes of a host.
    public static let variable = "NAVBUS_HOSTS"

    /// Returns a node's configuration from the file in `NAVBUS_HOSTS`; nil without a file, or when it does not concern the node.
    ///
    /// Events between hosts go to the node's log, by default a log on standard error.
    public static func fromEnvironment(
        node: String, environment: [String: String]? = nil, log: NodeLog? = nil
    ) throws(NodeError) -> HostConfiguration? {
        guard let (path, file) = try file(environment ?? ProcessInfo.processInfo.environment),
            var configuration = try configuration(of: node, file, path: path)
        else { return nil }
        let log = log ?? NodeLog(node: node)
        configuration.onEvent = { $0.isWarning ? log.warning($0.description) : log.info($0.description) }
        if file.insecure {
            log.warning(
                "connections to other hosts are neither encrypted nor authenticated: '\(path)' sets insecure: true")
        }
        return configuration
    }

    /// Returns the configuration with which a tool queries the peers without joining the bus; nil without peers.
    public static func peers(environment: [String: String]? = nil) throws(NodeError) -> HostConfiguration? {
        let environment = environment ?? ProcessInfo.processInfo.environment
        // A tool does not need a file without peers, but mistakes in it prevent nodes from connecting, so it is checked
        // all the same.
        guard try check(environment: environment) != nil, let (path, file) = try file(environment) else { return nil }
        return try configuration(of: "", file, path: path)
    }

    /// A summary of the hosts file, after the same checks as in a node: keys, their files, endpoints.
    public struct Summary: Sendable, Equatable {
        /// The path of the file.
        public var path: String
        /// The endpoints that nodes listen on, by node name.
        public var listen: [String: String]
        /// The endpoints of other hosts.
        public var peers: [String]
        /// Whether connections are unencrypted and need no keys.
        public var isInsecure: Bool
    }

    /// Checks the hosts file; nil when `NAVBUS_HOSTS` names none.
    public static func check(environment: [String: String]? = nil) throws(NodeError) -> Summary? {
        guard let (path, file) = try file(environment ?? ProcessInfo.processInfo.environment) else { return nil }
        do throws(BusError) {
            for node in file.listen.keys.sorted() { try Names.checkDirectoryName(node, "listen: node name") }
        } catch {
            throw NodeError(.usage, "hosts file '\(path)': \(error.description)")
        }
        for node in file.listen.keys.sorted() + [""] {
            let own = try configuration(of: node, file, path: path)
            do throws(BusError) {
                // Without nodes, the file's keys have not been checked yet.
                if let own { try own.check() } else { try configuration(file).check() }
            } catch {
                throw NodeError(.usage, "hosts file '\(path)': \(error.description)")
            }
        }
        return Summary(path: path, listen: file.listen, peers: file.peers.map(\.endpoint), isInsecure: file.insecure)
    }

    private static func file(_ environment: [String: String]) throws(NodeError) -> (path: String, HostsFile)? {
        guard let path = environment[variable], !path.isEmpty else { return nil }
        do throws(ConfigError) {
            return (path, try HostsFile(contentsOf: path))
        } catch {
            throw NodeError(.usage, "\(error.description) (\(variable))")
        }
    }

    private static func configuration(
        of node: String, _ file: HostsFile, path: String
    ) throws(NodeError) -> HostConfiguration? {
        let listen = file.listen[node]
        guard listen != nil || !file.peers.isEmpty else { return nil }
        if let problem = contradiction(file) { throw NodeError(.usage, "hosts file '\(path)': \(problem)") }
        do throws(BusError) {
            var peers: [HostConfiguration.Peer] = []
            for peer in file.peers {
                var key: CurvePublicKey?
                if let text = peer.key { key = try CurvePublicKey(text) }
                if let name = peer.keyFile { key = try CurvePublicKey(contentsOf: name) }
                peers.append(.init(endpoint: try TCPEndpoint(peer.endpoint), key: key))
            }
            var endpoint: TCPEndpoint?
            if let listen { endpoint = try TCPEndpoint(listen) }
            return try configuration(file, listen: endpoint, peers: peers)
        } catch {
            throw NodeError(.usage, "hosts file '\(path)': \(error.description)")
        }
    }

    /// Returns a contradiction or omission in the file; nil when the file is consistent.
    private static func contradiction(_ file: HostsFile) -> String? {
        let hasKeys = file.secretKeyFile != nil || file.allowedKeysFile != nil || !file.allowedKeys.isEmpty
        if file.insecure, hasKeys { return "keys and insecure: true contradict each other: remove one of them" }
        if !file.insecure, file.secretKeyFile == nil {
            return "it needs a secret_key_file (make one with `navbus keygen`), or insecure: true on a network where "
                + "everyone may read and write the bus"
        }
        if file.peers.contains(where: { $0.key != nil && $0.keyFile != nil }) {
            return "a peer takes either a key or a key_file, not both"
        }
        return nil
    }

    private static func configuration(
        _ file: HostsFile, listen: TCPEndpoint? = nil, peers: [HostConfiguration.Peer] = []
    ) throws(BusError) -> HostConfiguration {
        var configuration = HostConfiguration(listen: listen, peers: peers, security: try security(file))
        configuration.allowedKeysFile = file.allowedKeysFile
        return configuration
    }

    private static func security(_ file: HostsFile) throws(BusError) -> HostConfiguration.Security {
        guard let secret = file.secretKeyFile else { return .insecure }
        // A public key has the form of a secret key and would pass the checks, but no other host would answer.
        guard !secret.hasSuffix(".pub") else {
            throw BusError(
                .invalidArgument,
                "secret_key_file names the public key \(secret): give the .key file that `navbus keygen` wrote with it")
        }
        var allowed: Set<CurvePublicKey> = []
        for text in file.allowedKeys { allowed.insert(try CurvePublicKey(text)) }
        return .curve(try CurveKeyPair(contentsOf: secret), allowed: allowed)
    }
}
