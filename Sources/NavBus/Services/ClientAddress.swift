/// A client's address at a ROUTER, assigned by it or chosen by the client: 1 to 255 bytes.
///
/// ZeroMQ's own identities have five bytes; up to eight are stored inline, longer ones in an array.
package struct ClientAddress: Hashable, Sendable, Comparable {
    private let packed: UInt64
    private let count: UInt8
    /// Whether the client is on another host, so that its address belongs to another ROUTER.
    package let isRemote: Bool
    private let long: [UInt8]

    package init(_ bytes: UnsafeRawBufferPointer, isRemote: Bool = false) {
        self.isRemote = isRemote
        count = UInt8(clamping: bytes.count)
        guard bytes.count <= 8 else {
            (packed, long) = (0, [UInt8](bytes))
            return
        }
        var packed: UInt64 = 0
        for (index, byte) in bytes.enumerated() { packed |= UInt64(byte) << UInt64(8 * index) }
        (self.packed, long) = (packed, [])
    }

    package init(_ text: String, isRemote: Bool = false) {
        var text = text
        self = text.withUTF8 { ClientAddress(UnsafeRawBufferPointer($0), isRemote: isRemote) }
    }

    /// Calls `body` with the address's bytes.
    @inline(__always)
    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if count > 8 { return long.withUnsafeBytes(body) }
        return withUnsafeBytes(of: packed.littleEndian) { body(UnsafeRawBufferPointer(rebasing: $0[..<Int(count)])) }
    }

    package static func < (first: ClientAddress, second: ClientAddress) -> Bool {
        if first.isRemote != second.isRemote { return second.isRemote }
        return (first.count, first.packed) == (second.count, second.packed)
            ? first.long.lexicographicallyPrecedes(second.long)
            : (first.count, first.packed) < (second.count, second.packed)
    }
}

/// The outcome of sending a message.
package enum Transmission: Sendable {
    /// The transport accepted the message.
    case sent
    /// The peer does not read: its queue is full.
    case full
    /// The peer does not exist, or no longer.
    case unreachable
}
