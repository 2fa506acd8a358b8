public import NavGeo
public import NavMessages

/// A node's time: the machine's clocks, or `/clock` with `sim_time: true`.
///
/// Timers, ages and stamps are in this time. With `/clock`, time starts with the first message, stops while the
/// playback is paused, and jumps only when a jump is announced. The clock belongs to the node's thread.
public final class NodeClock {
    /// The machine's clocks, which tests replace.
    package struct Machine: Sendable {
        package var monotonic: @Sendable () -> MonotonicInstant
        package var wall: @Sendable () -> NavGeo.Timestamp

        package init(
            monotonic: @escaping @Sendable () -> MonotonicInstant, wall: @escaping @Sendable () -> NavGeo.Timestamp
        ) {
            (self.monotonic, self.wall) = (monotonic, wall)
        }

        package static let real = Machine(monotonic: MonotonicClock.now, wall: WallClock.now)
    }

    /// The time for which a silent player counts as alive when the registry cannot be read, and for which a second player
    /// is reported after its last message.
    private static let silence = Duration.seconds(2)

    /// The longest step of time in which a timer catches up on every period; in a longer step it runs once.
    package static let longestStep = Duration.seconds(60)

    /// 2200-01-01, in nanoseconds since the Unix epoch: at the end of representable time, later timers would have no due time.
    private static let latestStamp: Int64 = 7_258_118_400_000_000_000

    /// Whether the time comes from `/clock`.
    public let isSimulated: Bool
    /// Returns the current publishers of `/clock`, name by boot id; nil when they cannot be determined.
    package var players: () -> [UInt64: String]? = { nil }

    private let machine: Machine
    private let warn: (String) -> Void
    private var follower = ClockFollower()
    private var timers = TimerQueue()
    private var bodies: [TimerID: () -> Void] = [:]
    private var waiting: [(delay: Duration, period: Duration?, body: () -> Void, id: TimerID)] = []
    private var lastHeard: MonotonicInstant?
    private var epochStart = SimulatedTime(nanoseconds: 0)
    private var rival: (bootID: UInt64, heard: MonotonicInstant)?
    private var unreadable: UInt64 = 0
    private var asked: (at: MonotonicInstant, players: [UInt64: String]?)?

    /// Creates a clock.
    ///
    /// - Parameter warn: receives each problem with `/clock` once.
    public convenience init(isSimulated: Bool, warn: @escaping (String) -> Void = { _ in }) {
        self.init(isSimulated: isSimulated, machine: .real, warn: warn)
    }

    package init(isSimulated: Bool, machine: Machine, warn: @escaping (String) -> Void = { _ in }) {
        self.isSimulated = isSimulated
        self.machine = machine
        self.warn = warn
    }

    // MARK: Now

    /// The current time for timers and ages; nil before the first message of `/clock`.
    public var now: NodeTime? {
        isSimulated ? follower.moment.map { NodeTime($0.time) } : NodeTime(machine.monotonic())
    }

    /// The current time for stamps of messages; nil before the first message of `/clock`.
    public var stamp: NavGeo.Timestamp? {
        isSimulated ? follower.moment.map { NavGeo.Timestamp($0.time) } : machine.wall()
    }

    /// The current moment of `/clock`; nil without one.
    public var moment: ClockMoment? { follower.moment }

    /// The time since the current epoch began, in nanoseconds, 0 ... 2^61; the machine's monotonic clock for a live node, and before the
    /// first message of `/clock`.
    ///
    /// Ages measured in it start over with each epoch.
    package var epochNanoseconds: Int64 {
        guard let moment = follower.moment, isSimulated else { return machine.monotonic().nanoseconds }
        return min(max(0, (moment.time - epochStart).clampedNanoseconds), 1 << 61)
    }

    /// Whether the playback is paused.
    public var isPaused: Bool { follower.isPaused }

    // MARK: /clock

    /// Handles a message of `/clock`; timers are adjusted to a jump.
    ///
    /// Run the due ones with ``runDueTimers()``.
    ///
    /// - Parameter bootID: the publisher's boot id, from the message's header.
    /// - Returns: the message's meaning; nil when the message is ignored.
    public func receive(_ clock: Clock, from bootID: UInt64) -> ClockEvent? {
        guard isSimulated else { return nil }
        guard let stamp = clock.stampNs else {
            noteUnreadable()
            return nil
        }
        return take(
            ClockFollower.Sample(
                time: SimulatedTime(nanoseconds: stamp), epoch: clock.epoch ?? 0, isPaused: clock.paused ?? false,
                bootID: bootID))
    }

    /// Advances to the time given by a barrier of lockstep playback.
    package func reach(_ time: SimulatedTime, epoch: UInt32, player: UInt64) -> ClockEvent? {
        guard isSimulated else { return nil }
        return take(ClockFollower.Sample(time: time, epoch: epoch, bootID: player))
    }

    private func noteUnreadable() {
        unreadable += 1
        if unreadable == 1 { warn("a message on /clock has no time before the year 2200 and is ignored") }
    }

