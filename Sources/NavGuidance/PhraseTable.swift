internal import NavMap

/// The words and rules of one language for instructions.
///
/// A language is a file in `Languages`, read by ``LanguageFile``. Its phrases are looked up by keys built from the maneuver, the most
/// specific first: `<type>.<modifier>.<variant>`, `<type>.<variant>`, the same with a less specific variant, the same without a variant,
/// and finally the keys of `turn`. Types and modifiers are the raw values of ``ManeuverType`` and ``ManeuverModifier``, but a ramp has its
/// side, `left` or `right`, instead of a modifier; variants depend on the data of the road after the maneuver. A phrase is plain text with
/// `{placeholders}`; inserted text is never searched for placeholders. A placeholder may name a case of the language, as in `{name:onto}`
/// or `{distance:dative}`. A variant with destinations but without a phrase is derived from the plain phrase by `sentence.destination`, in
/// which `{instruction}` is the plain phrase, or `{instruction:start}` and `{instruction:verb}` are its parts before and from the last
/// word, for languages whose phrases end in a verb. Phrases are capitalised as in the middle of a sentence.
public struct PhraseTable: Sendable, Hashable {
    /// The numbers that take the singular.
    public enum Singular: String, Sendable {
        /// 1 alone, as in English.
        case one
        /// 0 up to but not including 2, as in French.
        case belowTwo = "below-two"
        /// No number, as in Chinese.
        case never
    }

    /// A script that the language's speakers read, in addition to Latin.
    enum Script: String, Sendable {
        case latin = "Latin"
        case han = "Han"

        /// Whether a text contains a readable letter or no letters at all.
        func isRead(in text: String) -> Bool {
            let letters = text.unicodeScalars.filter(\.properties.isAlphabetic).map(\.value)
            return letters.isEmpty
                || letters.contains { letter in
                    // Basic Latin to Latin Extended-B, and Latin Extended Additional; CJK ideographs and their extension A.
                    switch letter {
                    case 0x41...0x24f, 0x1e00...0x1eff: true
                    case 0x3400...0x4dbf, 0x4e00...0x9fff: self == .han
                    default: false
                    }
                }
        }
    }

    /// The language, as a BCP 47 tag.
    public var language: String
    /// The map's tags for names in the language, in order of preference; empty for the language's own tag.
    var nameTags: [String] = []
    /// The script that its speakers read.
    var script = Script.latin
    /// Further tags that the table covers, and longer tags that it does not cover, in lower case.
    var covers: [String] = []
    var excepts: [String] = []
    /// Phrases by key.
    public var phrases: [String: String]
    /// "First", "second", … for the exits of a roundabout.
    public var ordinals: [String]
    /// "North", "north-east", … clockwise, eight directions.
    public var compass: [String]
    /// The decimal separator in numbers.
    public var decimalSeparator: String
    /// The separator of places in a list.
    public var listSeparator: String
    /// The numbers that take the singular.
    public var singular: Singular
    /// Whether a sentence begins with a capital letter.
    public var capitalisesSentences: Bool
    /// Characters spoken per second. 15: an ordinary rate of synthesised English.
    public var charactersPerSecond = 15.0
    /// The rules for names in sentences.
    var names = NameGrammar()

    /// A language.
    public init(
        language: String, phrases: [String: String] = [:], ordinals: [String] = [], compass: [String] = [],
        decimalSeparator: String = ".", listSeparator: String = ", ", singular: Singular = .one,
        capitalisesSentences: Bool = true
    ) {
        self.language = language
        self.phrases = phrases
        self.ordinals = ordinals
        self.compass = compass
        self.decimalSeparator = decimalSeparator
        self.listSeparator = listSeparator
        self.singular = singular
        self.capitalisesSentences = capitalisesSentences
    }

    /// Returns the phrase of the first key that has one; empty when there is none.
    func phrase(_ keys: [String]) -> String {
        for key in keys {
            if let phrase = phrases[key] { return phrase }
        }
        return ""
    }

