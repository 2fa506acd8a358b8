internal import NavGeo
internal import NavMap
internal import NavRouting

/// The way through a roundabout: its pieces in the route and what is counted on them.
struct RoundaboutPassage {
    /// The roundabout's pieces.
    var pieces: Range<Int>
    /// Which exit is taken, from 1; nil when the route does not leave it in this leg or exits may be missing from the map.
    var exit: Int?
    /// The turn over the whole roundabout, degrees, clockwise positive.
    var turn: Double

    /// The passage that starts with the piece `first`, in a leg that ends before the piece `end`.
    init(_ roads: RouteRoads, first: Int, end: Int) {
        var last = first
        while last < end, roads.kinds[last].flags.contains(.roundabout) { last += 1 }
        pieces = first..<last
        exit = last < end ? RoundaboutPassage.countExits(roads, pieces) : nil
        let entry = roads.route.edges[first].routeOffset
        let leaving = last < end ? roads.route.edges[last].routeOffset : entry
        // The kerb bends an entry and an exit, so the directions are taken some way off.
        let before = roads.bearing(from: max(entry - 45, 0), to: max(entry - 10, 0))
        let after = roads.bearing(
            from: min(leaving + 10, roads.route.length), to: min(leaving + 45, roads.route.length))
        turn = degrees(from: before, to: after)
    }

    private static func countExits(_ roads: RouteRoads, _ pieces: Range<Int>) -> Int? {
        let graph = roads.graph
        var exits = 1
        for index in pieces where index > pieces.lowerBound {
            guard let node = roads.node(before: index) else {
                // A waypoint inside the roundabout parts an edge without a node; anything else is a gap in the map.
                if roads.route.edges[index].key == roads.route.edges[index - 1].key { continue }
                return nil
            }
            if graph.isIncomplete(node) { return nil }
            exits += graph.outgoing(node).count { edge in
                let traits = graph.traits(of: edge)
                return !traits.flags.contains(.roundabout) && traits.access.contains(.car)
                    && !TurnClassifier.isMinor(traits.flags)
            }
        }
        return exits
    }
}
