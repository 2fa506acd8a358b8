import NavGeo
import NavMatching
import NavPositioning
import NavRouting
import NavTestSupport
import Testing

/// Positions without speed at intervals of seconds, as reported by trackers and phones.
@Suite struct SparseFixTests {
    /// Returns the verdicts on fixes at places in metres east and north of the first, `seconds` apart.
    private static func verdicts(
        every seconds: Double, _ places: [(east: Double, north: Double)]
    ) throws -> [FixVerdict] {
        let map = try ASCIIMap(
            "A---------------------------------------B", gridMetres: 100, ways: ["AB": ["highway": "primary"]])
        let frame = LocalFrame(origin: try map.position(between: "A", "B", at: 0.2))
        var positioning = Positioning(metric: Metric(TurnGraph(map.graph), model: CostModel()))
        var verdicts: [FixVerdict] = []
        for (number, place) in places.enumerated() {
            let fix = Fix(
                stamp: Timestamp(nanoseconds: Int64((1_000 + Double(number) * seconds) * 1e9)),
                coordinate: frame.coordinate(of: LocalPoint(east: place.east, north: place.north)))
            for case .qualified(_, let verdict) in positioning.replay(.fix(fix)) { verdicts.append(verdict) }
        }
        return verdicts
    }

    /// The vehicle moves at 25 m/s from the first fix on, while speed and course are still unknown.
    @Test func secondSparseFixIsAccepted() throws {
        let verdicts = try Self.verdicts(every: 15, [(0, 0), (375, 0), (750, 0)])
        #expect(verdicts == [.accepted, .accepted, .accepted])
    }

    /// A stationary vehicle departs in a direction other than that of its arrival.
    @Test(arguments: [4.0, 5, 10]) func departureInANewDirectionIsAccepted(seconds: Double) throws {
        let aside = seconds * seconds / 2 * 2.5
        let places: [(east: Double, north: Double)] = [
            (-50, 0), (-20, 0), (0, 0), (0, 0), (0, 0), (0, 0), (0, aside), (0, 2 * aside),
        ]
        let verdicts = try Self.verdicts(every: seconds, places)
        #expect(verdicts.allSatisfy { $0 == .accepted })
    }

    @Test func unreachablePositionIsAJump() throws {
        let verdicts = try Self.verdicts(every: 5, [(0, 0), (50, 0), (100, 0), (1_500, 0), (200, 0)])
        #expect(verdicts.map(\.rejection) == [nil, nil, nil, .jump, nil])
    }
}
