/// What an event must be to be meant by a line: its topic, its first words, its text, its fields.
struct ScenarioPattern {
    /// A comparison of a field of the message.
    struct Condition {
        var field: String
        var comparison: String
        var value: String
        /// By how much a number may differ.
        var tolerance = 0.0

        /// Whether a value, nil where there is none, is as wanted.
        func holds(_ actual: String?) -> Bool {
            if value == "unknown" { return (actual == nil) == (comparison == "=") }
            guard let actual else { return false }
            if let left = Double(actual), let right = Double(value) {
                switch comparison {
                case "=": return abs(left - right) <= tolerance
                case "!=": return abs(left - right) > tolerance
                case "<": return left < right
                case "<=": return left <= right
                case ">": return left > right
                default: return left >= right
                }
            }
            return comparison == "=" ? glob(value, actual) : comparison == "!=" && !glob(value, actual)
        }
    }

    var line: ScenarioLine
    /// Seconds since the start of the drive.
    var window = 0.0...Double.infinity
    var topic = ""
    var words: [String] = []
    var text: String?
    var conditions: [Condition] = []

    init(_ words: inout Words, _ line: ScenarioLine) throws(LineMistake) {
        self.line = line
        try take(&words)
    }

    /// Reads `12..16 topic WORD WORD "text" where field < 3 and field = 4`.
    mutating func take(_ words: inout Words) throws(LineMistake) {
        if let word = words.first, word.contains("..") {
            _ = words.take(word)
            window = try ScenarioPattern.window(word)
        }
        topic = try words.next("a topic")
        guard ScenarioEvent.topics.contains(topic) else {
            throw LineMistake("'\(topic)' is no topic: write one of \(ScenarioEvent.topics.joined(separator: ", "))")
        }
        while let word = words.first, word != "where" {
            if word == "via" {
                _ = words.take(word)
                var names: [String] = []
                while let name = words.first, name != "where" {
                    _ = words.take(name)
                    names.append(name)
                }
                text = names.joined(separator: " ")
            } else {
                _ = words.take(word)
                if word.hasPrefix("\"") { text = word.filter { $0 != "\"" } } else { self.words.append(word) }
            }
        }
        guard words.take("where") else { return }
        repeat { conditions.append(try ScenarioPattern.condition(&words)) } while words.take("and")
    }

    private static func window(_ text: String) throws(LineMistake) -> ClosedRange<Double> {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        // A number may have a point of its own: split at the two that follow each other.
        guard let dots = parts.indices.dropFirst().first(where: { parts[$0].isEmpty && $0 + 1 < parts.count }) else {
            throw LineMistake("'\(text)' is no span of time: write 12..16, 12.. or ..16")
        }
        let lower = parts[..<dots].joined(separator: ".")
        let upper = parts[(dots + 1)...].joined(separator: ".")
        guard let from = lower.isEmpty ? 0 : Double(lower), let to = upper.isEmpty ? .infinity : Double(upper),
            from <= to
        else { throw LineMistake("'\(text)' is no span of time: write 12..16, 12.. or ..16") }
        return from...to
    }

    private static func condition(_ words: inout Words) throws(LineMistake) -> Condition {
        let field = try words.next("a field of the message, such as deviation")
        let comparison = try words.next("=, !=, <, <=, > or >=")
        guard ["=", "!=", "<", "<=", ">", ">="].contains(comparison) else {
            throw LineMistake("'\(comparison)' compares nothing: write =, !=, <, <=, > or >= with spaces around it")
        }
        let value = try words.next("a value").filter { $0 != "\"" }
        if comparison.contains("<") || comparison.contains(">"), Double(value) == nil {
            throw LineMistake("'\(value)' is no number to compare with")
        }
        var condition = Condition(field: field, comparison: comparison, value: value)
        if words.take("+-") { condition.tolerance = try words.number("a tolerance") }
        return condition
    }

    /// Whether an event would be meant if its fields were others.
    func meansButForFields(_ event: ScenarioEvent) -> Bool {
        guard !conditions.isEmpty else { return false }
        var pattern = self
        pattern.conditions = []
        return pattern.matches(event)
    }

    /// Whether an event is meant.
    func matches(_ event: ScenarioEvent) -> Bool {
        guard event.topic == topic, event.words.count >= words.count,
            window.contains(event.time), zip(words, event.words).allSatisfy({ glob($0, $1) })
        else { return false }
        if let text, !glob(text, event.text) { return false }
        return conditions.allSatisfy { $0.holds(event.field($0.field)) }
    }
}

/// Whether a text fits a pattern in which `*` stands for anything.
func glob(_ pattern: String, _ text: String) -> Bool {
    let parts = pattern.split(separator: Character("*"), omittingEmptySubsequences: false).map(String.init)
    guard parts.count > 1 else { return pattern == text }
    var rest = text[...]
    guard rest.hasPrefix(parts[0]) else { return false }
    rest = rest.dropFirst(parts[0].count)
    for part in parts[1..<(parts.count - 1)] where !part.isEmpty {
        guard let range = rest.firstRange(of: part) else { return false }
        rest = rest[range.upperBound...]
    }
    return rest.hasSuffix(parts[parts.count - 1])
}

