internal import NavGeo

/// A consistency check between the tiles of a whole tileset.
///
/// Opening a tile checks that tile in isolation; this check compares tiles: heads match arrivals, shared nodes have the
/// same position in all their layers, and restrictions name existing roads.
public struct TileJoins: Sendable {
    public struct Problem: Sendable, Hashable {
        /// The tile with the wrong reference to another one.
        public let tile: RoadTileID
        public let reason: String
    }

    /// The maximum number of problems that are listed.
    public static let mostProblems = 1_000

    private let tiles: [RoadTile]
    private let tileNumbers: [RoadTileID: Int]
    /// The shared nodes of each tile by OSM id.
    private let sharedNodes: [[Int64: Int]]
    private var problems: [Problem] = []

    /// Returns the inconsistencies between tiles, ordered by tile; at most ``mostProblems``.
    ///
    /// A tile given twice counts once.
    public static func problems(_ tiles: [RoadTile]) -> [Problem] {
        var joins = TileJoins(tiles)
        for number in joins.tiles.indices {
            joins.checkNodes(number)
            joins.checkHeads(number)
            joins.checkArrivals(number)
        }
        joins.checkRestrictions()
        return joins.problems
    }

    private init(_ given: [RoadTile]) {
        var numbers: [RoadTileID: Int] = [:]
        var tiles: [RoadTile] = []
        for tile in given.sorted(by: { $0.id < $1.id }) where numbers[tile.id] == nil {
            numbers[tile.id] = tiles.count
            tiles.append(tile)
        }
        self.tiles = tiles
        tileNumbers = numbers
        sharedNodes = tiles.map { tile in
            var nodes: [Int64: Int] = [:]
            for (index, node) in tile.nodes.enumerated() where NodeFlags(rawValue: node.flags).contains(.shared) {
                nodes[node.osmID] = index
            }
            return nodes
        }
    }

    private mutating func report(_ number: Int, _ reason: String) {
        guard problems.count < TileJoins.mostProblems else { return }
        problems.append(Problem(tile: tiles[number].id, reason: reason))
    }

    private static func tile(_ layer: RoadLayer, _ latitudeE7: Int32, _ longitudeE7: Int32) -> RoadTileID {
        RoadTileID(
            layer: layer, containing: FixedCoordinate(latitudeE7: latitudeE7, longitudeE7: longitudeE7).coordinate)
    }

    /// Checks that nodes lie in their tile and are present in the tiles of their other layers.
    private mutating func checkNodes(_ number: Int) {
        let layer = tiles[number].id.layer
        for node in tiles[number].nodes {
            if TileJoins.tile(layer, node.latitudeE7, node.longitudeE7) != tiles[number].id {
                report(number, "node \(node.osmID) lies outside the tile")
            }
            for other in RoadLayer.allCases where other != layer && node.layers & 1 << UInt32(other.rawValue) != 0 {
                let id = TileJoins.tile(other, node.latitudeE7, node.longitudeE7)
                guard let place = tileNumbers[id] else {
                    report(number, "node \(node.osmID) has roads in tile \(id), which is not in the set")
                    continue
                }
                if !isSame(node.osmID, node.latitudeE7, node.longitudeE7, in: place) {
                    report(number, "node \(node.osmID) has roads in tile \(id), which does not contain it")
                }
            }
        }
    }

    private func isSame(_ osmID: Int64, _ latitudeE7: Int32, _ longitudeE7: Int32, in tile: Int) -> Bool {
        guard let index = sharedNodes[tile][osmID] else { return false }
        let node = tiles[tile].nodes[index]
        return node.latitudeE7 == latitudeE7 && node.longitudeE7 == longitudeE7
    }

