/// The limits of a reader, and its checks.
public struct BagReadOptions: Hashable, Sendable {
    /// Check CRC-32 checksums where the bag has them.
    public var checkCRC = true
    /// The largest chunk in unpacked bytes; one that claims more is refused before memory is taken. 1 KiB...1 GiB.
    public var maxChunkBytes = 128 << 20
    /// Unpacked bytes of chunks that overlap in time and so must be open together when merging by log time.
    public var maxOpenBytes = 512 << 20
    /// Read the whole bag to build the index even where it has a summary.
    public var ignoreSummary = false

    /// Checked, 128 MiB a chunk, 512 MiB open together.
    public init() {}

    /// The chunk limit with the bounds the readers rely on: offsets inside a chunk fit 32 bits.
    var chunkLimit: Int { min(max(maxChunkBytes, 1 << 10), 1 << 30) }
    /// The most bytes of a chunk as it is stored: what cannot be compressed grows by less than a hundredth.
    var storedLimit: Int { chunkLimit + chunkLimit / 64 + 4_096 }
}

/// The ending of a bag, found by reading it through.
public enum BagEnding: Hashable, Sendable, CustomStringConvertible {
    /// With a footer and the closing magic bytes.
    case complete
    /// In the middle of something: the recorder was killed, the disk was full, or a copy broke off.
    case truncated(BagError)
    /// At a record that cannot be one; what follows is unreadable.
    case malformed(BagError)

    /// One line: what stopped the reader, and where.
    public var description: String {
        switch self {
        case .complete: "complete"
        case .truncated(let error), .malformed(let error): error.description
        }
    }
}

/// Parts of a bag that were passed over while reading it through.
public struct BagDamage: Hashable, Sendable {
    /// The first few causes, in file order.
    public private(set) var errors: [BagError] = []
    /// All of them, also those beyond the ones kept.
    public private(set) var count = 0
    /// Messages of channels that are not defined, passed over.
    public internal(set) var orphanMessages = 0
    /// Records with opcodes this version does not know, passed over, by opcode. They are allowed and not damage.
    public private(set) var unknownRecords: [UInt8: Int] = [:]

    static let kept = 100

    /// No damage.
    public init() {}

    mutating func note(_ error: BagError) {
        count += 1
        if errors.count < Self.kept { errors.append(error) }
    }

    mutating func noteUnknown(_ opcode: UInt8) { unknownRecords[opcode, default: 0] += 1 }

    /// Whether everything was readable.
    public var isNone: Bool { count == 0 && orphanMessages == 0 }
}
