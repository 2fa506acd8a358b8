import NavBus
import NavMessages

/// A pattern of an `expect` line, which matches events by topic, first words, text, fields and time.
package struct EventPattern {
    /// A comparison of a field of the message.
    package struct Condition {
        package var field: String
        package var comparison: String
        package var value: String
        /// The tolerance of a number.
        package var tolerance = 0.0

        /// Whether an actual value satisfies the condition; nil stands for an absent field.
        func holds(_ actual: String?) -> Bool {
            if value == "unknown" { return (actual == nil) == (comparison == "=") }
            guard let actual else { return false }
            if let holds = NumberComparison.holds(actual, comparison, value, tolerance: tolerance) { return holds }
            return comparison == "=" ? globMatches(value, actual) : comparison == "!=" && !globMatches(value, actual)
        }
    }

    package var line: SourceLine
    /// Seconds since the start of the drive.
    package var window = 0.0...Double.infinity
    package var topic = ""
    package var words: [String] = []
    package var text: String?
    package var conditions: [Condition] = []

    package init(_ words: inout LineScanner, _ line: SourceLine) throws(LineError) {
        self.line = line
        try take(&words)
    }

    /// Reads `12..16 topic WORD WORD "text" where field < 3 and field = 4`.
    package mutating func take(_ words: inout LineScanner) throws(LineError) {
        if let word = words.first, word.contains("..") {
            _ = words.take(word)
            window = try EventPattern.window(word)
        }
        topic = try words.next("a topic")
        guard DriveEvent.topics.contains(topic) else {
            throw LineError("'\(topic)' is not a topic: write one of \(DriveEvent.topics.joined(separator: ", "))")
        }
        while let word = words.first, word != "where" {
            if word == "via" {
                _ = words.take(word)
                var names: [String] = []
                while let name = words.first, name != "where" {
                    _ = words.take(name)
                    names.append(name.filter { $0 != "\"" })
                }
                text = names.joined(separator: " ")
            } else {
                _ = words.take(word)
                if word.hasPrefix("\"") {
                    guard text == nil else { throw LineError("\(word) is a second text: a line takes one") }
                    text = word.filter { $0 != "\"" }
                } else {
                    self.words.append(word)
                }
            }
        }
        if words.take("where") {
            repeat { conditions.append(try EventPattern.condition(&words)) } while words.take("and")
        }
        try ExpectationNames.check(self)
    }

    private static func window(_ text: String) throws(LineError) -> ClosedRange<Double> {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        // Numbers may contain a point, so split at two consecutive points.
        guard let dots = parts.indices.dropFirst().first(where: { parts[$0].isEmpty && $0 + 1 < parts.count }) else {
            throw LineError("'\(text)' is not a time span: write 12..16, 12.. or ..16")
        }
        let lower = parts[..<dots].joined(separator: ".")
        let upper = parts[(dots + 1)...].joined(separator: ".")
        guard let from = lower.isEmpty ? 0 : Double(lower), let to = upper.isEmpty ? .infinity : Double(upper),
            from <= to
        else { throw LineError("'\(text)' is not a time span: write 12..16, 12.. or ..16") }
        return from...to
    }

    private static func condition(_ words: inout LineScanner) throws(LineError) -> Condition {
        let field = try words.next("a field of the message, such as deviation")
        let comparison = try words.next("=, !=, <, <=, > or >=")
        guard ["=", "!=", "<", "<=", ">", ">="].contains(comparison) else {
            throw LineError("'\(comparison)' is not a comparison: write =, !=, <, <=, > or >= with spaces around it")
        }
        let value = try words.next("a value").filter { $0 != "\"" }
        if comparison.contains("<") || comparison.contains(">"), Double(value) == nil {
            throw LineError("'\(value)' is not a number")
        }
        var condition = Condition(field: field, comparison: comparison, value: value)
        if words.take("+-") { condition.tolerance = try words.number("a tolerance") }
        return condition
    }

    /// Whether an event matches apart from its fields.
    package func meansButForFields(_ event: DriveEvent) -> Bool {
        guard !conditions.isEmpty else { return false }
        var pattern = self
        pattern.conditions = []
        return pattern.matches(event)
    }

    /// Whether an event matches.
    package func matches(_ event: DriveEvent) -> Bool {
        guard event.topic == topic, event.words.count >= words.count,
            window.contains(event.time), zip(words, event.words).allSatisfy({ globMatches($0, $1) })
        else { return false }
        if let text {
            // A line cannot contain the quotation marks of a road name.
            let isQuoted = event.text.utf8.contains(UInt8(ascii: "\""))
            guard globMatches(text, isQuoted ? event.text.filter { $0 != "\"" } : event.text) else { return false }
        }
        return conditions.allSatisfy { $0.holds(event.field($0.field)) }
    }
}

