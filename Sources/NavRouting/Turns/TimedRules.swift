import NavMap

/// The set of conditions that hold, by their numbers in one ``TurnGraph``: the signature of a time of departure.
public struct ConditionSet: Sendable, Hashable {
    private var words: [UInt64] = []

    public static let none = ConditionSet()

    public var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

    mutating func insert(_ number: Int) {
        while words.count <= number / 64 { words.append(0) }
        words[number / 64] |= 1 << UInt64(number % 64)
    }

    func contains(_ number: Int) -> Bool {
        number / 64 < words.count && words[number / 64] >> UInt64(number % 64) & 1 == 1
    }
}

/// The time-dependent rules of a graph: turn restrictions and road conditions, with each distinct time stored once.
struct TimedRules: Sendable {
    private struct Rule {
        var effect: RoadCondition.Effect
        var vehicles: VehicleAccess
        var time: Int
    }

    /// The distinct times, and the vehicles that each concerns.
    private var times: [TimeCondition] = []
    private var concerned: [VehicleAccess] = []
    /// The time of each restriction; nil when it always holds.
    private var restrictionTimes: [Int?] = []
    /// Roads with conditions, by ascending edge, and the index of their first rule.
    private var edges: ContiguousArray<EdgeIndex> = []
    private var offsets: ContiguousArray<Int> = [0]
    private var rules: ContiguousArray<Rule> = []

    init(_ graph: RoadGraph) {
        var numbers: [TimeCondition: Int] = [:]
        restrictionTimes.reserveCapacity(graph.restrictions.count)
        for restriction in graph.restrictions {
            let number = restriction.time.map { self.number($0, restriction.vehicles, &numbers) }
            restrictionTimes.append(number)
        }
        var texts: [String: TimeCondition?] = [:]
        for (edge, conditions) in graph.conditionalEdges() {
            for condition in conditions {
                let known = texts[condition.time] ?? TimeCondition(condition.time)
                texts[condition.time] = .some(known)
                // A condition that cannot be parsed never holds.
                guard let time = known else { continue }
                let number = number(time, condition.vehicles, &numbers)
                rules.append(Rule(effect: condition.effect, vehicles: condition.vehicles, time: number))
            }
            guard rules.count > offsets[offsets.count - 1] else { continue }
            edges.append(edge)
            offsets.append(rules.count)
        }
    }

    private mutating func number(
        _ time: TimeCondition, _ vehicles: VehicleAccess, _ numbers: inout [TimeCondition: Int]
    ) -> Int {
        let number = numbers[time] ?? times.count
        if number == times.count {
            numbers[time] = number
            times.append(time)
            concerned.append([])
        }
        concerned[number].formUnion(vehicles)
        return number
    }

    /// Returns the conditions that concern a vehicle and hold at a time.
    func conditions(for vehicle: VehicleAccess, at departure: LocalTime?) -> ConditionSet {
        guard let departure else { return .none }
        var result = ConditionSet.none
        for (number, time) in times.enumerated()
        where !concerned[number].isDisjoint(with: vehicle) && time.holds(at: departure) { result.insert(number) }
        return result
    }

    /// Whether a restriction applies to a vehicle under some conditions.
    func holds(
        _ restriction: Int, _ restrictions: [TurnRestriction], _ vehicle: VehicleAccess, _ conditions: ConditionSet
    )
        -> Bool
    {
        guard !restrictions[restriction].vehicles.isDisjoint(with: vehicle) else { return false }
        return restrictionTimes[restriction].map { conditions.contains($0) } ?? true
    }

    /// Returns the roads whose traits change under some conditions, by ascending edge.
    func changes(
        _ graph: RoadGraph, _ vehicle: VehicleAccess, _ conditions: ConditionSet
    ) -> ContiguousArray<(edge: EdgeIndex, traits: EdgeTraits)> {
        var result: ContiguousArray<(edge: EdgeIndex, traits: EdgeTraits)> = []
        guard conditions != .none else { return result }
        for (index, edge) in edges.enumerated() {
            if let traits = traits(index, graph, vehicle, holds: { conditions.contains($0) }) {
                result.append((edge, traits))
            }
        }
        return result
    }

    /// Returns the traits of an edge for a vehicle under some conditions.
    func traits(
        of edge: EdgeIndex, _ graph: RoadGraph, _ vehicle: VehicleAccess, _ conditions: ConditionSet
    ) -> EdgeTraits {
        let index = edges.partitioningIndex { $0 >= edge }
        guard index < edges.count, edges[index] == edge else { return graph.traits(of: edge) }
        return traits(index, graph, vehicle) { conditions.contains($0) } ?? graph.traits(of: edge)
    }

    /// Returns the speed limit of an edge for a vehicle at a time; unknown when it depends on the time and the time is nil.
    func speedLimit(
        of edge: EdgeIndex, _ graph: RoadGraph, _ vehicle: VehicleAccess, at time: LocalTime?
    ) -> SpeedLimit {
        let index = edges.partitioningIndex { $0 >= edge }
        guard index < edges.count, edges[index] == edge else { return graph.traits(of: edge).limit(for: vehicle) }
        guard let time else {
            let isTimed = rules[offsets[index]..<offsets[index + 1]].contains { rule in
                guard case .speedLimit = rule.effect else { return false }
                return !rule.vehicles.isDisjoint(with: vehicle)
            }
            return isTimed ? .unknown : graph.traits(of: edge).limit(for: vehicle)
        }
        let traits = traits(index, graph, vehicle) { times[$0].holds(at: time) } ?? graph.traits(of: edge)
        return traits.limit(for: vehicle)
    }

    /// Returns the traits of an edge under the conditions that hold, by its position in ``edges``; nil when none changes them.
    private func traits(
        _ index: Int, _ graph: RoadGraph, _ vehicle: VehicleAccess, holds: (Int) -> Bool
    ) -> EdgeTraits? {
        let usual = graph.traits(of: edges[index])
        var traits: EdgeTraits?
        for rule in rules[offsets[index]..<offsets[index + 1]]
        where !rule.vehicles.isDisjoint(with: vehicle) && holds(rule.time) {
            var changed = traits ?? usual
            changed.apply(rule.effect, to: rule.vehicles, for: vehicle, usually: usual)
            traits = changed
        }
        return traits
    }
}

extension EdgeTraits {
    /// Applies a condition that holds to a road for one vehicle; if several set the same property, the last counts.
    ///
    /// The free-flow speed changes in proportion to the limit. A limit for goods vehicles alone replaces their own limit.
    fileprivate mutating func apply(
        _ effect: RoadCondition.Effect, to vehicles: VehicleAccess, for vehicle: VehicleAccess, usually: EdgeTraits
    ) {
        switch effect {
        case .access(let level):
            flags.subtract([.destinationOnly, .privateAccess, .truckDestinationOnly])
            if level == .none { access.subtract(vehicle) } else { access.formUnion(vehicle) }
            if level == .destination { flags.formUnion([.destinationOnly, .truckDestinationOnly]) }
            if level == .privateGround { flags.formUnion([.privateAccess, .truckDestinationOnly]) }
        case .speedLimit(let limit):
            guard limit > 0 else { return }
            guard vehicles.contains(.car) else {
                truckSpeedLimit = limit
                return
            }
            let share = min(usually.speedLimit.map { usually.freeFlowSpeed / $0 } ?? 1, 1)
            freeFlowSpeed = usually.speedLimit == nil ? min(usually.freeFlowSpeed, limit) : limit * share
            speedLimit = limit
            flags.insert(.taggedSpeedLimit)
            flags.remove(.unlimitedSpeed)
        }
    }
}
