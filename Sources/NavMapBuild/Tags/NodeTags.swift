package import NavMap

/// An interpreter of the tags of nodes on roads.
package enum NodeTags {
    /// The direction of travel that a sign or signal applies to.
    package enum Facing: Sendable {
        case forward, backward, both
        /// Not tagged: both directions for signals, towards the nearer junction for stop and give-way signs.
        case untagged
    }

    package struct Meaning: Sendable, Equatable {
        package var flags: NodeFlags = []
        /// The feature that the node represents between the ends of an edge; nil without a feature.
        package var feature: PointFeature.Kind?
        package var facing = Facing.untagged
        /// The limits of vehicles that pass the node.
        package var limits = SizeLimits()
        /// Whether the node is tagged as a junction with a name of its own (`junction=yes`).
        package var isNamedJunction = false
    }

    /// Whether a key alone makes a node relevant to roads; other keys only describe such nodes.
    package static func isFeature(_ key: TagKey) -> Bool {
        switch key {
        case .highway, .barrier, .traffic_calming, .access, .vehicle, .motor_vehicle, .motorcar, .hgv, .junction: true
        default: SizeTags.isLimit(key)
        }
    }

    package static func interpret(_ tags: TagSet, _ strings: StringTable) -> Meaning {
        var result = Meaning()
        switch tags.word(.highway) {
        case .traffic_signals?:
            result.flags.insert(.trafficSignals)
            result.feature = .trafficSignals
        case .stop?:
            result.flags.insert(.stop)
            result.feature = .stop
        case .give_way?:
            result.flags.insert(.giveWay)
            result.feature = .giveWay
        case .crossing?:
            result.flags.insert(.crossing)
            result.feature = .crossing
        case .mini_roundabout?: result.flags.insert(.miniRoundabout)
        case .turning_circle?, .turning_loop?: result.flags.insert(.turningCircle)
        case .motorway_junction?: result.flags.insert(.motorwayJunction)
        default:
            if let calming = tags.word(.traffic_calming) ?? (tags.has(.traffic_calming) ? .yes : nil), calming != .no {
                result.feature = .trafficCalming
            }
        }
        switch tags.word(.traffic_signals__direction) ?? tags.word(.direction) {
        case .forward?: result.facing = .forward
        case .backward?: result.facing = .backward
        case .both?: result.facing = .both
        default: break
        }
        if tags.has(.barrier) {
            interpretBarrier(tags, strings, &result)
        } else if AccessTags.car(tags, strings, .forward) == .no {
            result.flags.insert(.impassable)
        } else if limitsRoad(tags), AccessTags.truck(tags, strings, .forward) == .no {
            result.flags.insert(.truckImpassable)
        }
        if !result.flags.contains(.impassable), limitsRoad(tags) {
            result.limits = SizeTags.limits(tags, strings)
            if !result.limits.isEmpty { result.flags.insert(.sizeLimited) }
        }
        result.isNamedJunction = tags.word(.junction) == .yes
        return result
    }

    /// Whether the limits of a node apply to the road at that node.
    ///
    /// The limits of a car park mapped on the road are its own. The limits on a sign apply beyond it, where the road is tagged with them
    /// too, and not to vehicles that turn off at the sign.
    private static func limitsRoad(_ tags: TagSet) -> Bool {
        tags.has(.barrier)
            || !tags.has(.traffic_sign) && (!tags.has(.amenity) || tags.word(.amenity) == .parking_entrance)
    }

    /// Interprets a barrier, after the wiki's "Key:barrier" and as in OSRM's and Valhalla's car profiles.
    ///
    /// Access tags on the node decide first: `private` means a gate to private ground that opens for residents, and `customers` or
    /// `destination` a gate that opens for visitors; neither allows through traffic. Without access tags, cars pass gates, booths, grids,
    /// lowered kerbs and entrances, and bollards that sink into the ground, but not other bollards, blocks, chains, walls and unknown
    /// kinds. The same applies to goods vehicles unless the node has a tag for these. Limits of size and weight are compared with each
    /// vehicle's dimensions.
    private static func interpretBarrier(_ tags: TagSet, _ strings: StringTable, _ result: inout Meaning) {
        let tagged = AccessTags.car(tags, strings, .forward)
        switch tags.word(.barrier) {
        case .kerb? where tags.word(.kerb) == .raised && tags.word(.highway) != .crossing:
            if tagged == nil { result.flags.insert(.impassable) }
        case .no?, .entrance?, .kerb?, .height_restrictor?, .arch?, .cattle_grid?, .bump_gate?, .border_control?,
            .sally_port?:
            break
        case .toll_booth?:
            result.flags.insert(.tollBooth)
            result.feature = .tollBooth
        case .gate?, .lift_gate?, .swing_gate?, .sliding_gate?, .hampshire_gate?:
            result.flags.insert(.gate)
            result.feature = .gate
        case .bollard? where tags.word(.bollard) == .rising:
            result.flags.insert(.gate)
            result.feature = .gate
        default:
            if tagged == nil { result.flags.insert(.impassable) }
        }
        if tagged == .no { result.flags.insert(.impassable) }
        if tagged == nil && tags.word(.locked) == .yes { result.flags.insert(.impassable) }
        let isNoThroughWay = { (level: AccessTags.Level?) in level == .private || level == .destination }
        if isNoThroughWay(tagged) {
            result.flags.insert(.gate)
            result.feature = .gate
        }
        if result.flags.contains(.impassable) { return }
        if isNoThroughWay(tagged) { result.flags.insert(.privateGate) }
        if barsTrucks(tags, strings) {
            result.flags.insert(.truckImpassable)
        } else if isNoThroughWay(AccessTags.truck(tags, strings, .forward) ?? tagged) {
            result.flags.insert(.truckPrivateGate)
        }
    }

    /// Whether a barrier that cars pass stops all goods vehicles: by their access tag, else a height restrictor without a height, because
    /// that is its purpose.
    private static func barsTrucks(_ tags: TagSet, _ strings: StringTable) -> Bool {
        if let own = AccessTags.truck(tags, strings, .forward) { return own == .no }
        return tags.word(.barrier) == .height_restrictor && !tags.has(.maxheight)
    }
}
