import GNSSNode
import NavKit
import NavRecording
import NavReplay
import NavWire
import NavigationNode
import Testing

/// The times at which the fixes of a file are published.
struct PlaybackTests {
    private let second: Int64 = 1_000_000_000

    /// Returns the publication time of each fix, s, for a playback that is polled at the times it requests.
    private func times(_ playback: inout Playback, from start: Int64 = 0, subscriberAt: Int64 = 0) -> [Double] {
        var (now, out) = (start, [] as [Double])
        for _ in 0..<10_000 {
            switch playback.step(now, hasSubscriber: now >= subscriberAt) {
            case .publish: out.append(Double(now - start) / 1e9)
            case .wait(let moment): now = max(now, moment)
            case .jump: continue
            case .end: return out
            }
        }
        return out
    }

    @Test func fixesArePublishedAtThePaceOfTheirStamps() {
        let stamps = ([100, 101, nil, 103] as [Int64?]).map { $0.map { $0 * second } }
        var playback = Playback(stamps: stamps, rate: 1, loops: false)
        #expect(times(&playback, from: 7) == [0, 1, 2, 3])
        var fast = Playback(stamps: stamps, rate: 4, loops: false)
        #expect(times(&fast) == [0, 0.25, 0.5, 0.75])
    }

    @Test func fixesWithoutStampsAreASecondApart() {
        var none = Playback(stamps: [nil, nil, nil, nil], rate: 1, loops: false)
        #expect(times(&none) == [0, 1, 2, 3])
        // A receiver that gets the date only some time after its start.
        var leading = Playback(stamps: [nil, nil, 100 * second, 101 * second, nil], rate: 2, loops: false)
        #expect(times(&leading) == [0, 0.5, 1, 1.5, 2])
        let half = second / 2
        var between = Playback(stamps: [0, nil, nil, half, 2 * half, nil, half, nil], rate: 1, loops: false)
        #expect(times(&between) == [0, 0.5, 0.5, 0.5, 1, 1, 1, 1.5])
        var extreme = Playback(stamps: [nil, .min, nil, .max, nil], rate: 1, loops: false)
        #expect(times(&extreme).count == 5)
    }

    @Test func longGapsAreSkipped() {
        let years = 10 * 365 * 86_400 * second
        var playback = Playback(stamps: [0, second, years, years + second, .max], rate: 1, loops: false)
        #expect(times(&playback) == [0, 1, 1, 2, 2])
    }

    /// Files with unordered drives, or with a clock that was set back.
    @Test func fixesAfterAStepBackKeepTheirIntervals() {
        func times(_ stamps: [Int64]) -> [Double] {
            var playback = Playback(stamps: stamps.map { $0 * second }, rate: 1, loops: false)
            return self.times(&playback)
        }
        #expect(times([0, 1, 2, 5_000, 3, 4, 5]) == [0, 1, 2, 2, 2, 3, 4])
        #expect(times([500, 501, 0, 1, 800]) == [0, 1, 1, 2, 801])
        // A single wrong stamp does not shift the others.
        #expect(times([500, 501, 0, 502, 503]) == [0, 1, 1, 2, 3])
        #expect(times([500, 501, 0]) == [0, 1, 1])
    }

    @Test func delayedPlaybackContinuesWhereItWas() {
        let stamps = (0...10).map { Optional(Int64($0) * second) }
        var playback = Playback(stamps: stamps, rate: 10, loops: false)
        #expect(playback.step(0, hasSubscriber: true) == .publish(0))
        // After a delay of three seconds thirty fixes would be due.
        #expect(playback.step(3 * second, hasSubscriber: true) == .publish(1))
        #expect(playback.step(3 * second, hasSubscriber: true) == .wait(until: 3 * second + second / 10))
    }

    @Test func playbackWaitsALimitedTimeForASubscriber() {
        var playback = Playback(stamps: [0], rate: 1, loops: false)
        #expect(times(&playback, subscriberAt: 3 * second) == [3])
        var patient = Playback(stamps: [0], rate: 1, loops: false)
        #expect(times(&patient, subscriberAt: .max) == [10])
    }

    @Test func playbackEndsShortlyAfterTheLastFix() {
        var playback = Playback(stamps: [0], rate: 1, loops: false)
        #expect(playback.step(0, hasSubscriber: true) == .publish(0))
        #expect(playback.step(0, hasSubscriber: true) == .wait(until: second))
        #expect(playback.step(second - 1, hasSubscriber: true) == .wait(until: second))
        #expect(playback.step(second, hasSubscriber: true) == .end)
    }

    @Test func loopingPlaybackRestarts() {
        var playback = Playback(stamps: [0, second], rate: 1, loops: true)
        #expect(times(&playback).prefix(5) == [0, 1, 1, 2, 2])
        var empty = Playback(stamps: [], rate: 1, loops: true)
        #expect(times(&empty).isEmpty)
    }

    @Test func fileOfASingleInstantIsRepeatedOncePerSecond() {
        var one = Playback(stamps: [0], rate: 1, loops: true)
        #expect(times(&one).prefix(4) == [0, 1, 2, 3])
        var fast = Playback(stamps: [7, 7], rate: 10_000, loops: true)
        #expect(times(&fast).prefix(4) == [0, 0, 1, 1])
    }

    @Test func rateCanChangeDuringPlayback() {
        let stamps = (0...10).map { Optional(Int64($0) * second) }
        var playback = Playback(stamps: stamps, rate: 1, loops: false)
        for moment in 0...4 as ClosedRange<Int64> {
            #expect(playback.step(moment * second, hasSubscriber: true) == .publish(Int(moment)))
        }
        // Half a second after the fifth fix the rate doubles, so the sixth fix is due a quarter of a second later.
        playback.setRate(2, at: 4 * second + second / 2)
        #expect(
            playback.step(4 * second + second / 2, hasSubscriber: true) == .wait(until: 4 * second + second * 3 / 4))
        #expect(playback.step(4 * second + second * 3 / 4, hasSubscriber: true) == .publish(5))
        #expect(playback.step(6 * second, hasSubscriber: true) == .publish(6))
        playback.setRate(1e-9, at: 6 * second)
        playback.setRate(1e9, at: 6 * second)
    }
}
