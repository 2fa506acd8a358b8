import Glibc
import NavGeo
import NavMatching
import NavPositioning
import NavRouting
import NavTestSupport
import Testing

/// Outages interrupted by single fixes or odometry.
@Suite struct InterruptedOutageTests {
    /// A vehicle on and beside a straight road from west to east.
    private struct Drive {
        private static let start = Timestamp(nanoseconds: 1_767_225_600_000_000_000)
        private static let speed = 20.0

        var positioning: Positioning
        let frame: LocalFrame
        var effects: [Positioning.Effect] = []

        init() throws {
            let map = try ASCIIMap(
                "A--------------------------------------------------B", gridMetres: 100,
                ways: ["AB": ["highway": "primary"]])
            positioning = Positioning(metric: Metric(TurnGraph(map.graph), model: CostModel()))
            frame = LocalFrame(origin: try map.coordinate("A"))
        }

        /// The published positions.
        var positions: [VehiclePosition] {
            effects.compactMap { if case .position(let position) = $0 { position } else { nil } }
        }
        var rejections: [FixRejection.Reason] {
            effects.compactMap { if case .qualified(_, let verdict) = $0 { verdict.rejection } else { nil } }
        }

        static func stamp(_ seconds: Double) -> Timestamp { start.advanced(bySeconds: seconds) }

        /// Returns metres east of the road's start and north of the road.
        func place(_ coordinate: Coordinate) -> LocalPoint { frame.point(coordinate) }

        /// Drives east with one fix per second.
        mutating func drive(_ seconds: ClosedRange<Int>) {
            for second in seconds { fix(Double(second), east: Drive.speed * Double(second)) }
        }

        mutating func fix(
            _ seconds: Double, east: Double, north: Double = 0, speed: Double? = speed, course: Double = .pi / 2,
            sigma: Double = 3
        ) {
            let fix = Fix(
                stamp: Drive.stamp(seconds), coordinate: frame.coordinate(of: LocalPoint(east: east, north: north)),
                horizontalSigma: sigma, speed: speed, course: speed == nil ? nil : course, type: .fix3D)
            effects += positioning.replay(.fix(fix))
        }

        mutating func odometry(_ seconds: Double, speed: Double = speed) {
            effects += positioning.replay(.odometry(Odometry(stamp: Drive.stamp(seconds), speed: speed)))
        }

        mutating func fireTimers(until seconds: Double) {
            while let due = positioning.due, due <= Drive.stamp(seconds) {
                effects += positioning.handle(.timer, at: due)
            }
        }
    }

    /// The vehicle leaves unmapped ground and turns onto the road during an outage.
    @Test func fixAfterAnOutageOffTheRoadIsAccepted() throws {
        var drive = try Drive()
        for second in 0...40 {
            drive.fix(Double(second), east: 1_000, north: -8 * Double(47 - second), speed: 8, course: 0)
        }
        drive.fireTimers(until: 70)
        #expect(drive.positions.last?.prediction == .straightOn)
        for second in 71...76 {
            let east = 1_000 + 20 * Double(second - 47)
            drive.fix(Double(second), east: east)
            let position = try #require(drive.positions.last)
            #expect(position.prediction == nil && position.stamp == Drive.stamp(Double(second)))
            let place = drive.place(position.match.coordinate)
            #expect(abs(place.east - east) < 20 && abs(place.north) < 20, "\(place) at \(second) s")
        }
        #expect(drive.rejections.isEmpty)
    }

    @Test(arguments: [1, 2]) func fixOnARoadContinuesAnOutageThatBeganOffTheRoad(count: Int) throws {
        var drive = try Drive()
        for second in 0...40 {
            drive.fix(Double(second), east: 20 * Double(second), north: -8 * Double(50 - second), course: atan2(20, 8))
        }
        drive.fireTimers(until: 49)
        #expect(drive.positions.last?.prediction == .straightOn)
        for second in 50..<(50 + count) { drive.fix(Double(second), east: 20 * Double(second)) }
        drive.fireTimers(until: 65)
        let position = try #require(drive.positions.last)
        #expect(position.prediction == .alongRoad)
        #expect(abs(drive.place(position.match.coordinate).north) < 5)
    }

    @Test func odometryIsCountedOnceAroundAFixInAnOutage() throws {
        var drive = try Drive()
        for tenth in 0...400 {
            let seconds = Double(tenth) / 10
            // The fix arrives between two predictions, which are a second apart.
            if tenth <= 200, tenth % 10 == 0 { drive.fix(seconds, east: 20 * seconds) }
            if tenth == 309 { drive.fix(seconds, east: 20 * seconds) }
            drive.odometry(seconds + 0.05)
        }
        let position = try #require(drive.positions.last)
        #expect(position.prediction == .odometry)
        let error = drive.place(position.match.coordinate).east - 20 * position.stamp.seconds(since: Drive.stamp(0))
        #expect(abs(error) < 5, "\(error) m")
    }

