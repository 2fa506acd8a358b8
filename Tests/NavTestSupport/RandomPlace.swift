public import NavGeo
public import NavMap
public import NavSimulation

extension RoadGraph {
    /// Draws the place of one of the nodes.
    public func randomPlace(_ random: inout SeededRandom) -> Coordinate {
        nodePositions[Int(random.next() % UInt64(nodeCount))].coordinate
    }
}
