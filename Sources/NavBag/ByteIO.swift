/// Random access to the bytes of a bag. The reader asks; the source decides whether it maps, reads or holds them.
public protocol ByteSource {
    /// The number of bytes there are; fixed for the life of the source.
    var count: Int { get }

    /// Calls `body` with `count` bytes from `offset` on. Callers stay within `0..<self.count`; a source that cannot
    /// deliver throws ``BagError/Code/io``. The pointer is valid during the call only.
    func withBytes<Result>(
        at offset: Int, count: Int, _ body: (UnsafeRawBufferPointer) throws(BagError) -> Result
    ) throws(BagError) -> Result
}

/// Takes the bytes of a bag in file order. It may throw, for instance when the disk is full: the writer then reports
/// ``BagError/Code/sinkFailed`` and keeps what was not taken for another try.
public protocol ByteSink {
    /// Appends all of `bytes`, or throws and has taken none of them. The pointer is valid during the call only.
    mutating func write(_ bytes: UnsafeRawBufferPointer) throws
    /// Appends all of `bytes` as ``write(_:)`` does, and puts `tail` behind them, which the next call replaces: with it
    /// the bag is complete if nothing follows. A sink that cannot replace bytes leaves the tail out.
    mutating func write(_ bytes: UnsafeRawBufferPointer, provisionalTail tail: UnsafeRawBufferPointer) throws
    /// Makes everything written so far as durable as the sink promises.
    mutating func flush() throws
}

extension ByteSink {
    /// Does nothing: for sinks without a buffer of their own.
    public mutating func flush() throws {}

    /// Leaves the tail out.
    public mutating func write(
        _ bytes: UnsafeRawBufferPointer, provisionalTail tail: UnsafeRawBufferPointer
    ) throws { try write(bytes) }
}
