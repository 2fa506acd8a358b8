/// A value of a message type of the schema.
///
/// An optional field is absent (`nil`) when its value is unknown. Unknown fields of a newer sender are ignored; unknown enum
/// values are kept.
public protocol Message: Sendable, Equatable {
    /// The name of the type in the schema, for example `navbus.v1.GnssFix`.
    static var fullName: String { get }
    /// The first 8 bytes, little endian, of the SHA-256 of the canonical form of the type and all types that it contains.
    static var schemaFingerprint: UInt64 { get }
    /// Reads a message from protobuf bytes; more than `limit` bytes are refused.
    init(decoding bytes: UnsafeRawBufferPointer, limit: Int) throws(MessageError)
    /// Writes the message as protobuf bytes into the buffer that the closure returns for their count.
    ///
    /// The closure is called once, with the exact size in bytes, and must return a buffer of at least that size.
    func encode(into buffer: (Int) -> UnsafeMutableRawBufferPointer)
    /// Returns the message as protobuf bytes; a NUL inside a string becomes U+FFFD, since receivers refuse NUL.
    func encoded() -> [UInt8]
}

extension Message {
    /// Reads a message from protobuf bytes; more than `limit` bytes (by default 64 MiB) are refused.
    public init(decoding bytes: [UInt8], limit: Int = 64 << 20) throws(MessageError) {
        let result = bytes.withUnsafeBytes { raw in
            Result { () throws(MessageError) in try Self(decoding: raw, limit: limit) }
        }
        self = try result.get()
    }
}

/// An open enum of the schema: values unknown to this build keep their number.
public protocol ProtoEnum: BitwiseCopyable, RawRepresentable, Sendable, Hashable, CustomStringConvertible
where RawValue == Int32 {
    /// The names in the schema, by number.
    static var names: [(value: Int32, name: String)] { get }
    /// Creates a value from any number, known or not.
    init(rawValue: Int32)
}

extension ProtoEnum {
    /// The name in the schema, or the number if the value is unknown.
    public var description: String {
        Self.names.first { $0.value == rawValue }?.name ?? String(rawValue)
    }

    /// Whether this build has a name for the value.
    public var isKnown: Bool { Self.names.contains { $0.value == rawValue } }
}