/// An `expect` line: an event that occurs, never occurs, always matches, occurs a number of times, or follows another event in time.
package struct Expectation {
    package enum Kind {
        /// An event that occurs; events of several such lines occur in the order of the lines.
        case sequence(EventPattern)
        /// Topics without events other than those in `sequence` lines.
        case only([String])
        case never(EventPattern)
        /// Every event of a topic matches, and there is at least one; with fields, every event with the same words.
        case always(topic: EventPattern, EventPattern)
        case count(EventPattern, comparison: String, Int)
        /// An event that follows each event of another pattern within some seconds, or follows none of them.
        case within(EventPattern, isForbidden: Bool, seconds: Double, of: EventPattern)
    }

    package var line: SourceLine
    package var kind: Kind

    package init(_ line: SourceLine) throws(LineError) {
        self.line = line
        var words = try LineScanner(line.text)
        if words.rest.contains("within") {
            kind = try Expectation.within(&words, line)
            return
        }
        if words.take("only") {
            var topics: [String] = []
            while let topic = words.first {
                _ = words.take(topic)
                guard DriveEvent.topics.contains(topic) else {
                    throw LineError(
                        "'\(topic)' is not a topic: write some of \(DriveEvent.topics.joined(separator: ", "))")
                }
                topics.append(topic)
            }
            guard !topics.isEmpty else { throw LineError("'only' names no topic: write for example only reroute") }
            kind = .only(topics)
        } else if words.take("never") {
            kind = .never(try EventPattern(&words, line))
        } else if words.take("always") {
            let pattern = try EventPattern(&words, line)
            var topic = pattern
            if pattern.conditions.isEmpty { (topic.words, topic.text) = ([], nil) }
            topic.conditions = []
            kind = .always(topic: topic, pattern)
        } else if words.take("count") {
            guard words.rest.count >= 3 else { throw LineError("write: count arrival APPROACHING >= 3") }
            let tail = Array(words.rest.suffix(2))
            guard ["=", "<=", ">=", "<", ">"].contains(tail[0]), let number = Int(tail[1]) else {
                throw LineError(
                    "'\(line.text)' does not end with a comparison and a number: count arrival APPROACHING >= 3")
            }
            var pattern = try LineScanner(words.rest.dropLast(2).joined(separator: " "))
            kind = .count(try EventPattern(&pattern, line), comparison: tail[0], number)
            return
        } else {
            kind = .sequence(try EventPattern(&words, line))
        }
        try words.end()
    }

    /// Reads `reroute APPLIED within 5 s of deviation OFF_ROUTE`, optionally preceded by `never`.
    private static func within(_ words: inout LineScanner, _ line: SourceLine) throws(LineError) -> Kind {
        let example = "write: reroute APPLIED within 5 s of deviation OFF_ROUTE"
        if let word = words.first, ["only", "always", "count"].contains(word) {
            throw LineError("'within' cannot follow '\(word)': \(example), or never and the same")
        }
        let isForbidden = words.take("never")
        let parts = words.rest.split(separator: "within", maxSplits: 1, omittingEmptySubsequences: false)
        guard !parts[0].isEmpty else { throw LineError("no event precedes 'within': \(example)") }
        var event = try LineScanner(parts[0].joined(separator: " "))
        let pattern = try EventPattern(&event, line)
        try event.end()
        var rest = try LineScanner(parts[1].joined(separator: " "))
        let seconds = try rest.number("the time after 'within'", unit: "s")
        guard seconds >= 0 else { throw LineError("the time after 'within' is negative: \(example)") }
        guard rest.take("of") else { throw LineError("'of' and an event must follow the time: \(example)") }
        let cause = try EventPattern(&rest, line)
        try rest.end()
        return .within(pattern, isForbidden: isForbidden, seconds: seconds, of: cause)
    }
}

