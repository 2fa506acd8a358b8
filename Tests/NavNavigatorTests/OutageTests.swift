import NavGeo
import NavMatching
import NavNavigator
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

/// Streets without fixes: who turns there, who stands, and where two ways are likely.
@Suite struct OutageTests {
    /// What was said on a drive, with the last prediction and how far beside the truth that was.
    private struct Outcome {
        var ride: Ride
        var error: Double
        var last: Sighting
    }

    /// Drives through crossings with wheels and a gyroscope; no fix comes from `blind.lowerBound` to `blind.upperBound` metres.
    private static func drive(
        _ letters: String, planned: String?, blind: ClosedRange<Double>, hasOdometry: Bool = true, seed: UInt64 = 3
    ) throws -> Outcome {
        let town = try Town.grid()
        guard let drive = SeededDrive(town.snapshot.metric, route: try town.route(letters), rate: 20) else {
            throw NoDrive(letters: letters)
        }
        let reports = OdometryModel.car(seed: seed).reports(drive.states, start: SeededDrive.start, seed: seed + 1)
        let fixes = ReceiverModel(.open).fixes(drive.states, start: SeededDrive.start, seed: seed + 2)
        var ride = Ride(town.map)
        if let planned { ride.command(.setRoute(try town.plan(planned))) }
        var outcome: (Double, Sighting)?
        for (index, state) in drive.states.enumerated() {
            if hasOdometry { ride.drive(reports[index]) } else { ride.fireTimers(until: fixes[index].stamp) }
            let isBlind = blind.contains(state.offset)
            if index % 20 == 0, !isBlind { ride.drive(fixes[index]) }
            if isBlind, let said = ride.sightings.last, said.prediction != nil {
                outcome = (Geodesy.distance(said.match.coordinate, state.coordinate), said)
            }
        }
        let (error, last) = try #require(outcome)
        return Outcome(ride: ride, error: error, last: last)
    }

    @Test(arguments: [nil, "FGHIJ", "FGHMN"], [3, 17, 40] as [UInt64])
    func aTurnThatTheWheelsAndTheGyroscopeSawIsFollowed(planned: String?, seed: UInt64) throws {
        // 600 m lead to the crossing where the vehicle turns.
        let outcome = try OutageTests.drive("FGHMN", planned: planned, blind: 480...840, seed: seed)
        #expect(outcome.error < 20, "\(outcome.error) m beside the truth")
        #expect(outcome.last.match.confidence > 0.9)
        #expect(outcome.ride.rejections.isEmpty)
        #expect(!outcome.ride.reroutesWherePredicted)
    }

    @Test func twoTurnsInARowAreFollowed() throws {
        let outcome = try OutageTests.drive("FGHMN", planned: "FGHIJ", blind: 480...1_150)
        #expect(outcome.error < 25, "\(outcome.error) m beside the truth")
        #expect(outcome.ride.rejections.isEmpty)
    }

    @Test func whatLiesOnOtherWaysIsPartOfTheUncertainty() throws {
        let outcome = try OutageTests.drive("FGHMN", planned: nil, blind: 480...840, hasOdometry: false)
        let predicted = outcome.ride.sightings.filter { $0.prediction != nil }
        let before = try #require(predicted.first?.road)
        let after = try #require(outcome.last.road)
        #expect(outcome.last.match.candidates.count > 1)
        #expect(before.crossSigma < 5)
        #expect(after.crossSigma > 20)
        #expect(
            outcome.error < 3 * (after.alongSigma * after.alongSigma + after.crossSigma * after.crossSigma).squareRoot()
        )
    }

    @Test func whoStoodWhenLostSightOfMayHaveDrivenOn() throws {
        let town = try Town.grid()
        var ride = Ride(town.map)
        let driven = try town.fixes("FGH", .open).prefix(30)
        ride.drive(driven)
        let last = try #require(driven.last)
        ride.drive(town.standing(at: last.coordinate, seconds: 20, after: last))
        let stood = try #require(ride.sightings.last)
        ride.fireTimers(until: stood.stamp.advanced(bySeconds: 40))
        let predicted = ride.sightings.filter { $0.prediction != nil }
        let sigmas = predicted.compactMap { $0.road?.alongSigma }
        #expect(zip(sigmas, sigmas.dropFirst()).allSatisfy { $0 <= $1 })
        #expect(try #require(sigmas.first) < 15)
        #expect(try #require(sigmas.last) > 80)
        // Nothing tells that it does.
        #expect(try #require(predicted.last?.road).distance(to: stood.coordinate) < 15)
    }
}

extension MatchedPosition.RoadPosition {
    fileprivate func distance(to place: Coordinate) -> Double { Geodesy.distance(coordinate, place) }
}
