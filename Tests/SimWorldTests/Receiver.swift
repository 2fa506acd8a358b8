import Glibc
import NavGeo
import NavMatching
import NavPositioning
import NavSimulation

/// A temporary fault of a receiver.
enum ReceiverFault: CaseIterable {
    case outage, inaccurate, elsewhere, frozen, withoutVelocity, spoofed, withoutSolution, late, ofTheFuture,
        withoutSigma
}

/// A GNSS receiver with a drifting error and faults.
struct SimReceiver {
    let number: UInt8
    /// Fixes per second.
    let rate: Double
    private var random: SeededRandom
    private let wander: Double
    private let noise: Double
    private let latency: Double
    private let tellsArrival: Bool
    private let duplicates: Double
    private let swaps: Double
    private let faults: [(what: ReceiverFault, span: ClosedRange<Double>)]
    private var error: LocalPoint
    private var last: (time: Double, truth: Driver.Truth)?
    private var still: Coordinate?
    private var held: Fix?
    private var sequence: UInt64 = 0

    /// - Parameter wildness: the frequency of faults, 0 to 1.
    init(_ number: UInt8, wildness: Double, duration: Double, seed: UInt64) {
        var random = SeededRandom(seed: seed)
        self.number = number
        let dice = random.uniform()
        rate = dice < 0.78 ? 1 : dice < 0.88 ? 2 : dice < 0.95 ? 5 : dice < 0.97 ? 10 : 0.4
        (wander, noise) = [(0.0, 0.0), (1.5, 0.5), (4, 1.5), (8, 3)][Int(random.next() % 4)]
        latency = 0.05 + 0.3 * random.uniform()
        tellsArrival = random.uniform() < 0.7
        duplicates = wildness * 0.03
        swaps = wildness * 0.03
        error = LocalPoint(east: wander * random.gaussian(), north: wander * random.gaussian())
        let count = Int(wildness * 8 * random.uniform())
        faults = (0..<count).map { _ in
            let start = random.uniform() * duration
            let length = random.uniform() < 0.15 ? 150 * random.uniform() : 25 * random.uniform()
            return (
                ReceiverFault.allCases[Int(random.next() % UInt64(ReceiverFault.allCases.count))],
                start...(start + length)
            )
        }
        self.random = random
    }

    /// Whether the stamps are wrong: the core may then assume a clock change.
    func isClockWrong(at time: Double) -> Bool {
        faults.contains { ($0.what == .late || $0.what == .ofTheFuture) && $0.span.contains(time) }
    }

    /// Returns the fixes of a moment, each with its latency in seconds; `clock` is the offset of the receiver's clock
    /// from the world's.
    mutating func report(_ truth: Driver.Truth, at time: Double, clock: Double) -> [(delay: Double, fix: Fix)] {
        let seconds = last.map { time - $0.time } ?? 1
        defer { last = (time, truth) }
        let decay = exp(-seconds / 30)
        let drive = wander * (1 - decay * decay).squareRoot()
        error = LocalPoint(
            east: error.east * decay + drive * random.gaussian(), north: error.north * decay + drive * random.gaussian()
        )
        var faulty: Set<ReceiverFault> = []
        for fault in faults where fault.span.contains(time) { faulty.insert(fault.what) }
        if faulty.contains(.outage) { return [] }
        var fix = measure(truth, at: time, clock: clock)
        var delay = latency
        spoil(&fix, &delay, faulty)
        fix.received = tellsArrival ? SimWorld.start.advanced(bySeconds: time + delay) : nil
        var reports = [(delay, fix)]
        if random.uniform() < duplicates { reports.append((delay + 0.05, fix)) }
        if let before = held {
            reports.append((delay + 0.02, before))
            held = nil
        } else if random.uniform() < swaps {
            held = fix
            return []
        }
        return reports
    }

    private mutating func measure(_ truth: Driver.Truth, at time: Double, clock: Double) -> Fix {
        sequence += 1
        let offset = LocalPoint(
            east: error.east + noise * random.gaussian(), north: error.north + noise * random.gaussian())
        // Course and speed are those of the movement, not of the vehicle's body.
        let speed = max(abs(truth.speed) + 0.03 * noise * random.gaussian(), 0)
        let course = truth.speed < 0 ? truth.heading + .pi : truth.heading
        var fix = Fix(
            stamp: SimWorld.start.advanced(bySeconds: time + clock),
            coordinate: LocalFrame(origin: truth.coordinate).coordinate(of: offset),
            horizontalSigma: max((wander * wander + noise * noise).squareRoot(), 0.5), speed: speed,
            course: speed > 0.5
                ? Angle.normalised(course + 0.1 * noise * random.gaussian() / max(speed, 0.5)) : nil,
            type: .fix3D, sequence: sequence)
        fix.receiver = number
        return fix
    }

    private mutating func spoil(_ fix: inout Fix, _ delay: inout Double, _ faulty: Set<ReceiverFault>) {
        if !faulty.contains(.frozen) { still = nil }
        for fault in ReceiverFault.allCases where faulty.contains(fault) {
            switch fault {
            case .outage: break
            case .inaccurate: fix.horizontalSigma = 20 + 200 * random.uniform()
            case .elsewhere:
                fix.coordinate = LocalFrame(origin: fix.coordinate).coordinate(of: LocalPoint(east: 900, north: 500))
            case .frozen:
                fix.coordinate = still ?? fix.coordinate
                still = fix.coordinate
            case .withoutVelocity: (fix.speed, fix.course) = (nil, nil)
            case .spoofed: fix.spoofing = random.uniform() < 0.5 ? .suspected : .certain
            case .withoutSolution: fix.type = .noFix
            case .late: delay += 3
            case .ofTheFuture: fix.stamp = fix.stamp.advanced(bySeconds: 5)
            case .withoutSigma: fix.horizontalSigma = nil
            }
        }
    }
}

/// The wheel odometry and the gyroscope of the vehicle.
struct SimOdometer {
    /// Reports per second.
    let rate: Double
    private let model: OdometryModel
    private var random: SeededRandom
    private let silence: ClosedRange<Double>

    init(seed: UInt64, duration: Double) {
        random = SeededRandom(seed: seed)
        rate = random.uniform() < 0.7 ? 2 : 10
        model = OdometryModel.car(seed: random.next())
        let start = duration * random.uniform()
        silence = start...(start + duration * 0.3 * random.uniform())
    }

    mutating func report(_ truth: Driver.Truth, at time: Double, clock: Double) -> Odometry? {
        guard !silence.contains(time) else { return nil }
        let speed = truth.speed * (1 + model.scaleError) + model.speedNoise * random.gaussian()
        return Odometry(
            stamp: SimWorld.start.advanced(bySeconds: time + clock), speed: truth.speed == 0 ? 0 : speed,
            speedSigma: model.speedNoise,
            turnRate: truth.turnRate + model.turnBias + model.turnNoise * random.gaussian(),
            turnRateSigma: model.turnNoise, isStationary: truth.speed == 0)
    }
}
