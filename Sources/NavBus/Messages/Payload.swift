/// The bytes of a message as received, without a copy between the socket and the reader.
///
/// A payload may keep its receive block alive (8 KiB for small messages), so copy what you store for long, with ``bytes`` or
/// ``init(copying:)``.
public struct Payload: @unchecked Sendable {
    // Unchecked: ManagedBuffer is not Sendable, but this one is read-only from here on.
    let buffer: MessageBuffer

    /// The payload's size, in bytes.
    public let count: Int

    init(received buffer: MessageBuffer) {
        self.buffer = buffer
        count = buffer.count
    }

    /// A shared payload of no bytes.
    static let none = Payload(received: .empty())

    /// Creates a payload with a copy of `bytes`.
    public init(copying bytes: UnsafeRawBufferPointer) {
        self.init(received: .copy(of: bytes))
    }

    /// Calls `body` with the bytes in place; they are valid only during the call.
    @inlinable
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(self) {} }
        return try body(unsafeBytes)
    }

    /// The bytes in place; a separate member because the inlinable ``withUnsafeBytes(_:)`` cannot name libzmq's types.
    @usableFromInline
    var unsafeBytes: UnsafeRawBufferPointer { buffer.bytes }

    /// The payload for storage: a small one is copied, so that it does not keep its receive block alive.
    package var detached: Payload { count < Self.sharedSize ? withUnsafeBytes { Payload(copying: $0) } : self }

    /// The size from which a payload fills at least half of its receive block.
    private static let sharedSize = 4_096

    /// A copy of the bytes.
    public var bytes: [UInt8] { withUnsafeBytes { [UInt8]($0) } }
}
