package import NavBag

/// A bag held in memory.
package struct MemorySource: ByteSource, Sendable {
    /// The bytes of the whole bag.
    package let bytes: [UInt8]

    /// Creates a source over `bytes`.
    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The number of bytes.
    package var count: Int { bytes.count }

    /// Calls `body` with the bytes in place, without a copy.
    package func withBytes<Result>(
        at offset: Int, count: Int, _ body: (UnsafeRawBufferPointer) throws(BagError) -> Result
    ) throws(BagError) -> Result {
        guard offset >= 0, count >= 0, offset <= bytes.count, count <= bytes.count - offset else {
            throw BagError(.io, "\(count) bytes requested beyond the end at \(bytes.count)", offset: offset)
        }
        return try bytes.span.withUnsafeBytes { (all) throws(BagError) -> Result in
            try body(UnsafeRawBufferPointer(rebasing: all[offset..<offset + count]))
        }
    }
}

/// Collects a bag in memory.
package struct MemorySink: ByteSink, Sendable {
    /// The bytes written so far.
    package private(set) var bytes: [UInt8] = []

    /// Creates an empty sink.
    package init() {}

    /// Appends `bytes`.
    package mutating func write(_ bytes: UnsafeRawBufferPointer) { self.bytes.append(contentsOf: bytes) }
}

/// Hands the bytes of a bag to a closure.
package struct ClosureSink: ByteSink {
    private let body: (UnsafeRawBufferPointer) throws -> Void

    /// Creates a sink that calls `body` with each run of bytes, in file order.
    package init(_ body: @escaping (UnsafeRawBufferPointer) throws -> Void) { self.body = body }

    /// Calls the closure.
    package mutating func write(_ bytes: UnsafeRawBufferPointer) throws { try body(bytes) }
}
