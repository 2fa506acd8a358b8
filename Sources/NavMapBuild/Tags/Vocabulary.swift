/// The OSM keys that the importer reads.
///
/// A case is spelled like the key, with two underscores for the colon; the exceptions are in ``text``.
package enum TagKey: UInt8, CaseIterable, Sendable {
    case highway, route, ferry, junction, oneway, oneway__motor_vehicle, oneway__motorcar, area, service
    case access, access__forward, access__backward, vehicle, vehicle__forward, vehicle__backward
    case motor_vehicle, motor_vehicle__forward, motor_vehicle__backward
    case motorcar, motorcar__forward, motorcar__backward, hgv, bus, psv, taxi, emergency, hov, impassable
    case maxspeed, maxspeed__forward, maxspeed__backward, maxspeed__type, source__maxspeed
    case zone__maxspeed, zone__traffic
    case surface, tracktype, tunnel, covered, bridge, toll, toll__hgv, duration
    case name, ref, destination, destination__forward, destination__backward
    case destination__ref, destination__ref__forward, destination__ref__backward, junction__ref
    case lanes, lanes__forward, lanes__backward
    case turn__lanes, turn__lanes__forward, turn__lanes__backward
    case maxheight, maxweight, maxwidth, maxlength
    case driving_side, barrier, traffic_calming, direction, traffic_signals__direction
    case type, restriction, restriction__motorcar, restriction__motor_vehicle, restriction__conditional, except
    case restriction__hgv, restriction__bus, restriction__psv, restriction__taxi
    case restriction__motorcar__conditional, restriction__motor_vehicle__conditional
    case restriction__hgv__conditional, restriction__bus__conditional, restriction__psv__conditional
    case day_on, day_off, hour_on, hour_off
    case oneway__hgv, oneway__conditional, hgv__forward, hgv__backward, goods
    case access__conditional, vehicle__conditional, motor_vehicle__conditional, motorcar__conditional, hgv__conditional
    case motor_vehicle__forward__conditional, motor_vehicle__backward__conditional
    case maxspeed__hgv, maxspeed__hgv__forward, maxspeed__hgv__backward
    case maxspeed__conditional, maxspeed__forward__conditional, maxspeed__backward__conditional
    case maxspeed__hgv__conditional
    case smoothness, hazmat, motorroad, bicycle_road, cyclestreet, foot, bicycle, locked, toll__motorcar
    case maxaxleload, maxweightrating, maxweightrating__hgv, maxweight__hgv, maxlength__hgv
    case maxheight__physical, maxwidth__physical, maxheight__signed
    case destination__ref__to, destination__street, destination__lanes
    case destination__lanes__forward, destination__lanes__backward
    case access__lanes, access__lanes__forward, access__lanes__backward
    case vehicle__lanes, vehicle__lanes__forward, vehicle__lanes__backward
    case motor_vehicle__lanes, motor_vehicle__lanes__forward, motor_vehicle__lanes__backward
    case motorcar__lanes, motorcar__lanes__forward, motorcar__lanes__backward
    case hgv__lanes, hgv__lanes__forward, hgv__lanes__backward
    case bus__lanes, bus__lanes__forward, bus__lanes__backward
    case psv__lanes, psv__lanes__forward, psv__lanes__backward
    case bicycle__lanes, bicycle__lanes__forward, bicycle__lanes__backward
    case hov__lanes, hov__lanes__forward, hov__lanes__backward
    case lanes__psv, lanes__psv__forward, lanes__psv__backward, lanes__bus, lanes__bus__forward, lanes__bus__backward
    case change, change__forward, change__backward, change__lanes, change__lanes__forward, change__lanes__backward
    case width__lanes, width__lanes__forward, width__lanes__backward
    case maxwidth__lanes, maxwidth__lanes__forward, maxwidth__lanes__backward
    case boundary, admin_level, iso3166, iso3166Alpha2, country_code_iso3166_1_alpha_2
    case addr__country, is_in__country_code
    case construction, oneway__vehicle, width, est_width
    case bollard, kerb, bridge__movable, traffic_sign, amenity, maneuver
    case name__en, name__de, name__fr, name__es, name__fi, name__zhHans, name__zh, int_name, name__pronunciation

    /// The key as OSM writes it.
    package var text: String {
        switch self {
        case .iso3166: "ISO3166-1"
        case .iso3166Alpha2: "ISO3166-1:alpha2"
        case .name__zhHans: "name:zh-Hans"
        default: Spelling.withColons("\(self)")
        }
    }
}

