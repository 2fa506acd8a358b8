/// Rules that fit a road's name into a sentence: article, preposition and case by the class of the name.
///
/// A name belongs to the class of the first rule that it matches, or to none. The form of a case and a class is a template: `{}` is the
/// name, `{stem}` the name without the matched ending, `{lower}` the name with its first letter in lower case, `{adjective:en}` the name
/// with the ending of its first adjective replaced, and `{adjective:e en}` that with the ending `e` only. A case without a form for the
/// class uses the form for all classes, or the name as it is.
struct NameGrammar: Sendable, Hashable {
    /// A test of a name, with the class of the names that match.
    struct Rule: Sendable, Hashable {
        /// The part of a name that is tested.
        enum Test: String, Sendable {
            /// The first letters of a road number; empty for all numbers.
            case reference
            /// The first word of a name.
            case first
            /// The end of a name.
            case ending
        }

        var test: Test
        /// The text to match, in lower case except for road numbers.
        var text: String
        var kind: String
    }

    /// Words before or after a name that distinguish parts of one street, in lower case.
    var affixes: [String] = []
    /// Words between the kind of a street and its name, in lower case.
    var particles: [String] = []
    var rules: [Rule] = []
    /// Templates by case and class, such as `onto.street`, or by case alone.
    var forms: [String: String] = [:]
    /// Stems of adjectives at the start of names, in lower case, with their endings.
    var adjectives: Set<String> = []
    var adjectiveEndings: [String] = []
    /// Prefixes of road numbers up to their first space, with their spoken forms.
    var references: [String: String] = [:]

    /// Returns the spoken form of a road number: `SR 12` is "State Route 12".
    func spoken(reference: String) -> String {
        guard !references.isEmpty, let space = reference.firstIndex(of: " "),
            let words = references[String(reference[..<space])]
        else { return reference }
        return words + reference[space...]
    }

    /// Returns a name in a grammatical case.
    func sentence(_ name: String, isReference: Bool, in grammaticalCase: Substring) -> Sentence {
        guard !grammaticalCase.isEmpty, !name.isEmpty else { return Sentence(name: name) }
        let rule = rule(of: name, isReference)
        let template =
            rule.flatMap { forms["\(grammaticalCase).\($0.kind)"] } ?? forms[String(grammaticalCase)] ?? "{}"
        return Sentence(template) { key in
            switch key {
            case "stem": Sentence(name: String(name.dropLast(rule?.text.count ?? 0)))
            case "lower": Sentence(name: name.prefix(1).lowercased() + name.dropFirst())
            case _ where key.hasPrefix("adjective:"):
                Sentence(name: declined(name, key.dropFirst("adjective:".count).split(separator: " ")))
            default: Sentence(name: name)
            }
        }
    }

    private func rule(of name: String, _ isReference: Bool) -> Rule? {
        let lower = name.lowercased()
        let first = lower.prefix { $0 != " " }
        return rules.first { rule in
            switch rule.test {
            case .reference: isReference && name.hasPrefix(rule.text)
            case .first: !isReference && first == rule.text
            case .ending: !isReference && lower.hasSuffix(rule.text)
            }
        }
    }

    /// Returns the name with another ending of its first adjective: "Alter Markt" becomes "Alten Markt" in most cases.
    ///
    /// - Parameter endings: The new ending, or the only old one to replace and the new one.
    private func declined(_ name: String, _ endings: [Substring]) -> String {
        let first = name.prefix { $0 != " " }
        let replaced = endings.count == 2 ? [String(endings[0])] : adjectiveEndings
        guard let ending = endings.last, first.count < name.count,
            let old = replaced.first(where: { first.hasSuffix($0) }),
            adjectives.contains(first.dropLast(old.count).lowercased())
        else { return name }
        return String(first.dropLast(old.count) + ending + name[first.endIndex...])
    }
}
