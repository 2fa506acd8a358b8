/// A hash of a run's results for comparing two runs: 64-bit FNV-1a, word by word.
package struct RunDigest: Equatable, Sendable {
    package private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    package init() {}

    package mutating func add(_ word: UInt64) { value = (value ^ word) &* 0x100_0000_01b3 }

    package mutating func add(_ bytes: some Sequence<UInt8>) { for byte in bytes { add(UInt64(byte)) } }
}
