import NavGeo
import NavMap
import NavTestSupport
import Testing

@Suite("Road tiles")
struct RoadTileTests {
    @Test("a tile survives a round trip")
    func roundTrip() throws {
        let content = TestTiles.content()
        let tile = try TestTiles.tile(TestTiles.bytes())
        #expect(tile.id == TestTiles.id && tile.nodeCount == 2 && tile.edgeCount == 3 && tile.prohibitedPathCount == 2)
        let graph = RoadGraph(tiles: [tile], mapVersion: "7")
        #expect(graph.mapVersion == "7" && graph.nodeCount == 3 && graph.edgeCount == 3)
        #expect(Array(graph.nodeOSMIDs) == [1, 2, 3])
        for (number, edge) in content.edges.enumerated() {
            let index = EdgeIndex(number)
            #expect(graph.attributes(of: index) == content.attributes[edge.attributes])
            #expect(graph.features(of: index) == edge.features)
            #expect(graph.wayID(of: index) == edge.wayID)
            #expect(graph.opposite(index)?.index == edge.opposite)
            var points = Array(content.shapePoints[edge.shape])
            if edge.reversed { points.reverse() }
            let shape = graph.shape(of: index)
            #expect(shape.map { $0 } == points.map(\.position))
            #expect(shape.indices.map { shape.nodeID($0) } == points.map(\.osmID))
            #expect(abs(Double(graph.edgeLengths[number]) - Polyline(shape.coordinates).length) < 0.001)
            #expect(graph.edge(graph.key(of: index)) == index)
        }
        #expect(graph.exitReference(of: NodeIndex(1)) == "7a" && graph.exitReference(of: NodeIndex(0)).isEmpty)
        #expect(graph.junctionName(of: NodeIndex(1)) == "Kreuz Süd" && graph.junctionName(of: NodeIndex(0)).isEmpty)
        #expect(graph.nodeFlags[1] == [.shared, .motorwayJunction])
        #expect(graph.prohibitedPaths(for: .car, at: nil) == [[EdgeIndex(0), EdgeIndex(2)]])
        let highway = RoadTileID(layer: .highway, containing: TestPlaces.insideTiles)
        #expect(graph.missingTiles(at: NodeIndex(1)) == [highway, TestTiles.neighbour].sorted())
        #expect(graph.missingTiles(at: NodeIndex(2)) == [TestTiles.neighbour])
    }

    @Test("perceived directions are kept to within a degree, up to 94 degrees from the measured ones")
    func perceivedDirections() throws {
        var content = TestTiles.content()
        // The first edge ends with a bearing of 117 degrees.
        for perceived in [63.0, 64, 90, 116.6, 150, 30] {
            content.edges[0].perceivedEnd = Angle.radians(perceived)
            content.edges[1].perceivedStart = Angle.radians(perceived + 180)
            let tile = try TestTiles.tile(try TileEncoder.encode(content))
            let graph = RoadGraph(tiles: [tile], mapVersion: "")
            let onward = Angle.degrees(Double(graph.edgeStartBearings[2]))
            let turn = Angle.degrees(graph.turnAngle(EdgeIndex(0), EdgeIndex(2)))
            #expect(abs(turn - (onward - perceived)) < 0.8, "perceived \(perceived)")
            #expect(abs(abs(Angle.degrees(graph.turnAngle(EdgeIndex(0), EdgeIndex(1)))) - 180) < 1.6)
        }
        for extreme in [Double.nan, .infinity, 1e9, -.pi] {
            content.edges[0].perceivedEnd = extreme
            let graph = RoadGraph(tiles: [try TestTiles.tile(try TileEncoder.encode(content))], mapVersion: "")
            #expect(graph.turnAngle(EdgeIndex(0), EdgeIndex(2)).isFinite)
        }
    }

