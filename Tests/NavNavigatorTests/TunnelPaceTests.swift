import Glibc
import NavGeo
import NavMap
import NavMatching
import NavNavigator
import NavPositioning
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

/// A tunnel that starts after a corner, so that vehicles without odometry lose fixes while accelerating.
@Suite struct TunnelPaceTests {
    private static func town() throws -> Town {
        let road = ["highway": "trunk", "oneway": "yes"]
        return try Town(
            """
            A---------------------B
                                  |
                                  CD-----------------------------E-----F
            """,
            ways: [
                "ABCD": Town.road("Main Road", road),
                "DE": Town.road("Main Tunnel", road.merging(["tunnel": "yes"]) { $1 }),
                "EF": Town.road("Main Road", road),
            ])
    }

    private struct Outcome {
        /// The distance along the road by which the last prediction is ahead of the truth, metres, and its stated
        /// standard deviation.
        var ahead: Double
        var sigma: Double
        var speed: Double
    }

    private static func drive(_ driver: DriverModel, seed: UInt64) throws -> Outcome {
        let town = try town()
        guard let drive = SeededDrive(town.snapshot.metric, route: try town.route("ABCDEF"), rate: 20) else {
            throw NoDrive(letters: "ABCDEF")
        }
        let states = driver.drive(drive.states, rate: 20, seed: seed)
        let fixes = ReceiverModel(.open).fixes(states, start: SeededDrive.start, seed: seed + 1)
        var ride = Ride(town.map)
        var outcome: Outcome?
        for (index, state) in states.enumerated() {
            ride.fireTimers(until: fixes[index].stamp)
            let isInside = town.map.graph.traits(of: drive.edges[state.edge]).flags.contains(.tunnel)
            if index % 20 == 0, !isInside { ride.drive(fixes[index]) }
            guard isInside, let said = ride.vehiclePositions.last, said.prediction != nil,
                abs(fixes[index].stamp.seconds(since: said.stamp)) < 0.06
            else { continue }
            let frame = LocalFrame(origin: state.coordinate)
            let place = frame.point(said.match.coordinate)
            outcome = Outcome(
                ahead: place.east * sin(state.course) + place.north * cos(state.course),
                sigma: said.road?.alongSigma ?? 0, speed: said.speed ?? 0)
        }
        return try #require(outcome)
    }

    @Test(arguments: [0.82, 0.9, 1, 1.08], [1, 2, 3] as [UInt64])
    func predictionReachesTheDriversPaceAfterLossDuringAcceleration(pace: Double, seed: UInt64) throws {
        let driver = DriverModel(pace: pace, deviation: 0.01, correlationTime: 60)
        let outcome = try TunnelPaceTests.drive(driver, seed: seed)
        // The tunnel is 3 km long; the pace is estimated from the 90 s of driving before it.
        #expect(abs(outcome.ahead) < 120, "\(outcome.ahead) m ahead after 3 km, sigma \(outcome.sigma) m")
        #expect(abs(outcome.ahead) < 2 * outcome.sigma)
    }
}
