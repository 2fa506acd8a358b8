import NavGeo
import NavMatching
import NavPositioning
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

@Suite("Simulated motion of the vehicle")
struct MotionTests {
    /// A straight road with a tunnel in the middle.
    static func drive() throws -> (map: ASCIIMap, drive: Drive) {
        let road = String(repeating: "-", count: 20)
        let map = try ASCIIMap(
            "A\(road)B\(road)C\(road)D",
            ways: [
                "AB": ["highway": "primary"], "BC": ["highway": "primary", "tunnel": "yes"],
                "CD": ["highway": "primary"],
            ])
        let route = try map.route([Waypoint(try map.coordinate("A")), Waypoint(try map.coordinate("D"))])
        let router = map.router()
        let path = try #require(DrivePath(route, graph: router.metric.turns.graph))
        return (map, try #require(Drive(router.metric, edges: path.edges, from: path.start, to: path.end)))
    }

    @Test("a vehicle reverses to the start, stops and drives off", arguments: [1.0, 5, 50])
    func backingUp(rate: Double) throws {
        let (_, drive) = try Self.drive()
        let states = drive.states(rate: rate, backingUp: 12)
        let forward = drive.states(rate: rate)
        #expect(zip(states, states.dropFirst()).allSatisfy { abs($1.time - $0.time - 1 / rate) < 1e-9 })
        let back = states.filter(\.reverses)
        #expect(back.count > Int(5 * rate) && states.count > forward.count)
        #expect(abs(states[0].offset - 12) < 0.01 && states[0].speed == 0)
        #expect(zip(back, back.dropFirst()).allSatisfy { $0.offset >= $1.offset && $1.speed <= 1.5001 })
        for (first, second) in zip(back, back.dropFirst()) {
            #expect(
                abs(first.offset - second.offset - (first.speed + second.speed) / 2 / rate) < 0.4 / rate / rate + 1e-9)
        }
        // The vehicle travels against its heading.
        #expect(back.allSatisfy { Angle.separation($0.course, forward[0].course) > 3 })
        #expect(back.allSatisfy { Angle.separation($0.heading, forward[0].course) < 0.1 })
        let standing = states.dropFirst(back.count).prefix { $0.speed == 0 }
        #expect(standing.count >= Int(2 * rate) && standing.allSatisfy { $0.offset < 0.01 && !$0.reverses })
        #expect(states.last?.offset == forward.last?.offset)
        #expect(drive.states(rate: rate, backingUp: 0) == forward)
    }

    @Test("odometry reports reversing, and the heading does not follow the direction of travel")
    func reverse() throws {
        let (_, drive) = try Self.drive()
        let states = drive.states(rate: 50, backingUp: 12)
        let reports = OdometryModel(scaleError: 0.01, turnBias: 0.002).reports(
            states, start: SeededDrive.start, seed: 3)
        for (report, state) in zip(reports, states) where abs(state.speed) > 0.5 {
            #expect(((report.speed ?? 0) < 0) == state.reverses)
        }
        #expect(reports.allSatisfy { abs($0.turnRate ?? 9) < 0.05 })
        let driven = zip(reports, states).reduce(0.0) {
            $0 + (($1.0.speed ?? 0) - ($1.1.reverses ? -1 : 1) * $1.1.speed)
        }
        let all = states.reduce(0.0) { $0 + $1.speed }
        #expect(abs(driven) < 0.02 * all)
    }

    @Test("the seed determines sensor errors of a realistic size")
    func cars() {
        let cars = (0..<400 as Range<UInt64>).map { OdometryModel.car(seed: $0) }
        #expect(OdometryModel.car(seed: 7) == cars[7] && Set(cars).count == 400)
        #expect(cars.allSatisfy { abs($0.scaleError) <= 0.02 && abs($0.turnBias) <= 0.0087 })
        let spread = (cars.reduce(0) { $0 + $1.scaleError * $1.scaleError } / 400).squareRoot()
        #expect((0.006...0.01).contains(spread))
    }

    @Test("a passage through a tunnel is found, unless the tunnel is shorter than the limit")
    func tunnels() throws {
        let (map, drive) = try Self.drive()
        let graph = map.router().metric.turns.graph
        let states = drive.states(rate: 10)
        let third = drive.line.length / 3
        let spans = drive.tunnels(states, on: graph)
        #expect(spans.count == 1)
        for state in states where abs(state.offset - third) > 5 && abs(state.offset - 2 * third) > 5 {
            #expect(spans[0].contains(state.time) == (third...(2 * third)).contains(state.offset))
        }
        #expect(drive.tunnels(states, on: graph, from: third + 10).isEmpty)
    }
}
