import NavGeo
import NavMap
import NavMapBuild
import NavTestSupport
import Testing

@Suite("Splitting ways into edges")
struct GraphTests {
    @Test("ways meet at shared nodes, and the nodes between become shape points")
    func crossing() throws {
        var map = GridMap()
        map.nodes([11, 12, 13, 2, 22, 32])
        map.way(1, [11, 12, 13])
        map.way(2, [2, 12, 22, 32])
        let built = try BuiltMap(map)
        #expect(
            Set(built.edges) == [
                EdgeName(11, 12, 1), EdgeName(12, 11, 1), EdgeName(12, 13, 1), EdgeName(13, 12, 1),
                EdgeName(2, 12, 2), EdgeName(12, 2, 2), EdgeName(12, 32, 2), EdgeName(32, 12, 2),
            ])
        #expect(built.shape(12, 32) == [12, 22, 32] && built.shape(32, 12) == [32, 22, 12])
        let edge = try #require(built.edge(12, 32))
        #expect(built.graph.opposite(edge) == built.edge(32, 12))
        #expect(built.report.edges == 8 && built.report.graphNodes == 5 && built.report.roads == 2)
    }

    @Test("a turn's angle is that seen by drivers, not that of the first metres across the junction")
    func perceivedTurns() throws {
        var map = GridMap()
        map.nodes([11, 12, 13])
        map.node(101, east: 4, north: 4, of: 12)
        map.node(102, east: 4, north: 16, of: 12)
        map.node(103, east: 4, north: 120, of: 12)
        map.way(1, [11, 12, 13])
        map.way(2, [12, 101, 102, 103])
        let built = try BuiltMap(map)
        let (east, west) = (try #require(built.edge(11, 12)), try #require(built.edge(13, 12)))
        let (leaving, arriving) = (try #require(built.edge(12, 103)), try #require(built.edge(103, 12)))
        // The first 15 m lead north by east, at 14 degrees.
        let measured = Angle.degrees(Double(built.graph.edgeStartBearings[leaving.index]))
        #expect(abs(measured - 14) < 0.5)
        func turn(_ first: EdgeIndex, _ second: EdgeIndex) -> Double {
            Angle.degrees(built.graph.turnAngle(first, second))
        }
        #expect(abs(turn(east, leaving) + 88) < 2 && abs(turn(west, leaving) - 92) < 2)
        #expect(abs(turn(arriving, try #require(built.edge(12, 11))) - 88) < 2)
        #expect(abs(turn(east, try #require(built.edge(12, 13)))) < 0.1)
    }

    @Test("a one-way road has edges in its direction only")
    func oneway() throws {
        var map = GridMap()
        map.nodes([11, 12, 13])
        map.way(1, [11, 12], ["highway": "residential", "oneway": "yes"])
        map.way(2, [12, 13], ["highway": "residential", "oneway": "-1"])
        let built = try BuiltMap(map)
        #expect(Set(built.edges) == [EdgeName(11, 12, 1), EdgeName(13, 12, 2)])
    }

    @Test("ways that are not roads do not create intersections")
    func footway() throws {
        var map = GridMap()
        map.nodes([11, 12, 13, 2, 22])
        map.way(1, [11, 12, 13])
        map.way(2, [2, 12, 22], ["highway": "footway"])
        #expect(Set(try BuiltMap(map).edges) == [EdgeName(11, 13, 1), EdgeName(13, 11, 1)])
    }

    @Test("a closed way with one intersection has neither self-loops nor edges with equal keys")
    func loop() throws {
        var map = GridMap()
        map.nodes([1, 11, 12, 13, 23, 22, 21])
        map.way(1, [1, 11])
        map.way(2, [11, 12, 13, 23, 22, 21, 11])
        let edges = try BuiltMap(map).edges
        #expect(edges.allSatisfy { $0.tail != $0.head })
        #expect(Set(edges).count == edges.count)
        #expect(edges.count == 2 + 6)
    }

    @Test("both halves of a ring between two roads have distinct keys")
    func ring() throws {
        var map = GridMap()
        map.nodes([10, 11, 12, 13, 14, 22, 2])
        map.way(1, [10, 11])
        map.way(2, [13, 14])
        map.way(3, [11, 2, 13, 22, 11])
        let edges = try BuiltMap(map).edges
        #expect(Set(edges).count == edges.count)
        #expect(edges.filter { $0.way == 3 }.count == 6)
    }

    @Test("a way that crosses itself is split there")
    func selfCrossing() throws {
        var map = GridMap()
        map.nodes([11, 12, 13, 3, 2, 22])
        map.way(1, [11, 12, 13, 3, 2, 12, 22])
        let edges = try BuiltMap(map).edges
        #expect(edges.allSatisfy { $0.tail != $0.head })
        #expect(Set(edges).count == edges.count)
        #expect(edges.contains(EdgeName(11, 12, 1)) && edges.contains(EdgeName(12, 22, 1)))
    }

    @Test("a way to a node and back has no self-loops")
    func thereAndBack() throws {
        var map = GridMap()
        map.nodes([11, 12])
        map.way(1, [11, 12, 11])
        let edges = try BuiltMap(map).edges
        #expect(edges.allSatisfy { $0.tail != $0.head })
        #expect(edges.count == 4)
    }

    @Test("a missing node cuts the road and is counted")
    func absentNode() throws {
        var map = GridMap()
        map.nodes([11, 12, 14, 15])
        map.way(1, [11, 12, 13, 14, 15])
        let built = try BuiltMap(map)
        #expect(
            Set(built.edges) == [
                EdgeName(11, 12, 1), EdgeName(12, 11, 1), EdgeName(14, 15, 1), EdgeName(15, 14, 1),
            ])
        #expect(built.report.warnings == [.missingNodes: 1])
    }

    @Test("repeated nodes and single-node ways are counted and ignored")
    func degenerate() throws {
        var map = GridMap()
        map.nodes([11, 12, 13])
        map.way(1, [11, 11, 12, 12])
        map.way(2, [13])
        map.way(3, [13, 13])
        map.way(4, [])
        let built = try BuiltMap(map)
        #expect(Set(built.edges) == [EdgeName(11, 12, 1), EdgeName(12, 11, 1)])
        #expect(built.report.warnings == [.repeatedNodes: 3, .shortWays: 3])
    }

    @Test("of several objects with the same id the last is used")
    func duplicates() throws {
        var map = GridMap()
        map.nodes([11, 12, 13])
        map.nodes([12], ["highway": "stop"])
        map.way(2, [12, 13])
        map.way(1, [11, 12])
        map.way(2, [11, 13])
        let built = try BuiltMap(map)
        #expect(Set(built.edges.map(\.way)) == [1, 2])
        #expect(built.edges.contains(EdgeName(11, 13, 2)) && !built.edges.contains(EdgeName(12, 13, 2)))
        #expect(built.flags(ofNode: 12)?.contains(.stop) == true)
        #expect(built.report.warnings == [.duplicateIDs: 2])
    }

    @Test("a bollard in the middle ends the edges on both sides")
    func bollard() throws {
        var map = GridMap()
        map.nodes([11, 13])
        map.nodes([12], ["barrier": "bollard"])
        map.way(1, [11, 12, 13])
        let built = try BuiltMap(map)
        #expect(built.edges.count == 4)
        #expect(built.flags(ofNode: 12)?.contains(.impassable) == true)
    }

    @Test("a node closed by only an access tag ends the edges on both sides")
    func closedNode() throws {
        var map = GridMap()
        map.nodes([11, 13])
        map.nodes([12], ["motor_vehicle": "no"])
        map.way(1, [11, 12, 13])
        let built = try BuiltMap(map)
        #expect(built.edges.count == 4)
        #expect(built.flags(ofNode: 12)?.contains(.impassable) == true)
    }

    @Test("three roads make a junction, even if one of them only leads into it")
    func junctions() throws {
        var map = GridMap()
        map.nodes([11, 12, 13, 14, 15])
        map.way(1, [11, 12])
        map.way(2, [12, 13])
        map.way(3, [14, 12], ["highway": "residential", "oneway": "yes"])
        map.way(4, [13, 15])
        let built = try BuiltMap(map)
        #expect(built.flags(ofNode: 12)?.contains(.junction) == true)
        #expect(built.flags(ofNode: 13)?.contains(.junction) == false)
        #expect(built.flags(ofNode: 11)?.contains(.junction) == false)
    }

    @Test("signals, crossings and gates lie within the edge, in travel order")
    func features() throws {
        var map = GridMap()
        map.nodes([10, 15])
        map.nodes([11], ["highway": "traffic_signals"])
        map.nodes([12], ["highway": "crossing"])
        map.nodes([13], ["barrier": "gate"])
        map.nodes([14], ["highway": "traffic_signals", "traffic_signals:direction": "backward"])
        map.way(1, [10, 11, 12, 13, 14, 15])
        let built = try BuiltMap(map)
        let forward = try #require(built.edge(10, 15))
        let backward = try #require(built.edge(15, 10))
        #expect(
            built.graph.features(of: forward) == [
                PointFeature(kind: .trafficSignals, shapeIndex: 1), PointFeature(kind: .crossing, shapeIndex: 2),
                PointFeature(kind: .gate, shapeIndex: 3),
            ])
        #expect(
            built.graph.features(of: backward) == [
                PointFeature(kind: .trafficSignals, shapeIndex: 1), PointFeature(kind: .gate, shapeIndex: 2),
                PointFeature(kind: .crossing, shapeIndex: 3), PointFeature(kind: .trafficSignals, shapeIndex: 4),
            ])
    }

    @Test("a stop sign without direction faces the traffic towards the nearer end")
    func stopSign() throws {
        var map = GridMap()
        map.nodes([10, 11, 12, 13, 15])
        map.nodes([14], ["highway": "stop"])
        map.way(1, [10, 11, 12, 13, 14, 15])
        let built = try BuiltMap(map)
        let forward = try #require(built.edge(10, 15))
        let backward = try #require(built.edge(15, 10))
        #expect(built.graph.features(of: forward) == [PointFeature(kind: .stop, shapeIndex: 4)])
        #expect(built.graph.features(of: backward) == [])
    }

    @Test("the nearer end of a stop sign without direction is the one at the shorter distance")
    func stopSignByDistance() throws {
        for (metres, facesStart) in [(Int32(4), true), (219, true), (221, false), (436, false)] {
            var builder = OSMDataBuilder()
            for (id, place) in [(Int64(1), Int32(0)), (2, metres), (3, 440)] {
                builder.addNode(
                    id: id,
                    position: FixedCoordinate(latitudeE7: 480_000_000 - place * 90, longitudeE7: 110_000_000),
                    tags: id == 2 ? ["highway": "give_way"] : [:])
            }
            builder.addWay(id: 1, nodes: [1, 2, 3], tags: ["highway": "residential"])
            let built = try BuiltMap(builder.build())
            let (toStart, toEnd) = (try #require(built.edge(3, 1)), try #require(built.edge(1, 3)))
            let sign = [PointFeature(kind: .giveWay, shapeIndex: 1)]
            #expect(built.graph.features(of: toStart) == (facesStart ? sign : []), "\(metres) m")
            #expect(built.graph.features(of: toEnd) == (facesStart ? [] : sign), "\(metres) m")
        }
    }

    @Test("a stop sign without direction on a one-way road applies to its traffic", arguments: ["yes", "-1"])
    func stopSignOneWay(oneway: String) throws {
        for sign in [Int64(11), 14] {
            var map = GridMap()
            map.nodes([10, 11, 12, 13, 14, 15].filter { $0 != sign })
            map.nodes([sign], ["highway": "stop"])
            map.way(1, [10, 11, 12, 13, 14, 15], ["highway": "residential", "oneway": oneway])
            let built = try BuiltMap(map)
            #expect(built.edges.count == 1)
            #expect(built.graph.features(of: EdgeIndex(0)).map(\.kind) == [.stop])
        }
    }

    @Test("exit numbers come from the junction node, otherwise from the ramp")
    func exits() throws {
        var map = GridMap()
        map.nodes([11, 13, 15, 22, 24])
        map.nodes([12], ["highway": "motorway_junction", "ref": "7a", "name": "Avintes / Campo"])
        map.nodes([14], ["highway": "motorway_junction"])
        map.way(1, [11, 12, 13, 14, 15], ["highway": "motorway"])
        map.way(2, [12, 22], ["highway": "motorway_link", "oneway": "yes", "junction:ref": "99"])
        map.way(3, [14, 24], ["highway": "motorway_link", "oneway": "yes", "junction:ref": "8"])
        let built = try BuiltMap(map)
        func exit(_ id: Int64) -> String? {
            built.graph.nodeOSMIDs.firstIndex(of: id).map { built.graph.exitReference(of: NodeIndex($0)) }
        }
        let named = try #require(built.graph.nodeOSMIDs.firstIndex(of: 12))
        #expect(built.graph.junctionName(of: NodeIndex(named)) == "Avintes / Campo")
        #expect(exit(12) == "7a" && exit(14) == "8" && exit(11) == "" && exit(24) == "")
    }

    @Test("crossroads take their name from a node tagged as a junction, or from named signals")
    func junctionNames() throws {
        func names(_ tags: [String: String]) throws -> [String] {
            var map = GridMap()
            map.nodes([11, 13, 15, 22, 23, 24])
            map.nodes([12], ["highway": "traffic_signals", "junction": "yes", "name": "本郷三丁目"])
            map.nodes([14], ["highway": "traffic_signals", "name": "LSA 14"])
            map.way(1, [11, 12, 13, 14, 15], tags)
            for (way, top) in [(Int64(2), Int64(12)), (3, 13), (4, 14)] { map.way(way, [top, top + 10], tags) }
            let graph = try BuiltMap(map).graph
            return try [Int64(12), 13, 14].map { id in
                graph.junctionName(of: NodeIndex(try #require(graph.nodeOSMIDs.firstIndex(of: id))))
            }
        }
        let road = ["highway": "residential"]
        #expect(try names(road) == ["本郷三丁目", "", "LSA 14"])
        #expect(try names(road.merging(["maxspeed:type": "DE:urban"]) { $1 }) == ["本郷三丁目", "", ""])
    }

    @Test("each edge is in its class's layer and its tail's tile, and the graph joins across tiles")
    func layers() throws {
        var builder = OSMDataBuilder()
        // 40 nodes over 0.8 degrees, across several tiles of each layer.
        for node in Int64(1)...40 {
            builder.addNode(
                id: node, position: FixedCoordinate(Coordinate(latitude: 48, longitude: 10.5 + Double(node) * 0.02)))
        }
        for node in Int64(1)...39 {
            let highway = ["motorway", "primary", "residential"][Int(node) % 3]
            builder.addWay(id: node, nodes: [node, node + 1], tags: ["highway": highway, "oneway": "no"])
        }
        let data = builder.build()
        let (tiles, _) = try MapBuilder(.init(jobs: 1)).build(data)
        #expect(Set(tiles.map(\.id.layer)) == [.highway, .arterial, .local])
        #expect(tiles.map(\.id) == tiles.map(\.id).sorted())
        let built = try BuiltMap(data)
        #expect(built.edges.count == 78 && built.graph.nodeCount == 40)
        for index in 0..<built.graph.edgeCount {
            let edge = EdgeIndex(index)
            let key = built.graph.key(of: edge)
            let tail = built.graph.nodePositions[built.graph.edgeTails[index].index].coordinate
            let layer = built.graph.attributes(of: edge).roadClass.layer
            #expect(key.tile == RoadTileID(layer: layer, containing: tail))
            #expect(built.graph.opposite(edge).map(built.name)?.tail == built.name(edge).head)
        }
        #expect((0..<built.graph.nodeCount).allSatisfy { !built.graph.isIncomplete(NodeIndex($0)) })
    }

    @Test("a ferry takes its crossing time, split by length if it has intermediate stops")
    func ferry() throws {
        var map = GridMap()
        map.nodes([10, 11, 12, 14, 22])
        map.way(1, [10, 11], ["route": "ferry", "duration": "10"])
        map.way(2, [11, 12, 14], ["route": "ferry", "duration": "30"])
        map.way(3, [12, 22])
        let built = try BuiltMap(map)
        let direct = built.graph.attributes(of: try #require(built.edge(10, 11)))
        #expect(direct.crossingTime == 600)
        var total: Float = 0
        for (tail, head) in [(Int64(11), Int64(12)), (12, 14)] {
            let edge = try #require(built.edge(tail, head))
            let attributes = built.graph.attributes(of: edge)
            #expect(attributes.crossingTime == nil)
            total += built.graph.edgeLengths[edge.index] / attributes.freeFlowSpeed
        }
        #expect(abs(total - 1800) < 1)
    }

    @Test("a movable bridge is passed at walking pace, in its tagged duration, or at its posted limit")
    func movableBridge() throws {
        var map = GridMap()
        map.nodes([10, 11, 12, 13, 14, 15])
        map.way(1, [10, 11], ["highway": "primary", "bridge": "movable"])
        map.way(2, [11, 12], ["highway": "primary", "bridge": "yes", "bridge:movable": "swing"])
        map.way(3, [12, 13], ["highway": "primary", "bridge": "movable", "duration": "00:10:00"])
        map.way(4, [13, 14], ["highway": "primary", "bridge": "yes", "duration": "00:10:00"])
        map.way(5, [14, 15], ["highway": "motorway", "bridge": "yes", "bridge:movable": "bascule", "maxspeed": "100"])
        let built = try BuiltMap(map)
        let edges = try [Int64(10), 11, 12, 13, 14].map { try #require(built.edge($0, $0 + 1)) }
        let roads = edges.map { built.graph.attributes(of: $0) }
        #expect(roads.allSatisfy { $0.crossingTime == nil && $0.flags.contains(.bridge) })
        #expect(roads.prefix(2).allSatisfy { abs($0.freeFlowSpeed - 5 / 3.6) < 0.001 })
        #expect(abs(built.graph.edgeLengths[edges[2].index] / roads[2].freeFlowSpeed - 600) < 1)
        #expect(roads[3].freeFlowSpeed > 10)
        #expect(roads[4].freeFlowSpeed > 80 / 3.6, "a posted limit applies as on a road")
    }

    @Test("an extract without roads is an error with a reason")
    func noRoads() {
        var map = GridMap()
        map.nodes([1, 2])
        map.way(1, [1, 2], ["highway": "footway"])
        #expect(throws: MapBuildError.self) { try BuiltMap(map) }
    }

    @Test("nodes at the same position give an edge of length zero")
    func noLength() throws {
        var builder = OSMDataBuilder()
        let place = FixedCoordinate(latitudeE7: 480_000_000, longitudeE7: 110_000_000)
        for id in Int64(1)...3 { builder.addNode(id: id, position: place) }
        builder.addWay(id: 1, nodes: [1, 2, 3], tags: ["highway": "residential", "oneway": "yes"])
        let built = try BuiltMap(builder.build())
        #expect(built.edges == [EdgeName(1, 3, 1)])
        #expect(built.graph.edgeLengths[0] == 0)
    }

    @Test("negative ids, as editors assign them, are preserved")
    func negativeIDs() throws {
        var builder = OSMDataBuilder()
        builder.addNode(id: -2, position: FixedCoordinate(latitudeE7: 480_000_000, longitudeE7: 110_000_000))
        builder.addNode(id: 5, position: FixedCoordinate(latitudeE7: 480_010_000, longitudeE7: 110_000_000))
        builder.addWay(id: -1, nodes: [5, -2], tags: ["highway": "residential", "oneway": "yes"])
        #expect(try BuiltMap(builder.build()).edges == [EdgeName(5, -2, -1)])
    }
}
