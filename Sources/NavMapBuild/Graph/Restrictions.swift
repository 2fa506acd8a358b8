internal import NavMap

/// A reason why a turn restriction or a prescribed maneuver has no effect.
package enum RestrictionProblem: String, Sendable, CaseIterable, Codable, CodingKeyRepresentable {
    /// `from`, `via` or `to` is missing, or occurs too often.
    case incompleteMembers
    /// A member is outside the extract, or not a road for vehicles.
    case memberIsNoRoad
    /// The members do not meet, or meet against the direction of traffic.
    case notConnected
    /// A way passes through the `via` node, so that either of its parts could be meant.
    case ambiguous
    /// The kind is not one of the `no_` and `only_` kinds; for a maneuver, both kind and direction are unknown.
    case unknownKind
    /// It applies only under conditions that are not supported.
    case conditional
    /// It applies only to vehicles outside the map's scope, such as bicycles.
    case otherVehicles
}

/// Turn restrictions as paths of edges that must not be driven, and prescribed maneuvers as paths with an announcement.
struct Restrictions: Sendable {
    /// A forbidden sequence of two or more edges, with its vehicles and times.
    struct Forbidden: Sendable {
        var path: [DirectedEdge]
        var rule: RestrictionTags.Rule
    }

    /// The forbidden sequences, in the order of the relations.
    private(set) var forbidden: [Forbidden] = []
    /// The number of restriction relations with an effect.
    private(set) var applied = 0
    /// The number of restriction relations without an effect, by reason.
    private(set) var problems: [RestrictionProblem: Int] = [:]

    /// A path on which the map prescribes an announcement.
    struct Prescribed: Sendable {
        var path: [DirectedEdge]
        var maneuver: PrescribedManeuver
    }

    /// The prescribed maneuvers, in the order of the relations.
    private(set) var prescribed: [Prescribed] = []
    /// The number of maneuver relations without an effect, by reason.
    private(set) var maneuverProblems: [RestrictionProblem: Int] = [:]

    fileprivate struct Members {
        var from: [Int64] = []
        var to: [Int64] = []
        var viaNodes: [Int64] = []
        var viaWays: [Int64] = []
    }

    /// Resolves the restriction relations of `data`, after the wiki's "Relation:restriction", and its maneuver relations, after OSRM.
    init(_ data: OSMData, _ network: RoadNetwork) {
        guard !data.relations.ids.isEmpty else { return }
        var roadOfWay = ContiguousArray<UInt32>(repeating: .max, count: data.ways.ids.count)
        for (road, way) in network.roads.ways.enumerated() { roadOfWay[Int(way)] = UInt32(road) }
        let resolver = Resolver(data: data, network: network, roadOfWay: roadOfWay)
        for relation in data.relations.ids.indices where !CountryBorder.isCountry(data, relation) {
            if Word(rawValue: data.relations.tags.value(.type, of: relation)) == .maneuver {
                do throws(RestrictionProblem) {
                    let maneuver = try ManeuverTags.maneuver(data.relations.tags, relation, data.strings)
                    prescribed.append(try resolver.prescribed(Restrictions.members(data, relation), maneuver))
                } catch {
                    maneuverProblems[error, default: 0] += 1
                }
                continue
            }
            do throws(RestrictionProblem) {
                let members = Restrictions.members(data, relation)
                for rule in try RestrictionTags.rules(data.relations.tags, relation, data.strings) {
                    let paths = try resolver.paths(members, isOnly: rule.isOnly)
                    forbidden += paths.map { Forbidden(path: $0, rule: rule) }
                }
                applied += 1
            } catch {
                problems[error, default: 0] += 1
            }
        }
    }

    private static func members(_ data: OSMData, _ relation: Int) -> Members {
        var members = Members()
        for at in data.relations.partRange(relation) {
            let member = data.relations.parts[at]
            switch (Word(rawValue: member.role), member.kind) {
            case (.from?, .way): members.from.append(member.id)
            case (.to?, .way): members.to.append(member.id)
            case (.via?, .node): members.viaNodes.append(member.id)
            case (.via?, .way): members.viaWays.append(member.id)
            default: break
            }
        }
        return members
    }
}

