import NavGeo
import NavMap
import NavMatching
import NavPositioning
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

/// Feedback from the matched road to the position filter.
@Suite struct RoadFeedbackTests {
    /// The results of a drive with a constant receiver error.
    private struct Run {
        var free: [MotionEstimate] = []
        var aided: [MotionEstimate?] = []
        var matches: [MatchedPosition] = []
        var truth: [Coordinate] = []
    }

    private static func run(
        _ map: ASCIIMap, _ letters: String, bias: LocalPoint, isAided: Bool = true
    ) throws -> Run {
        let letters = Array(letters)
        let places = try [
            Waypoint(map.position(between: letters[0], letters[1], at: 0.1)),
            Waypoint(map.position(between: letters[letters.count - 2], letters[letters.count - 1], at: 0.9)),
        ]
        let metric = Metric(TurnGraph(map.graph), model: CostModel())
        let drive = try #require(
            SeededDrive(metric, route: try map.route(places), rate: 1, environment: .none))
        var run = Run()
        var tracker = PositionTracker()
        var matcher = StreamingMatcher(metric: metric)
        var aid = RoadFeedback()
        for (state, fix) in zip(drive.states, drive.fixes) {
            var fix = fix
            fix.coordinate = LocalFrame(origin: state.coordinate).coordinate(of: bias)
            fix.horizontalSigma = 4
            fix.type = .fix3D
            guard tracker.take(fix).isAccepted, let estimate = tracker.estimate else { continue }
            var match = matcher.match(estimate.refined(fix))
            match.raw = fix.coordinate
            if isAided { aid.follow(&match, &tracker, map.graph) }
            run.free.append(estimate)
            run.aided.append(tracker.roadEstimate)
            run.matches.append(match)
            run.truth.append(state.coordinate)
        }
        return run
    }

    private static func street(_ name: String) -> [String: String] { ["highway": "secondary", "name": name] }

    @Test func receiverErrorLearntOnOneRoadAppliesAfterTheBend() throws {
        let map = try ASCIIMap(
            """
            B-------C
            |
            |
            |
            |
            |
            |
            |
            A
            """, gridMetres: 100, ways: ["ABC": RoadFeedbackTests.street("High Street")])
        // The error is across the first road and along the second.
        let run = try RoadFeedbackTests.run(map, "ABC", bias: LocalPoint(east: 5, north: 0))
        let last = run.truth.count - 25
        let aided = try #require(run.aided[last])
        let frame = LocalFrame(origin: run.truth[last])
        let (with, without) = (frame.point(aided.coordinate).east, frame.point(run.free[last].coordinate).east)
        #expect(without > 3.5)
        #expect(abs(with) < 0.7 * without)
        #expect(aided.covariance.sigma(along: .pi / 2) < run.free[last].covariance.sigma(along: .pi / 2))
        #expect(abs(with) < 2 * aided.covariance.sigma(along: .pi / 2))
        let place = run.matches[last].coordinate
        #expect(abs(frame.point(place).east - with) < 1)
    }

    @Test func roadAidDoesNotAffectTheMatcherInput() throws {
        let map = try ASCIIMap(
            """
            A--------B-----------C
                        D--------E
            """, gridMetres: 50,
            ways: ["ABC": RoadFeedbackTests.street("Road"), "BDE": RoadFeedbackTests.street("Fork")])
        // The error leads to the wrong branch.
        let bias = LocalPoint(east: 0, north: 12)
        let aided = try RoadFeedbackTests.run(map, "ABDE", bias: bias)
        let alone = try RoadFeedbackTests.run(map, "ABDE", bias: bias, isAided: false)
        #expect(aided.free == alone.free)
        #expect(aided.matches.map(\.road?.edge) == alone.matches.map(\.road?.edge))
    }

    @Test func ambiguousRoadsDoNotCorrectThePosition() throws {
        let map = try ASCIIMap(
            """
            A--------------------B
            C--------------------D
            """, gridMetres: 12, ways: ["AB": RoadFeedbackTests.street("One"), "CD": RoadFeedbackTests.street("Other")])
        let run = try RoadFeedbackTests.run(map, "AB", bias: LocalPoint(east: 0, north: -6))
        #expect(run.aided.allSatisfy { $0 == nil })
    }
}
