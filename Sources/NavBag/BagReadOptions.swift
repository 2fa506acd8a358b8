/// The limits and checks of a reader.
package struct BagReadOptions: Hashable, Sendable {
    /// Whether to check the CRC-32 checksums in the bag.
    package var checkCRC = true
    /// The largest chunk in unpacked bytes, 1 KiB...1 GiB; a larger one is rejected before memory is allocated.
    package var maxChunkBytes = 128 << 20
    /// The maximum unpacked bytes of chunks that overlap in time and are therefore open together when merging by log
    /// time.
    package var maxOpenBytes = 512 << 20
    /// Whether to build the index by reading the whole bag even if it has a summary.
    package var ignoreSummary = false

    /// Creates options with checksums checked, at most 128 MiB per chunk and 512 MiB open together.
    package init() {}

    /// The chunk limit, clamped to the bounds that the readers rely on: offsets inside a chunk fit 32 bits.
    var chunkLimit: Int { min(max(maxChunkBytes, 1 << 10), 1 << 30) }
    /// The maximum size of a stored chunk, bytes: incompressible data grows by less than a hundredth.
    var storedLimit: Int { chunkLimit + chunkLimit / 64 + 4_096 }
}

/// The way a bag ends, determined by reading the whole bag.
package enum BagEnding: Hashable, Sendable, CustomStringConvertible {
    /// With a footer and the closing magic bytes.
    case complete
    /// In the middle of a record: the recorder was killed, the disk was full, or a copy was interrupted.
    case truncated(BagError)
    /// At an invalid record; everything after it is unreadable.
    case malformed(BagError)

    /// A one-line description of where and why reading stopped.
    package var description: String {
        switch self {
        case .complete: "complete"
        case .truncated(let error), .malformed(let error): error.description
        }
    }
}

/// The damaged parts of a bag that a reader skipped.
package struct BagDamage: Hashable, Sendable {
    /// The first few causes, in file order.
    package private(set) var errors: [BagError] = []
    /// The number of all causes, including those not kept.
    package private(set) var count = 0
    /// The number of skipped messages of undefined channels.
    package internal(set) var orphanMessages = 0
    /// The number of skipped records of unknown opcodes, by opcode; the format allows them, so they do not count as
    /// damage.
    package private(set) var unknownRecords: [UInt8: Int] = [:]

    static let kept = 100

    /// Creates a value without damage.
    package init() {}

    mutating func note(_ error: BagError) {
        count += 1
        if errors.count < Self.kept { errors.append(error) }
    }

    mutating func noteUnknown(_ opcode: UInt8) { unknownRecords[opcode, default: 0] += 1 }

    /// Whether everything was readable.
    package var isNone: Bool { count == 0 && orphanMessages == 0 }
}
