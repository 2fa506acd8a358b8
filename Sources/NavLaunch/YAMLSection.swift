internal import NavConfig
internal import NavSpelling
internal import Yams

/// One mapping of a launch file: it checks the keys against the known ones, and reads typed values with `${…}` replaced.
///
/// Problems are added to the list, and the reader continues with nil.
struct YAMLSection {
    private let entries: [(key: String, value: Node)]
    let place: Place
    /// The section's name in messages: `node "player"`.
    let what: String
    let problems: ProblemList

    init?(_ node: Node, what: String, keys: [String], file: String, problems: ProblemList) {
        place = node.place(in: file)
        self.what = what
        self.problems = problems
        guard let mapping = node.mapping else {
            problems.add("\(what) must be a mapping of keys (\(keys.joined(separator: ", ")))", at: place)
            return nil
        }
        var entries: [(key: String, value: Node)] = []
        for (key, value) in mapping {
            guard let name = key.scalar?.string, keys.contains(name) else {
                let name = key.scalar?.string ?? "(not a word)"
                problems.add(
                    "unknown key \"\(name)\" in \(what)\(suggestion(for: name, among: keys)) "
                        + "(known keys: \(keys.joined(separator: ", ")))",
                    at: key.place(in: file))
                continue
            }
            entries.append((name, value))
        }
        self.entries = entries
    }

    /// Returns the value of a key, nil when the key is absent or its value is empty.
    func node(_ key: String) -> Node? {
        guard let value = entries.first(where: { $0.key == key })?.value, !value.isNull else { return nil }
        return value
    }

    func place(of key: String) -> Place {
        node(key)?.place(in: place.file) ?? place
    }

    func string(_ key: String, _ substitution: Substitution) -> String? {
        node(key).flatMap { text($0, as: "\"\(key)\" in \(what)", substitution) }
    }

    /// Reads a value like `string`, and reports a problem when it is absent.
    func required(_ key: String, _ substitution: Substitution) -> String? {
        if node(key) == nil {
            problems.add("\(what) has no \"\(key)\"", at: place)
        }
        return string(key, substitution)
    }

    func bool(_ key: String, _ substitution: Substitution) -> Bool? {
        guard let word = string(key, substitution) else { return nil }
        switch word {
        case "true": return true
        case "false": return false
        default:
            problems.add("\"\(key)\" in \(what) must be true or false, not \"\(word)\"", at: place(of: key))
            return nil
        }
    }

    func number(_ key: String, in range: ClosedRange<Double>, _ substitution: Substitution) -> Double? {
        guard let word = string(key, substitution) else { return nil }
        guard let value: Double = decimal(word), range.contains(value) else {
            problems.add(
                "\"\(key)\" in \(what) must be a number from \(range.lowerBound) to \(range.upperBound), not \"\(word)\"",
                at: place(of: key))
            return nil
        }
        return value
    }

    func integer(_ key: String, in range: ClosedRange<Int>, _ substitution: Substitution) -> Int? {
        guard let word = string(key, substitution) else { return nil }
        guard let value = Int(word), range.contains(value) else {
            problems.add(
                "\"\(key)\" in \(what) must be a whole number from \(range.lowerBound) to \(range.upperBound), not "
                    + "\"\(word)\"", at: place(of: key))
            return nil
        }
        return value
    }

    /// Reads one of the raw values of an enumeration.
    func choice<Value>(_ key: String, _ substitution: Substitution) -> Value?
    where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
        guard let word = string(key, substitution) else { return nil }
        let words = Value.allCases.map(\.rawValue)
        if let value = Value(rawValue: word) { return value }
        problems.add(
            "\"\(key)\" in \(what) must be one of \(words.joined(separator: ", ")), not \"\(word)\""
                + suggestion(for: word, among: words), at: place(of: key))
        return nil
    }

    func strings(_ key: String, _ substitution: Substitution) -> [String] {
        guard let value = node(key) else { return [] }
        guard let sequence = value.sequence else {
            problems.add("\"\(key)\" in \(what) must be a list: [first, second]", at: place(of: key))
            return []
        }
        return sequence.compactMap { text($0, as: "an item of \"\(key)\" in \(what)", substitution) }
    }

    /// Reads a list of words; a single word stands for a list of one.
    func words(_ key: String, _ substitution: Substitution) -> [String] {
        node(key)?.scalar == nil ? strings(key, substitution) : string(key, substitution).map { [$0] } ?? []
    }

    /// Reads a mapping of words to words, in the order of the text.
    func pairs(_ key: String, _ substitution: Substitution) -> [(key: String, value: String, place: Place)] {
        guard let value = node(key) else { return [] }
        guard let mapping = value.mapping else {
            problems.add("\"\(key)\" in \(what) must be a mapping: {name: value}", at: place(of: key))
            return []
        }
        return mapping.compactMap { name, value in
            guard let name = text(name, as: "a name in \"\(key)\" of \(what)", substitution),
                let word = text(value, as: "\"\(name)\" in \"\(key)\" of \(what)", substitution)
            else { return nil }
            return (name, word, value.place(in: place.file))
        }
    }

    func items(_ key: String) -> [Node] {
        guard let value = node(key) else { return [] }
        guard let sequence = value.sequence else {
            problems.add("\"\(key)\" in \(what) must be a list, each item on a line with \"- \"", at: place(of: key))
            return []
        }
        return Array(sequence)
    }

    private func text(_ node: Node, as name: String, _ substitution: Substitution) -> String? {
        let place = node.place(in: place.file)
        guard let scalar = node.scalar, !node.isNull else {
            problems.add("\(name) must be a word or a number", at: place)
            return nil
        }
        do {
            let text = try substitution.apply(to: scalar.string)
            // A NUL would truncate the word on its way to the process.
            guard !text.utf8.contains(0) else {
                problems.add("\(name) contains a NUL character", at: place)
                return nil
            }
            return text
        } catch {
            problems.add("\(name): \(substitution.explain(error))", at: place)
            return nil
        }
    }
}

extension Node {
    func place(in file: String) -> Place {
        Place(file: file, line: mark?.line, column: mark?.column)
    }
}
