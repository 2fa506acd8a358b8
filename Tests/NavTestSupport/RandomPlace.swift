package import NavGeo
package import NavMap
package import NavSimulation

extension RoadGraph {
    /// Returns the place of a random node.
    package func randomPlace(_ random: inout SeededRandom) -> Coordinate {
        nodePositions[Int(random.next() % UInt64(nodeCount))].coordinate
    }
}
