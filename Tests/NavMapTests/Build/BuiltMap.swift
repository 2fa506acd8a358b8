import NavGeo
import NavMap
import NavMapBuild

/// An edge of a built map by OSM ids, for comparisons.
struct EdgeName: Hashable, CustomStringConvertible {
    var tail: Int64
    var head: Int64
    var way: Int64

    init(_ tail: Int64, _ head: Int64, _ way: Int64) {
        self.tail = tail
        self.head = head
        self.way = way
    }

    var description: String { "\(tail)->\(head)/\(way)" }
}

/// A map that was built in memory, with its tiles joined again.
struct BuiltMap {
    let graph: RoadGraph
    let report: BuildReport

    init(_ data: OSMData, jobs: Int = 1) throws {
        let (tiles, report) = try MapBuilder(.init(jobs: jobs)).build(data)
        graph = RoadGraph(
            tiles: try tiles.map { try $0.roadTile },
            mapVersion: report.mapVersion)
        self.report = report
    }

    init(_ map: GridMap) throws { try self.init(map.data) }

    func name(_ edge: EdgeIndex) -> EdgeName {
        EdgeName(
            graph.nodeOSMIDs[graph.edgeTails[edge.index].index], graph.nodeOSMIDs[graph.edgeHeads[edge.index].index],
            graph.wayID(of: edge))
    }

    var edges: [EdgeName] { (0..<graph.edgeCount).map { name(EdgeIndex($0)) } }

    func edge(_ tail: Int64, _ head: Int64) -> EdgeIndex? {
        (0..<graph.edgeCount).map { EdgeIndex($0) }.first { name($0).tail == tail && name($0).head == head }
    }

    func flags(ofNode id: Int64) -> NodeFlags? {
        graph.nodeOSMIDs.firstIndex(of: id).map { graph.nodeFlags[$0] }
    }

    func shape(_ tail: Int64, _ head: Int64) -> [Int64] {
        guard let edge = edge(tail, head) else { return [] }
        let shape = graph.shape(of: edge)
        return shape.indices.map { shape.nodeID($0) }
    }

    /// The prohibited paths, as the OSM ids of their nodes.
    var forbidden: Set<[Int64]> {
        Set(
            graph.prohibitedPaths(for: .car, at: nil).map { path in
                path.map { name($0).tail } + (path.last.map { [name($0).head] } ?? [])
            })
    }
}
