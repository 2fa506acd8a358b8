/// A value of a message type of the schema.
///
/// Every optional field is absent (`nil`) when unknown. Unknown fields of a newer sender are ignored, unknown enum
/// values survive.
public protocol Message: Sendable, Equatable {
    /// Name of the type in the schema, for example `navbus.v1.GnssFix`.
    static var fullName: String { get }
    /// First 8 bytes, little endian, of a SHA-256 over the canonical form of the type and all types it contains.
    static var schemaFingerprint: UInt64 { get }
    /// Reads a message from protobuf bytes; more than `limit` bytes are refused.
    init(decoding bytes: UnsafeRawBufferPointer, limit: Int) throws(MessageError)
    /// Writes the message as protobuf bytes into the buffer that the closure returns for their number.
    ///
    /// The closure is called once, with the exact size in bytes, and must return a buffer of at least that size.
    func encode(into buffer: (Int) -> UnsafeMutableRawBufferPointer)
    /// The message as protobuf bytes. A NUL inside a string is written as U+FFFD, since receivers refuse it.
    func encoded() -> [UInt8]
}

extension Message {
    /// Reads a message from protobuf bytes; more than `limit` bytes (64 MiB unless told) are refused.
    public init(decoding bytes: [UInt8], limit: Int = 64 << 20) throws(MessageError) {
        let result = bytes.withUnsafeBytes { raw in
            Result { () throws(MessageError) in try Self(decoding: raw, limit: limit) }
        }
        self = try result.get()
    }
}

/// An open enum of the schema: values that this build does not know survive as their number.
public protocol ProtoEnum: BitwiseCopyable, RawRepresentable, Sendable, Hashable, CustomStringConvertible
where RawValue == Int32 {
    /// Names in the schema, by number.
    static var names: [(value: Int32, name: String)] { get }
    /// Makes a value of any number, known or not.
    init(rawValue: Int32)
}

extension ProtoEnum {
    /// The name in the schema, or the number where there is none.
    public var description: String {
        Self.names.first { $0.value == rawValue }?.name ?? String(rawValue)
    }

    /// Whether this build knows a name for the value.
    public var isKnown: Bool { Self.names.contains { $0.value == rawValue } }
}