    /// The fixes before the outage contradict the road, so the last place on the road is older.
    @Test func predictionIncludesTheDistanceSinceTheLastPlaceOnTheRoad() throws {
        var drive = try Drive()
        for tenth in 0...450 {
            let seconds = Double(tenth) / 10
            if tenth <= 300, tenth % 10 == 0 {
                drive.fix(seconds, east: 20 * seconds, north: tenth > 270 ? 38 : 0, speed: nil)
            }
            drive.odometry(seconds + 0.05)
        }
        let position = try #require(drive.positions.last)
        #expect(position.prediction == .odometry && position.road != nil)
        let error = drive.place(position.match.coordinate).east - 20 * position.stamp.seconds(since: Drive.stamp(0))
        #expect(abs(error) < 25, "\(error) m")
    }

    /// At the stop, the matcher repeats the place from before the fixes that contradict the road.
    @Test func predictionIncludesTheDistanceBeforeAStop() throws {
        var drive = try Drive()
        for tenth in 0...480 {
            let seconds = Double(tenth) / 10
            let driven = seconds - min(max(seconds - 30, 0), 4)
            if tenth <= 320, tenth % 10 == 0 {
                drive.fix(seconds, east: 20 * driven, north: tenth > 270 ? 60 : 0, speed: nil)
            }
            drive.odometry(seconds + 0.05, speed: (300..<340).contains(tenth) ? 0 : 20)
        }
        let position = try #require(drive.positions.last)
        #expect(position.prediction == .odometry && position.road != nil)
        let error = drive.place(position.match.coordinate).east - 20 * (position.stamp.seconds(since: Drive.stamp(4)))
        #expect(abs(error) < 25, "\(error) m")
    }

    @Test func predictionsStayFrequentAfterASingleFixInAnOutage() throws {
        var drive = try Drive()
        drive.drive(0...20)
        drive.fireTimers(until: 29)
        drive.fix(30, east: 600)
        drive.fireTimers(until: 40)
        let stamps = drive.positions.map(\.stamp).filter { $0 > Drive.stamp(30) }
        #expect(stamps.count >= 8)
        // The first prediction is delayed by the wait for another fix.
        #expect(zip(stamps, stamps.dropFirst()).allSatisfy { $1.seconds(since: $0) < 1.1 })
    }

    @Test func predictedSpeedRisesRealisticallyAfterOdometryEnds() throws {
        var drive = try Drive()
        drive.drive(0...20)
        for tenth in 200...400 {
            let seconds = Double(tenth) / 10 + 0.05
            drive.odometry(seconds, speed: max(20 - 2 * (seconds - 21), 3))
        }
        drive.fireTimers(until: 50)
        let silent = drive.positions.filter { $0.stamp > Drive.stamp(40) && $0.prediction == .alongRoad }
        let speeds = silent.compactMap(\.fix.speed)
        #expect(speeds.count > 5)
        #expect(try #require(speeds.first) < 6)
        #expect(zip(speeds, speeds.dropFirst()).allSatisfy { $1 - $0 < 2 }, "\(speeds)")
    }

    @Test func predictionContinuesAtTheLastOdometrySpeed() throws {
        var drive = try Drive()
        for second in 0...20 {
            let crawled = Double(max(second - 15, 0))
            drive.fix(Double(second), east: 20 * Double(second) - 17 * crawled, speed: second < 15 ? 20 : 3)
        }
        for tenth in 200...400 {
            let seconds = Double(tenth) / 10 + 0.05
            drive.odometry(seconds, speed: min(3 + 2 * (seconds - 20), 20))
        }
        drive.fireTimers(until: 50)
        let silent = drive.positions.filter { $0.stamp > Drive.stamp(40) && $0.prediction == .alongRoad }
        let speeds = silent.compactMap(\.fix.speed)
        #expect(speeds.count > 5 && speeds.allSatisfy { $0 > 15 }, "\(speeds)")
    }

    /// Odometry with a clock ten minutes ahead arrives before the first good fix.
    @Test func odometryOfAnotherClockDoesNotDelayPrediction() throws {
        var drive = try Drive()
        for second in 0...30 {
            drive.fix(Double(second), east: 20 * Double(second), sigma: second < 5 ? 90 : 3)
            if second < 5 { drive.odometry(Double(second) + 600.5) }
        }
        drive.fireTimers(until: 34)
        #expect(drive.rejections == Array(repeating: .startAccuracy, count: 5))
        let first = try #require(drive.positions.first { $0.prediction != nil })
        #expect(first.stamp.seconds(since: Drive.stamp(30)) < 3)
    }
}
