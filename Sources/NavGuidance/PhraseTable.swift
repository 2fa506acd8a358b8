/// The words of one language: all that makes an instruction a sentence in it.
///
/// A language is data. Its phrases are looked up by keys built from the maneuver, the most specific first:
/// `<type>.<modifier>.<variant>`, `<type>.<variant>`, then the same with a plainer variant, then without one, then those of `turn`. Types and
/// modifiers are the raw values of ``ManeuverType`` and ``ManeuverModifier``; variants say what is known of the road after it. A phrase is
/// plain text with `{placeholders}`; what is put in is never read for placeholders again. Phrases begin as they do inside a sentence.
public struct PhraseTable: Sendable, Hashable, Codable {
    /// Which numbers take the singular.
    public enum Singular: String, Sendable, Codable {
        /// 1 alone, as in English.
        case one
        /// 0 up to but not including 2, as in French.
        case belowTwo
        /// None, as in Chinese.
        case never
    }

    /// The language, as a BCP 47 tag.
    public var language: String
    /// Phrases by key.
    public var phrases: [String: String]
    /// First, second, … as used with exits of a roundabout.
    public var ordinals: [String]
    /// North, north-east, … clockwise, eight of them.
    public var compass: [String]
    /// The decimal separator in numbers.
    public var decimalSeparator: String
    /// The separator of places in a list.
    public var listSeparator: String
    /// Which numbers take the singular.
    public var singular: Singular
    /// Whether a sentence begins with a capital letter.
    public var capitalisesSentences: Bool

    /// A language.
    public init(
        language: String, phrases: [String: String], ordinals: [String], compass: [String], decimalSeparator: String,
        listSeparator: String, singular: Singular, capitalisesSentences: Bool
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

    /// The first phrase that one of the keys names; empty when there is none.
    func phrase(_ keys: [String]) -> String {
        for key in keys {
            if let phrase = phrases[key] { return phrase }
        }
        return ""
    }

    /// The key's ending for a number.
    func plural(_ value: Double) -> String {
        let isSingular =
            switch singular {
            case .one: value == 1
            case .belowTwo: value < 2
            case .never: false
            }
        return isSingular ? "one" : "other"
    }
}