    @Test("limits of nodes and prescribed maneuvers survive a round trip beside names and restrictions")
    func nodeLimits() throws {
        var content = TestTiles.content()
        content.nodes[0].limits = SizeLimits(height: 2.1, weight: 3.5)
        content.nodes[1].limits = SizeLimits(width: 2, length: 12, axleLoad: 11.5)
        let path = content.restrictions[0].path
        content.maneuvers = [
            TileContent.Maneuver(path: path, maneuver: PrescribedManeuver(.turn, .slightLeft)),
            TileContent.Maneuver(path: path, maneuver: PrescribedManeuver(nil, nil)),
        ]
        let tile = try TestTiles.tile(TileEncoder.encode(content))
        let graph = RoadGraph(tiles: [tile], mapVersion: "7")
        for node in 0...1 { #expect(graph.sizeLimits(of: NodeIndex(node)) == content.nodes[node].limits) }
        #expect(graph.nodeFlags[0] == [.trafficSignals, .sizeLimited])
        #expect(graph.exitReference(of: NodeIndex(0)).isEmpty && graph.junctionName(of: NodeIndex(0)).isEmpty)
        #expect(graph.exitReference(of: NodeIndex(1)) == "7a" && graph.junctionName(of: NodeIndex(1)) == "Kreuz Süd")
        #expect(tile.prohibitedPathCount == 2 && graph.restrictions.count == 2)
        let prescribed = graph.maneuvers(onto: EdgeIndex(2))
        #expect(prescribed.map(\.path) == [[EdgeIndex(0), EdgeIndex(2)]])
        #expect(prescribed.map(\.maneuver) == [PrescribedManeuver(.turn, .slightLeft)])
        #expect(graph.maneuvers(onto: EdgeIndex(0)).isEmpty)
    }

    @Test("equal content gives equal bytes")
    func determinism() throws {
        #expect(try TestTiles.bytes() == TestTiles.bytes())
    }

    @Test("an empty tile is valid")
    func empty() throws {
        let tile = try TestTiles.tile(TileEncoder.encode(TileContent(id: TestTiles.id)))
        #expect(tile.nodeCount == 0 && tile.edgeCount == 0)
        TestTiles.exercise(tile)
    }

    @Test("every changed byte is detected")
    func corruption() throws {
        let bytes = try TestTiles.bytes()
        for index in bytes.indices {
            for change: UInt8 in [0x01, 0x80, 0xff] {
                var damaged = bytes
                damaged[index] ^= change
                #expect(throws: TileError.self, "byte \(index)") { try TestTiles.tile(damaged) }
            }
        }
    }

    @Test("every wrong length is detected")
    func truncation() throws {
        let bytes = try TestTiles.bytes()
        for count in 0..<bytes.count {
            #expect(throws: TileError.self, "\(count) bytes") { try TestTiles.tile(Array(bytes[..<count])) }
        }
        #expect(throws: TileError.truncated(expected: UInt64(bytes.count), found: bytes.count + 1)) {
            try TestTiles.tile(bytes + [0])
        }
    }

    @Test("errors describe the defect")
    func errors() throws {
        #expect(throws: TileError.notATile) { try TestTiles.tile(Array("not a road tile at all".utf8)) }
        var other = try TestTiles.bytes()
        TestTiles.put(UInt32(99), at: TileLayout.HeaderOffset.version, in: &other)
        TestTiles.seal(&other)
        #expect(throws: TileError.version(found: 99)) { try TestTiles.tile(other) }
        #expect(TileError.version(found: 99).description.contains("rebuild"))
        let storage = TileStorage(copying: try TestTiles.bytes())
        let error = #expect(throws: TileError.self) { try RoadTile(storage, expected: TestTiles.neighbour) }
        #expect(error?.description.contains("expected \(TestTiles.neighbour)") == true)
    }

    @Test("inconsistent content is refused")
    func inconsistent() {
        func refuses(_ change: (inout TileContent) -> Void) -> Bool {
            var content = TestTiles.content()
            change(&content)
            do {
                _ = try TileEncoder.encode(content)
                return false
            } catch { return true }
        }
        #expect(refuses { $0.edges[0].head = .local(9) })
        #expect(refuses { $0.edges[2].head = .external(9) })
        #expect(refuses { $0.edges[2].tail = 0 })
        #expect(refuses { $0.edges[0].shape = 0..<1 })
        #expect(refuses { $0.edges[0].shape = 3..<9 })
        #expect(refuses { $0.edges[0].attributes = 2 })
        #expect(refuses { $0.edges[0].opposite = 2 })
        #expect(refuses { $0.edges[0].opposite = -1 })
        #expect(refuses { $0.arrivals[0].node = 2 })
        #expect(refuses { $0.arrivals[0].externalNode = 2 })
        #expect(!refuses { $0.attributes[0].maximumHeight = .nan })
    }

    @Test("more edges at a node than the format can count are refused")
    func crowdedNode() throws {
        var content = TestTiles.content()
        content.edges += Array(repeating: content.edges[2], count: Int(UInt16.max) - 2)
        let tile = try TestTiles.tile(TileEncoder.encode(content))
        #expect(tile.edgeCount == Int(UInt16.max) + 1)
        content.edges.append(content.edges[2])
        #expect(throws: TileEncodingError.tooManyEdges(osmNode: 2)) { try TileEncoder.encode(content) }
    }

