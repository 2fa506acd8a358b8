import Glibc
import NavGeo
import NavMatching
import NavPositioning
import NavSimulation
import Testing

/// Receivers that fail without notice, and the reported health of positioning.
@Suite struct TrustTests {
    private static let start = Timestamp(nanoseconds: 1_767_225_600_000_000_000)
    private static let origin = Coordinate(latitude: 47, longitude: 9)
    private static let speed = 20.0

    private static func place(_ seconds: Double, aside: Double = 0) -> Coordinate {
        let along = Geodesy.destination(from: origin, bearing: 0, distance: speed * seconds)
        return Geodesy.destination(from: along, bearing: .pi / 2, distance: aside)
    }

    /// - Parameters:
    ///   - clock: the lead of the receiver's clock, seconds.
    ///   - aside: the error across the road, metres.
    private static func fix(
        _ seconds: Double, _ receiver: UInt8 = 1, clock: Double = 0, aside: Double = 0, sigma: Double? = 3
    ) -> Fix {
        var fix = Fix(
            stamp: start.advanced(bySeconds: seconds + clock), coordinate: place(seconds, aside: aside),
            horizontalSigma: sigma, speed: speed, course: 0, type: .fix3D)
        fix.receiver = receiver
        return fix
    }

    private static func odometry(_ seconds: Double, speed: Double) -> Odometry {
        Odometry(stamp: start.advanced(bySeconds: seconds), speed: speed)
    }

    // MARK: Several receivers

    @Test func frozenReceiverIsReplacedForGood() {
        var tracker = PositionTracker()
        var switches: [(second: Double, change: ReceiverChange)] = []
        for second in 0..<120 {
            let seconds = Double(second)
            var front = TrustTests.fix(seconds, 1)
            if second >= 30 { front.coordinate = TrustTests.place(29) }
            for fix in [front, TrustTests.fix(seconds + 0.4, 2)] {
                _ = tracker.take(fix)
                if let change = tracker.receiverChange { switches.append((seconds, change)) }
            }
        }
        #expect(switches.count == 1 && switches.allSatisfy { (31...33).contains($0.second) })
        #expect(switches.first?.change == ReceiverChange(old: 1, new: 2, reason: .failed))
        #expect(tracker.receiver == 2)
    }

