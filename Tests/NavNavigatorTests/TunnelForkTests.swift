import NavGeo
import NavMap
import NavMatching
import NavNavigator
import NavPositioning
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

/// A long tunnel with an exit inside, and no fix in it.
@Suite struct TunnelForkTests {
    private static func town() throws -> Town {
        let tunnel = ["tunnel": "yes", "oneway": "yes"]
        return try Town(
            """
            A---------B--------------C-------------------D
                                       .
                                          E--------------F
            """,
            ways: [
                "AB": Town.road("Main Road", ["oneway": "yes", "highway": "trunk"]),
                "BCD": Town.road("Main Tunnel", tunnel.merging(["highway": "trunk"]) { $1 }),
                "CEF": Town.road("Exit", tunnel.merging(["highway": "trunk_link"]) { $1 }),
            ])
    }

    /// The output of a drive through the tunnel and its final error.
    private struct Outcome {
        var ride: Ride
        var error: Double
        var last: VehiclePosition
    }

    private static func drive(
        _ letters: String, planned: String?, hasTurnRate: Bool, scaleError: Double = 0.01
    ) throws -> Outcome {
        let town = try town()
        guard let drive = SeededDrive(town.snapshot.metric, route: try town.route(letters), rate: 20) else {
            throw NoDrive(letters: letters)
        }
        let graph = town.map.graph
        let reports = OdometryModel(scaleError: scaleError).reports(drive.states, start: SeededDrive.start, seed: 3)
        let fixes = ReceiverModel(.open).fixes(drive.states, start: SeededDrive.start, seed: 4)
        var ride = Ride(town.map)
        if let planned { ride.command(.setRoute(try town.plan(planned))) }
        var outcome: (Double, VehiclePosition)?
        for (index, state) in drive.states.enumerated() {
            var report = reports[index]
            if !hasTurnRate { report.turnRate = nil }
            ride.drive(report)
            let isInside = graph.traits(of: drive.edges[state.edge]).flags.contains(.tunnel)
            if index % 20 == 0, !isInside { ride.drive(fixes[index]) }
            if isInside, let said = ride.vehiclePositions.last, said.prediction != nil {
                outcome = (Geodesy.distance(said.match.coordinate, state.coordinate), said)
            }
        }
        let (error, last) = try #require(outcome)
        return Outcome(ride: ride, error: error, last: last)
    }

    /// Returns the largest step between two positions that is not explained by the speed, metres.
    private static func jump(_ ride: Ride) -> Double {
        zip(ride.vehiclePositions, ride.vehiclePositions.dropFirst()).map { first, second in
            Geodesy.distance(first.match.coordinate, second.match.coordinate)
                - max(first.speed ?? 0, second.speed ?? 0) * second.stamp.seconds(since: first.stamp)
        }.max() ?? 0
    }

    @Test(arguments: ["ABCD", "ABCEF"], [nil, "ABCD", "ABCEF"])
    func turnRateDecidesTheBranchInATunnel(driven: String, planned: String?) throws {
        let outcome = try TunnelForkTests.drive(driven, planned: planned, hasTurnRate: true)
        #expect(outcome.error < 40, "\(outcome.error) m after 3 km")
        #expect(outcome.last.match.confidence > 0.9)
        #expect(!outcome.ride.reroutesWherePredicted)
        guard let planned else { return }
        let states = outcome.ride.progress.filter { $0.position.prediction != nil }.map(\.deviation.state)
        #expect(!states.contains(.offRoute) && !states.contains(.wrongWay))
        #expect(states.last == (driven == planned ? .onRoute : .uncertain))
    }

    @Test(arguments: ["ABCD", "ABCEF"])
    func withoutTurnRateBothBranchesRemainWithoutJumps(driven: String) throws {
        let outcome = try TunnelForkTests.drive(driven, planned: nil, hasTurnRate: false)
        let candidates = outcome.last.match.candidates
        #expect(candidates.count == 2)
        #expect(candidates.allSatisfy { $0.probability > 0.1 })
        let sum = candidates.reduce(0) { $0 + $1.probability }
        #expect(sum <= 1 + 1e-9 && sum > 0.9)
        #expect(outcome.last.match.confidence < 0.9)
        let predicted = outcome.ride.vehiclePositions.filter { $0.prediction != nil }
        #expect(Set(predicted.compactMap { $0.road?.wayID }).count <= 2)
        if driven == "ABCD" { #expect(TunnelForkTests.jump(outcome.ride) < 15) }
    }

    @Test(arguments: ["ABCD", "ABCEF"])
    func withoutTurnRateARouteByTheExitIsUncertainBehindIt(driven: String) throws {
        let outcome = try TunnelForkTests.drive(driven, planned: "ABCEF", hasTurnRate: false)
        let inside = outcome.ride.progress.filter { $0.position.prediction != nil }
        #expect(inside.last?.deviation.state == .uncertain)
        #expect(inside.last.map { (0.2...0.8).contains($0.deviation.probability) } == true)
        #expect(!outcome.ride.reroutesWherePredicted)
    }
}
