internal import NavMap

extension RoadNetwork {
    /// Returns the rank of each segment in the order of contraction.
    func ranks(_ data: OSMData, jobs: Int, _ counter: ProgressCounter) -> ContiguousArray<UInt32> {
        let positions = ContiguousArray(nodes.map { data.position($0) })
        let count = segmentRoads.count
        let roads = ContiguousArray(
            (0..<count).map { segment in
                let edge = DirectedEdge(segment, isBackward: false)
                return NestedDissection.Road(first: tail(edge), second: head(edge))
            })
        return NestedDissection.ranks(positions: positions, roads: roads, jobs: jobs) { placed in
            counter.advance(.orderingRoads, by: placed, of: count)
        }
    }
}
