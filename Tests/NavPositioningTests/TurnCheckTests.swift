import Glibc
import NavGeo
import NavMatching
import NavPositioning
import NavSimulation
import Testing

/// Turn rates that do not belong to the motion of the fixes, and receivers that only look as if they contradicted a correct one.
@Suite struct TurnCheckTests {
    private static let start = Timestamp(nanoseconds: 1_767_225_600_000_000_000)
    private static let origin = Coordinate(latitude: 47, longitude: 9)
    private static let speed = 6.0
    private static let sharpest = 0.8
    /// The time between two turns, seconds.
    private static let period = 25.0

    private struct Outcome {
        var tracker: PositionTracker
        var rejected = 0
        var worst = 0.0
        /// The times at which the turn rate was ignored, seconds.
        var doubted: [Double] = []
    }

    /// The turn rate: turns by 120° to the right and to the left, alternately.
    private static func turnRate(_ time: Double) -> Double {
        let phase = time.truncatingRemainder(dividingBy: 2 * period)
        let duration = 2 * Double.pi / 3 / sharpest
        if phase >= 20, phase < 20 + duration { return sharpest }
        return phase >= 20 + period && phase < 20 + period + duration ? -sharpest : 0
    }

    /// Drives for two minutes with odometry at 20 Hz and fixes at a rate; the receiver's error wanders.
    private static func drive(
        rate: Int = 5, seed: UInt64 = 1, _ change: (inout Fix, inout Odometry, Double) -> Void
    ) -> Outcome {
        var random = SeededRandom(seed: seed)
        var outcome = Outcome(tracker: PositionTracker())
        var (place, course) = (origin, 0.0)
        var error = LocalPoint(east: 0, north: 0)
        for step in 0..<2_400 {
            let time = Double(step) / 20
            let turn = turnRate(time) / 20
            place = Geodesy.destination(from: place, bearing: course + turn / 2, distance: speed / 20)
            course += turn
            let stamp = start.advanced(bySeconds: time)
            var odometry = Odometry(
                stamp: stamp, speed: speed + 0.05 * random.gaussian(), speedSigma: 0.05,
                turnRate: turnRate(time) + 0.003 + 0.003 * random.gaussian(), turnRateSigma: 0.003)
            error = LocalPoint(
                east: error.east * 0.998 + 0.15 * random.gaussian(),
                north: error.north * 0.998 + 0.15 * random.gaussian()
            )
            var fix = Fix(
                stamp: stamp, coordinate: LocalFrame(origin: place).coordinate(of: error), horizontalSigma: 4.3,
                speed: speed + 0.2 * random.gaussian(), course: Angle.normalised(course + 0.03 * random.gaussian()),
                type: .fix3D)
            change(&fix, &odometry, time)
            outcome.tracker.take(odometry)
            guard step % (20 / rate) == 0 else { continue }
            if !outcome.tracker.take(fix).isAccepted { outcome.rejected += 1 }
            if outcome.tracker.distrusted.contains(.turnRate) { outcome.doubted.append(time) }
            if let there = outcome.tracker.estimate?.coordinate {
                outcome.worst = max(outcome.worst, Geodesy.distance(there, place))
            }
        }
        return outcome
    }

    @Test("fixes win over a late turn rate within a few fixes", arguments: [1.0, 2, 3], [1, 5, 10])
    func lateTurnRate(lag: Double, rate: Int) {
        for seed in 1...5 as ClosedRange<UInt64> {
            let outcome = Self.drive(rate: rate, seed: seed) { _, odometry, time in
                odometry.turnRate = Self.turnRate(time - lag)
            }
            #expect(outcome.worst < 20 && outcome.rejected == 0, "\(outcome.worst) m, \(outcome.rejected) rejected")
            if lag >= 2 { #expect(!outcome.doubted.isEmpty) }
        }
    }

    @Test("a turn rate that is wrong in one turn only is used again")
    func doubtEnds() throws {
        let outcome = Self.drive { _, odometry, time in
            if time < 30 { odometry.turnRate = Self.turnRate(time - 3) }
        }
        let last = try #require(outcome.doubted.last)
        #expect(last > 24 && last < 45)
    }

    @Test("a correct turn rate is trusted when the receiver is late or frozen in turns", arguments: [1, 5, 10])
    func correctTurnRate(rate: Int) {
        for seed in 1...5 as ClosedRange<UInt64> {
            let plain = Self.drive(rate: rate, seed: seed) { _, _, _ in }
            #expect(plain.doubted.isEmpty && plain.rejected == 0 && plain.worst < 15, "\(plain.worst) m")
            var courses: [Double] = []
            let late = Self.drive(rate: rate, seed: seed) { fix, _, _ in
                courses.append(fix.course ?? 0)
                fix.course = courses[max(courses.count - 20, 0)]
            }
            #expect(late.doubted.isEmpty)
            // A receiver that repeats its last fix in a turn.
            var held: Fix?
            let frozen = Self.drive(rate: rate, seed: seed) { fix, _, time in
                guard (19..<25).contains(time) else { return held = nil }
                let first = held ?? fix
                held = first
                (fix.coordinate, fix.course, fix.speed) = (first.coordinate, first.course, first.speed)
            }
            #expect(frozen.doubted.isEmpty)
        }
    }
}
