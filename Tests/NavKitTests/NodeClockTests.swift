import NavGeo
import NavKit
import NavMessages
import Synchronization
import Testing

/// A node's clock with simulated machine clocks.
struct NodeClockTests {
    /// The simulated clocks of the machine.
    private final class Machine: Sendable {
        private let time = Mutex<Int64>(0)
        func pass(_ duration: Duration) { time.withLock { $0 += duration.clampedNanoseconds } }
        var clocks: NodeClock.Machine {
            NodeClock.Machine(
                monotonic: { [self] in MonotonicInstant(nanoseconds: time.withLock { $0 }) },
                wall: { [self] in NavGeo.Timestamp(nanoseconds: time.withLock { $0 } + 1_000) })
        }
    }

    private func message(_ time: Int64, _ epoch: UInt32? = nil, paused: Bool? = nil) -> Clock {
        Clock(stampNs: time, paused: paused, epoch: epoch)
    }

    @Test func liveNodeUsesTheMachineClocksAndIgnoresThePlayer() {
        let machine = Machine()
        let clock = NodeClock(isSimulated: false, machine: machine.clocks)
        machine.pass(.nanoseconds(5))
        #expect(clock.now?.nanoseconds == 5 && clock.stamp?.nanoseconds == 1_005)
        #expect(clock.receive(message(77), from: 1) == nil && clock.now?.nanoseconds == 5)
        #expect(clock.healthReasons.isEmpty && clock.counters.isEmpty)
    }

    @Test func timeIsUnknownBeforeTheFirstMessage() {
        let machine = Machine()
        let clock = NodeClock(isSimulated: true, machine: machine.clocks)
        var ticks: [Int64] = []
        clock.every(.seconds(1)) { ticks.append(clock.stamp?.nanoseconds ?? -1) }
        machine.pass(.seconds(100))
        clock.runDueTimers()
        #expect(clock.now == nil && clock.stamp == nil && ticks.isEmpty)
        #expect(clock.healthReasons.map(\.code) == ["clock_none"])
        _ = clock.receive(message(500), from: 1)
        clock.runDueTimers()
        #expect(ticks == [500] && clock.healthReasons.isEmpty)
    }

    @Test func timersSurviveAClockAtItsMaximum() {
        let clock = NodeClock(isSimulated: true, machine: Machine().clocks)
        var ticks: [Int64] = []
        clock.every(.nanoseconds(10)) { ticks.append(clock.stamp?.nanoseconds ?? -1) }
        for time in [10, .max, 20] as [Int64] {
            _ = clock.receive(message(time), from: 1)
            clock.runDueTimers()
        }
        #expect(ticks == [10, 20])
        #expect(clock.counters.contains(Counter(name: "clock_unreadable", value: 1)))
    }

    @Test(arguments: [3_600, 315_360_000] as [Int64])
    func longStepSkipsMissedPeriods(seconds: Int64) {
        let clock = NodeClock(isSimulated: true, machine: Machine().clocks)
        var ticks: [Int64] = []
        var once = 0
        _ = clock.receive(message(0), from: 1)
        clock.every(.seconds(1)) { ticks.append((clock.stamp?.nanoseconds ?? -1) / 1_000_000_000) }
        clock.after(.seconds(5)) { once += 1 }
        clock.runDueTimers()
        for time in [3, 3 + seconds, 4 + seconds] {
            _ = clock.receive(message(time * 1_000_000_000), from: 1)
            for _ in 0..<10 { clock.runDueTimers() }
        }
        #expect(ticks == [0, 3, 3, 3, 3 + seconds, 4 + seconds] && once == 1)
    }

