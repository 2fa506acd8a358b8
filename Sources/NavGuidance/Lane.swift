internal import NavMap

/// A lane before a maneuver.
public struct Lane: Sendable, Hashable {
    /// The arrows on it, from left to right as tagged; empty without arrows.
    public var indications: [LaneIndication]
    /// Whether the maneuver can be driven from it.
    public var isPossible: Bool
    /// Whether the maneuvers that follow closely can be driven from it, too; such a lane is always possible.
    public var isValid: Bool
    /// Whether it is preferred among the valid ones, because it requires the fewest lane changes for the next maneuver.
    public var isRecommended: Bool
    /// The arrow to follow; nil when the maneuver cannot be driven from the lane or it has no arrows.
    public var active: LaneIndication?
    /// Whether it is closed to the vehicle, like a bus lane; such a lane is never possible.
    public var isClosed: Bool

    /// A lane.
    ///
    /// - Parameters:
    ///   - isPossible: Nil for `isValid`.
    ///   - isRecommended: Nil for `isValid`.
    public init(
        indications: [LaneIndication], isValid: Bool = false, active: LaneIndication? = nil, isClosed: Bool = false,
        isPossible: Bool? = nil, isRecommended: Bool? = nil
    ) {
        self.indications = indications
        self.isPossible = isPossible ?? isValid
        self.isValid = isValid
        self.isRecommended = isRecommended ?? isValid
        self.active = active
        self.isClosed = isClosed
    }

    /// Marks it as leading to the maneuver.
    mutating func allow(_ arrow: LaneIndication?) {
        (isPossible, isValid, isRecommended) = (true, true, true)
        active = active ?? arrow
    }

    /// Marks it as unsuitable for the maneuvers that follow.
    mutating func exclude() { (isValid, isRecommended) = (false, false) }
}

/// An arrow on a lane; the raw values are OSRM's.
public enum LaneIndication: String, Sendable, CaseIterable, Codable {
    case uTurn = "uturn"
    case sharpRight = "sharp right"
    case right
    case slightRight = "slight right"
    case straight
    case slightLeft = "slight left"
    case left
    case sharpLeft = "sharp left"

    /// Parses an arrow of OSM's `turn:lanes` value; nil for none.
    init?(tag: Substring) {
        switch tag {
        case "reverse": self = .uTurn
        case "sharp_right": self = .sharpRight
        case "right": self = .right
        case "slight_right", "merge_to_right": self = .slightRight
        case "through": self = .straight
        case "slight_left", "merge_to_left": self = .slightLeft
        case "left": self = .left
        case "sharp_left": self = .sharpLeft
        default: return nil
        }
    }
}

/// A reader of `turn:lanes` that marks the lanes serving a turn.
enum LaneGuidance {
    /// The largest plausible number of lanes; more are an error in the data.
    static let maximumLanes = 16
    /// The cost of an arrow that does not point to its assigned road, degrees.
    private static let mismatch = 200.0
    /// The cost of each further arrow onto one road, degrees.
    private static let sharing = 15.0
    /// The cost of an arrow whose position in the order differs from its road's, degrees.
    private static let unevenness = 40.0
    /// The cost of a branch with fewer lanes than lead onto it, degrees: lanes seldom end where a road splits.
    private static let narrowing = 40.0

    /// Returns the lanes of a `turn:lanes` value, with those marked that lead onto a road of a junction; empty when the value is
    /// inconclusive, since no advice is better than wrong advice.
    ///
    /// Arrows and roads have the same order from right to left. A road without an arrow of its own shares its neighbour's only if the arrow
    /// points there. Unassigned arrows belong to later junctions on the continuing road.
    ///
    /// - Parameter width: The vehicle's width, metres; nil to ignore widths.
    static func lanes(
        _ tag: String, at junction: Intersection, onto road: Int, for vehicle: VehicleAccess, width: Float? = nil
    ) -> [Lane] {
        var lanes = parse(tag, for: vehicle, width: width)
        guard lanes.count > 1, lanes.count <= maximumLanes else { return [] }
        if lanes.allSatisfy(\.indications.isEmpty), hasOnlyMarks(tag) || lanes.contains(where: \.isClosed) {
            for lane in openLanes(lanes, onto: junction.roads[road]) { lanes[lane].allow(nil) }
            return lanes.contains(where: \.isClosed) && lanes.contains(where: \.isValid) ? lanes : []
        }
        let arrows = arrows(lanes)
        guard !arrows.isEmpty, let matches = match(arrows, junction) else { return [] }
        for (arrow, match) in zip(arrows, matches) where match == road {
            for lane in arrow.lanes where !lanes[lane].isClosed {
                lanes[lane].allow(arrow.indication)
            }
        }
        return lanes.contains(where: \.isValid) ? lanes : []
    }

