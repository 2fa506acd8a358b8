import Glibc

/// A small, fast generator whose sequence depends on its seed alone (SplitMix64; Steele, Lea and Flood, 2014).
public struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// A generator for a seed; equal seeds give equal sequences on every machine.
    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// Draws a whole number in 0 ..< `limit`; 0 for a limit below 1.
    public mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(max(1, limit))) }

    /// A number in 0 ..< 1 with 53 random bits.
    public mutating func uniform() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// A normally distributed number of mean 0 and variance 1 (Box and Muller, 1958).
    public mutating func gaussian() -> Double {
        let radius = (-2 * log(1 - uniform())).squareRoot()
        return radius * cos(2 * Double.pi * uniform())
    }
}