    /// Returns the phrase for a type of maneuver in a direction, else that for all directions; nil when there is neither.
    func phrase(_ type: String, _ direction: String, _ ending: String) -> String? {
        phrases[type + "." + direction + ending] ?? phrases[type + ending]
    }

    /// Returns a maneuver's phrase with its destinations where the language places them; nil when the language has no such rule.
    func withDestination(_ phrase: String) -> String? {
        guard let rule = phrases["sentence.destination"] else { return nil }
        let verb = phrase.lastIndex(of: " ").map(phrase.index(after:)) ?? phrase.startIndex
        return Sentence(rule) { key in
            switch key {
            case "instruction": Sentence(words: phrase)
            case "instruction:start": Sentence(words: String(phrase[..<verb]))
            case "instruction:verb": Sentence(words: String(phrase[verb...]))
            default: Sentence(words: "{\(key)}")
            }
        }.text
    }

    /// Returns the phrase for a distance. A phrase for the exact number, such as "half a mile", takes precedence over the plural, and one
    /// with the grammatical case over one without.
    func distancePhrase(_ rounded: DistanceScale.Rounded, _ grammaticalCase: String) -> String {
        let isSingular =
            switch singular {
            case .one: rounded.value == 1
            case .belowTwo: rounded.value < 2
            case .never: false
            }
        let unit = "distance.\(rounded.unit)"
        let endings = [rounded.plainNumber, isSingular ? "one" : "other"]
        let cases = grammaticalCase.isEmpty ? [unit] : ["\(unit).\(grammaticalCase)", unit]
        return phrase(cases.flatMap { start in endings.map { "\(start).\($0)" } })
    }

    /// Returns a road's name in the language, else the name on the signs if its script is readable, else the international name if known.
    func name(of road: RoadLabel) -> String {
        guard !road.localNames.isEmpty else { return road.name }
        let tags = nameTags.isEmpty ? [String(language.prefix { $0 != "-" })] : nameTags
        if let name = tags.lazy.compactMap({ road.localNames[$0] }).first { return name }
        return script.isRead(in: road.name) ? road.name : road.localNames[LocalNames.international] ?? road.name
    }

    /// Returns the time to speak a text, including half a second to begin, seconds.
    func speechSeconds(_ text: String) -> Double { 0.5 + Double(text.count) / charactersPerSecond }
}

extension PhraseTable {
    /// All languages, sorted by tag.
    public static let all: [PhraseTable] = {
        var tables: [PhraseTable] = []
        // Variants are parsed after their base languages.
        for isVariant in [false, true] {
            for text in LanguageFiles.texts {
                let read = try? LanguageFile(text) { tag in tables.first { $0.language == tag } }
                if let read, read.isVariant == isVariant { tables.append(read.table) }
            }
        }
        return tables.sorted { $0.language < $1.language }
    }()

    /// The longest tag that is looked up, bytes; registered tags have at most 35 characters (RFC 5646, 4.4.1).
    private static let longestTag = 100

    /// English without a country.
    public static let english = all.first { $0.language == "en" } ?? PhraseTable(language: "en")

    /// Returns the language that best fits a BCP 47 tag, by shortening the tag from its end (RFC 4647, lookup); nil when there is none.
    public static func named(_ tag: String) -> PhraseTable? {
        // Bounded because callers supply the tag: shortening a very long one would take hours.
        guard tag.utf8.count <= longestTag else { return nil }
        var parts = tag.lowercased().split(separator: "-", omittingEmptySubsequences: false)
        while !parts.isEmpty {
            let wanted = parts.joined(separator: "-")
            if all.contains(where: { $0.excepts.contains(wanted) }) { return nil }
            if let table = all.first(where: { $0.language.lowercased() == wanted || $0.covers.contains(wanted) }) {
                return table
            }
            parts.removeLast()
        }
        return nil
    }

    /// The tags of all languages, separated by commas, for messages.
    public static var tags: String { all.map(\.language).joined(separator: ", ") }
}