    private func take(_ sample: ClockFollower.Sample) -> ClockEvent? {
        guard sample.time.nanoseconds < Self.latestStamp else {
            noteUnreadable()
            return nil
        }
        let machineNow = machine.monotonic()
        let before = follower.moment
        let verdict = follower.receive(sample) { isAlive($0, machineNow) }
        if sample.bootID == follower.followed { lastHeard = machineNow }
        switch verdict {
        case .event(let event):
            switch event {
            case .started(let moment):
                epochStart = moment.time
                startTimers(at: NodeTime(moment.time))
            case .jumped(let from, let to):
                epochStart = to.time
                timers.rebase(from: NodeTime(from.time), to: NodeTime(to.time))
            case .advanced(let time):
                // A recording may have gaps, even of years; the timer periods within a gap are skipped.
                if let before, time - before.time > Self.longestStep { timers.skipMissed(at: NodeTime(time)) }
            }
            return event
        case .ignored(let reason, let isFirst):
            if reason == .rival { rival = (sample.bootID, machineNow) }
            if isFirst { warn(text(of: reason, sample, before)) }
            return nil
        }
    }

    private func isAlive(_ bootID: UInt64, _ machineNow: MonotonicInstant) -> Bool {
        guard let players = playersNow(machineNow) else {
            return lastHeard.map { machineNow - $0 < Self.silence } ?? false
        }
        return players[bootID] != nil
    }

    /// Returns the publishers of `/clock`, looked up at most five times a second.
    private func playersNow(_ machineNow: MonotonicInstant) -> [UInt64: String]? {
        if let asked, machineNow - asked.at < .milliseconds(200) { return asked.players }
        let found = players()
        asked = (machineNow, found)
        return found
    }

    private func text(
        of reason: ClockFollower.Reason, _ sample: ClockFollower.Sample, _ before: ClockMoment?
    ) -> String {
        switch reason {
        case .rival: return rivalText(sample.bootID, machine.monotonic())
        case .pastEpoch: return "/clock returned to an earlier epoch; such messages are ignored"
        case .backwards:
            let back = (before.map { $0.time - sample.time } ?? .zero).inSeconds
            return "/clock ran \(back) s backwards without a new epoch; such messages are ignored"
        }
    }

    private func rivalText(_ bootID: UInt64, _ machineNow: MonotonicInstant) -> String {
        let players = playersNow(machineNow) ?? [:]
        func name(_ bootID: UInt64?) -> String { bootID.flatMap { players[$0] }.map { "'\($0)'" } ?? "an unknown node" }
        return
            "two players publish /clock: \(name(follower.followed)), which is followed, and \(name(bootID)): stop one"
    }

    // MARK: Health

    /// The current problems with the node's time.
    public var healthReasons: [HealthReason] {
        guard isSimulated else { return [] }
        var reasons: [HealthReason] = []
        if follower.moment == nil {
            reasons.append(
                HealthReason(
                    code: "clock_none", message: "waiting for /clock: start a player, or set sim_time to false"))
        }
        let machineNow = machine.monotonic()
        if let rival, machineNow - rival.heard < Self.silence {
            reasons.append(HealthReason(code: "clock_rivals", message: rivalText(rival.bootID, machineNow)))
        }
        return reasons
    }

    /// The numbers of ignored messages of `/clock`, by reason.
    public var counters: [Counter] {
        guard isSimulated else { return [] }
        let count = follower.ignored
        return [
            Counter(name: "clock_backwards", value: (count[.backwards] ?? 0) + (count[.pastEpoch] ?? 0)),
            Counter(name: "clock_rival", value: count[.rival] ?? 0),
            Counter(name: "clock_unreadable", value: unreadable),
        ]
    }

    // MARK: Timers

    /// Calls `body` now and then once per period; with `/clock`, from its first message, and again from each jump.
    @discardableResult
    public func every(_ period: Duration, _ body: @escaping () -> Void) -> TimerID {
        add(after: .zero, every: period, body)
    }

    /// Calls `body` once, after `delay` from now or from the first message of `/clock`.
    @discardableResult
    public func after(_ delay: Duration, _ body: @escaping () -> Void) -> TimerID {
        add(after: delay, every: nil, body)
    }

    /// Cancels a timer; has no effect on one that is over.
    public func cancel(_ timer: TimerID) {
        timers.remove(timer)
        bodies[timer] = nil
        waiting.removeAll { $0.id == timer }
    }

    private func add(after delay: Duration, every period: Duration?, _ body: @escaping () -> Void) -> TimerID {
        guard let now else {
            // The id is allocated now, so that the timer keeps its place in the order.
            let id = timers.add(due: NodeTime(nanoseconds: .max))
            timers.remove(id)
            waiting.append((delay, period, body, id))
            return id
        }
        let id = timers.add(due: now + delay, every: period)
        bodies[id] = body
        return id
    }

    private func startTimers(at start: NodeTime) {
        for timer in waiting {
            timers.insert(timer.id, due: start + timer.delay, every: timer.period)
            bodies[timer.id] = timer.body
        }
        waiting = []
    }

    /// The time of the next timer; nil without one, or before the first message of `/clock`.
    public var nextTimer: NodeTime? { timers.next }

    /// Runs the first due timer.
    ///
    /// - Returns: false when no timer is due.
    package func runDueTimer() -> Bool {
        guard let now, let timer = timers.takeDue(at: now, skipsMissed: !isSimulated) else { return false }
        let body = bodies[timer.id]
        if timer.isLast { bodies[timer.id] = nil }
        body?()
        return true
    }

    /// Runs the due timers, in order.
    public func runDueTimers() {
        // Bounded, so that a timer that is immediately due again cannot keep this loop running; the rest runs in the
        // next call.
        for _ in 0..<1_000 where !runDueTimer() { return }
    }

    /// Returns the time for which the node's loop may wait for messages, at most `longest`: until the next timer of a
    /// live node, while timers on `/clock` are driven by its messages.
    public func wait(atMost longest: Duration) -> Duration {
        guard !isSimulated, let now, let next = timers.next else { return longest }
        return max(.zero, min(longest, next - now))
    }
}
