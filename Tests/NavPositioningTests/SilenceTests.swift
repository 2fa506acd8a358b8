import NavGeo
import NavMatching
import NavPositioning
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

/// The first fix after a period without measurements.
@Suite struct SilenceTests {
    /// The effect of a fix 30 m beside the road, 30 s after the previous fix.
    private struct Return {
        var endsPrediction = false
        /// The distance between the filter and the fix, metres.
        var distance = 0.0
    }

    /// Returns positioning after a minute of a drive on a straight road.
    private static func start() throws -> (Positioning, SeededDrive) {
        let map = try ASCIIMap(
            "A---------------------------------------B", gridMetres: 100,
            ways: ["AB": ["highway": "secondary", "name": "Main Road"]])
        let metric = Metric(TurnGraph(map.graph), model: CostModel())
        let places = try [0.1, 0.9].map { Waypoint(try map.position(between: "A", "B", at: $0)) }
        let drive = try #require(SeededDrive(metric, route: try map.route(places), rate: 1, environment: .none))
        var positioning = Positioning(metric: metric, isTracing: true)
        for fix in drive.fixes.prefix(60) { _ = positioning.replay(.fix(fix)) }
        return (positioning, drive)
    }

    /// - Parameters:
    ///   - rejected: the times of fixes that are too inaccurate, seconds after the last good fix.
    ///   - wheels: the times of odometry messages, seconds after the last good fix.
    private static func `return`(rejected: [Double] = [], wheels: [Double] = []) throws -> Return {
        var (positioning, drive) = try start()
        let last = try #require(drive.fixes.prefix(60).last)
        var inputs = rejected.map { second in
            var fix = drive.fixes[59 + Int(second)]
            fix.horizontalSigma = 500
            return (second, Positioning.Event.fix(fix))
        }
        inputs += wheels.map { second in
            (second, .odometry(Odometry(stamp: last.stamp.advanced(bySeconds: second), speed: last.speed)))
        }
        for (_, input) in inputs.sorted(by: { $0.0 < $1.0 }) { _ = positioning.replay(input) }
        var fix = drive.fixes[89]
        fix.coordinate = LocalFrame(origin: fix.coordinate).coordinate(of: LocalPoint(east: 0, north: 30))
        var back = Return()
        for effect in positioning.replay(.fix(fix)) {
            switch effect {
            case .predictionEnded: back.endsPrediction = true
            case .filtered(_, _, let estimate):
                back.distance = Geodesy.distance(estimate.coordinate, fix.coordinate)
            default: break
            }
        }
        return back
    }

    @Test func filterAndPredictionAcceptAFixAfterSilence() throws {
        let back = try Self.return()
        #expect(back.endsPrediction && back.distance < 1)
    }

    @Test(arguments: [(0.0, false), (-100, true)])
    func positionThatDoesNotContinueFromThePredictionIsReported(metres: Double, isRestart: Bool) throws {
        var (positioning, drive) = try Self.start()
        var fix = drive.fixes[89]
        var positions: [VehiclePosition] = []
        func note(_ effects: [Positioning.Effect]) {
            for case .position(let position) in effects { positions.append(position) }
        }
        while let due = positioning.due, due < fix.stamp { note(positioning.handle(.timer, at: due)) }
        let predicted = try #require(positions.last)
        #expect(predicted.prediction != nil && !positions.contains(where: \.isRestart))
        let frame = LocalFrame(origin: predicted.match.coordinate)
        let driven = frame.point(drive.fixes[90].coordinate) - frame.point(fix.coordinate)
        fix.coordinate = frame.coordinate(of: LocalPoint(east: metres, north: 0))
        note(positioning.replay(.fix(fix)))
        let position = try #require(positions.last)
        #expect(position.prediction == nil && position.isRestart == isRestart)
        var next = drive.fixes[90]
        next.coordinate = frame.coordinate(of: LocalPoint(east: metres + driven.east, north: driven.north))
        note(positioning.replay(.fix(next)))
        #expect(positions.last?.stamp == next.stamp && positions.last?.isRestart == false)
    }

    /// A fix after bad ones may also be bad.
    @Test func filterAndPredictionDoubtAFixAfterBadOnes() throws {
        let back = try Self.return(rejected: [3, 29])
        #expect(!back.endsPrediction && back.distance > 3)
    }

    @Test func filterAndPredictionDoubtAFixAfterOdometry() throws {
        let back = try Self.return(wheels: [0.5])
        #expect(!back.endsPrediction && back.distance > 3)
    }
}