/// One line of the section `expect`.
struct ScenarioExpectation {
    enum Kind {
        /// The next event of its topic that is told of.
        case sequence(ScenarioPattern)
        /// Of these topics nothing comes but the lines.
        case only([String])
        case never(ScenarioPattern)
        /// Every event of a topic is so, and there is one at least; with fields, every event that the words mean.
        case always(topic: ScenarioPattern, ScenarioPattern)
        case count(ScenarioPattern, comparison: String, Int)
    }

    var line: ScenarioLine
    var kind: Kind

    init(_ line: ScenarioLine) throws(LineMistake) {
        self.line = line
        var words = try Words(line.text)
        if words.take("only") {
            var topics: [String] = []
            while let topic = words.first {
                _ = words.take(topic)
                guard ScenarioEvent.topics.contains(topic) else {
                    throw LineMistake(
                        "'\(topic)' is no topic: write some of \(ScenarioEvent.topics.joined(separator: ", "))")
                }
                topics.append(topic)
            }
            kind = .only(topics)
        } else if words.take("never") {
            kind = .never(try ScenarioPattern(&words, line))
        } else if words.take("always") {
            let pattern = try ScenarioPattern(&words, line)
            var topic = pattern
            if pattern.conditions.isEmpty { (topic.words, topic.text) = ([], nil) }
            topic.conditions = []
            kind = .always(topic: topic, pattern)
        } else if words.take("count") {
            guard words.rest.count >= 3 else { throw LineMistake("write: count arrival APPROACHING >= 3") }
            let tail = Array(words.rest.suffix(2))
            guard ["=", "<=", ">=", "<", ">"].contains(tail[0]), let number = Int(tail[1]) else {
                throw LineMistake(
                    "'\(line.text)' does not end with a comparison and a number: count arrival APPROACHING >= 3")
            }
            var pattern = try Words(words.rest.dropLast(2).joined(separator: " "))
            kind = .count(try ScenarioPattern(&pattern, line), comparison: tail[0], number)
            return
        } else {
            kind = .sequence(try ScenarioPattern(&words, line))
        }
        try words.end()
    }
}

/// Everything that a scenario expects.
struct ScenarioExpectations {
    let lines: [ScenarioExpectation]
    /// The lines that follow each other.
    let sequence: [ScenarioPattern]
    /// Topics of which nothing else may come.
    let exact: [String]

    init(_ lines: [ScenarioExpectation]) {
        self.lines = lines
        sequence = lines.compactMap { if case .sequence(let pattern) = $0.kind { pattern } else { nil } }
        exact = lines.flatMap { line -> [String] in if case .only(let topics) = line.kind { topics } else { [] } }
    }

    /// What is not as expected, a line each; none when all is.
    func failures(_ events: [ScenarioEvent]) -> [String] {
        var failures = lines.compactMap { failure($0, events) }
        let alignment = ScenarioAlignment(sequence, exact: exact, events)
        if !alignment.fits { failures.append(alignment.transcript) }
        return failures
    }

    private func failure(_ expectation: ScenarioExpectation, _ events: [ScenarioEvent]) -> String? {
        func complaint(_ what: String, _ shown: [ScenarioEvent]) -> String {
            (["line \(expectation.line.number): \(expectation.line.text)\n    \(what)"]
                + shown.prefix(6).map { "    \($0.described(for: conditions(expectation)))" }).joined(separator: "\n")
        }
        switch expectation.kind {
        case .sequence, .only: return nil
        case .never(let pattern):
            let found = events.filter(pattern.matches)
            return found.isEmpty ? nil : complaint("but it came \(found.count) times:", found)
        case .always(let topic, let pattern):
            let all = events.filter(topic.matches)
            let wrong = all.filter { !pattern.matches($0) }
            if all.isEmpty { return complaint("but there is none at all", []) }
            return wrong.isEmpty ? nil : complaint("but \(wrong.count) of \(all.count) are otherwise:", wrong)
        case .count(let pattern, let comparison, let number):
            let found = events.filter(pattern.matches)
            let holds =
                switch comparison {
                case "=": found.count == number
                case "<": found.count < number
                case "<=": found.count <= number
                case ">": found.count > number
                default: found.count >= number
                }
            return holds ? nil : complaint("but there are \(found.count)", found)
        }
    }

    private func conditions(_ expectation: ScenarioExpectation) -> [ScenarioPattern.Condition] {
        switch expectation.kind {
        case .sequence(let pattern), .never(let pattern), .always(_, let pattern), .count(let pattern, _, _):
            pattern.conditions
        case .only: []
        }
    }
}
