import Glibc
import NavGeo

/// A seeded generator of whole numbers and of uniformly and normally distributed numbers.
package struct SeededRandom: RandomNumberGenerator, Sendable {
    private var generator: SplitMix64

    /// Creates a generator; equal seeds give equal sequences on every machine.
    package init(seed: UInt64) { generator = SplitMix64(seed: seed) }

    package mutating func next() -> UInt64 { generator.next() }

    /// Draws a whole number in 0 ..< `limit`; 0 for a limit below 1.
    package mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(max(1, limit))) }

    /// Draws a number in 0 ..< 1 with 53 random bits.
    package mutating func uniform() -> Double { generator.uniform() }

    /// Draws a normally distributed number of mean 0 and variance 1 (Box and Muller, 1958).
    package mutating func gaussian() -> Double {
        let radius = (-2 * log(1 - uniform())).squareRoot()
        return radius * cos(2 * Double.pi * uniform())
    }
}
