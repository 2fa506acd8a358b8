internal import NavMap

/// The name and number of a road, as on the signs along it; a class, because turns are copied often and it never changes.
final class RoadSign: Equatable {
    let name: String
    let reference: String
    let isEmpty: Bool
    /// The name in lower case without affixes such as `North`; computed once, because it is compared at many junctions.
    private lazy var stem = NameAffixes.stem(of: name)
    /// The numbers in ``reference``, computed once for the same reason.
    private let numbers: [String]

    init(name: String, reference: String) {
        (self.name, self.reference) = (name, reference)
        isEmpty = name.isEmpty && reference.isEmpty
        numbers = RoadLabel.list(reference)
    }

    static func == (left: RoadSign, right: RoadSign) -> Bool {
        left === right || left.name == right.name && left.reference == right.reference
    }

    /// Whether going from this road onto `other` is a name change that must be announced.
    ///
    /// A name that ends, an affix such as `North` that is added or removed, and a number that the other road also has are not changes.
    /// Replacing a name by a number, or a number by a name, is a change.
    func changes(to other: RoadSign) -> Bool {
        if self == other { return false }
        if isEmpty { return !other.isEmpty }
        let sharesNumber = hasNumbers(of: other) || other.hasNumbers(of: self)
        if name.isEmpty, other.name.isEmpty { return !sharesNumber }
        if name.isEmpty != other.name.isEmpty, reference.isEmpty != other.reference.isEmpty,
            name.isEmpty == other.reference.isEmpty
        {
            return true
        }
        let differsByAffix = name == other.name || !stem.isEmpty && stem == other.stem
        let isPrefix = name.utf8.starts(with: other.name.utf8) || other.name.utf8.starts(with: name.utf8)
        let isSameName = isPrefix || differsByAffix
        if isSameName { return !(sharesNumber || differsByAffix || other.reference.isEmpty) }
        return !(other.name.isEmpty && sharesNumber)
    }

    /// Whether this road has all numbers of `other`; true when `other` has none.
    private func hasNumbers(of other: RoadSign) -> Bool { other.numbers.allSatisfy(numbers.contains) }

    /// Whether both are named and going either way is not a change.
    func isSame(as other: RoadSign) -> Bool {
        !isEmpty && !other.isEmpty && (self == other || !changes(to: other) && !other.changes(to: self))
    }

    /// Whether both are named and going from this one to the other is not a change.
    func continues(as other: RoadSign) -> Bool { !isEmpty && !other.isEmpty && !changes(to: other) }
}

/// Words before or after a street's name that distinguish its parts, in all languages, because signs use the country's language.
enum NameAffixes {
    private static let words = Set(PhraseTable.all.flatMap(\.names.affixes))
    /// Words that do not name a street on their own, such as "rue" and "du".
    private static let commonWords = Set(
        PhraseTable.all.flatMap { table in
            table.names.particles + table.names.rules.filter { $0.test == .first }.map(\.text)
        } + wordsOfOtherLanguages)
    /// The same for languages without a file that share the affixes of a language with one: Portuguese, Galician, Italian, Romanian.
    private static let wordsOfOtherLanguages = [
        "do", "da", "dos", "das", "e", "di", "del", "della", "dello", "dei", "degli", "delle",
        "rua", "rúa", "travessa", "largo", "praça", "praceta", "estrada", "beco", "calçada", "caminho", "viela",
        "praza",
        "via", "viale", "strada", "piazza", "piazzale", "corso", "vicolo", "bulevardul", "calea", "aleea",
    ]

    /// Returns a name in lower case without affixes; empty when the remaining words do not name a street.
    static func stem(of name: String) -> String {
        let parts = name.lowercased().utf8.split(separator: UInt8(ascii: " ")).map { String(Substring($0)) }
        let own = parts.filter { !words.contains($0) }
        if own.count < parts.count, own.allSatisfy(commonWords.contains) { return "" }
        return own.joined(separator: " ")
    }
}

/// The properties of a road that junctions compare; a class, because junctions are copied often and it never changes.
final class RoadProfile {
    let roadClass: RoadClass
    let flags: RoadFlags
    /// Lanes of both directions together; 0 when unknown.
    let lanes: Int
    /// The name and number.
    let sign: RoadSign
    /// Whether it has no name, number or destination.
    let isUnlabelled: Bool
    /// The rank of importance; the most important road has the lowest. A link ranks below its own class.
    let priority: Int

    init(_ attributes: RoadAttributes, lanes: Int) {
        roadClass = attributes.roadClass
        flags = attributes.flags
        self.lanes = lanes
        sign = RoadSign(name: attributes.name, reference: attributes.reference)
        isUnlabelled = sign.isEmpty && attributes.destination.isEmpty && attributes.destinationReference.isEmpty
        let rank =
            switch attributes.roadClass {
            case .motorway: 0
            case .trunk: 2
            case .primary: 4
            case .secondary: 6
            case .tertiary: 8
            case .livingStreet: 10
            case .unclassified, .residential: 11
            case .service: 12
            case .track: 16
            case .ferry: 31
            }
        priority = rank + (attributes.flags.contains(.link) && rank < 10 ? 1 : 0)
    }

    var isLink: Bool { flags.contains(.link) }
    /// Whether it is a motorway or trunk road, not a link; such roads separate their directions.
    var isMotorway: Bool { roadClass <= .trunk && !isLink }
    /// Whether it is a link of a motorway or trunk road.
    var isRamp: Bool { roadClass <= .trunk && isLink }
    var isRoundabout: Bool { flags.contains(.roundabout) }
    var isFerry: Bool { roadClass == .ferry }
    /// Whether it only gives access, so that drivers on a street disregard it.
    var isMinor: Bool { roadClass == .service || roadClass == .track || roadClass == .ferry }
    /// Whether through traffic is excluded, because only destination traffic or private access is permitted.
    var isRestricted: Bool { !flags.isDisjoint(with: [.destinationOnly, .privateAccess]) }

    /// A coarse class: drivers perceive roads of one group as equal.
    var group: Int {
        switch priority {
        case 0, 1: 0
        case 2, 3: 1
        case 4...9: 2
        case 10...13: 3
        case 14, 15: 4
        case 16, 17: 5
        default: 7
        }
    }

    func hasSameClass(as other: RoadProfile) -> Bool {
        priority == other.priority && isLink == other.isLink && isMinor == other.isMinor
    }

    /// Whether it belongs to a lower group of roads.
    func isLesser(than other: RoadProfile) -> Bool {
        isMinor == other.isMinor ? group > other.group : isMinor
    }

    /// Whether it is the kind of link that joins roads like `other`.
    func isLink(to other: RoadProfile) -> Bool { isLink && !other.isLink && roadClass == other.roadClass }

    /// Whether a driver on this road follows `road` rather than `other` because of its class alone.
    func leads(onto road: RoadProfile, beside other: RoadProfile) -> Bool {
        1.75 * Double(road.priority) < Double(other.priority) && hasSameClass(as: road)
            || !road.isMinor && !isMinor && other.isMinor
    }
}

extension RoadClass {
    static func <= (left: RoadClass, right: RoadClass) -> Bool { left.rawValue <= right.rawValue }
}
