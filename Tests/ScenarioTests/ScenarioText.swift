/// What is wrong with a scenario: the file, the line and what to do.
struct ScenarioMistake: Error, CustomStringConvertible {
    var file: String
    var line: Int
    var what: String

    var description: String { line > 0 ? "\(file), line \(line): \(what)" : "\(file): \(what)" }
}

/// What is wrong with one line, before it is known of which file.
struct LineMistake: Error {
    var what: String

    init(_ what: String) { self.what = what }
}

/// A line of a scenario with its number from 1.
struct ScenarioLine: Sendable, Equatable {
    var number: Int
    var text: String
}

/// A scenario cut into its sections.
struct ScenarioText {
    /// The sections in the order in which they stand in a file.
    static let sections = ["map", "ways", "nodes", "relations", "configuration", "drive", "expect"]

    let file: String
    /// The lines before the first section.
    private(set) var head: [ScenarioLine] = []
    /// What follows `map` on its line.
    private(set) var mapOptions = ScenarioLine(number: 0, text: "")
    private var bodies: [String: [ScenarioLine]] = [:]

    /// Cuts a text. Lines that begin with `#` are remarks, but in the drawing, where every character counts.
    init(_ text: String, file: String) throws {
        self.file = file
        var section = ""
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let trimmed = ScenarioText.trimmed(String(line))
            let entry = ScenarioLine(number: index + 1, text: section == "map" ? String(line) : trimmed)
            if let name = ScenarioText.heading(String(line)) {
                guard bodies[name] == nil else {
                    throw ScenarioMistake(file: file, line: index + 1, what: "a second section '\(name)'")
                }
                section = name
                bodies[name] = []
                if name == "map" {
                    mapOptions = ScenarioLine(
                        number: index + 1, text: ScenarioText.trimmed(String(trimmed.dropFirst("map".count))))
                }
            } else if section == "map" {
                bodies["map", default: []].append(entry)
            } else if !trimmed.isEmpty, !trimmed.hasPrefix("#") {
                if section.isEmpty { head.append(entry) } else { bodies[section, default: []].append(entry) }
            }
        }
        for name in ["map", "ways", "drive", "expect"] where bodies[name]?.isEmpty != false {
            throw ScenarioMistake(
                file: file, line: 0,
                what: "no section '\(name)'; a scenario has \(ScenarioText.sections.joined(separator: ", "))")
        }
    }

    /// The lines of a section; none without it.
    subscript(section: String) -> [ScenarioLine] { bodies[section] ?? [] }

    /// The section that a line begins; nil when it begins none. A heading stands at the start of its line.
    private static func heading(_ line: String) -> String? {
        if line.hasPrefix("map") {
            let rest = line.dropFirst(3)
            return rest.isEmpty || rest.hasPrefix(",") ? "map" : nil
        }
        return sections.contains(line) ? line : nil
    }

    static func trimmed(_ text: String) -> String {
        var part = text[...]
        while part.first == " " { part.removeFirst() }
        while part.last == " " { part.removeLast() }
        return String(part)
    }
}

/// The words of a line, taken one by one. A text in quotes is one word, and keeps them.
struct Words {
    private(set) var rest: ArraySlice<String>
    let line: String

    init(_ line: String) throws(LineMistake) {
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
        if isQuoted { throw LineMistake("'\(line)' has a quotation mark without another") }
        if !word.isEmpty { words.append(word) }
        rest = words[...]
    }

    var isEmpty: Bool { rest.isEmpty }
    var first: String? { rest.first }

    /// Takes the next words when they are these.
    mutating func take(_ expected: String...) -> Bool {
        guard rest.starts(with: expected) else { return false }
        rest = rest.dropFirst(expected.count)
        return true
    }

    mutating func next(_ what: String) throws(LineMistake) -> String {
        guard let word = rest.popFirst() else { throw LineMistake("'\(line)' ends where \(what) should follow") }
        return word
    }

    mutating func number(_ what: String) throws(LineMistake) -> Double {
        let word = try next(what)
        guard let number = Double(word), number.isFinite else {
            throw LineMistake("'\(word)' is not \(what): a number is wanted")
        }
        return number
    }

    /// A number and its unit, such as `12 s`.
    mutating func number(_ what: String, unit: String) throws(LineMistake) -> Double {
        let number = try number(what)
        guard take(unit) else { throw LineMistake("'\(line)': \(what) is given in \(unit)") }
        return number
    }

    /// What is left as one text.
    mutating func remainder() -> String {
        defer { rest = [] }
        return rest.joined(separator: " ")
    }

    /// Nothing may follow.
    func end() throws(LineMistake) {
        if let word = rest.first { throw LineMistake("'\(word)' is one word too many in '\(line)'") }
    }
}