    @Test func pausedClockDoesNotAdvance() {
        let machine = Machine()
        let clock = NodeClock(isSimulated: true, machine: machine.clocks)
        var ticks = 0
        _ = clock.receive(message(0), from: 1)
        clock.every(.seconds(1)) { ticks += 1 }
        clock.runDueTimers()
        for _ in 0..<10 {
            machine.pass(.seconds(60))
            _ = clock.receive(message(0, paused: true), from: 1)
            clock.runDueTimers()
        }
        #expect(clock.isPaused && ticks == 1 && clock.now?.nanoseconds == 0)
        #expect(clock.wait(atMost: .milliseconds(200)) == .milliseconds(200))
    }

    @Test func timersRestartAfterAJump() {
        let clock = NodeClock(isSimulated: true, machine: Machine().clocks)
        var ticks: [Int64] = []
        _ = clock.receive(message(1_000_000_000_000), from: 1)
        clock.every(.seconds(1)) { ticks.append((clock.now?.nanoseconds ?? 0) / 1_000_000_000) }
        clock.after(.seconds(5)) { ticks.append(-1) }
        clock.runDueTimers()
        guard case .jumped? = clock.receive(message(10_000_000_000, 1), from: 1) else {
            Issue.record("the jump was not detected")
            return
        }
        for second in 10...15 {
            _ = clock.receive(message(Int64(second) * 1_000_000_000, 1), from: 1)
            clock.runDueTimers()
        }
        #expect(ticks == [1_000, 10, 11, 12, 13, 14, -1, 15] || ticks == [1_000, 10, 11, 12, 13, 14, 15, -1])
    }

    @Test func aBackwardsClockIsCountedAndReportedOnce() {
        let told = Mutex<[String]>([])
        let clock = NodeClock(isSimulated: true, machine: Machine().clocks) { text in
            told.withLock { $0.append(text) }
        }
        _ = clock.receive(message(2_000_000_000), from: 1)
        for _ in 0..<3 { #expect(clock.receive(message(0), from: 1) == nil) }
        #expect(
            told.withLock { $0 } == [
                "/clock ran 2.0 s backwards without a new epoch; such messages are ignored"
            ])
        #expect(clock.counters.first { $0.name == "clock_backwards" }?.value == 3)
        #expect(clock.now?.nanoseconds == 2_000_000_000)
    }

    @Test func twoPlayersAreReportedByNameUntilOneStops() {
        let machine = Machine()
        let clock = NodeClock(isSimulated: true, machine: machine.clocks)
        clock.players = { [1: "player", 2: "second"] }
        _ = clock.receive(message(100), from: 1)
        _ = clock.receive(message(7), from: 2)
        let reason = clock.healthReasons.first
        #expect(reason?.code == "clock_rivals")
        #expect(reason?.message?.contains("'player', which is followed, and 'second'") == true)
        machine.pass(.seconds(5))
        #expect(clock.healthReasons.isEmpty && clock.now?.nanoseconds == 100)
        // The first player ends, so the second is followed in a new epoch.
        clock.players = { [2: "second"] }
        guard case .jumped? = clock.receive(message(8), from: 2) else {
            Issue.record("the remaining player is not followed")
            return
        }
    }

    @Test func aSilentPlayerIsReplacedWithoutARegistry() {
        let machine = Machine()
        let clock = NodeClock(isSimulated: true, machine: machine.clocks)
        _ = clock.receive(message(100), from: 1)
        machine.pass(.seconds(1))
        #expect(clock.receive(message(1), from: 2) == nil)
        machine.pass(.seconds(2))
        guard case .jumped? = clock.receive(message(1), from: 2) else {
            Issue.record("the new player is not followed")
            return
        }
    }

    @Test func aTimerCanBeCancelledBeforeAndAfterTimeBegins() {
        let clock = NodeClock(isSimulated: true, machine: Machine().clocks)
        var ticks = 0
        let early = clock.every(.seconds(1)) { ticks += 1 }
        let late = clock.every(.seconds(1)) { ticks += 1 }
        clock.cancel(early)
        _ = clock.receive(message(0), from: 1)
        clock.cancel(late)
        clock.runDueTimers()
        #expect(ticks == 0 && clock.nextTimer == nil)
    }
}
