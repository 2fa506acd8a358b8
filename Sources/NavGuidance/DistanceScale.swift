/// Systems of units for distances.
public enum DistanceUnits: String, Sendable, Hashable, CaseIterable {
    /// The units of the country's roads; for an unknown country, those of ``GuidanceOptions/text``.
    case ofCountry = "country"
    /// Metres and kilometres.
    case metric
    /// Miles, with yards in the United Kingdom and feet elsewhere.
    case imperial
}

/// A table of units and rounding for distances: another system of units needs only another table.
public struct DistanceScale: Sendable, Hashable, Codable {
    /// A range of distances that share a unit and rounding.
    public struct Band: Sendable, Hashable, Codable {
        /// The band's upper end, metres, itself excluded.
        public var below: Double
        /// The unit's name in the keys of the phrase table.
        public var unit: String
        /// Metres per unit.
        public var metres: Double
        /// The rounding step, in units; at most one decimal is given, or two for quarters.
        public var step: Double

        /// A band.
        public init(below: Double, unit: String, metres: Double, step: Double) {
            self.below = below
            self.unit = unit
            self.metres = metres
            self.step = step
        }
    }

    /// The bands for speech, ascending; the last one also covers all longer distances.
    public var spoken: [Band]
    /// The bands for a display, ascending; the last one also covers all longer distances.
    public var displayed: [Band]

    /// A scale.
    public init(spoken: [Band], displayed: [Band]) {
        self.spoken = spoken
        self.displayed = displayed
    }

    /// Metres and kilometres.
    public static let metric = DistanceScale(
        spoken: [
            Band(below: 95, unit: "metre", metres: 1, step: 10), Band(below: 475, unit: "metre", metres: 1, step: 50),
            Band(below: 950, unit: "metre", metres: 1, step: 100),
            // A coarser step would say "1 kilometre" at 1.2 km.
            Band(below: 2_950, unit: "kilometre", metres: 1_000, step: 0.1),
            Band(below: 9_750, unit: "kilometre", metres: 1_000, step: 0.5),
            Band(below: .greatestFiniteMagnitude, unit: "kilometre", metres: 1_000, step: 1),
        ],
        displayed: [
            Band(below: 295, unit: "metre", metres: 1, step: 10), Band(below: 975, unit: "metre", metres: 1, step: 50),
            Band(below: 9_950, unit: "kilometre", metres: 1_000, step: 0.1),
            Band(below: .greatestFiniteMagnitude, unit: "kilometre", metres: 1_000, step: 1),
        ])

    /// Miles and feet, as on the roads of the United States.
    public static let milesAndFeet = miles(
        spoken: [
            Band(below: 30, unit: "foot", metres: 0.3048, step: 10),
            Band(below: 297, unit: "foot", metres: 0.3048, step: 50),
            Band(below: 0.225 * mile, unit: "mile", metres: mile, step: 0.1),
        ],
        displayed: [
            Band(below: 90, unit: "foot", metres: 0.3048, step: 10),
            Band(below: 297, unit: "foot", metres: 0.3048, step: 50),
        ])

    /// Miles and yards, as on the roads of the United Kingdom.
    public static let milesAndYards = miles(
        spoken: [
            Band(below: 87, unit: "yard", metres: 0.9144, step: 10),
            Band(below: 388, unit: "yard", metres: 0.9144, step: 50),
        ],
        displayed: [
            Band(below: 260, unit: "yard", metres: 0.9144, step: 10),
            Band(below: 388, unit: "yard", metres: 0.9144, step: 50),
        ])

    private static let mile = 1_609.344

    private static func miles(spoken: [Band], displayed: [Band]) -> DistanceScale {
        let long = Band(below: .greatestFiniteMagnitude, unit: "mile", metres: mile, step: 1)
        return DistanceScale(
            // A quarter and three quarters of a mile are spoken in addition to tenths.
            spoken: spoken + [
                Band(below: 0.275 * mile, unit: "mile", metres: mile, step: 0.25),
                Band(below: 0.725 * mile, unit: "mile", metres: mile, step: 0.1),
                Band(below: 0.775 * mile, unit: "mile", metres: mile, step: 0.25),
                Band(below: 2.95 * mile, unit: "mile", metres: mile, step: 0.1),
                Band(below: 9.75 * mile, unit: "mile", metres: mile, step: 0.5), long,
            ],
            displayed: displayed + [Band(below: 9.95 * mile, unit: "mile", metres: mile, step: 0.1), long])
    }

    /// Returns the units of a country's roads according to CLDR's usage "road"; nil for an empty code, the unknown country. They are miles
    /// in the United States, the United Kingdom and their territories, and kilometres elsewhere.
    public static func ofRoads(in country: String) -> DistanceScale? {
        switch country {
        case "": nil
        case "US", "AS", "GU", "MP", "VI": milesAndFeet
        case "GB", "GG", "IM", "JE": milesAndYards
        default: metric
        }
    }

    /// A rounded distance.
    struct Rounded {
        var unit: String
        var value: Double
        /// The value with the language's decimal separator.
        var number: String
        /// The value with a point.
        var plainNumber: String
    }

    /// Returns `metres` (0 if negative or not finite) rounded by its band, to at least one step of the band.
    static func round(_ metres: Double, _ bands: [Band], decimalSeparator: String) -> Rounded {
        let distance = metres.isFinite ? min(max(metres, 0), 1e9) : 0
        guard let band = bands.first(where: { distance < $0.below }) ?? bands.last, band.step > 0, band.metres > 0
        else {
            let number = String(Int(distance))
            return Rounded(unit: "metre", value: distance, number: number, plainNumber: number)
        }
        let steps = max((distance / band.metres / band.step).rounded(), 1)
        let hundredths = Int(min((steps * band.step * 100).rounded(), 1e15))
        func number(_ separator: String) -> String {
            let (whole, rest) = hundredths.quotientAndRemainder(dividingBy: 100)
            if rest == 0 { return String(whole) }
            return "\(whole)\(separator)\(rest / 10)" + (rest % 10 == 0 ? "" : String(rest % 10))
        }
        return Rounded(
            unit: band.unit, value: Double(hundredths) / 100, number: number(decimalSeparator), plainNumber: number(".")
        )
    }
}
