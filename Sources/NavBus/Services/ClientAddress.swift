/// The address a ROUTER gave a client, or that the client chose: 1 to 255 bytes.
///
/// ZeroMQ's identities have five bytes, which are stored inline; more than eight need an array.
package struct ClientAddress: Hashable, Sendable, Comparable {
    private let packed: UInt64
    private let count: UInt8
    /// True for a client on another host: its address is one of another ROUTER's.
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
    /// The transport has it.
    case sent
    /// The peer does not read: its queue is full.
    case full
    /// There is no such peer, or no more.
    case gone
}
