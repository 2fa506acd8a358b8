import Foundation
import NavBench
import NavGeo
import NavMap
import NavRouting

extension RouteSuite {
    /// Writes the turn graph for other libraries, and one state at each end of each local pair.
    ///
    /// The file consists of little-endian 32-bit words: the numbers of states, arcs and pairs; the arcs' tails, heads
    /// and costs (ms, including the head's edge); the states' latitudes and longitudes (floats); the pairs' origins and
    /// destinations.
    func export(to path: String) throws {
        let turns = hierarchy.hierarchy.turns
        var (tails, heads, costs): ([UInt32], [UInt32], [UInt32]) = ([], [], [])
        var (latitudes, longitudes): ([Float], [Float]) = ([], [])
        for state in 0..<TurnState(turns.stateCount) {
            let edge = turns.edge(of: state)
            let end = graph.nodePositions[graph.edgeHeads[edge.index].index].coordinate
            latitudes.append(Float(end.latitude))
            longitudes.append(Float(end.longitude))
            for arc in turns.arcs(from: state) where router.metric.cost(ofArc: arc) != Metric.forbidden {
                let target = turns.target(of: arc)
                let next = router.metric.cost(of: turns.edge(of: target))
                guard next != Metric.forbidden, target != state else { continue }
                tails.append(state)
                heads.append(target)
                costs.append(router.metric.cost(ofArc: arc) + next)
            }
        }
        var data = Data()
        func append<Element>(_ values: [Element]) { values.withUnsafeBytes { data.append(contentsOf: $0) } }
        append([UInt32(turns.stateCount), UInt32(tails.count), UInt32(singleSeeds.count)])
        append(tails)
        append(heads)
        append(costs)
        append(latitudes)
        append(longitudes)
        append(singleSeeds.map(\.from.state))
        append(singleSeeds.map(\.to.state))
        do {
            try data.write(to: URL(fileURLWithPath: path))
        } catch {
            throw BenchError("'\(path)' cannot be written: \(error.localizedDescription)")
        }
    }
}
