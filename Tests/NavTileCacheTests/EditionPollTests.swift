import NavTileCache
import Testing

/// The polls of sources for their editions.
struct EditionPollTests {
    private static let second: Int64 = 1_000_000_000

    /// Returns the first whole second at which the source is polled.
    private static func next(_ inquiry: EditionPoll, from moment: Int64) -> Int64? {
        (0...10_000).lazy.map { moment + $0 * second }.first { inquiry.isDue(at: $0) }
    }

    @Test func failingPollsBackOffDespiteTilesOfNewEdition() {
        var inquiry = EditionPoll()
        var moment: Int64 = 0
        var pauses: [Int64] = []
        for _ in 0..<8 {
            #expect(inquiry.isDue(at: moment))
            inquiry.begin()
            #expect(!inquiry.isDue(at: moment))
            inquiry.fail(at: moment)
            for _ in 0..<1_000 {
                inquiry.noteChange()
                inquiry.hurry()
            }
            #expect(inquiry.isSuperseded && inquiry.isUrgent)
            let next = Self.next(inquiry, from: moment) ?? .max
            pauses.append((next - moment) / Self.second)
            moment = next
        }
        #expect(pauses == [2, 4, 8, 16, 32, 60, 60, 60])
        inquiry.begin()
        inquiry.succeed(isNews: true, interval: 3_600 * Self.second, at: moment)
        #expect(!inquiry.isSuperseded && Self.next(inquiry, from: moment) == moment + 3_600 * Self.second)
        // After a success, a change of tiles makes the poll due at once.
        inquiry.noteChange()
        #expect(inquiry.isDue(at: moment))
    }

    @Test func pollsThatContradictTilesBackOff() {
        var inquiry = EditionPoll()
        var moment: Int64 = 0
        var pauses: [Int64] = []
        for _ in 0..<3 {
            inquiry.noteChange()
            let next = Self.next(inquiry, from: moment) ?? .max
            pauses.append((next - moment) / Self.second)
            moment = next
            inquiry.begin()
            inquiry.succeed(isNews: false, interval: 3_600 * Self.second, at: moment)
            // The source's tiles are still tried again.
            #expect(!inquiry.isSuperseded)
        }
        #expect(pauses == [0, 2, 4])
    }

    @Test func alternatingEditionsArePolledWithGrowingPauses() {
        var inquiry = EditionPoll()
        var moment: Int64 = 0
        /// Polls as soon as possible after a tile of another edition, and returns the pause before the poll, seconds.
        func pause() -> Int64 {
            inquiry.noteChange()
            let next = Self.next(inquiry, from: moment) ?? .max
            defer { moment = next }
            inquiry.begin()
            inquiry.succeed(isNews: true, interval: 3_600 * Self.second, at: next)
            return (next - moment) / Self.second
        }
        #expect((0..<8).map { _ in pause() } == [0, 0, 2, 4, 8, 16, 32, 60])
        // After an edition that lasted for a while, a change is polled at once.
        moment += 600 * Self.second
        #expect((0..<3).map { _ in pause() } == [0, 0, 2])
        inquiry.restart(isUrgent: false)
        #expect(pause() == 0)
    }

    @Test func networkChangeOrOrderEndsBackoff() {
        var inquiry = EditionPoll()
        inquiry.begin()
        inquiry.fail(at: 0)
        #expect(!inquiry.isDue(at: Self.second))
        inquiry.restart(isUrgent: false)
        #expect(inquiry.isDue(at: Self.second) && !inquiry.isUrgent)
        inquiry.postpone(at: 0)
        #expect(!inquiry.isDue(at: Self.second))
        inquiry.restart(isUrgent: true)
        #expect(inquiry.isDue(at: Self.second) && inquiry.isUrgent)
    }
}
