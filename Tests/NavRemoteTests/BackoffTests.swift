import NavRemote
import Testing

/// The pauses between attempts.
struct BackoffTests {
    @Test func pausesDoubleUpToTheMaximumWithJitterInTheUpperHalf() {
        let backoff = Backoff(first: 0.2, longest: 1)
        for (repetition, longest) in [0.2, 0.4, 0.8, 1, 1].enumerated() {
            #expect(backoff.pause(before: repetition, chance: 0) == longest / 2)
            #expect(abs(backoff.pause(before: repetition, chance: 0.5) - longest * 0.75) < 1e-12)
        }
        #expect(backoff.pause(before: .max, chance: 0) == 0.5 && backoff.pause(before: .min, chance: 0) == 0.1)
        #expect(Backoff(first: 5, longest: 1).pause(before: 0, chance: 0) == 0.5)
    }
}
