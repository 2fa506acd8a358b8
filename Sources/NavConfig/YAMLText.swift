package import Yams

/// A parser of YAML with limits that make any input safe.
package enum YAMLText {
    /// The most values of a file: more than the largest file can contain, so that only nested aliases exceed it.
    private static let mostValues = TextFile.greatestConfiguration

    /// Returns an error of ``root(of:)`` that names the text and, if known, the line.
    static func failure(_ error: any Error, in source: String) -> ConfigError {
        if case .duplicatedKeysInMapping(let keys, let context) = error as? YamlError {
            let names = keys.sorted().map { "'\($0)'" }.joined(separator: ", ")
            return ConfigError("\(source), line \(context.mark.line): the key \(names) is given twice")
        }
        let message = "\(error)".split(separator: "\n").first ?? ""
        return ConfigError("\(source) is not YAML: \(message)")
    }

    /// Returns the root of a text; nil for an empty text.
    ///
    /// - Throws: An error of the parser, or ``ConfigError`` when nested aliases expand to too many values.
    package static func root(of text: String) throws -> Node? {
        guard let root = try Yams.compose(yaml: text) else { return nil }
        var count = 0
        var open = [root]
        while let node = open.popLast() {
            count += 1
            guard count + open.count <= mostValues else {
                throw ConfigError("its aliases expand to more than \(mostValues) values")
            }
            switch node {
            case .mapping(let mapping): for (key, value) in mapping { open += [key, value] }
            case .sequence(let sequence): open += sequence
            case .scalar, .alias: break
            }
        }
        return root
    }
}

extension Node {
    /// Whether the value is empty: nothing after the colon, `~` or `null`.
    package var isNull: Bool {
        guard let scalar, scalar.style == .plain else { return false }
        return scalar.string.isEmpty || scalar.string == "~" || scalar.string == "null"
    }
}