/// The OSM values and member roles that the importer compares with.
///
/// A case is spelled like the value, with two underscores for the colon; the exceptions are in ``text``.
package enum Word: UInt32, CaseIterable, Sendable {
    case empty, yes, no, isTrue, isFalse, one, zero, minusOne, reverse, reversible, alternating
    case motorway, motorway_link, trunk, trunk_link, primary, primary_link, secondary, secondary_link
    case tertiary, tertiary_link, unclassified, residential, living_street, service, road, track
    case pedestrian, ferry, shuttle_train, busway
    case roundabout, circular
    case parking_aisle, driveway, alley, driveThrough, emergency_access, slipway
    case permissive, designated, official, `public`
    case `private`, destination, customers, delivery, permit, residents, employees
    case agricultural, forestry, emergency, psv, bus, military, use_sidepath
    case none, walk, signals, variable, `default`, below_default
    case asphalt, concrete, concrete__plates, concrete__lanes, paved, paving_stones, bricks, metal, chipseal
    case sett, cobblestone, unhewn_cobblestone, compacted, fine_gravel, gravel, pebblestone, grass_paver
    case unpaved, ground, dirt, earth, grass, mud, sand, clay, rock, stone, wood, shells
    case discouraged, license, local, resident, staff, restricted
    case construction, proposed, planned, abandoned, disused, razed, raceway, escape, steps, corridor, platform
    case elevator, bus_guideway, via_ferrata, rest_area, services
    case intermediate, bad, very_bad, horrible, very_horrible, impassable
    case grade1, grade2, grade3, grade4, grade5
    case traffic_signals, stop, give_way, crossing, motorway_junction, mini_roundabout, turning_circle, turning_loop
    case gate, lift_gate, swing_gate, sliding_gate, toll_booth, border_control, cattle_grid, entrance
    case height_restrictor, arch, sally_port, kerb, bollard, block, chain, cycle_barrier, bump_gate
    case hampshire_gate
    case forward, backward, both, left, right
    case restriction, from, via, to
    case no_left_turn, no_right_turn, no_straight_on, no_u_turn, no_entry, no_exit
    case only_left_turn, only_right_turn, only_straight_on, only_u_turn
    case only_entry, no_right_turn_on_red, no_left_turn_on_red
    case building_passage, avalanche_protector, designated_hov
    case administrative, outer, inner
    case movable, rising, raised, maneuver, parking_entrance
    case winter_road, ice_road, foot, bicycle, taxi, share_taxi, minibus, emergency_vehicle, minor, widening

    /// The value as OSM writes it.
    package var text: String {
        switch self {
        case .empty: ""
        case .isTrue: "true"
        case .isFalse: "false"
        case .one: "1"
        case .zero: "0"
        case .minusOne: "-1"
        case .driveThrough: "drive-through"
        case .designated_hov: "hov"
        default: Spelling.withColons("\(self)")
        }
    }
}

/// The conversion of Swift case names to OSM's spelling.
private enum Spelling {
    static func withColons(_ name: String) -> String {
        var result = ""
        var underscores = 0
        for character in name {
            if character == "_" {
                underscores += 1
                if underscores == 2 {
                    result.removeLast()
                    result.append(":")
                    underscores = 0
                } else {
                    result.append(character)
                }
            } else {
                underscores = 0
                result.append(character)
            }
        }
        return result
    }
}

/// A look-up of keys and words by their bytes, created once and shared by all readers.
package struct Vocabulary: Sendable {
    package static let shared = Vocabulary()

    private let keys: KeyTable
    private let words = StringTable()

    private init() { keys = KeyTable() }

    /// Returns the key with these bytes; nil for a key that the importer does not read.
    package func key(_ bytes: UnsafeRawBufferPointer) -> TagKey? { keys.find(bytes) }

    /// Returns the word with these bytes; nil for any other text.
    package func word(_ bytes: UnsafeRawBufferPointer) -> Word? {
        words.find(bytes).flatMap(Word.init(rawValue:))
    }

    /// A hash table of the few keys with open addressing; a miss, the common case, usually ends at the first probe.
    private struct KeyTable: Sendable {
        private let names: [[UInt8]]
        private var slots = ContiguousArray<UInt8>(repeating: .max, count: 1024)

        init() {
            names = TagKey.allCases.map { Array($0.text.utf8) }
            for (index, name) in names.enumerated() {
                var slot = name.withUnsafeBytes(Self.hash)
                while slots[slot] != .max { slot = (slot + 1) & 1023 }
                slots[slot] = UInt8(index)
            }
        }

        func find(_ bytes: UnsafeRawBufferPointer) -> TagKey? {
            var slot = Self.hash(bytes)
            while slots[slot] != .max {
                let name = names[Int(slots[slot])]
                if name.count == bytes.count && name.elementsEqual(bytes) { return TagKey(rawValue: slots[slot]) }
                slot = (slot + 1) & 1023
            }
            return nil
        }

        static func hash(_ bytes: UnsafeRawBufferPointer) -> Int {
            var hash: UInt32 = 0x811c_9dc5
            for byte in bytes { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
            return Int((hash ^ (hash >> 15)) & 1023)
        }
    }
}
