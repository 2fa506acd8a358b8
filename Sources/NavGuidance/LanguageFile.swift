/// A language as a file in `Languages`: lines `key = value` below `[sections]`, and comments that begin with `#`.
///
/// `[language]` has the tag and the notation of numbers and sentences, `[names]` the affixes and the classes of names, `[forms]` the names'
/// forms by case and class, `[numbers]` the spoken prefixes of road numbers, `[phrases]` the rest. A language with a `base` inherits everything that it
/// does not define.
package struct LanguageFile {
    /// A defect in a line of a language file.
    package struct Defect: Error, CustomStringConvertible {
        var line: Int
        var message: String
        package var description: String { "line \(line): \(message)" }
    }

    package private(set) var table = PhraseTable(language: "")
    /// Whether it only defines its differences from another language.
    private(set) var isVariant = false
    private var rules: [NameGrammar.Rule] = []

    /// Parses a language.
    ///
    /// - Parameter base: Returns a previously parsed language by its tag.
    package init(_ text: String, base: (String) -> PhraseTable?) throws(Defect) {
        var section = Substring()
        var number = 0
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            number += 1
            if line.isEmpty || line.first == "#" { continue }
            if line.first == "[", line.last == "]" {
                section = line.dropFirst().dropLast()
                continue
            }
            guard let equals = line.firstRange(of: " = ") else {
                throw Defect(line: number, message: "expected `key = value`, found: \(line)")
            }
            let key = String(line[..<equals.lowerBound])
            var value = line[equals.upperBound...]
            if value.count > 1, value.first == "\"", value.last == "\"" { value = value.dropFirst().dropLast() }
            guard take(key, String(value), of: section, base) else {
                throw Defect(line: number, message: "unknown key or invalid value in [\(section)]: \(line)")
            }
        }
        guard !table.language.isEmpty else { throw Defect(line: number, message: "no `tag = …` in [language]") }
        // The language's own rules come before those of its base.
        table.names.rules = rules + table.names.rules
    }

    private mutating func take(
        _ key: String, _ value: String, of section: Substring, _ base: (String) -> PhraseTable?
    ) -> Bool {
        let list = value.split(separator: ",").map { String($0.drop { $0 == " " }) }
        switch section {
        case "language": return set(key, value, list, base)
        case "names" where key == "affixes": table.names.affixes = list.map { $0.lowercased() }
        case "names" where key == "particles": table.names.particles = list.map { $0.lowercased() }
        case "names":
            let parts = key.split(separator: ":", maxSplits: 1)
            guard let first = parts.first, let test = NameGrammar.Rule.Test(rawValue: String(first)) else {
                return false
            }
            let texts = parts.count == 1 ? [""] : parts[1].split(separator: ",").map { String($0.drop { $0 == " " }) }
            rules += texts.map {
                NameGrammar.Rule(test: test, text: test == .reference ? $0 : $0.lowercased(), kind: value)
            }
        case "forms": table.names.forms[key] = value
        case "numbers": for start in key.split(separator: " ") { table.names.references[String(start)] = value }
        case "phrases": table.phrases[key] = value
        default: return false
        }
        return true
    }

    private mutating func set(
        _ key: String, _ value: String, _ list: [String], _ base: (String) -> PhraseTable?
    ) -> Bool {
        switch key {
        case "tag": table.language = value
        case "base":
            isVariant = true
            // A base that is not parsed yet leaves the language without words; `PhraseTable.all` parses it again later.
            let tag = table.language
            table = base(value) ?? table
            table.language = tag
            (table.covers, table.excepts) = ([], [])
        case "covers": table.covers = list.map { $0.lowercased() }
        case "excepts": table.excepts = list.map { $0.lowercased() }
        case "singular":
            guard let singular = PhraseTable.Singular(rawValue: value) else { return false }
            table.singular = singular
        case "decimal separator": table.decimalSeparator = value
        case "list separator": table.listSeparator = value
        case "names": table.nameTags = list
        case "script":
            guard let script = PhraseTable.Script(rawValue: value) else { return false }
            table.script = script
        case "capitals":
            guard value == "yes" || value == "no" else { return false }
            table.capitalisesSentences = value == "yes"
        case "characters per second":
            guard let rate = Double(value), rate > 0 else { return false }
            table.charactersPerSecond = rate
        case "compass":
            guard list.count == 8 else { return false }
            table.compass = list
        case "ordinals": table.ordinals = list
        case "adjectives": table.names.adjectives = Set(list)
        case "adjective endings": table.names.adjectiveEndings = list
        default: return false
        }
        return true
    }
}
