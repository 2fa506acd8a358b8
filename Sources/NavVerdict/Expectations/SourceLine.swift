/// An error in a line; the caller adds the file.
package struct LineError: Error {
    package var what: String

    package init(_ what: String) { self.what = what }
}

/// A line of a scenario with its number from 1.
package struct SourceLine: Sendable, Equatable {
    package var number: Int
    package var text: String

    package init(number: Int, text: String) { (self.number, self.text) = (number, text) }
}

/// A scanner of the words of a line; a quoted text is one word and keeps its quotes.
package struct LineScanner {
    package private(set) var rest: ArraySlice<String>
    package let line: String

    package init(_ line: String) throws(LineError) {
        self.line = line
        var words: [String] = []
        var word = ""
        var isQuoted = false
        for character in line {
            if character == "\"" { isQuoted.toggle() }
            if character == " ", !isQuoted {
                if !word.isEmpty { words.append(word) }
                word = ""
            } else {
                word.append(character)
            }
        }
        if isQuoted { throw LineError("'\(line)' has an unmatched quotation mark") }
        if !word.isEmpty { words.append(word) }
        rest = words[...]
    }

    package var first: String? { rest.first }

    /// Takes the next words if they equal `expected`.
    package mutating func take(_ expected: String...) -> Bool {
        guard rest.starts(with: expected) else { return false }
        rest = rest.dropFirst(expected.count)
        return true
    }

    package mutating func next(_ what: String) throws(LineError) -> String {
        guard let word = rest.popFirst() else { throw LineError("'\(line)' ends where \(what) should follow") }
        return word
    }

    package mutating func number(_ what: String) throws(LineError) -> Double {
        let word = try next(what)
        guard let number = Double(word), number.isFinite else {
            throw LineError("'\(word)' is not \(what): write a number")
        }
        return number
    }

    /// Takes a number and its unit, such as `12 s`.
    package mutating func number(_ what: String, unit: String) throws(LineError) -> Double {
        let number = try number(what)
        guard take(unit) else { throw LineError("'\(line)': \(what) must be in \(unit)") }
        return number
    }

    /// Takes the remaining words as one text.
    package mutating func remainder() -> String {
        defer { rest = [] }
        return rest.joined(separator: " ")
    }

    /// Checks that no words remain.
    package func end() throws(LineError) {
        if let word = rest.first { throw LineError("unexpected '\(word)' in '\(line)'") }
    }
}