/// The expectations of a drive, from a scenario or for a bag of a fleet.
package struct Expectations {
    package let lines: [Expectation]
    /// The patterns of the events that occur in order.
    package let sequence: [EventPattern]
    /// The topics that allow no other events.
    package let exact: [String]

    package init(_ lines: [Expectation]) {
        self.lines = lines
        sequence = lines.compactMap { if case .sequence(let pattern) = $0.kind { pattern } else { nil } }
        exact = lines.flatMap { line -> [String] in if case .only(let topics) = line.kind { topics } else { [] } }
    }

    /// Returns the unmet expectations, one entry each; empty when all are met.
    ///
    /// - Parameter end: the end of the recording, seconds; an event that is due after it is not missing.
    package func failures(_ events: [DriveEvent], until end: Double = .infinity) -> [String] {
        var failures = lines.compactMap { failure($0, events, end) }
        let alignment = EventAlignment(sequence, exact: exact, events)
        if !alignment.fits { failures.append(alignment.transcript) }
        return failures
    }

    /// The topics named by any line.
    package var topics: Set<String> {
        lines.reduce(into: Set(exact)) { topics, line in
            switch line.kind {
            case .sequence(let pattern), .never(let pattern), .count(let pattern, _, _), .always(_, let pattern):
                topics.insert(pattern.topic)
            case .within(let pattern, _, _, let cause): topics.formUnion([pattern.topic, cause.topic])
            case .only: break
            }
        }
    }

    private func failure(_ expectation: Expectation, _ events: [DriveEvent], _ end: Double) -> String? {
        func complaint(_ what: String, _ shown: [DriveEvent]) -> String {
            (["line \(expectation.line.number): \(expectation.line.text)\n    \(what)"]
                + shown.prefix(6).map { "    \($0.described(for: conditions(expectation)))" }).joined(separator: "\n")
        }
        switch expectation.kind {
        case .sequence, .only: return nil
        case .never(let pattern):
            let found = events.filter(pattern.matches)
            return found.isEmpty ? nil : complaint("but it occurred \(found.count) times:", found)
        case .always(let topic, let pattern):
            let all = events.filter(topic.matches)
            let wrong = all.filter { !pattern.matches($0) }
            if all.isEmpty { return complaint("but there are none", []) }
            return wrong.isEmpty ? nil : complaint("but \(wrong.count) of \(all.count) differ:", wrong)
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
        case .within(let pattern, let isForbidden, let seconds, let cause):
            let causes = events.filter(cause.matches)
            let times = events.filter(pattern.matches).map(\.time).sorted()
            let wrong = causes.filter { event in
                let last = event.time + seconds
                // Events of the same fix have the same time, in any order. An event does not follow itself.
                let found = times.count(upTo: last + 1e-6) - times.count(upTo: event.time.nextDown)
                let isFollowed = found > (pattern.matches(event) ? 1 : 0)
                return isForbidden ? isFollowed : !isFollowed && last <= end
            }
            let amount = isForbidden ? "one" : "none"
            return wrong.isEmpty ? nil : complaint("but \(wrong.count) of \(causes.count) have \(amount):", wrong)
        }
    }

    private func conditions(_ expectation: Expectation) -> [EventPattern.Condition] {
        switch expectation.kind {
        case .sequence(let pattern), .never(let pattern), .always(_, let pattern), .count(let pattern, _, _),
            .within(_, _, _, let pattern):
            pattern.conditions
        case .only: []
        }
    }
}

extension [Double] {
    /// Returns the number of values of a sorted list that are at most a limit.
    fileprivate func count(upTo limit: Double) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] <= limit { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
