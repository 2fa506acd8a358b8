internal import NavMap
internal import NavRouting

/// A selection among the lanes that lead to a turn: those that also serve the next turns.
struct LaneAnticipation {
    /// Distance needed to change one lane, metres: just below OSRM's 200 m, so that turns drawn 200 m apart are not close.
    private static let laneChange = 199.99
    /// The distance from which the next maneuver does not matter for the choice of a lane, metres. 1000: five lane changes; farther away,
    /// drivers keep to the side of their road.
    private static let preferenceReach = 1000.0

    let roads: RouteRoads

    /// Excludes lanes that lead away from the next turns of a leg, and marks the preferred ones.
    func apply(to turns: inout [RouteTurn]) {
        let kept = turns.indices.filter { !turns[$0].isRemoved }
        guard kept.contains(where: { !turns[$0].lanes.isEmpty }) else { return }
        var cutOff: [Int: [Int]] = [:]
        for place in kept.indices.reversed() { cutOff[kept[place]] = self.cutOff(kept, place, turns, after: cutOff) }
        // Turns close together are compared by all their lanes, since the order of the lanes shows which one leads to which.
        anticipate(kept, &turns)
        for index in kept { turns[index].exclude(cutOff[index] ?? []) }
        for place in kept.indices.reversed() { prefer(kept, place, &turns) }
    }

    /// Returns the next turn with lanes or an instruction; nil if a stop comes first.
    private func next(_ kept: [Int], after place: Int, in turns: [RouteTurn]) -> Int? {
        let next = kept[(place + 1)...].first {
            !turns[$0].lanes.isEmpty || turns[$0].turn.isManeuver || turns[$0].isStop
        }
        return next.flatMap { turns[$0].isStop ? nil : $0 }
    }

    // MARK: Lines

    /// Returns the lanes of a turn from which those of the next one cannot be reached, because the lines in between may not be crossed; nil
    /// if unknown or true of all lanes.
    ///
    /// - Parameter later: The lanes of the later turns, by index.
    private func cutOff(_ kept: [Int], _ place: Int, _ turns: [RouteTurn], after later: [Int: [Int]]) -> [Int]? {
        let index = kept[place]
        guard let own = turns[index].servedLanes, own.count > 1, let next = next(kept, after: place, in: turns),
            turns[index].lastPiece < turns[next].piece
        else { return nil }
        let (lanes, there) = (turns[index].lanes, turns[next].lanes)
        // Where lanes begin or end in between, their order does not identify them.
        let leadsOn = lanes.indices.allSatisfy { own.contains($0) || lanes[$0].isClosed }
        let shift = own.count == there.count ? own.lowerBound : 0
        guard own.count == there.count || leadsOn && lanes.count == there.count,
            let lines = LaneLines.between(turns[index].lastPiece..<turns[next].piece, count: there.count, of: roads)
        else { return nil }
        let wanted = there.indices.filter { there[$0].isValid && later[next]?.contains($0) != true }
        let valid = own.filter { lanes[$0].isValid }
        let cutOff = valid.filter { lane in !wanted.contains { lines.permit(from: lane - shift, to: $0) } }
        return cutOff.isEmpty || cutOff.count == valid.count ? nil : cutOff
    }

    // MARK: Close turns

    /// Narrows the lanes before closely following turns to those that also serve the later turns.
    private func anticipate(_ kept: [Int], _ turns: inout [RouteTurn]) {
        var run: [Int] = []
        for index in kept {
            if isShortWithLanes(turns[index]) {
                run.append(index)
            } else {
                narrow(run, &turns)
                run = []
            }
        }
        narrow(run, &turns)
    }

    /// Whether the next turn is too near to change lanes freely: each unused lane may have to be crossed.
    private func isShortWithLanes(_ turn: RouteTurn) -> Bool {
        guard let served = turn.servedLanes else { return false }
        let unused = max(served.lowerBound, turn.lanes.count - served.upperBound)
        return turn.distance < Double(1 + unused) * Self.laneChange
    }

