import Glibc
import NavGeo
import NavPositioning
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

@Suite("Simulated trajectories")
struct TrajectoryTests {
    /// A drive with a turn of 90° on each side and one of 174°.
    private static func drive() throws -> Drive {
        let map = try ASCIIMap(
            """
            A----B
                 |
                 |
                 C----E
             F
            """,
            ways: [
                "AB": ["highway": "residential"], "BC": ["highway": "residential"], "CE": ["highway": "residential"],
                "EF": ["highway": "residential"],
            ])
        let edges = try [("A", "B"), ("B", "C"), ("C", "E"), ("E", "F")].map { try map.edge($0.0, $0.1) }
        return try #require(Drive(map.router().metric, edges: edges, from: 20, to: 480))
    }

    @Test("odometry leads to the positions, also after sharp turns", arguments: [20.0, 50, 100])
    func odometry(rate: Double) throws {
        let trajectory = DriveTrajectory(try Self.drive(), backingUp: 12)
        let states = trajectory.states(rate: rate)
        let exact = OdometryModel(scaleError: 0, speedNoise: 0, turnBias: 0, turnNoise: 0, resolution: 1e-4)
        let reports = exact.reports(states, start: SeededDrive.start, seed: 1)
        let first = try #require(states.first)
        let frame = LocalFrame(origin: first.coordinate)
        var place = LocalPoint(east: 0, north: 0)
        var (heading, worst, astray) = (first.heading, 0.0, 0.0)
        for index in 1..<states.count {
            let turn = (reports[index].turnRate ?? .nan) / rate
            let way = ((reports[index - 1].speed ?? .nan) + (reports[index].speed ?? .nan)) / 2 / rate
            place.east += way * sin(heading + turn / 2)
            place.north += way * cos(heading + turn / 2)
            heading += turn
            let truth = frame.point(states[index].coordinate)
            worst = max(worst, hypot(truth.east - place.east, truth.north - place.north))
            astray = max(astray, Angle.separation(heading, states[index].heading))
        }
        #expect(worst < 0.5 && astray < 0.01, "\(worst) m, \(astray) rad")
    }

    @Test("the vehicle stays near its line, turns like a car, and stops where the drive does")
    func followsTheLine() throws {
        let drive = try Self.drive()
        let states = DriveTrajectory(drive).states(rate: 50)
        for (state, next) in zip(states, states.dropFirst()) {
            let hit = try #require(drive.line.project(state.coordinate))
            #expect(hit.distance < 6)
            #expect(Angle.separation(state.course, next.course) <= 0.8 / 50 + 1e-9)
            #expect(abs(next.speed - state.speed) < 0.1)
        }
        let (last, end) = (try #require(states.last), try #require(drive.line.coordinates.last))
        #expect(last.speed == 0 && Geodesy.distance(last.coordinate, end) < 1)
    }

    @Test("states at any rate are those of one trajectory, at the times of the drive")
    func rates() throws {
        let drive = try Self.drive()
        let trajectory = DriveTrajectory(drive)
        let (seldom, often) = (trajectory.states(rate: 1), trajectory.states(rate: 20))
        #expect(seldom.map(\.time) == drive.states(rate: 1).map(\.time))
        for (index, state) in seldom.enumerated() where index * 20 < often.count {
            #expect(Geodesy.distance(state.coordinate, often[index * 20].coordinate) < 0.01)
        }
        for rate in [0, -1, Double.nan, .infinity] { #expect(trajectory.states(rate: rate).isEmpty) }
    }
}