extension RestrictionProblem: Error {}

/// A resolver of a restriction's members to edges.
private struct Resolver {
    let data: OSMData
    let network: RoadNetwork
    let roadOfWay: ContiguousArray<UInt32>

    /// Returns the paths that a restriction forbids; `no_entry` may have several `from`, `no_exit` several `to`.
    func paths(_ members: Restrictions.Members, isOnly: Bool) throws(RestrictionProblem) -> [[DirectedEdge]] {
        guard !members.from.isEmpty, !members.to.isEmpty,
            members.viaNodes.count == (members.viaWays.isEmpty ? 1 : 0)
        else { throw .incompleteMembers }
        let via = try roads(members.viaWays)
        var (origins, targets) = (try roads(members.from), try roads(members.to))
        let node = try members.viaNodes.first.map { id throws(RestrictionProblem) in try self.node(id) }
        if let node {
            // Some relations list the whole road to or from the junction; only its ways at the junction are meant.
            if origins.count > 1 { origins.removeAll { !edges(of: $0).contains { network.head($0) == node } } }
            if targets.count > 1 { targets.removeAll { !edges(of: $0).contains { network.tail($0) == node } } }
            guard !origins.isEmpty, !targets.isEmpty else { throw .notConnected }
        }
        guard origins.count == 1 || targets.count == 1, !isOnly || origins.count == 1 && targets.count == 1 else {
            throw .incompleteMembers
        }
        var result: [[DirectedEdge]] = []
        for from in origins {
            for to in targets {
                if let node {
                    result += try paths(from, to, viaNode: node, isOnly)
                } else {
                    result += try paths(from, to, via: via, isOnly)
                }
            }
        }
        return result
    }

    /// Returns the path of a maneuver relation, announced at its `via` node, or with only `via` ways at the end of `from`.
    func prescribed(
        _ members: Restrictions.Members, _ maneuver: PrescribedManeuver
    ) throws(RestrictionProblem) -> Restrictions.Prescribed {
        guard members.from.count == 1, members.to.count == 1, members.viaNodes.count <= 1 else {
            throw .incompleteMembers
        }
        var along = members
        if !members.viaWays.isEmpty { along.viaNodes = [] }
        let paths = try paths(along, isOnly: false)
        guard paths.count == 1, let path = paths.first else { throw .ambiguous }
        var result = Restrictions.Prescribed(path: path, maneuver: maneuver)
        if let id = members.viaNodes.first {
            let node = try node(id)
            guard let place = path.indices.dropFirst().first(where: { network.tail(path[$0]) == node }),
                place <= PrescribedManeuver.lastPlace
            else { throw .notConnected }
            result.maneuver.place = place
        }
        return result
    }

    private func roads(_ ways: [Int64]) throws(RestrictionProblem) -> [Int] {
        var roads: [Int] = []
        for way in ways {
            guard let index = data.ways.index(of: way), roadOfWay[index] != .max else { throw .memberIsNoRoad }
            roads.append(Int(roadOfWay[index]))
        }
        return roads
    }

    /// Returns the network's number of an OSM node.
    private func node(_ id: Int64) throws(RestrictionProblem) -> UInt32 {
        guard let index = data.index(ofNode: id), network.nodeNumbers[Int(index)] != RoadNetwork.noNode else {
            throw .notConnected
        }
        return network.nodeNumbers[Int(index)]
    }

    private func paths(
        _ from: Int, _ to: Int, viaNode node: UInt32, _ isOnly: Bool
    ) throws(RestrictionProblem) -> [[DirectedEdge]] {
        let arrivals = edges(of: from).filter { network.head($0) == node }
        let departures = edges(of: to).filter { network.tail($0) == node }
        guard !arrivals.isEmpty, !departures.isEmpty else { throw .notConnected }
        if from == to && !isOnly {
            // A turn from a road into itself is a U-turn.
            let turns = arrivals.compactMap { arrival in
                departures.first { $0.segment == arrival.segment }.map { [arrival, $0] }
            }
            if turns.isEmpty { throw .notConnected }
            return turns
        }
        guard arrivals.count == 1, departures.count == 1 else { throw .ambiguous }
        return forbidden([arrivals[0]], departures[0], isOnly)
    }

