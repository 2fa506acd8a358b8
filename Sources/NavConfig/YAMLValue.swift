import NavSpelling
import Yams

/// A value of a YAML file with its line, so that errors can name the place.
package struct YAMLValue: Sendable {
    package indirect enum Content: Sendable {
        case empty
        case text(String)
        case list([YAMLValue])
        case mapping([Pair])
    }

    /// A key with its value.
    package struct Pair: Sendable {
        package var key: String
        package var line: Int
        package var value: YAMLValue
    }

    package let content: Content
    /// The line, from 1.
    package let line: Int
    /// The file's name in errors, such as `hosts file 'vehicle.yaml'`.
    private let source: String

    /// Reads a file.
    ///
    /// - Parameter kind: The file's kind in errors, such as `hosts file`.
    package init(contentsOf path: String, kind: String) throws(ConfigError) {
        let text: String
        do throws(ConfigError) {
            text = try TextFile.read(path, limit: TextFile.greatestConfiguration)
        } catch {
            throw ConfigError("\(kind) \(error.description)")
        }
        try self.init(yaml: text, source: "\(kind) '\(path)'")
    }

    /// Parses a text; `source` names it in errors.
    package init(yaml text: String, source: String) throws(ConfigError) {
        let node: Node?
        do {
            node = try YAMLText.root(of: text)
        } catch {
            throw YAMLText.failure(error, in: source)
        }
        guard let node else { throw ConfigError("\(source) is empty") }
        self.init(node, source)
    }

    private init(_ node: Node, _ source: String) {
        self.source = source
        line = node.mark?.line ?? 0
        switch node {
        case .mapping(let mapping):
            content = .mapping(
                mapping.map { key, value in
                    Pair(
                        key: key.scalar?.string ?? "?", line: key.mark?.line ?? 0, value: YAMLValue(value, source))
                })
        case .sequence(let sequence): content = .list(sequence.map { YAMLValue($0, source) })
        case .scalar(let scalar): content = node.isNull ? .empty : .text(scalar.string)
        case .alias: content = .text("?")
        }
    }

    /// Returns an error at this value.
    package func wrong(_ text: String, line: Int? = nil) -> ConfigError {
        ConfigError("\(source), line \(line ?? self.line): \(text)")
    }

    /// Returns the keys and values of a mapping.
    ///
    /// - Parameter known: The keys that are allowed; nil for any.
    package func pairs(_ what: String, _ known: [String]?) throws(ConfigError) -> [Pair] {
        guard case .mapping(let pairs) = content else { throw wrong("\(what) takes keys and values") }
        var seen = Set<String>()
        for pair in pairs {
            if let known, !known.contains(pair.key) {
                let hint = nearestName(to: pair.key, among: known).map { "did you mean '\($0)'?" }
                throw wrong(
                    "unknown key '\(pair.key)': \(hint ?? "it takes \(known.joined(separator: ", "))")", line: pair.line
                )
            }
            guard seen.insert(pair.key).inserted else { throw wrong("duplicate key '\(pair.key)'", line: pair.line) }
        }
        return pairs
    }

    package func list(_ what: String) throws(ConfigError) -> [YAMLValue] {
        guard case .list(let list) = content else { throw wrong("'\(what)' takes a list") }
        return list
    }

    /// Returns a list of texts; a single text counts as a list of one.
    package func texts(_ what: String) throws(ConfigError) -> [(text: String, line: Int)] {
        if case .text(let text) = content { return [(text, line)] }
        var texts: [(text: String, line: Int)] = []
        for item in try list(what) { texts.append((try item.text(what), item.line)) }
        return texts
    }

    package func text(_ what: String) throws(ConfigError) -> String {
        guard case .text(let text) = content, !text.isEmpty else {
            throw wrong("'\(what)' takes a text (a key needs single quotes)")
        }
        return text
    }

    package func flag(_ what: String) throws(ConfigError) -> Bool {
        guard case .text(let text) = content, let value = Bool(text) else { throw wrong("'\(what)' is true or false") }
        return value
    }

    package func number(_ what: String, in range: ClosedRange<Double>) throws(ConfigError) -> Double {
        guard case .text(let text) = content, let value: Double = decimal(text), range.contains(value) else {
            throw wrong("'\(what)' takes a number from \(shortest(range.lowerBound)) to \(shortest(range.upperBound))")
        }
        return value
    }
}
