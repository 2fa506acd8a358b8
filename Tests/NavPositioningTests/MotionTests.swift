import Glibc
import NavGeo
import NavMatching
import NavPositioning
import Testing

/// Fixes and odometry of a vehicle that drives straight to the north-east, and their faults.
@Suite struct MotionTests {
    private static let start = Timestamp(nanoseconds: 1_767_225_600_000_000_000)
    private static let origin = Coordinate(latitude: 47, longitude: 9)
    private static let course = Double.pi / 4
    private static let speed = 20.0

    private static func place(_ seconds: Double) -> Coordinate {
        Geodesy.destination(from: origin, bearing: course, distance: speed * seconds)
    }

    private static func fix(_ seconds: Double, at coordinate: Coordinate? = nil, sigma: Double? = 3) -> Fix {
        Fix(
            stamp: start.advanced(bySeconds: seconds), coordinate: coordinate ?? place(seconds), horizontalSigma: sigma,
            speed: speed, course: course, type: .fix3D)
    }

    private static func warm(_ seconds: Int = 20) -> PositionTracker {
        var tracker = PositionTracker()
        for second in 0..<seconds { _ = tracker.take(fix(Double(second))) }
        return tracker
    }

    // MARK: Qualification

    @Test(arguments: [1.0, 5, 10, 20])
    func goodFixesAreAcceptedAtEveryRate(rate: Double) {
        var tracker = PositionTracker()
        for index in 0..<200 {
            let seconds = Double(index) / rate
            #expect(tracker.take(MotionTests.fix(seconds)) == .accepted)
        }
        let place = MotionTests.place(199 / rate)
        #expect(tracker.estimate.map { Geodesy.distance($0.coordinate, place) < 0.5 } == true)
    }

    @Test func everyDefectHasItsRejectionReason() {
        var tracker = MotionTests.warm()
        func rejected(_ change: (inout Fix) -> Void) -> FixRejection.Reason? {
            var fix = MotionTests.fix(20)
            change(&fix)
            return tracker.take(fix).rejection
        }
        #expect(rejected { $0.coordinate.latitude = .nan } == .invalid)
        #expect(rejected { $0.coordinate = Coordinate(latitude: 0, longitude: 0) } == .invalid)
        #expect(rejected { $0.type = .noFix } == .fixType)
        #expect(rejected { $0.horizontalSigma = 101 } == .accuracy)
        #expect(rejected { $0.speed = 120 } == .speed)
        #expect(rejected { $0.spoofing = .certain } == .spoofing)
        #expect(rejected { $0.jamming = .certain } == .jamming)
        #expect(rejected { $0.integrity = .certain } == .integrity)
        #expect(rejected { $0.stamp = MotionTests.start.advanced(bySeconds: 19) } == .duplicate)
        #expect(rejected { $0.stamp = MotionTests.start.advanced(bySeconds: 15) } == .outOfOrder)
        #expect(rejected { $0.coordinate = MotionTests.place(19) } == .frozen)
        #expect(rejected { $0.coordinate = MotionTests.place(30) } == .jump)
        #expect(rejected { $0.coordinate = MotionTests.place(300) } == .jump)
        #expect(rejected { $0.spoofing = .suspected } == nil)
    }