    /// Checks that edges that leave the tile end at existing nodes whose tiles list them as arrivals.
    private mutating func checkHeads(_ number: Int) {
        let tile = tiles[number]
        for node in tile.nodes {
            for edge in tile.edges[Int(node.firstEdge)..<(Int(node.firstEdge) + Int(node.edgeCount))]
            where edge.head & TileLayout.externalHead != 0 {
                let head = tile.externalNodes[Int(edge.head & ~TileLayout.externalHead)]
                let id = TileJoins.tile(tile.id.layer, head.latitudeE7, head.longitudeE7)
                guard let other = tileNumbers[id] else {
                    report(number, "way \(edge.wayID) leads into tile \(id), which is not in the set")
                    continue
                }
                guard isSame(head.osmID, head.latitudeE7, head.longitudeE7, in: other) else {
                    report(number, "way \(edge.wayID) leads to node \(head.osmID), which is missing in tile \(id)")
                    continue
                }
                if !arrivals[other].contains(Arrival(tail: node.osmID, head: head.osmID)) {
                    report(number, "way \(edge.wayID) leads to node \(head.osmID); tile \(id) lists no such arrival")
                }
            }
        }
    }

    private struct Arrival: Hashable {
        var tail: Int64
        var head: Int64
    }

    private lazy var arrivals: [Set<Arrival>] = tiles.map { tile in
        Set(
            tile.arrivals.map { arrival in
                Arrival(
                    tail: tile.externalNodes[Int(arrival.externalNode)].osmID,
                    head: tile.nodes[Int(arrival.node)].osmID)
            })
    }

    private mutating func checkArrivals(_ number: Int) {
        let tile = tiles[number]
        for arrival in tile.arrivals {
            let tail = tile.externalNodes[Int(arrival.externalNode)]
            let head = tile.nodes[Int(arrival.node)].osmID
            let id = TileJoins.tile(tile.id.layer, tail.latitudeE7, tail.longitudeE7)
            guard let other = tileNumbers[id] else {
                report(number, "an arrival names tile \(id), which is not in the set")
                continue
            }
            guard let index = sharedNodes[other][tail.osmID] else {
                report(number, "an arrival names node \(tail.osmID), which is missing in tile \(id)")
                continue
            }
            let origin = tiles[other]
            let node = origin.nodes[index]
            let comes = origin.edges[Int(node.firstEdge)..<(Int(node.firstEdge) + Int(node.edgeCount))].contains {
                edge in
                edge.head & TileLayout.externalHead != 0
                    && origin.externalNodes[Int(edge.head & ~TileLayout.externalHead)].osmID == head
            }
            if !comes { report(number, "an arrival names a missing road: node \(tail.osmID) to \(head)") }
        }
    }

    /// Checks that restrictions are paths of edges of the tileset.
    private mutating func checkRestrictions() {
        var missing: Set<EdgeReference> = []
        for tile in tiles {
            for member in tile.restrictionMembers {
                missing.insert(TileJoins.reference(member))
            }
        }
        if missing.isEmpty { return }
        for tile in tiles {
            for node in tile.nodes {
                for edge in tile.edges[Int(node.firstEdge)..<(Int(node.firstEdge) + Int(node.edgeCount))] {
                    let head = Int(edge.head & ~TileLayout.externalHead)
                    let headID =
                        edge.head & TileLayout.externalHead != 0
                        ? tile.externalNodes[head].osmID : tile.nodes[head].osmID
                    missing.remove(
                        EdgeReference(tailNodeID: node.osmID, headNodeID: headID, wayID: edge.wayID))
                }
            }
        }
        for number in tiles.indices {
            let tile = tiles[number]
            for restriction in tile.restrictions {
                let first = Int(restriction.firstMember)
                let path = tile.restrictionMembers[first..<(first + Int(restriction.memberCount))]
                if let lost = path.first(where: { missing.contains(TileJoins.reference($0)) }) {
                    report(
                        number,
                        "a restriction or maneuver names a road from node \(lost.tailNodeID) to \(lost.headNodeID) along way "
                            + "\(lost.wayID), which is not in the set")
                } else if zip(path, path.dropFirst()).contains(where: { $0.headNodeID != $1.tailNodeID }) {
                    report(number, "a restriction or maneuver names roads that are not connected")
                }
            }
        }
    }

    private static func reference(_ member: RestrictionMemberRecord) -> EdgeReference {
        EdgeReference(tailNodeID: member.tailNodeID, headNodeID: member.headNodeID, wayID: member.wayID)
    }
}
