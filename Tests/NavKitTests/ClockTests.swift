import NavGeo
import NavKit
import Testing

/// The interpretation of /clock messages, and the timers that are due.
struct ClockFollowerTests {
    private func sample(_ time: Int64, _ epoch: UInt32 = 0, from boot: UInt64 = 1) -> ClockFollower.Sample {
        ClockFollower.Sample(time: SimulatedTime(nanoseconds: time), epoch: epoch, bootID: boot)
    }

    private func receive(
        _ follower: inout ClockFollower, _ sample: ClockFollower.Sample, alive: Set<UInt64> = [1, 2]
    ) -> ClockFollower.Verdict {
        follower.receive(sample) { alive.contains($0) }
    }

    @Test func timeStartsAdvancesAndPauses() {
        var follower = ClockFollower()
        guard case .event(.started(let first)) = receive(&follower, sample(5)) else {
            Issue.record("the first message does not start time")
            return
        }
        #expect(first.time.nanoseconds == 5 && first.epoch.number == 1)
        #expect(receive(&follower, sample(9)) == .event(.advanced(SimulatedTime(nanoseconds: 9))))
        #expect(receive(&follower, sample(9)) == .event(.advanced(SimulatedTime(nanoseconds: 9))))
    }

    @Test func aHigherEpochIsAJumpInEitherDirection() {
        var follower = ClockFollower()
        _ = receive(&follower, sample(100))
        guard case .event(.jumped(let from, let to)) = receive(&follower, sample(5, 1)) else {
            Issue.record("no jump")
            return
        }
        #expect((from.epoch.number, from.time.nanoseconds, to.epoch.number, to.time.nanoseconds) == (1, 100, 2, 5))
        // A late message of the previous epoch is ignored.
        #expect(receive(&follower, sample(101)) == .ignored(.pastEpoch, isFirst: true))
        #expect(follower.moment == to)
    }

    @Test func backwardsClockIsIgnoredAndReportedOnce() {
        var follower = ClockFollower()
        _ = receive(&follower, sample(100))
        #expect(receive(&follower, sample(99)) == .ignored(.backwards, isFirst: true))
        #expect(receive(&follower, sample(1)) == .ignored(.backwards, isFirst: false))
        #expect(follower.ignored[.backwards] == 2)
        #expect(receive(&follower, sample(101)) == .event(.advanced(SimulatedTime(nanoseconds: 101))))
    }

    @Test func secondPlayerIsIgnoredWhileTheFirstIsAlive() {
        var follower = ClockFollower()
        _ = receive(&follower, sample(100))
        #expect(receive(&follower, sample(7, 3, from: 2)) == .ignored(.rival, isFirst: true))
        #expect(receive(&follower, sample(8, 3, from: 2)) == .ignored(.rival, isFirst: false))
        guard case .event(.jumped(_, let to)) = receive(&follower, sample(9, 3, from: 2), alive: [2]) else {
            Issue.record("the remaining player is not followed")
            return
        }
        #expect(to.time.nanoseconds == 9 && follower.followed == 2)
    }
}

struct TimerQueueTests {
    private func at(_ time: Int64) -> NodeTime { NodeTime(nanoseconds: time) }

    /// Returns all timers due until `now` with their due times.
    private func due(_ queue: inout TimerQueue, _ now: Int64, skips: Bool = false) -> [Int64] {
        var moments: [Int64] = []
        while let timer = queue.takeDue(at: at(now), skipsMissed: skips) { moments.append(timer.due.nanoseconds) }
        return moments
    }

    @Test func timersFireInOrderAndPeriodicOnesRepeat() {
        var queue = TimerQueue()
        _ = queue.add(due: at(30))
        let ticking = queue.add(due: at(10), every: .nanoseconds(10))
        #expect(due(&queue, 9) == [])
        #expect(due(&queue, 35) == [10, 20, 30, 30])
        #expect(queue.next == at(40))
        queue.remove(ticking)
        #expect(queue.next == nil)
    }

    @Test func lateTimerSkipsMissedPeriodsOnRequest() {
        var queue = TimerQueue()
        _ = queue.add(due: at(10), every: .nanoseconds(10))
        #expect(due(&queue, 95, skips: true) == [10])
        #expect(queue.next == at(105))
    }

    @Test func jumpRestartsPeriodsAndKeepsRemainingWaits() {
        var queue = TimerQueue()
        _ = queue.add(due: at(1_000), every: .nanoseconds(10))
        _ = queue.add(due: at(1_025))
        queue.rebase(from: at(1_005), to: at(50))
        #expect(due(&queue, 49) == [])
        #expect(due(&queue, 55) == [50])
        #expect(due(&queue, 70) == [60, 70, 70])
    }

    @Test func extremeTimesDoNotTrap() {
        var queue = TimerQueue()
        _ = queue.add(due: at(.max), every: .seconds(1))
        #expect(due(&queue, .max) == [.max])
        #expect(queue.next == nil)
        _ = queue.add(due: at(.min))
        queue.rebase(from: at(.max), to: at(.min))
        #expect(due(&queue, .min) == [.min])
    }
}
