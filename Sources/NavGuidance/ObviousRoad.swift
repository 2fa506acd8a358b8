internal import NavMap

/// The road that a driver follows without an instruction.
extension TurnClassifier {
    /// The ratio of deviations from straight ahead at which another road is no longer a rival.
    static let distinctRatio = 2.0

    /// Returns the obvious road, as an index in the junction's roads; nil when there is none.
    func obviousRoad(_ intersection: Intersection) -> Int? {
        let (via, roads) = (intersection.approach, intersection.roads)
        if roads.count < 2 { return nil }
        if roads.count == 2 { return 1 }
        func valid(_ index: Int) -> Int? {
            via.isRoundabout == roads[index].road.isRoundabout && index > 0 ? index : nil
        }
        func isOfClass(_ road: Intersection.Road) -> Bool {
            road.isEntry && !road.road.isLesser(than: via) && !road.road.isLink(to: via)
        }
        // The lane markings decide.
        let marked = roads.indices.dropFirst().first { index in
            roads[index].deviation < TurnAngles.group && isOfClass(roads[index]) && intersection.entries > 1
                && roads.indices.dropFirst().allSatisfy { other in
                    other == index || !roads[other].isEntry || hasTheStraightLanes(intersection, index, beside: other)
                }
        }
        if let marked { return valid(marked) }
        // First choice: the road of the same name.
        let continuing = intersection.nearest(to: 180) { road in
            isOfClass(road) && (!via.isUnlabelled || via.isMinor) && (!road.road.isUnlabelled || road.road.isMinor)
                && via.isUnlabelled == road.road.isUnlabelled && !via.sign.changes(to: road.road.sign)
        }
        if let continuing, isDistinct(intersection, continuing) { return valid(continuing) }
        // Second choice: a road of the same class that goes straight on.
        let straight = intersection.nearest(to: 180, where: isOfClass)
        if let straight, straight != continuing, isDistinct(intersection, straight) { return valid(straight) }
        // Last choice: any road, unless it turns off.
        guard let any = intersection.nearest(to: 180, where: \.isEntry) else { return nil }
        let isOnlyAhead = roads[any].deviation <= 90 && roads.count { $0.deviation <= 90 } == 1
        // Where the driver's road turns off, another road is obvious only if it goes straight on.
        let mainRoadTurns = continuing.map { roads[$0].deviation <= TurnAngles.backward } ?? false
        let leavesMainRoad = mainRoadTurns && ManeuverModifier(angle: roads[any].angle) != .straight
        if any != straight, roads[any].deviation <= TurnAngles.group || isOnlyAhead, !roads[any].road.isMinor,
            !leavesMainRoad, isDistinct(intersection, any)
        {
            return valid(any)
        }
        if roads[any].road.isMotorway, roads[any].deviation <= TurnAngles.group, intersection.entries == 1 {
            return valid(any)
        }
        let allSame = !via.isUnlabelled && roads.allSatisfy { $0.road.sign == via.sign }
        let isEnd =
            angularGap(roads[1].angle, 90) <= TurnAngles.narrow && angularGap(roads[2].angle, 270) <= TurnAngles.narrow
        if roads.count == 3, allSame, intersection.entries == 1, !isEnd { return valid(any) }
        return nil
    }

    /// Whether all lanes that go straight on lead along the road ahead, and only turn lanes lead to another road, as where they leave
    /// before a junction on a separate carriageway.
    func hasTheStraightLanes(_ intersection: Intersection, _ index: Int, beside other: Int) -> Bool {
        let tag = laneTag(before: intersection)
        if tag.isEmpty { return false }
        let (road, rival) = (intersection.roads[index], intersection.roads[other])
        guard intersection.approach.sign.continues(as: road.road.sign) else { return false }
        let lanes = tag.split(separator: "|", omittingEmptySubsequences: false)
        let isLeft = rival.angle > road.angle
        let fromRival = isLeft ? lanes : lanes.reversed()
        let turning = fromRival.prefix { lane in
            !lane.isEmpty && lane.split(separator: ";").allSatisfy { $0.hasSuffix(isLeft ? "left" : "right") }
        }
        let others = fromRival.dropFirst(turning.count)
        guard !turning.isEmpty, !others.isEmpty, rival.road.lanes == 0 || rival.road.lanes == turning.count else {
            return false
        }
        return others.allSatisfy { $0.split(separator: ";").contains("through") }
    }

    /// Returns the `turn:lanes` of the road by which the driver arrives; empty without arrows.
    func laneTag(before intersection: Intersection) -> String {
        let tag = intersection.roads[0].arriving.map { model.graph.reading(of: $0).turnLanes } ?? ""
        return tag.isEmpty || LaneGuidance.hasOnlyMarks(tag) ? "" : tag
    }

    /// Whether no other road could be mistaken for this one.
    private func isDistinct(_ intersection: Intersection, _ candidate: Int) -> Bool {
        let isNarrow = intersection.roads[candidate].deviation < TurnAngles.group
        return intersection.roads.indices.dropFirst().allSatisfy { other in
            other == candidate
                || !isCrossStreet(intersection, candidate, other)
                    && !(isNarrow
                        ? rivalsNarrow(intersection, candidate, other) : rivalsWide(intersection, candidate, other))
        }
    }

