internal import NavSpelling

/// A substitution that replaces `${name}` with a value; `$$` is a dollar sign, and a lone `$` stands for itself.
struct Substitution: Sendable {
    /// The longest result, in bytes: arguments that refer to one another must not grow without bound.
    static let maximumLength = 65_536

    private(set) var values: [String: String]
    let environment: [String: String]

    enum Failure: Error, Equatable {
        case unclosed
        case unknown(String)
        case notInEnvironment(String)
        case tooLong
    }

    mutating func define(_ name: String, as value: String) {
        values[name] = value
    }

    /// Replaces the references in `text`; `${env:NAME}` reads the launcher's environment.
    func apply(to text: String) throws(Failure) -> String {
        guard text.utf8.contains(UInt8(ascii: "$")) else { return text }
        var result = ""
        var rest = text[...]
        while let dollar = rest.firstIndex(of: "$") {
            result += rest[..<dollar]
            rest = rest[rest.index(after: dollar)...]
            if rest.first == "$" {
                result += "$"
                rest = rest.dropFirst()
            } else if rest.first == "{" {
                guard let end = rest.firstIndex(of: "}") else { throw .unclosed }
                result += try value(of: String(rest[rest.index(after: rest.startIndex)..<end]))
                rest = rest[rest.index(after: end)...]
            } else {
                result += "$"
            }
            if result.utf8.count > Self.maximumLength { throw .tooLong }
        }
        return result + rest
    }

    private func value(of name: String) throws(Failure) -> String {
        if name.hasPrefix("env:") {
            let variable = String(name.dropFirst(4))
            guard let value = environment[variable] else { throw .notInEnvironment(variable) }
            return value
        }
        guard let value = values[name] else { throw .unknown(name) }
        return value
    }

    /// Returns an explanation for the author of the file.
    func explain(_ failure: Failure) -> String {
        switch failure {
        case .unclosed:
            return "\"${\" without \"}\"; write \"$$\" for a dollar sign"
        case .unknown(let name):
            let known = values.keys.sorted()
            return "\"${\(name)}\" is not an argument\(suggestion(for: name, among: known)) "
                + "(known arguments: \(known.joined(separator: ", ")))"
        case .notInEnvironment(let name):
            return "the environment variable \(name) is not set: set it, or make it an argument with a default"
        case .tooLong:
            return "the text is longer than \(Self.maximumLength) bytes after substitution"
        }
    }
}
