package import Yams

/// YAML as it is read from any file.
package enum YAMLText {
    /// The most values of a file: more than its greatest size has room for, so that only aliases of aliases come to it.
    private static let mostValues = TextFile.greatestConfiguration

    /// Returns the root of a text; nil for an empty one.
    ///
    /// - Throws: an error of the parser, or ``ConfigError`` when aliases that stand for lists of aliases make too many values.
    package static func root(of text: String) throws -> Node? {
        guard let root = try Yams.compose(yaml: text) else { return nil }
        var count = 0
        var open = [root]
        while let node = open.popLast() {
            count += 1
            guard count + open.count <= mostValues else {
                throw ConfigError("its aliases stand for more than \(mostValues) values")
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
