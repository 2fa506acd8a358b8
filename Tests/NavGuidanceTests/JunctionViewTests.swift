import NavGeo
import NavGuidance
import NavMap
import NavTestSupport
import Testing

@Suite("Junction views")
struct JunctionViewTests {
    /// Returns a street with a bus lane and a crossing one-way street towards the south.
    private func crossing(lanes: String = "through|through;right|right;no_car") -> Town {
        var town = Town(
            """
                 N

            W    X    E

                 S
            """)
        town.road("WX", "High Street", turnLanes: lanes)
        town.road("XE", "High Street")
        town.road("NXS", "Mill Lane", oneway: true)
        town.nodeFlags["X"] = [.trafficSignals]
        return town
    }

    private func view(
        _ town: Town, _ letter: Character, _ vehicle: VehicleAccess = .car, width: Float? = nil
    ) throws -> JunctionView {
        try #require(
            JunctionView(
                near: town.coordinate(letter, east: 12), radius: 100, in: try town.graph(), for: vehicle, width: width))
    }

    @Test("Arms are sorted, with existing and legal directions")
    func arms() throws {
        let view = try view(crossing(), "X")
        #expect(view.arms.map(\.name) == ["Mill Lane", "High Street", "Mill Lane", "High Street"])
        #expect(view.arms.map { Int($0.bearing.rounded()) % 360 } == [0, 90, 180, 270])
        #expect(view.arms.map(\.canLeave) == [false, true, true, true])
        #expect(view.arms.map(\.canArrive) == [true, true, false, true])
        #expect(view.flags == [.trafficSignals])
        #expect(abs(view.distance - 12) < 0.1 && view.coordinate.latitude == view.arms[0].line[0].latitude)
        #expect(view.approaches.map(\.arm) == [0, 1, 3])
    }

    @Test("Each approach lists its exits with turns and permitted lanes")
    func ways() throws {
        let west = try #require(try view(crossing(), "X").approaches.last)
        #expect(west.lanes.map(\.isClosed) == [false, false, true])
        let ways = west.ways.filter { $0.arm != west.arm }
        #expect(ways.map(\.arm) == [2, 1, 0], "from right to left")
        #expect(ways.map { Int($0.turn.rounded()) } == [90, 0, -90])
        #expect(ways.map(\.obstacle) == [nil, nil, .oneWay])
        #expect(ways.map(\.lanes) == [[1], [0, 1], []], "no car may use the bus lane")
        #expect(ways[0].maneuver == .turn && ways[0].modifier == .right)
    }

    @Test(
        "A lane narrower than the vehicle is closed and has no way on",
        arguments: [(nil, false), (1.8, false), (1.9, true)] as [(Float?, Bool)])
    func narrowLane(width: Float?, isClosed: Bool) throws {
        let view = try view(crossing(lanes: "through|through;right|right;no_1.8"), "X", width: width)
        let west = try #require(view.approaches.last)
        #expect(west.lanes.map(\.isClosed) == [false, false, isClosed])
        #expect(west.ways.filter { $0.arm != west.arm }.map(\.lanes) == [isClosed ? [1] : [1, 2], [0, 1], []])
    }

    @Test("Merges and slip lanes have the type and side that guidance announces")
    func sides() throws {
        var ramp = Town(
            """
            A         M         B
            R
            """, scale: 50)
        ramp.road("AMB", "", oneway: true, roadClass: .motorway, reference: "A 1")
        ramp.road("RM", "", oneway: true, roadClass: .motorway, flags: .link)
        let merge = try #require(
            try view(ramp, "M").approaches.flatMap(\.ways).first { $0.maneuver == .merge })
        #expect(merge.modifier == .slightLeft)
        #expect(try ramp.maneuvers("RMB")[1].modifier == merge.modifier)

        var lane = Town(
            """
                      N


            L         A    T    R



                      P
                      S
            """)
        lane.road("SPAN", "Mill Lane", roadClass: .secondary)
        lane.road("LATR", "High Street", roadClass: .secondary)
        lane.road("PT", "", oneway: true, roadClass: .secondary, flags: .link)
        let exits = try view(lane, "P").approaches.flatMap(\.ways).filter { $0.obstacle == nil }
        let right = try #require(exits.first { (5...90).contains($0.turn) })
        #expect(right.maneuver == .turn)
    }

    @Test("The other nodes of a junction of divided roads are listed, with the signals at their stop lines")
    func dividedRoads() throws {
        var town = Town(
            """
                 N  O



            W    A  B    E
            V    C  D    U


                 S  T
            """, scale: 5)
        town.road("NACS", "Mill Lane", oneway: true)
        town.road("TDBO", "Mill Lane", oneway: true)
        town.road("EBAW", "High Street", oneway: true)
        town.road("VCDU", "High Street", oneway: true)
        town.nodeFlags["C"] = [.trafficSignals]
        let view = try view(town, "A")
        #expect(view.neighbours.count == 3 && view.neighbours.allSatisfy { $0.roads == 4 })
        #expect(view.neighbours.map { Int($0.distance.rounded()) } == [5, 15, 20])
        #expect(view.neighbours.filter { $0.flags.contains(.trafficSignals) }.count == 1)
        #expect(try self.view(crossing(), "X").neighbours.isEmpty)
    }

    @Test("A node with fewer than three roads is not a junction")
    func nothing() throws {
        let graph = try crossing().graph()
        #expect(JunctionView(near: crossing().coordinate("W"), radius: 20, in: graph, for: .car) == nil)
        #expect(JunctionView(near: crossing().coordinate("X"), radius: 100, in: graph, for: .truck) == nil)
    }

    @Test("On a real map every junction can be drawn, deterministically")
    func realMap() throws {
        let graph = try RealMap.helsinki.get().graph
        var count = 0
        for number in stride(from: 0, to: graph.nodeCount, by: 7) {
            let place = graph.nodePositions[number].coordinate
            guard let view = JunctionView(near: place, radius: 30, in: graph, for: .car) else { continue }
            count += 1
            #expect(view.arms.count >= 3 && view.arms.count >= view.approaches.count)
            #expect(view.approaches.allSatisfy { $0.ways.allSatisfy { view.arms.indices.contains($0.arm) } })
            #expect(
                view.approaches.allSatisfy { $0.ways.allSatisfy { way in way.obstacle == nil || way.lanes.isEmpty } })
            if count % 20 == 0 { #expect(JunctionView(near: place, radius: 30, in: graph, for: .car) == view) }
        }
        #expect(count > 50, "\(count)")
    }
}