    private func paths(
        _ from: Int, _ to: Int, via: [Int], _ isOnly: Bool
    ) throws(RestrictionProblem) -> [[DirectedEdge]] {
        var found: [(path: [DirectedEdge], departure: DirectedEdge)] = []
        func find(_ order: [Int]) {
            for arrival in edges(of: from) {
                var path = [arrival]
                guard follow(order + [to], &path), let last = path.last else { continue }
                for departure in edges(of: to) where network.tail(departure) == network.head(last) {
                    found.append((path, departure))
                }
            }
        }
        find(via)
        if via.count > 1 {
            // They may be listed in any order, most often the reverse one.
            if found.isEmpty { find(via.reversed()) }
            for order in found.isEmpty ? orders(of: via, from, to) : [] where found.isEmpty { find(order) }
        }
        guard let first = found.first else { throw .notConnected }
        guard found.count == 1 else { throw .ambiguous }
        return forbidden(first.path, first.departure, isOnly)
    }

    /// The maximum numbers of via ways to reorder, of orders to try, and of search steps: more than any restriction whose ways form one
    /// path needs.
    private static let (mostReordered, mostOrders, mostSteps) = (16, 8, 256)

    /// Returns the orders of via ways in which each can be entered from the one before, and the target from the last.
    private func orders(of via: [Int], _ from: Int, _ to: Int) -> [[Int]] {
        guard via.count <= Resolver.mostReordered else { return [] }
        let roads = via + [from, to]
        let entries = roads.map { Set(ends(of: $0)) }
        let exits = roads.map { Set(edges(of: $0).map(network.head)) }
        let (start, target) = (via.count, via.count + 1)
        var orders: [[Int]] = []
        var steps = 0
        func extend(_ order: [Int]) {
            let exits = exits[order.last ?? start]
            if order.count == via.count, !exits.isDisjoint(with: entries[target]) { orders.append(order) }
            for next in via.indices where !order.contains(next) && !exits.isDisjoint(with: entries[next]) {
                steps += 1
                guard steps <= Resolver.mostSteps, orders.count < Resolver.mostOrders else { return }
                extend(order + [next])
            }
        }
        extend([])
        return orders.map { $0.map { via[$0] } }
    }

    private func forbidden(_ path: [DirectedEdge], _ departure: DirectedEdge, _ isOnly: Bool) -> [[DirectedEdge]] {
        guard isOnly, let last = path.last else { return [path + [departure]] }
        return network.departures(network.head(last)).filter { $0 != departure }.map { path + [$0] }
    }

    /// Extends a path along each of `roads` except the last, from the path's end to the start of the next road.
    private func follow(_ roads: [Int], _ path: inout [DirectedEdge]) -> Bool {
        for (road, next) in zip(roads, roads.dropFirst()) {
            guard let last = path.last else { return false }
            let start = network.head(last)
            let goals = ends(of: next)
            guard
                let walk = [false, true].lazy.compactMap({ self.walk(road, from: start, to: goals, isBackward: $0) })
                    .first
            else { return false }
            path += walk
        }
        return true
    }

    /// Returns the edges of a road from a node, in one direction, to the first node of `goals`; nil when none is reached.
    private func walk(_ road: Int, from start: UInt32, to goals: [UInt32], isBackward: Bool) -> [DirectedEdge]? {
        let segments = network.segments(ofRoad: road)
        var node = start
        var walk: [DirectedEdge] = []
        let order = isBackward ? Array(segments.reversed()) : Array(segments)
        for segment in order {
            let edge = DirectedEdge(segment, isBackward: isBackward)
            guard network.exists(edge), network.tail(edge) == node else {
                if walk.isEmpty { continue }
                return nil
            }
            walk.append(edge)
            node = network.head(edge)
            if goals.contains(node) { return walk }
        }
        return nil
    }

    private func edges(of road: Int) -> [DirectedEdge] {
        network.segments(ofRoad: road).flatMap { segment in
            [false, true].map { DirectedEdge(segment, isBackward: $0) }.filter(network.exists)
        }
    }

    private func ends(of road: Int) -> [UInt32] {
        edges(of: road).map(network.tail)
    }
}