    /// Whether a lane tag contains only marks of closed or narrow lanes, because the road has no arrows.
    static func hasOnlyMarks(_ tag: String) -> Bool {
        func isSeparator(_ character: Character) -> Bool { character == "|" || character == ";" }
        // Fast path: most tags begin with an arrow.
        guard tag.drop(while: isSeparator).hasPrefix(RoadAttributes.laneMark) else { return false }
        return tag.split(whereSeparator: isSeparator).allSatisfy { $0.hasPrefix(RoadAttributes.laneMark) }
    }

    /// Returns the lanes without arrows from which a road is reached: all open lanes for a road ahead, else the outermost ones on its side,
    /// as many as the lanes of a branch, or one at a turn.
    private static func openLanes(_ lanes: [Lane], onto road: Intersection.Road) -> [Int] {
        let open = lanes.indices.filter { !lanes[$0].isClosed }
        let turn = road.turn
        guard turn.modifier != .uTurn else { return [] }
        guard let side = turn.modifier.side, turn.isManeuver, ![.newName, .merge, .notification].contains(turn.type)
        else { return open }
        let parts = [.fork, .onRamp, .offRamp].contains(turn.type)
        let count = parts ? max(road.road.lanes, 1) : 1
        return Array(side == .left ? open.prefix(count) : open.suffix(count))
    }

    /// Returns the destinations on the signs over the lanes that serve only the maneuver; empty if there is not a sign for each lane.
    ///
    /// - Parameter tag: OSM's `destination:lanes`.
    static func destinations(_ tag: String, over lanes: [Lane]) -> [String] {
        guard !tag.isEmpty else { return [] }
        let signs = tag.split(separator: "|", omittingEmptySubsequences: false)
        guard signs.count == lanes.count else { return [] }
        var result: [String] = []
        for (sign, lane) in zip(signs, lanes) where lane.isPossible && lane.indications.count < 2 {
            for place in RoadLabel.list(String(sign)) where place != "none" && !result.contains(place) {
                result.append(place)
            }
        }
        return result
    }

    /// An arrow and the lanes that show it, the rightmost lane first.
    private struct Arrow {
        /// The arrow; nil for lanes without one.
        var indication: LaneIndication?
        var lanes: [Int]
        /// Degrees counterclockwise from the way back.
        var angle: Double
    }

    private static func arrows(_ lanes: [Lane]) -> [Arrow] {
        var result: [Arrow] = []
        for lane in lanes.indices.reversed() {
            let shown: [LaneIndication?] = lanes[lane].indications.isEmpty ? [nil] : lanes[lane].indications
            for indication in shown.sorted(by: { angle($0) < angle($1) }) {
                // A lane without arrows forms a group of its own when other lanes separate it.
                if let known = result.lastIndex(where: { $0.indication == indication }),
                    indication != nil || result[known].lanes.contains(lane + 1)
                {
                    result[known].lanes.append(lane)
                } else {
                    result.append(Arrow(indication: indication, lanes: [lane], angle: angle(indication)))
                }
            }
        }
        return result
    }

    private static func angle(_ indication: LaneIndication?) -> Double {
        switch indication {
        case .sharpRight: 35
        case .right: 90
        case .slightRight: 135
        case .straight, nil: 180
        case .slightLeft: 225
        case .left: 270
        case .sharpLeft: 325
        case .uTurn: 360
        }
    }