    @Test func jumpingReceiverIsReplacedBeforeItIsTrusted() {
        var tracker = PositionTracker()
        var worst = 0.0
        for second in 0..<90 {
            let seconds = Double(second)
            for fix in [
                TrustTests.fix(seconds, 1, aside: second >= 30 ? 3_000 : 0), TrustTests.fix(seconds + 0.4, 2),
            ] where tracker.take(fix).isAccepted {
                worst = max(worst, Geodesy.distance(tracker.estimate?.coordinate ?? TrustTests.origin, fix.coordinate))
                #expect(
                    Geodesy.distance(fix.coordinate, TrustTests.place(fix.stamp.seconds(since: TrustTests.start))) < 1)
            }
        }
        #expect(tracker.receiver == 2)
        #expect(worst < 5)
    }

    @Test func repeatedlyFailingReceiverIsAvoidedForLonger() {
        var tracker = PositionTracker(
            limits: {
                var limits = FixLimits()
                limits.preferredReceivers = 1
                return limits
            }())
        var switches = 0
        for second in 0..<600 {
            let seconds = Double(second)
            // The preferred receiver works for 20 s of every 30 s.
            var front = TrustTests.fix(seconds, 0)
            if second % 30 >= 20 { front.coordinate = TrustTests.place(Double(second - second % 30 + 19)) }
            for fix in [front, TrustTests.fix(seconds + 0.4, 1)] {
                _ = tracker.take(fix)
                if tracker.receiverChange != nil { switches += 1 }
            }
        }
        #expect(switches > 2 && switches < 14, "\(switches) changes")
    }

    @Test(arguments: [18.0, -18])
    func receiversWithDifferentClocksAreNotSilent(difference: Double) {
        var tracker = PositionTracker()
        var switches = 0
        for second in 0..<100 {
            for fix in [TrustTests.fix(Double(second), 1), TrustTests.fix(Double(second) + 0.5, 2, clock: difference)] {
                _ = tracker.take(fix)
                if tracker.receiverChange != nil { switches += 1 }
            }
        }
        #expect(switches == 0 && tracker.receiver == 1)
    }

    @Test func fiveReceiversAreTrackedAtOnce() {
        var tracker = PositionTracker()
        var switches = 0
        for second in 0..<100 {
            // All receivers but the fifth fall silent.
            for receiver in 1...5 where second < 50 || receiver == 5 {
                _ = tracker.take(TrustTests.fix(Double(second) + Double(receiver) * 0.1, UInt8(receiver)))
                if tracker.receiverChange != nil { switches += 1 }
            }
        }
        #expect(switches == 1 && tracker.receiver == 5)
        #expect(tracker.estimate.map { $0.stamp.seconds(since: TrustTests.start) > 99 } == true)
    }

    // MARK: Accepted fixes

    @Test func hdopServesAsAccuracy() {
        func verdict(_ dilution: Double) -> FixVerdict {
            var tracker = PositionTracker()
            var fix = TrustTests.fix(0, sigma: nil)
            fix.hdop = dilution
            return tracker.take(fix)
        }
        #expect(verdict(1) == .accepted && verdict(8) == .accepted)
        #expect(verdict(50).rejection == .startAccuracy && verdict(500).rejection == .startAccuracy)
    }

    @Test(arguments: [5_000.0, 500])
    func distantFixesAreRejectedWhileOdometryShowsMotion(distance: Double) {
        for (wheels, isBelieved) in [(TrustTests.speed, false), (0, true)] {
            var tracker = PositionTracker()
            var believed = 0
            for tenth in 0..<480 {
                let seconds = Double(tenth) / 10
                tracker.take(TrustTests.odometry(seconds, speed: seconds < 29 ? TrustTests.speed : wheels))
                guard tenth % 10 == 0 else { continue }
                // Ten seconds to the side: a vehicle can drive 500 m in seven seconds.
                let isAway = (30..<40).contains(seconds)
                let verdict = tracker.take(TrustTests.fix(seconds, aside: isAway ? distance : 0))
                if isAway, verdict.isAccepted { believed += 1 }
            }
            #expect((believed > 0) == isBelieved, "\(believed) accepted with wheels at \(wheels) m/s")
        }
    }

    // MARK: Wrong signals

    /// Drives around a block repeatedly, 20 s straight on and 4 s around the corner to the right, at 10 Hz, with a fix
    /// each second and odometry. The worst error excludes the first seconds.
    private static func blocks(
        _ seconds: Int, from start: Double = 120, _ change: (inout Fix, inout Odometry, Double) -> Void
    ) -> (tracker: PositionTracker, rejected: Int, worst: Double) {
        var tracker = PositionTracker()
        var (place, course) = (origin, 0.0)
        var (rejected, worst) = (0, 0.0)
        for tenth in 0..<seconds * 10 {
            let time = Double(tenth) / 10
            let rate = time.truncatingRemainder(dividingBy: 24) < 20 ? 0 : Double.pi / 8
            course += rate / 10
            place = Geodesy.destination(from: place, bearing: course, distance: 1.2)
            let stamp = TrustTests.start.advanced(bySeconds: time)
            // The receiver's error drifts by some metres.
            let error = Geodesy.destination(
                from: place, bearing: time / 7, distance: 3 * (time / 40).truncatingRemainder(dividingBy: 1))
            var fix = Fix(
                stamp: stamp, coordinate: error, horizontalSigma: 3, speed: 12,
                course: course.truncatingRemainder(dividingBy: 2 * .pi), type: .fix3D)
            var odometry = Odometry(stamp: stamp, speed: 12, turnRate: rate)
            change(&fix, &odometry, time)
            tracker.take(odometry)
            guard tenth % 10 == 0 else { continue }
            if !tracker.take(fix).isAccepted { rejected += 1 }
            if time > start, let there = tracker.estimate?.coordinate {
                worst = max(worst, Geodesy.distance(there, place))
            }
        }
        return (tracker, rejected, worst)
    }

    @Test func correctSignalsAreTrusted() {
        let drive = TrustTests.blocks(600) { fix, _, time in
            // A reflection lasts for ten seconds of every minute.
            guard time.truncatingRemainder(dividingBy: 60) >= 50 else { return }
            fix.coordinate = Geodesy.destination(from: fix.coordinate, bearing: time, distance: 30)
        }
        #expect(drive.tracker.distrusted.isEmpty)
    }

    @Test(arguments: [
        (MotionSignals.turnRate, "sign"), (.turnRate, "degrees"), (.turnRate, "zero"), (.wheels, "km/h"),
        (.wheels, "stand"), (.wheels, "backwards"),
        (.receiverSpeed, "zero"), (.receiverSpeed, "knots"), (.receiverCourse, "constant"),
        (.receiverCourse, "backwards"),
    ])
    func wrongSignalIsDetectedAndIgnored(signal: MotionSignals, fault: String) {
        let drive = TrustTests.blocks(300) { fix, odometry, time in
            switch (signal, fault) {
            case (.turnRate, "sign"): odometry.turnRate = odometry.turnRate.map { -$0 }
            case (.turnRate, "zero"): odometry.turnRate = 0
            case (.turnRate, _): odometry.turnRate = odometry.turnRate.map { $0 * 180 / .pi / 5 }
            case (.wheels, "km/h"): odometry.speed = 12 * 3.6
            case (.wheels, "backwards"): odometry.speed = -12
            case (.wheels, _): odometry.isStationary = true
            case (.receiverSpeed, "zero"): fix.speed = 0
            case (.receiverSpeed, _): fix.speed = 12 / 0.514
            case (_, "constant"): fix.course = 1
            default: fix.course = fix.course.map { $0 + .pi }
            }
        }
        #expect(drive.tracker.distrusted == signal)
        #expect(drive.rejected < 40 && drive.worst < 15, "\(drive.rejected) rejected, \(drive.worst) m")
    }

    @Test(arguments: [0.7, 0.8, 0.9, 0.95, 1.05, 1.1, 1.2, 1.3, 1.4])
    func wheelSpeedScaleErrorIsLearnt(scale: Double) {
        let drive = TrustTests.blocks(300) { _, odometry, _ in odometry.speed = 12 * scale }
        #expect(drive.tracker.distrusted.isEmpty && drive.rejected == 0 && drive.worst < 5, "\(drive)")
        #expect(drive.tracker.odometerScale.map { abs($0.mean - (scale - 1)) < 0.005 } == true)
    }

    @Test(arguments: [0.7, 0.75, 0.8, 0.85, 1.15, 1.2, 1.25, 1.3, 1.4])
    func receiverSpeedScaleErrorIsDetected(scale: Double) {
        for wheels in [12, 12.5, nil] {
            let drive = TrustTests.blocks(900, from: 600) { fix, odometry, _ in
                (fix.speed, odometry.speed) = (12 * scale, wheels)
            }
            #expect(drive.tracker.distrusted == .receiverSpeed && drive.worst < 15, "\(drive.worst) m")
        }
    }

    @Test(arguments: [0.95, 1.05])
    func receiverSpeedWithASmallErrorIsTrusted(scale: Double) {
        let drive = TrustTests.blocks(900) { fix, _, _ in fix.speed = 12 * scale }
        #expect(drive.tracker.distrusted.isEmpty && drive.worst < 10, "\(drive.worst) m")
    }

    @Test func equalScaleErrorOfReceiverAndWheelsIsNotDistrusted() {
        let drive = TrustTests.blocks(900) { fix, odometry, _ in (fix.speed, odometry.speed) = (12 * 1.2, 12 * 1.2) }
        #expect(drive.tracker.distrusted.isEmpty)
    }

    @Test func correctedReceiverSpeedIsTrustedAgain() {
        let drive = TrustTests.blocks(2_400, from: 2_000) { fix, _, time in fix.speed = time < 900 ? 12 * 1.2 : 12 }
        #expect(drive.tracker.distrusted.isEmpty && drive.worst < 5, "\(drive.worst) m")
        #expect(TrustTests.blocks(900) { fix, _, _ in fix.speed = 12 * 1.2 }.tracker.distrusted == .receiverSpeed)
    }

    /// The vehicle drives straight on for two hours; the receiver's positions have independent errors as large as it
    /// states, at speeds at which a leg is not much longer than these errors.
    @Test(arguments: [(3.0, 4.0), (3, 5.8), (5, 9.7), (5, 12), (8, 14)])
    func correctSpeedIsTrustedDespiteNoisyPositions(sigma: Double, speed: Double) {
        var random = SeededRandom(seed: UInt64(speed * 10))
        var tracker = PositionTracker()
        for second in 0..<7_200 {
            let place = Geodesy.destination(from: TrustTests.origin, bearing: 0, distance: speed * Double(second))
            let (east, north) = (random.gaussian() * sigma * 1.2, random.gaussian() * sigma * 1.2)
            let error = Geodesy.destination(
                from: place, bearing: atan2(east, north), distance: (east * east + north * north).squareRoot())
            _ = tracker.take(
                Fix(
                    stamp: TrustTests.start.advanced(bySeconds: Double(second)), coordinate: error,
                    horizontalSigma: sigma, speed: speed, course: 0, type: .fix3D))
            if !tracker.distrusted.isEmpty {
                Issue.record("distrusted after \(second) s")
                return
            }
        }
    }

    @Test func correctedSignalIsTrustedAgain() {
        let drive = TrustTests.blocks(600) { fix, odometry, time in if time < 150 { odometry.speed = 0 } }
        #expect(drive.tracker.distrusted.isEmpty && drive.worst < 15)
    }

    @Test func positionOnlyReceiverIsFollowedAroundCorners() {
        let drive = TrustTests.blocks(600) { fix, odometry, _ in
            (fix.speed, fix.course) = (nil, nil)
            odometry = Odometry(stamp: odometry.stamp)
        }
        #expect(drive.rejected == 0 && drive.worst < 25)
        #expect(drive.tracker.estimate.map { $0.covariance.perAxis < 10 } == true)
    }

    // MARK: Health

    private static func rate(_ seconds: ClosedRange<Int>, _ monitor: inout PositionHealthMonitor, isAccepted: Bool) {
        for second in seconds {
            let fix = fix(Double(second))
            monitor.note(fix, isAccepted: isAccepted, sigma: 3, inflation: 1, latency: nil, at: fix.stamp)
        }
    }

    @Test func healthIsLostWhileThereIsNoPosition() {
        var monitor = PositionHealthMonitor()
        TrustTests.rate(0...30, &monitor, isAccepted: false)
        #expect(monitor.health?.level == .lost && monitor.health?.reasons == .noFix)
        #expect(monitor.health?.since == TrustTests.start)
        TrustTests.rate(31...40, &monitor, isAccepted: true)
        #expect(monitor.health?.level == .full)
        // The receiver reports no position, and there is no prediction.
        monitor.noteMissing(nil, sigma: nil, isLost: true, at: TrustTests.start.advanced(bySeconds: 60))
        TrustTests.rate(61...900, &monitor, isAccepted: false)
        #expect(monitor.health?.level == .lost && monitor.health?.reasons == .noFix)
    }

    @Test func jumpReducesHealthTemporarily() {
        var monitor = PositionHealthMonitor()
        TrustTests.rate(0...9, &monitor, isAccepted: true)
        let fix = TrustTests.fix(10, aside: 3_000)
        monitor.note(fix, isAccepted: true, isJump: true, sigma: 3, inflation: 1, latency: nil, at: fix.stamp)
        TrustTests.rate(11...19, &monitor, isAccepted: true)
        #expect(monitor.health?.level == .reduced && monitor.health?.reasons == .integrity)
        TrustTests.rate(20...30, &monitor, isAccepted: true)
        #expect(monitor.health?.level == .full)
    }
}