    private func narrow(_ run: [Int], _ turns: inout [RouteTurn]) {
        guard run.count > 1 else { return }
        var sides: [Int: RoadSide] = [:]
        var straight = 0.0
        for place in run.indices.dropLast().reversed() {
            let (index, next) = (run[place], run[place + 1])
            guard let own = turns[index].servedLanes, let wanted = turns[next].servedLanes else { continue }
            straight = turns[index].turn.isSilent ? straight + turns[index].distance : 0
            guard own.count > 1, own.count > wanted.count,
                straight <= Double(own.count - wanted.count) * Self.laneChange
            else { continue }
            let side = turns[next].turn.modifier.side ?? sides[next]
            if turns[index].turn.modifier.side == nil { sides[index] = side }
            // Lanes beside those of the next turn have other destinations.
            let beside = side == .left ? wanted.lowerBound : turns[next].lanes.count - wanted.upperBound
            let shift = min(beside, wanted.count)
            // If the road widens in between, any of the lanes leads to the wanted ones.
            if shift > 0, turns[next].lanes.count > turns[index].lanes.count { continue }
            let first = side == .left ? own.lowerBound + shift : own.upperBound - wanted.count - shift
            let kept = max(0, first)..<min(turns[index].lanes.count, max(0, first) + wanted.count)
            // Closed lanes may leave none of them.
            guard kept.contains(where: { turns[index].lanes[$0].isValid }) else { continue }
            for lane in own where !kept.contains(lane) { turns[index].lanes[lane].exclude() }
        }
    }

    // MARK: Preference

    /// Prefers the valid lanes that require the fewest lane changes for the next turn.
    private func prefer(_ kept: [Int], _ place: Int, _ turns: inout [RouteTurn]) {
        let index = kept[place]
        guard let own = turns[index].servedLanes, own.count > 1, let next = next(kept, after: place, in: turns),
            turns[next].offset - turns[index].offset <= Self.preferenceReach
        else { return }
        let there = turns[next].lanes
        let wanted = there.indices.filter { there[$0].isRecommended }
        var side = turns[next].turn.modifier.side
        if side == nil, let first = wanted.first, let last = wanted.last, (first == 0) != (last == there.count - 1) {
            side = first == 0 ? .left : .right
        }
        // Returns the number of lanes to change; nil when unknown.
        func changes(from lane: Int) -> Int? {
            let fromLeft = lane - own.lowerBound
            let fromRight = own.upperBound - 1 - lane
            if there.isEmpty {
                return turns[next].isRoundabout ? nil : side.map { $0 == .left ? fromLeft : fromRight }
            }
            let arrival =
                own.count == there.count ? fromLeft : side.map { $0 == .left ? fromLeft : there.count - 1 - fromRight }
            return arrival.flatMap { arrival in wanted.map { abs($0 - arrival) }.min() }
        }
        let valid = own.filter { turns[index].lanes[$0].isValid }
        guard let least = valid.compactMap(changes).min() else { return }
        for lane in valid where changes(from: lane) != least { turns[index].lanes[lane].isRecommended = false }
    }
}

/// The lane changes that the lines on a stretch of road permit.
struct LaneLines {
    /// Whether each lane, from left to right, may be left to the left and to the right anywhere on the stretch.
    private var left: [Bool]
    private var right: [Bool]

    private init(count: Int) {
        left = Array(repeating: false, count: count)
        right = left
    }

    /// Returns the lane changes permitted along route edges, of which the last has `count` lanes; nil if no line forbids any.
    ///
    /// A stretch without a tag permits all, unless it is short enough to belong to a junction.
    static func between(_ pieces: Range<Int>, count: Int, of roads: RouteRoads) -> LaneLines? {
        var lines = LaneLines(count: count)
        var isTagged = false
        var untagged = 0.0
        for piece in pieces.reversed() {
            let tag = roads.route.edges[piece].attributes.laneChanges
            let values = tag.split(separator: "|", omittingEmptySubsequences: false)
            guard !tag.isEmpty, values.count == 1 || values.count == count else {
                untagged += roads.route.edges[piece].length
                if untagged > TurnJoiner.reach { return nil }
                continue
            }
            isTagged = true
            for lane in 0..<count {
                switch values[values.count == 1 ? 0 : lane] {
                case "no": break
                case "not_right", "only_left": lines.left[lane] = true
                case "not_left", "only_right": lines.right[lane] = true
                default: (lines.left[lane], lines.right[lane]) = (true, true)
                }
            }
        }
        return isTagged ? lines : nil
    }

    /// Whether a change from one lane to another is permitted; false for lanes that do not exist.
    func permit(from lane: Int, to other: Int) -> Bool {
        guard left.indices.contains(lane), left.indices.contains(other) else { return false }
        return lane <= other ? right[lane..<other].allSatisfy { $0 } : left[(other + 1)...lane].allSatisfy { $0 }
    }
}