    /// Returns the road of each arrow, nil for an arrow without a road here, by the cheapest assignment that keeps the order of arrows and
    /// roads.
    private static func match(_ arrows: [Arrow], _ junction: Intersection) -> [Int?]? {
        let roads = junction.roads.indices.filter { junction.roads[$0].isEntry && $0 > 0 }
        guard !roads.isEmpty else { return nil }
        let turning = arrows.indices.filter { arrows[$0].indication != .uTurn }
        var matches: [Int?] = Array(repeating: nil, count: arrows.count)
        if let back = arrows.firstIndex(where: { $0.indication == .uTurn }), junction.roads[0].isEntry {
            matches[back] = 0
        }
        guard !turning.isEmpty else { return matches }
        func cost(_ arrow: Arrow, _ road: Int) -> Double {
            let gap = angularGap(arrow.angle, junction.roads[road].angle)
            guard let indication = arrow.indication else { return gap / 4 }
            let turn = junction.roads[road].turn
            let fits =
                switch indication.side {
                case .right: turn.modifier.side == .right || turn.type == .merge
                case .left: turn.modifier.side == .left || turn.type == .merge
                case nil:
                    turn.modifier == .straight || turn.kind == .silent || turn.kind == .none
                        || [.newName, .fork, .merge, .notification].contains(turn.type)
                        || turn.type == .continue && junction.roads[road].deviation <= TurnAngles.narrow
                }
            return gap + (fits ? 0 : mismatch)
        }
        // With as many arrows as roads they match one to one, unless an arrow points to the other side.
        let isEven = turning.count == roads.count
        let parts = roads.count { junction.roads[$0].deviation < TurnAngles.group } > 1
        /// Returns the cost of a group of neighbouring arrows that lead onto one road.
        func cost(_ group: Range<Int>, onto place: Int) -> Double {
            guard !group.isEmpty else { return 0 }
            let shown = group.map { arrows[turning[$0]] }
            let road = junction.roads[roads[place]]
            let width = parts && road.deviation < TurnAngles.group ? road.road.lanes : 0
            let isTooNarrow = width > 0 && Set(shown.flatMap(\.lanes)).count > width
            return zip(group, shown).reduce(sharing * Double(group.count - 1) + (isTooNarrow ? narrowing : 0)) {
                $0 + cost($1.1, roads[place]) + (isEven && place != $1.0 ? unevenness : 0)
            }
        }
        // The least cost of assigning the first n arrows to the roads so far, indexed by n.
        var least = [0] + Array(repeating: Double.infinity, count: turning.count)
        var groups: [[Range<Int>]] = []
        for place in roads.indices {
            var next: [Double] = []
            var chosen: [Range<Int>] = []
            for end in least.indices {
                var (sum, group) = (least[end], end..<end)
                for start in (0..<end).reversed() where least[start] < sum {
                    let other = least[start] + cost(start..<end, onto: place)
                    if other < sum { (sum, group) = (other, start..<end) }
                }
                next.append(sum)
                chosen.append(group)
            }
            least = next
            groups.append(chosen)
        }
        var end = turning.count
        for place in roads.indices.reversed() {
            let group = groups[place][end]
            for arrow in group { matches[turning[arrow]] = roads[place] }
            end = group.lowerBound
        }
        return matches
    }

    static func parse(_ tag: String, for vehicle: VehicleAccess, width: Float? = nil) -> [Lane] {
        guard !tag.isEmpty else { return [] }
        let closed = vehicle == .truck ? RoadAttributes.laneClosedToTrucks : RoadAttributes.laneClosedToCars
        func closes(_ word: Substring) -> Bool {
            guard word.hasPrefix(RoadAttributes.laneMark) else { return false }
            if word == closed { return true }
            guard let width, let widest = Float(word.dropFirst(RoadAttributes.laneMark.count)) else { return false }
            return width > widest
        }
        return tag.split(separator: "|", omittingEmptySubsequences: false).map { lane in
            let words = lane.split(separator: ";").map { trimmed($0) }
            return Lane(
                indications: words.compactMap { LaneIndication(tag: $0) }, isClosed: words.contains(where: closes))
        }
    }
}

extension LaneIndication {
    /// The side that it leads to; nil for neither.
    var side: RoadSide? {
        switch self {
        case .sharpRight, .right, .slightRight: .right
        case .sharpLeft, .left, .slightLeft: .left
        case .uTurn, .straight: nil
        }
    }
}

/// Returns the trimmed, non-empty parts of a text between separators.
func parts(of text: String, between isSeparator: (Character) -> Bool) -> [String] {
    text.split(whereSeparator: isSeparator).map { String(trimmed($0)) }.filter { !$0.isEmpty }
}

/// Returns `text` without outer spaces.
func trimmed(_ text: Substring) -> Substring {
    var result = text
    while result.first == " " { result.removeFirst() }
    while result.last == " " { result.removeLast() }
    return result
}