    /// Whether the driver's road ends at another one whose two directions are alike. A one-way road may be a slip lane, and the halves of a
    /// divided road are not a cross street.
    private func isCrossStreet(_ intersection: Intersection, _ candidate: Int, _ index: Int) -> Bool {
        let (road, other) = (intersection.roads[candidate], intersection.roads[index])
        return intersection.isTee && intersection.roads[0].leaving != nil && other.isEntry && other.arriving != nil
            && angularGap(road.angle, other.angle) > 180 - TurnAngles.fuzzy
            && road.road.sign == other.road.sign && road.road.hasSameClass(as: other.road)
    }

    /// Whether a road is much less important than those before and after: of a lower group with fewer lanes, or a link between them.
    private func isFarLess(_ other: RoadProfile, _ via: RoadProfile, _ candidate: RoadProfile) -> Bool {
        other.isLesser(than: via) && other.isLesser(than: candidate) && other.lanes > 0 && other.lanes + 1 < via.lanes
            || other.isLink(to: via) && other.isLink(to: candidate)
    }

    /// Whether another road could be mistaken for one that is nearly straight.
    private func rivalsNarrow(_ intersection: Intersection, _ candidate: Int, _ index: Int) -> Bool {
        let via = intersection.approach
        let (road, other) = (intersection.roads[candidate], intersection.roads[index])
        if road.deviation < TurnAngles.narrow, !other.isEntry { return false }
        // A driver who leaves a road of nearly the same class that continues straight ahead expects an announcement.
        if road.deviation > TurnAngles.narrow, other.isEntry, other.deviation < TurnAngles.fuzzy, !other.road.isMinor,
            !other.road.isLink, other.road.priority <= road.road.priority + 2, !isFarLess(other.road, via, road.road)
        {
            return true
        }
        let ratio = Self.distinctRatio
        let isDistinct =
            other.deviation > ratio * road.deviation
            && abs(other.deviation - road.deviation) > TurnAngles.fuzzy / 2
        let isSlightlyDistinct = other.deviation > 0.7 * ratio * road.deviation
        let keepsName = !via.sign.changes(to: road.road.sign)
        let otherChanges = via.sign.changes(to: other.road.sign)
        // The lanes split: neither side is more obvious.
        let lanesPart =
            other.road.lanes > 0 && road.road.lanes == other.road.lanes
            && via.lanes == road.road.lanes + other.road.lanes
            && angularGap(road.angle, other.angle) < TurnAngles.group

        if !via.isRestricted, !road.road.isRestricted, other.road.isRestricted, isDistinct { return false }
        if via.isRoundabout == road.road.isRoundabout, via.isRoundabout != other.road.isRoundabout,
            road.deviation < other.deviation
        {
            return false
        }
        if keepsName || otherChanges, !lanesPart, isDistinct { return false }

        // A crossing road has its own continuation on the other side.
        guard let across = intersection.nearest(toBearing: circle(other.bearing + 180)) else { return true }
        let acrossAngle = angularGap(other.angle, intersection.roads[across].angle)
        let crossesByName = !intersection.roads[across].road.sign.changes(to: other.road.sign)
        if intersection.roads.count >= 4 {
            if isDistinct, crossesByName || acrossAngle > 180 - TurnAngles.narrow { return false }
            if keepsName, otherChanges, isSlightlyDistinct, crossesByName, acrossAngle > 180 - TurnAngles.fuzzy {
                return false
            }
        } else if keepsName, otherChanges, isDistinct, !lanesPart, acrossAngle > 180 - TurnAngles.group {
            return false
        }
        if via.priority > 6, isDistinct { return false }
        if road.road.lanes > 0, road.road.lanes == via.lanes, road.deviation < TurnAngles.fuzzy, isDistinct {
            return false
        }
        let samePriority = via.priority == road.road.priority
        let isLower = road.road.priority < other.road.priority
        let isHigher = road.road.priority > other.road.priority + 4
        if samePriority, keepsName, isSlightlyDistinct, isLower || isHigher { return false }
        if isFarLess(other.road, via, road.road) { return false }
        guard samePriority else { return true }
        if via.group < other.road.group {
            if road.road.sign.changes(to: other.road.sign), otherChanges { return false }
            // A driver stays on a main road beside a nameless street unless it bends, or the street has nearly its class and is straighter.
            // A link is not a main road.
            let mayMislead = other.road.priority <= road.road.priority + 3 && other.deviation < road.deviation
            if other.road.sign.isEmpty, !road.road.isLink, road.deviation < TurnAngles.fuzzy, !mayMislead {
                return false
            }
        }
        return !other.road.isLink
    }

    /// Whether another road could be mistaken for one that clearly turns.
    private func rivalsWide(_ intersection: Intersection, _ candidate: Int, _ index: Int) -> Bool {
        let (road, other) = (intersection.roads[candidate], intersection.roads[index])
        if ManeuverModifier(angle: other.angle) != .straight, isFarLess(other.road, intersection.approach, road.road) {
            return false
        }
        if other.deviation > Self.distinctRatio * road.deviation { return false }
        let back = intersection.roads[0]
        guard angularGap(back.initialBearing, back.bearing) > TurnAngles.fuzzy else { return true }
        // On a bent approach the first metres decide.
        let arrival = circle(back.initialBearing + 180)
        let own = abs(intersectionAngle(arrival, road.initialBearing) - 180)
        let rival = abs(intersectionAngle(arrival, other.initialBearing) - 180)
        let between = intersectionAngle(circle(other.initialBearing + 180), road.initialBearing)
        return ManeuverModifier(angle: between) == .straight || rival <= Self.distinctRatio * own
    }
}
