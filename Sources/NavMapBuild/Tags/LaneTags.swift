/// A reader of lanes and their arrows, after the wiki's "Key:lanes" and "Key:turn".
package enum LaneTags {
    /// Whether a way is tagged for one direction only.
    package static func isOneWay(_ tags: TagSet) -> Bool {
        switch tags.word(.oneway) {
        case .yes?, .isTrue?, .one?, .minusOne?, .reverse?: return true
        case .no?, .isFalse?, .zero?: return false
        default: break
        }
        let junction = tags.word(.junction)
        return tags.word(.highway) == .motorway || junction == .roundabout || junction == .circular
    }

    /// Returns the number of lanes of a direction: the tagged number; else all lanes of a one-way road; else all but those
    /// tagged for the other direction; else half of an even number; 0 when unknown.
    package static func count(
        _ tags: TagSet, _ strings: StringTable, _ direction: AccessTags.Direction
    ) -> UInt8 {
        func lanes(_ key: TagKey) -> UInt8? { strings.withBytes(tags[key]) { Quantity.lanes($0) } }
        let (own, other): (TagKey, TagKey) =
            direction == .forward ? (.lanes__forward, .lanes__backward) : (.lanes__backward, .lanes__forward)
        if let own = lanes(own) { return own }
        guard let all = lanes(.lanes) else { return 0 }
        if isOneWay(tags) { return all }
        if let other = lanes(other), other < all { return all - other }
        return all % 2 == 0 ? all / 2 : all == 1 ? 1 : 0
    }

    /// Returns the text number of a direction's `turn:lanes`, 0 without.
    package static func turns(_ tags: TagSet, _ direction: AccessTags.Direction) -> UInt32 {
        key((.turn__lanes, .turn__lanes__forward, .turn__lanes__backward), tags, direction).map { tags[$0] } ?? 0
    }

    /// The keys of a lane tag: for both directions, and for each direction.
    package typealias Keys = (both: TagKey, forward: TagKey, backward: TagKey)

    /// Returns the key that applies to a direction: its own, else on a one-way road the one for both; nil when the way has neither.
    private static func key(_ keys: Keys, _ tags: TagSet, _ direction: AccessTags.Direction) -> TagKey? {
        let own = direction == .forward ? keys.forward : keys.backward
        if tags.has(own) { return own }
        return tags.has(keys.both) && isOneWay(tags) ? keys.both : nil
    }

    /// The tags for the lanes that cars may use, most general first.
    package static let carKeys: [Keys] = [
        (.access__lanes, .access__lanes__forward, .access__lanes__backward),
        (.vehicle__lanes, .vehicle__lanes__forward, .vehicle__lanes__backward),
        (.motor_vehicle__lanes, .motor_vehicle__lanes__forward, .motor_vehicle__lanes__backward),
        (.motorcar__lanes, .motorcar__lanes__forward, .motorcar__lanes__backward),
    ]
    /// The tags for the lanes that trucks may use, most general first.
    package static let truckKeys: [Keys] =
        carKeys.dropLast() + [(.hgv__lanes, .hgv__lanes__forward, .hgv__lanes__backward)]
    /// The tags that reserve lanes for other vehicles: a designated lane is closed unless a tag for the vehicle opens it.
    private static let reservingKeys: [Keys] = [
        (.bus__lanes, .bus__lanes__forward, .bus__lanes__backward),
        (.psv__lanes, .psv__lanes__forward, .psv__lanes__backward),
        (.bicycle__lanes, .bicycle__lanes__forward, .bicycle__lanes__backward),
        (.hov__lanes, .hov__lanes__forward, .hov__lanes__backward),
    ]

    /// Returns the number of lanes of a direction reserved for buses, if only their number is tagged.
    package static func reserved(_ tags: TagSet, _ strings: StringTable, _ direction: AccessTags.Direction) -> UInt8 {
        let keys: [Keys] = [
            (.lanes__psv, .lanes__psv__forward, .lanes__psv__backward),
            (.lanes__bus, .lanes__bus__forward, .lanes__bus__backward),
        ]
        return keys.compactMap { key($0, tags, direction) }
            .compactMap { strings.withBytes(tags[$0]) { Quantity.lanes($0) } }.max() ?? 0
    }

    /// Returns the lanes of a direction that `keys` close; the lowest bit is the leftmost lane.
    ///
    /// Values have the same meaning as on roads, except that a lane for high-occupancy vehicles counts as closed, because the number of
    /// occupants is unknown.
    package static func closed(
        _ keys: [Keys], _ tags: TagSet, _ strings: StringTable, _ direction: AccessTags.Direction
    ) -> UInt16 {
        var closed: UInt16 = 0
        func forEachLane(_ keys: Keys, _ body: (UInt16, String) -> Void) {
            guard let key = key(keys, tags, direction) else { return }
            for (lane, value) in strings[tags[key]].split(separator: "|", omittingEmptySubsequences: false).enumerated()
            where lane < UInt16.bitWidth && !value.isEmpty {
                body(1 << UInt16(lane), String(value))
            }
        }
        for keys in reservingKeys { forEachLane(keys) { if $1 == "designated" { closed |= $0 } } }
        for keys in keys {
            forEachLane(keys) { lane, value in
                let level =
                    value == Word.designated_hov.text ? .no : Array(value.utf8).withUnsafeBytes(AccessTags.level)
                switch level {
                case .no?, .private?: closed |= lane
                case .destination?, .yes?: closed &= ~lane
                case nil: break
                }
            }
        }
        return closed
    }

    // MARK: Positions

    private static let widthKeys: [Keys] = [
        (.width__lanes, .width__lanes__forward, .width__lanes__backward),
        (.maxwidth__lanes, .maxwidth__lanes__forward, .maxwidth__lanes__backward),
    ]

    /// Returns the number of lanes of a direction according to the tags for closed and narrow lanes; 0 without such tags.
    package static func positions(_ tags: TagSet, _ strings: StringTable, _ direction: AccessTags.Direction) -> UInt8 {
        let counts = (reservingKeys + carKeys + truckKeys + widthKeys).compactMap { key($0, tags, direction) }
            .map { key in strings[tags[key]].utf8.count { $0 == UInt8(ascii: "|") } + 1 }
        return UInt8(clamping: counts.max() ?? 0)
    }

    // MARK: Widths

    /// The width from which a lane suits every vehicle, metres. Vehicles wider than the 2.6 m that most countries permit need an escort.
    static let sufficientWidth: Float = 3

    /// Returns the text numbers of the widths of a direction's lanes (`width:lanes`) and of the widest vehicles on them
    /// (`maxwidth:lanes`); 0 where none is narrow.
    package static func narrow(
        _ tags: TagSet, _ strings: StringTable, _ direction: AccessTags.Direction
    ) -> (widths: UInt32, limits: UInt32) {
        func narrow(_ keys: Keys) -> UInt32 {
            guard let key = key(keys, tags, direction), !widths(strings[tags[key]], "").isEmpty else { return 0 }
            return tags[key]
        }
        return (narrow(widthKeys[0]), narrow(widthKeys[1]))
    }

    /// Returns the widths of the narrow lanes, metres, by their positions from the left.
    static func widths(_ texts: String...) -> [Int: Float] {
        var result: [Int: Float] = [:]
        for text in texts where !text.isEmpty {
            for (lane, value) in text.split(separator: "|", omittingEmptySubsequences: false).enumerated()
            where lane < UInt16.bitWidth {
                guard let width = Array(value.utf8).withUnsafeBytes(Quantity.metres), width > 0, width < sufficientWidth
                else { continue }
                result[lane] = min(result[lane] ?? width, width)
            }
        }
        return result
    }

    // MARK: Changes

    /// Returns the text number of a direction's lane change permissions, from `change:lanes` or `change`; 0 if lanes may be changed
    /// everywhere.
    package static func changes(_ tags: TagSet, _ strings: StringTable, _ direction: AccessTags.Direction) -> UInt32 {
        let keys: Keys = (.change__lanes, .change__lanes__forward, .change__lanes__backward)
        let general: [TagKey] = [direction == .forward ? .change__forward : .change__backward, .change]
        guard let key = key(keys, tags, direction) ?? general.first(where: tags.has) else { return 0 }
        let isLimited = strings[tags[key]].split(separator: "|").contains { $0 != "yes" }
        return isLimited ? tags[key] : 0
    }
}
