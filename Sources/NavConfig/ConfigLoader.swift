import NavSpelling
import Foundation
import Yams

/// A loader of a node's configuration: defaults, then a YAML file, then the environment, then `--set` on the command line.
public enum ConfigLoader {
    /// Returns a configuration from its sources; later ones take precedence.
    ///
    /// - Parameters:
    ///   - file: A YAML file of nested or dotted keys; nil for none.
    ///   - environment: The environment. Variables that start with the prefix are read; the rest of the name is the key in any case, with
    ///     two underscores for each dot: `NAVIGATION_NODE_SET_REROUTE__COOLDOWN_S=5`.
    ///   - prefix: The start of this program's variables, such as `NAVIGATION_NODE_SET_`.
    ///   - overrides: `key=value` pairs.
    ///   - source: The origin of the overrides, for errors.
    public static func load<Configuration: NodeConfiguration>(
        _ type: Configuration.Type, file: String?, environment: [String: String] = [:],
        prefix: String = "", overrides: [String] = [], source: String = "--set"
    ) throws(ConfigError) -> Configuration {
        var configuration = Configuration()
        if let file {
            var seen = Set<String>()
            for (key, items) in try read(file) {
                guard seen.insert(key).inserted else {
                    throw ConfigError("configuration file '\(file)' gives '\(key)' twice: remove one of the values")
                }
                try apply(key, text(of: items, for: key, type), to: &configuration, source: "'\(file)'")
            }
        }
        for (name, value) in environment.sorted(by: { $0.key < $1.key })
        where !prefix.isEmpty && name.hasPrefix(prefix) {
            let key = name.dropFirst(prefix.count).lowercased().replacingOccurrences(of: "__", with: ".")
            try apply(key, value, to: &configuration, source: "the environment (\(name))")
        }
        for override in overrides {
            guard let split = override.firstIndex(of: "=") else {
                throw ConfigError("\(source) \(override): give a key and a value, such as --set reroute.cooldown_s=5")
            }
            try apply(
                String(override[..<split]), String(override[override.index(after: split)...]), to: &configuration,
                source: source)
        }
        try check(configuration)
        return configuration
    }

    /// Returns the text of a key's value from the items of a YAML list, or from a single value.
    package static func text<Configuration: NodeConfiguration>(
        of items: [String], for key: String, _ type: Configuration.Type
    ) -> String {
        items.joined(separator: type.keys.first { $0.name == key }?.listSeparator ?? ";")
    }

    /// Returns a configuration as YAML with each key's meaning, range and unit, which ``load(_:file:environment:prefix:overrides:source:)``
    /// can read.
    public static func describe<Configuration: NodeConfiguration>(_ configuration: Configuration) -> String {
        Configuration.keys.map { key in
            "# \(key.documentation) [\(key.range)]\(key.isLive ? " (live)" : "")\n"
                + "\(key.name): \(quoted(key.text(of: configuration)))\n"
        }.joined(separator: "\n")
    }

    /// Returns a configuration with some live keys changed; applies all changes, or fails with the reason.
    ///
    /// - Parameter changes: Keys with new values; the last value of a key counts.
    public static func changed<Configuration: NodeConfiguration>(
        _ configuration: Configuration, _ changes: [(key: String, value: String)]
    ) throws(ConfigError) -> Configuration {
        var result = configuration
        for change in changes {
            try apply(change.key, change.value, to: &result, source: "the change")
            if let key = Configuration.keys.first(where: { $0.name == change.key }), !key.isLive {
                let live = Configuration.keys.filter(\.isLive).map(\.name).joined(separator: ", ")
                throw ConfigError(
                    "'\(key.name)' cannot be changed while the node runs: set it before the start"
                        + (live.isEmpty ? "" : "; live keys are \(live)"))
            }
        }
        try check(result)
        return result
    }

    private static func check(_ configuration: some NodeConfiguration) throws(ConfigError) {
        if let conflict = configuration.conflict { throw ConfigError(conflict) }
    }

