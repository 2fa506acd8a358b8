/// A source of a bag's bytes with random access, from a file or from memory.
package protocol ByteSource {
    /// The number of bytes, constant for the life of the source.
    var count: Int { get }

    /// Calls `body` with `count` bytes from `offset` on.
    ///
    /// Callers request only bytes within `0..<self.count`; a source that cannot read them throws ``BagError/Code/io``. The pointer is valid
    /// only during the call.
    func withBytes<Result>(
        at offset: Int, count: Int, _ body: (UnsafeRawBufferPointer) throws(BagError) -> Result
    ) throws(BagError) -> Result
}

/// A sink that takes the bytes of a bag in file order.
///
/// It may throw, for example when the disk is full: the writer then throws ``BagError/Code/sinkFailed`` and keeps the
/// rejected bytes for a retry.
package protocol ByteSink {
    /// Appends all of `bytes`, or throws and appends none; the pointer is valid only during the call.
    mutating func write(_ bytes: UnsafeRawBufferPointer) throws
    /// Appends all of `bytes` like ``write(_:)``, followed by `tail`, which the next call replaces.
    ///
    /// The tail makes the bag complete if nothing follows. A sink that cannot replace bytes omits it.
    mutating func write(_ bytes: UnsafeRawBufferPointer, provisionalTail tail: UnsafeRawBufferPointer) throws
    /// Makes all bytes written so far as durable as the sink guarantees.
    mutating func flush() throws
}

extension ByteSink {
    /// Does nothing; for sinks without a buffer of their own.
    package mutating func flush() throws {}

    /// Appends `bytes` without the tail.
    package mutating func write(
        _ bytes: UnsafeRawBufferPointer, provisionalTail tail: UnsafeRawBufferPointer
    ) throws { try write(bytes) }
}
