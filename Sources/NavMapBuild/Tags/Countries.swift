internal import NavMap

/// The traffic rules of countries that apply without signs.
package enum Countries {
    /// The general limits of passenger cars, km/h; 0 without a limit.
    package typealias Limits = (urban: Float, rural: Float, trunk: Float, motorway: Float)

    /// Returns the general limits of a country or of a region of it (`BE-VLG`, `GB-WLS`), else those of the region's country, else the
    /// defaults of OSRM's car profile.
    package static func limits(_ country: String) -> Limits {
        table[country] ?? table[String(country.prefix(2))] ?? (50, 90, 110, 130)
    }

    package static func isKnown(_ country: String) -> Bool { table[String(country.prefix(2))] != nil }

    /// Returns the limit in living streets, km/h: walking pace in Germany and Austria, 15 in the Netherlands, 20 elsewhere.
    package static func livingStreetLimit(_ country: String) -> Float {
        switch country.prefix(2) {
        case "DE", "AT": 7
        case "NL": 15
        default: 20
        }
    }

    /// Whether traffic keeps to the left in a country: OSM wiki, "Key:driving_side".
    package static func keepsLeft(_ country: String) -> Bool { leftHand.contains(String(country.prefix(2))) }

    private static let leftHand: Set<String> = [
        "AG", "AI", "AU", "BB", "BD", "BM", "BN", "BS", "BT", "BW", "CC", "CK", "CX", "CY", "DM", "FJ", "FK",
        "GB", "GD", "GG", "GY", "HK", "ID", "IE", "IM", "IN", "JE", "JM", "JP", "KE", "KI", "KN", "KY", "LC",
        "LK", "LS", "MO", "MS", "MT", "MU", "MV", "MW", "MY", "MZ", "NA", "NF", "NP", "NR", "NU", "NZ", "PG",
        "PK", "PN", "SB", "SC", "SG", "SH", "SR", "SZ", "TC", "TH", "TK", "TL", "TO", "TT", "TV", "TZ", "UG",
        "VC", "VG", "VI", "WS", "ZA", "ZM", "ZW",
    ]

    /// The general limits by country and region, after the OSM wiki, "Default speed limits".
    private static let table: [String: Limits] = [
        "AD": (50, 90, 90, 90), "AT": (50, 100, 100, 130), "BE": (50, 90, 120, 120), "BE-VLG": (50, 70, 120, 120),
        "BE-BRU": (30, 70, 120, 120), "BG": (50, 90, 120, 140), "CH": (50, 80, 100, 120), "CZ": (50, 90, 110, 130),
        "DE": (50, 100, 0, 0), "DK": (50, 80, 80, 130), "EE": (50, 90, 110, 110), "ES": (50, 90, 90, 120),
        "FI": (50, 80, 100, 120), "FR": (50, 80, 110, 130), "GB": (48.28, 96.56, 112.65, 112.65),
        "GB-WLS": (32.19, 96.56, 112.65, 112.65), "GR": (50, 90, 110, 130), "HR": (50, 90, 110, 130),
        "HU": (50, 90, 110, 130), "IE": (50, 80, 100, 120), "IT": (50, 90, 110, 130), "LI": (50, 80, 80, 120),
        "LT": (50, 90, 120, 130), "LU": (50, 90, 90, 130), "LV": (50, 90, 100, 110), "NL": (50, 80, 100, 100),
        "NO": (50, 80, 90, 110), "PL": (50, 90, 120, 140), "PT": (50, 90, 100, 120), "RO": (50, 90, 100, 130),
        "RS": (50, 80, 100, 130), "RU": (60, 90, 110, 110), "SE": (50, 70, 110, 110), "SI": (50, 90, 110, 130),
        "SK": (50, 90, 130, 130), "TR": (50, 90, 110, 120), "UA": (50, 90, 110, 130), "US": (40, 88, 105, 105),
    ]

    private static let zoneKeys: [TagKey] = [
        .maxspeed, .maxspeed__type, .source__maxspeed, .zone__maxspeed, .zone__traffic,
    ]

    /// Returns the country named by a way's zone tags, such as `PT:urban`, packed; 0 without.
    package static func named(by tags: TagSet, _ strings: StringTable) -> UInt16 {
        for key in zoneKeys where tags.has(key) {
            let code = strings.withBytes(tags[key], code)
            if code != 0 { return code }
        }
        return 0
    }

    /// Returns the evidence of the country from an extract's zone tags.
    package static func evidence(_ data: OSMData) -> CountryEvidence {
        var isZone = ContiguousArray<Bool>(repeating: false, count: TagKey.allCases.count)
        for key in zoneKeys { isZone[Int(key.rawValue)] = true }
        var evidence = CountryEvidence()
        for (key, value) in zip(data.ways.tags.keys, data.ways.tags.values) where isZone[Int(key.rawValue)] {
            evidence.add(data.strings.withBytes(value, code))
        }
        return evidence
    }

    /// Whether a country bars through traffic from living streets, so that only vehicles with a destination there may enter: Belarus,
    /// Russia and Ukraine, after the OSM wiki, "OSM tags for routing/Access restrictions".
    package static func barsThroughTrafficInLivingStreets(_ country: String) -> Bool {
        switch country.prefix(2) {
        case "BY", "RU", "UA": true
        default: false
        }
    }

    /// Returns the two letters before a colon or a hyphen, packed; 0 without.
    private static func code(_ text: UnsafeRawBufferPointer) -> UInt16 {
        guard text.count >= 4, text[2] == UInt8(ascii: ":") || text[2] == UInt8(ascii: "-"),
            text.contains(UInt8(ascii: ":")), text[0] >= 65, text[0] <= 90, text[1] >= 65, text[1] <= 90
        else { return 0 }
        return packed(text[0], text[1])
    }

    /// Packs the two letters of a code in tags, where UK often stands for GB.
    static func packed(_ first: UInt8, _ second: UInt8) -> UInt16 {
        let isUK = first == UInt8(ascii: "U") && second == UInt8(ascii: "K")
        return isUK ? CountryCode.packed("GB") : UInt16(first) << 8 | UInt16(second)
    }
}