    /// Returns the keys as a Markdown table.
    public static func markdownTable<Configuration: NodeConfiguration>(_ type: Configuration.Type) -> String {
        let defaults = Configuration()
        let rows = Configuration.keys.map { key in
            let value = key.text(of: defaults)
            let range = key.range.replacingOccurrences(of: "|", with: "\\|")
            return
                "| `\(key.name)` | \(value.isEmpty ? "none" : "`\(value)`") | \(range) | \(key.isLive ? "yes" : "no") | "
                + "\(key.documentation) |"
        }
        return (["| key | default | values | live | meaning |", "|---|---|---|---|---|"] + rows).joined(separator: "\n")
            + "\n"
    }

    private static func apply<Configuration: NodeConfiguration>(
        _ name: String, _ value: String, to configuration: inout Configuration, source: String
    ) throws(ConfigError) {
        guard let key = Configuration.keys.first(where: { $0.name == name }) else {
            let nearest = nearestName(to: name, among: Configuration.keys.map(\.name))
            let hint = nearest.map { "did you mean '\($0)'?" } ?? "--print-config lists the keys"
            throw ConfigError("unknown configuration key '\(name)' in \(source): \(hint)")
        }
        guard key.set(&configuration, value) else {
            let advice = key.defect(value) ?? "it takes \(key.range) (\(key.documentation))"
            throw ConfigError("'\(value)' is not a value of '\(name)' in \(source): \(advice)")
        }
    }

    /// Returns the keys of a file with their values: the items of a list, else one.
    private static func read(_ file: String) throws(ConfigError) -> [(String, [String])] {
        let text: String
        do throws(ConfigError) {
            text = try TextFile.read(file, limit: TextFile.greatestConfiguration)
        } catch {
            throw ConfigError("configuration file \(error.description)")
        }
        let node: Node?
        do {
            node = try YAMLText.root(of: text)
        } catch {
            throw YAMLText.failure(error, in: "configuration file '\(file)'")
        }
        guard let node else { return [] }
        guard case .mapping = node else {
            throw ConfigError("configuration file '\(file)' must have keys and values at its top level")
        }
        var pairs: [(String, [String])] = []
        flatten(node, prefix: "", into: &pairs)
        return pairs
    }

    private static func flatten(_ node: Node, prefix: String, into pairs: inout [(String, [String])]) {
        switch node {
        case .mapping(let mapping):
            for (key, value) in mapping {
                let name = key.scalar?.string ?? "?"
                flatten(value, prefix: prefix.isEmpty ? name : prefix + "." + name, into: &pairs)
            }
        case .sequence(let sequence): pairs.append((prefix, sequence.map(item)))
        case .scalar, .alias: pairs.append((prefix, [text(node)]))
        }
    }

    /// Returns the text of a single value; an empty one, such as `~`, is an empty text.
    private static func text(_ node: Node) -> String { node.isNull ? "" : node.scalar?.string ?? "?" }

    /// Returns an item of a list: a value, or names and values in the form of ``ConfigRecord``.
    private static func item(_ node: Node) -> String {
        guard case .mapping(let mapping) = node else { return text(node) }
        return ConfigRecord(mapping.map { ($0.key.scalar?.string ?? "?", text($0.value)) }).text
    }

    /// Returns a value as YAML: unquoted if it can only be read as that text, else in double quotes.
    private static func quoted(_ text: String) -> String {
        let isPlain =
            !text.isEmpty && text != "null" && text.utf8.allSatisfy(isPlainByte) && text.utf8.first != UInt8(ascii: "-")
        if isPlain || Double(text) != nil { return text }
        let escaped = text.unicodeScalars.map { scalar in
            switch scalar {
            case "\"", "\\": "\\\(scalar)"
            case _ where scalar.value < 0x20 || scalar.value == 0x7f: "\\x" + String(format: "%02x", scalar.value)
            default: String(scalar)
            }
        }
        return "\"\(escaped.joined())\""
    }

    private static func isPlainByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "_-./".utf8.contains(byte)
        }
    }
}
