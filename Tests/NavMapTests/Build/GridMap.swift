import Foundation
import NavGeo
import NavMapBuild
import NavTestKit
import NavTestSupport

extension TestData {
    /// The extract that the repository contains.
    static var helsinki: String { fixture("helsinki.osm.pbf") }

    /// The extract of the roads of a recorded drive.
    static var drivenRoads: String { gnss("hof/network.osm.pbf") }
}

/// A small map of numbered nodes on a grid of 0.001°: node 10 * row + column.
struct GridMap {
    private var builder = OSMDataBuilder()

    init() {}

    mutating func nodes(_ ids: [Int64], _ tags: [String: String] = [:]) {
        for id in ids {
            let position = FixedCoordinate(
                latitudeE7: 480_000_000 - Int32(id / 10) * 10_000, longitudeE7: 110_000_000 + Int32(id % 10) * 10_000)
            builder.addNode(id: id, position: position, tags: tags)
        }
    }

    /// Adds a node at an offset, metres east and north, from a node of the grid.
    mutating func node(_ id: Int64, east: Double, north: Double, of base: Int64) {
        let origin = FixedCoordinate(
            latitudeE7: 480_000_000 - Int32(base / 10) * 10_000, longitudeE7: 110_000_000 + Int32(base % 10) * 10_000)
        let place = LocalFrame(origin: origin.coordinate).coordinate(of: LocalPoint(east: east, north: north))
        builder.addNode(id: id, position: FixedCoordinate(place), tags: [:])
    }

    mutating func way(_ id: Int64, _ nodes: [Int64], _ tags: [String: String] = ["highway": "residential"]) {
        builder.addWay(id: id, nodes: nodes, tags: tags)
    }

    mutating func restriction(
        _ id: Int64, _ kind: String, from: [Int64], viaNodes: [Int64] = [], viaWays: [Int64] = [], to: [Int64],
        tags: [String: String] = [:]
    ) {
        var members: [(kind: OSMData.Member.Kind, id: Int64, role: String)] = from.map { (.way, $0, "from") }
        members += viaNodes.map { (.node, $0, "via") } + viaWays.map { (.way, $0, "via") }
        members += to.map { (.way, $0, "to") }
        builder.addRelation(
            id: id, members: members,
            tags: tags.merging(["type": "restriction", "restriction": kind]) { given, _ in given })
    }

    var data: OSMData { builder.build() }
}