    @Test func queuedFixIsStaleAndFutureFixIsRejected() {
        var tracker = PositionTracker()
        func take(_ seconds: Double, arriving: Double) -> FixVerdict {
            var fix = MotionTests.fix(seconds)
            fix.received = MotionTests.start.advanced(bySeconds: arriving)
            return tracker.take(fix)
        }
        for second in 0..<10 { #expect(take(Double(second), arriving: Double(second) + 0.1) == .accepted) }
        #expect(take(10, arriving: 13).rejection == .stale)
        #expect(take(13, arriving: 13.1) == .accepted)
        #expect(take(15, arriving: 14.1).rejection == .future)
        // A receiver that applies a leap second continues with another clock.
        #expect(take(16, arriving: 15.1).rejection == .future)
        #expect(take(17, arriving: 16.1) == .acceptedAfterClockSet)
        #expect(take(18, arriving: 17.1) == .accepted)
    }

    @Test(arguments: [1.0, 10])
    func fixesQueuedDuringAStallAreNotAClockChange(rate: Double) {
        var tracker = PositionTracker()
        func take(_ seconds: Double, arriving: Double) -> FixVerdict {
            var fix = MotionTests.fix(seconds)
            fix.received = MotionTests.start.advanced(bySeconds: arriving)
            return tracker.take(fix)
        }
        let stamps = (0..<Int(20 * rate)).map { Double($0) / rate }
        for stamp in stamps where stamp < 10 { #expect(take(stamp, arriving: stamp + 0.1) == .accepted) }
        // The host stalls for five seconds, and then receives all fixes of that time at once.
        for stamp in stamps where stamp >= 10 && stamp < 15 {
            let verdict = take(stamp, arriving: 15.1 + (stamp - 10) / 1_000)
            #expect(verdict.rejection == (stamp < 13.05 ? .stale : nil), "\(stamp)")
        }
        for stamp in stamps where stamp >= 15 { #expect(take(stamp, arriving: stamp + 0.1) == .accepted, "\(stamp)") }
        // A clock that is set back delays all fixes equally.
        #expect((20..<23).map { take(Double($0), arriving: Double($0) + 9).isAccepted } == [false, false, true])
    }

    @Test func relocatedVehicleIsFollowedAfterAJump() {
        var tracker = MotionTests.warm()
        let away = Coordinate(latitude: 47.5, longitude: 9)
        var verdicts: [FixVerdict] = []
        for second in 20..<24 {
            let place = Geodesy.destination(
                from: away, bearing: MotionTests.course, distance: MotionTests.speed * Double(second))
            verdicts.append(tracker.take(MotionTests.fix(Double(second), at: place)))
        }
        #expect(verdicts.map(\.isAccepted) == [false, true, true, true])
        #expect(verdicts[1] == .acceptedAfterJump)
    }

    @Test func betterReceiverIsUsedAndSilentOneIsReplaced() {
        var tracker = PositionTracker()
        func take(_ seconds: Double, _ receiver: UInt8, sigma: Double) -> FixVerdict {
            var fix = MotionTests.fix(seconds, sigma: sigma)
            fix.receiver = receiver
            return tracker.take(fix)
        }
        var switches: [(second: Int, change: ReceiverChange)] = []
        for second in 0..<60 {
            // The first receiver falls silent at 40 s; before, the second is better only from 10 to 12 s and from 20 s
            // on.
            let isBetter = (10...12).contains(second) || second >= 20
            if second < 40 { _ = take(Double(second), 1, sigma: 6) }
            if let change = tracker.receiverChange { switches.append((second, change)) }
            _ = take(Double(second) + 0.3, 2, sigma: isBetter ? 2 : 6)
            if let change = tracker.receiverChange { switches.append((second, change)) }
        }
        #expect(switches.count == 1)
        #expect(switches.first.map { (25...30).contains($0.second) } == true)
        #expect(switches.first?.change == ReceiverChange(old: 1, new: 2, reason: .better))
        // The better receiver fails, and the other is used at once.
        for second in 60..<66 { _ = take(Double(second), 1, sigma: 6) }
        #expect(tracker.receiver == 1)
    }

    // MARK: Filter

    @Test func odometerScaleIsLearnedAndUsedInAnOutage() {
        var tracker = PositionTracker()
        var seconds = 0.0
        func drive(until end: Double, hasFixes: Bool) {
            while seconds < end {
                tracker.take(
                    Odometry(
                        stamp: MotionTests.start.advanced(bySeconds: seconds), speed: MotionTests.speed * 1.02,
                        turnRate: 0.004))
                if hasFixes, seconds == seconds.rounded() { _ = tracker.take(MotionTests.fix(seconds)) }
                seconds += 0.125
            }
        }
        drive(until: 120, hasFixes: true)
        #expect(tracker.odometerScale.map { abs($0.mean - 0.02) < 0.005 } == true)
        let before = tracker.newest?.covariance.perAxis ?? 0
        drive(until: 180, hasFixes: false)
        guard let newest = tracker.newest else { return #expect(Bool(false)) }
        let truth = MotionTests.place(newest.stamp.seconds(since: MotionTests.start))
        // An outage of 1,200 m.
        #expect(Geodesy.distance(newest.coordinate, truth) < 36)
        #expect(newest.covariance.perAxis > before)
    }

    @Test func correlatedFixesDoNotCountAsIndependentMeasurements() {
        var tracker = PositionTracker()
        for index in 0..<1_000 { _ = tracker.take(MotionTests.fix(Double(index) * 0.1, sigma: 4)) }
        #expect(tracker.estimate.map { $0.covariance.perAxis > 1 } == true)
    }

    @Test func lateFixCorrectsTheCurrentEstimate() {
        var tracker = MotionTests.warm()
        for index in 0..<40 {
            tracker.take(
                Odometry(
                    stamp: MotionTests.start.advanced(bySeconds: 19.025 + Double(index) * 0.05),
                    speed: MotionTests.speed))
        }
        // The fix was measured at 20 s and arrives after the odometry of 20.9 s.
        #expect(tracker.take(MotionTests.fix(20)) == .accepted)
        #expect(tracker.estimate?.stamp == MotionTests.start.advanced(bySeconds: 20))
        guard let newest = tracker.newest else { return #expect(Bool(false)) }
        #expect(newest.stamp > MotionTests.start.advanced(bySeconds: 20.9))
        let truth = MotionTests.place(newest.stamp.seconds(since: MotionTests.start))
        #expect(Geodesy.distance(newest.coordinate, truth) < 1)
    }

    @Test func roadConstrainsThePositionAcrossIt() {
        var tracker = MotionTests.warm()
        guard let before = tracker.estimate else { return #expect(Bool(false)) }
        let beside = Geodesy.destination(from: before.coordinate, bearing: MotionTests.course + .pi / 2, distance: 3)
        tracker.constrain(
            RoadConstraint(coordinate: beside, bearing: MotionTests.course, crossSigma: 0.5, bearingSigma: 0.05))
        #expect(tracker.estimate == before)
        guard let after = tracker.roadEstimate else { return #expect(Bool(false)) }
        #expect(Geodesy.distance(after.coordinate, beside) < 1)
        #expect(after.covariance.sigma(across: MotionTests.course) < 0.6)
        #expect(
            abs(
                after.covariance.sigma(along: MotionTests.course) - before.covariance.sigma(along: MotionTests.course))
                < 0.2)
    }

    // MARK: Health

    @Test func healthReportsItsReasonsAndRecovers() {
        var judge = PositionHealthMonitor()
        func note(_ seconds: Double, _ change: (inout Fix) -> Void = { _ in }) {
            var fix = MotionTests.fix(seconds)
            change(&fix)
            judge.note(fix, isAccepted: true, sigma: 3, inflation: 1, latency: nil, at: fix.stamp)
        }
        #expect(judge.health == nil)
        note(0)
        #expect(judge.health?.level == .full && judge.health?.reasons == [])
        note(1) { $0.jamming = .suspected }
        #expect(judge.health?.level == .reduced && judge.health?.reasons == .jamming)
        note(2)
        #expect(judge.health?.level == .reduced)
        note(5)
        #expect(judge.health?.level == .full)
        judge.noteMissing(.tunnel, sigma: 20, isLost: false, at: MotionTests.start.advanced(bySeconds: 8))
        #expect(judge.health?.level == .reduced && judge.health?.reasons == .tunnel)
        judge.noteMissing(.tunnel, sigma: 150, isLost: false, at: MotionTests.start.advanced(bySeconds: 80))
        #expect(judge.health?.level == .lost)
        note(81) { $0.spoofing = .certain }
        #expect(judge.health?.level == .lost && judge.health?.reasons.contains(.spoofing) == true)
    }
}