    @Test("quantities out of range are written as unknown")
    func odd() throws {
        var content = TestTiles.content()
        content.attributes[0].maximumHeight = .nan
        content.attributes[0].maximumWeight = .infinity
        content.attributes[0].speedLimit = -3
        content.attributes[0].freeFlowSpeed = 0
        let graph = RoadGraph(tiles: [try TestTiles.tile(TileEncoder.encode(content))], mapVersion: "")
        let read = graph.attributes(of: EdgeIndex(0))
        #expect(read.maximumHeight == nil && read.maximumWeight == nil && read.speedLimit == nil)
        #expect(read.freeFlowSpeed > 0)
    }

    @Test("a path longer than any real restriction is omitted")
    func longPath() throws {
        var content = TestTiles.content()
        let path = Array(
            repeating: EdgeReference(tailNodeID: 1, headNodeID: 2, wayID: 100), count: TileLayout.longestPath + 1)
        content.restrictions.append(TileContent.Restriction(path: path))
        #expect(try TestTiles.tile(TileEncoder.encode(content)).prohibitedPathCount == 2)
    }

    @Test("a time condition that readers cannot parse is omitted")
    func unknownTimes() throws {
        var content = TestTiles.content()
        content.restrictions.append(
            TileContent.Restriction(path: content.restrictions[0].path, time: "sunset-sunrise"))
        content.attributes[0].conditions.append(RoadCondition(.access(.open), time: "when it rains"))
        let tile = try TestTiles.tile(TileEncoder.encode(content))
        #expect(tile.prohibitedPathCount == 2)
        let graph = RoadGraph(tiles: [tile], mapVersion: "")
        #expect(graph.attributes(of: EdgeIndex(0)).conditions == TestTiles.content().attributes[0].conditions)
    }

    @Test("restrictions apply to their vehicles at their times")
    func restrictions() throws {
        let graph = RoadGraph(tiles: [try TestTiles.tile(TestTiles.bytes())], mapVersion: "")
        let path = [EdgeIndex(0), EdgeIndex(2)]
        #expect(graph.restrictions.map(\.path) == [path, path])
        #expect(graph.restrictions.map(\.vehicles) == [.all, .truck])
        #expect(graph.restrictions[1].time == TimeCondition("Mo-Fr 07:00-09:00"))
        let monday = try #require(LocalTime(year: 2026, month: 1, day: 5, hour: 8))
        #expect(graph.prohibitedPaths(for: .truck, at: monday) == [path, path])
        #expect(graph.prohibitedPaths(for: .truck, at: nil) == [path])
        #expect(graph.prohibitedPaths(for: .car, at: monday) == [path])
    }

    @Test("strings beyond the format's limit are cut at a character boundary")
    func longStrings() throws {
        var content = TestTiles.content()
        content.attributes[0].name = String(repeating: "ö", count: 40_000)
        let graph = RoadGraph(tiles: [try TestTiles.tile(TileEncoder.encode(content))], mapVersion: "")
        #expect(graph.attributes(of: EdgeIndex(0)).name == String(repeating: "ö", count: 32_767))
    }

    @Test("tile ids and edge keys pack and unpack")
    func names() throws {
        for layer in RoadLayer.allCases {
            for place in [
                TestPlaces.insideTiles, Coordinate(latitude: -85, longitude: 180),
                Coordinate(latitude: 85, longitude: -180),
            ] {
                let id = RoadTileID(layer: layer, containing: place)
                #expect(RoadTileID(rawValue: id.rawValue) == id && id.layer == layer)
                #expect(id.tile == TileID(containing: place, zoom: layer.zoom))
                let key = EdgeKey(tile: id, index: 123_456)
                #expect(key.tile == id && key.index == 123_456)
            }
        }
        #expect(RoadTileID(rawValue: 3 << 24) == nil)
        #expect(RoadTileID(rawValue: .max) == nil)
        #expect(RoadTileID(rawValue: 64 << 12) == nil)
        #expect(TestTiles.id.path.hasPrefix("12/2331/") && TestTiles.id.path.hasSuffix(".road"))
        let graph = RoadGraph(tiles: [try TestTiles.tile(TestTiles.bytes())], mapVersion: "")
        for raw in [0, UInt64.max, UInt64(TestTiles.id.rawValue) << 32 | 3, UInt64(TestTiles.neighbour.rawValue) << 32]
        {
            #expect(graph.edge(EdgeKey(rawValue: raw)) == nil)
        }
    }
}
