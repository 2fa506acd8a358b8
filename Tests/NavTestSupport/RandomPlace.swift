package import NavGeo
package import NavMap
package import NavSimulation

extension RoadGraph {
    /// Draws the place of one of the nodes.
    package func randomPlace(_ random: inout SeededRandom) -> Coordinate {
        nodePositions[Int(random.next() % UInt64(nodeCount))].coordinate
    }
}
