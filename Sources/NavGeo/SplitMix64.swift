/// A seeded random number generator (SplitMix64; Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
package struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        return Self.mixed(state)
    }

    /// Draws a number in 0 ..< 1 with 53 random bits.
    package mutating func uniform() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// Returns a hash in which every bit depends on all bits of the input; the mapping is one-to-one.
    package static func mixed(_ bits: UInt64) -> UInt64 {
        var bits = bits
        bits = (bits ^ (bits >> 30)) &* 0xbf58_476d_1ce4_e5b9
        bits = (bits ^ (bits >> 27)) &* 0x94d0_49bb_1331_11eb
        return bits ^ (bits >> 31)
    }
}
