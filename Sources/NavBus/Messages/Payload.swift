/// The bytes of a message as they arrived: no copy is made between the socket and the reader.
///
/// A payload may keep the block alive that it was received in (8 KiB for small messages), so copy what is stored for
/// long with ``bytes``.
public struct Payload: @unchecked Sendable {
    // Unchecked: ManagedBuffer cannot say it is Sendable, but this one is only read once it is here.
    let buffer: MessageBuffer

    /// The payload's size, in bytes.
    public let count: Int

    init(received buffer: MessageBuffer) {
        self.buffer = buffer
        count = buffer.count
    }

    /// A payload of no bytes, shared.
    static let none = Payload(received: .empty())

    /// A payload holding a copy of `bytes`.
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

    /// The bytes in place. Inlined into other modules, ``withUnsafeBytes(_:)`` cannot name libzmq's types.
    @usableFromInline
    var unsafeBytes: UnsafeRawBufferPointer { buffer.bytes }

    /// A copy of the bytes.
    public var bytes: [UInt8] { withUnsafeBytes { [UInt8]($0) } }
}
