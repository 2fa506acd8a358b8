/// The second frame of every message: `navbus.v1.Header` in protobuf wire format, all fields `fixed64`.
///
/// | field | type | meaning |
/// |---|---|---|
/// | 1 `sequence` | fixed64 | counts a publisher's messages on one topic from 1 |
/// | 2 `stamp_ns` | sfixed64 | when the content was true, nanoseconds UTC |
/// | 3 `boot_id` | fixed64 | random for each start of a publisher |
/// | 4 `schema_fingerprint` | fixed64 | of the payload's type; absent or 0 when unknown |
///
/// Written in field order, it is always 36 bytes. Readers accept the fields in any order and skip unknown ones.
public struct MessageHeader: Sendable, Hashable {
    /// The message's number among the publisher's messages on this topic, from 1.
    public var sequence: UInt64
    /// The moment when the content was true, nanoseconds UTC.
    public var stampNanoseconds: Int64
    /// A random number chosen at each start of the publisher.
    public var bootID: UInt64
    /// Fingerprint of the payload's schema, 0 when unknown.
    public var schemaFingerprint: UInt64

    /// Makes a header from its four fields.
    public init(sequence: UInt64, stampNanoseconds: Int64, bootID: UInt64, schemaFingerprint: UInt64) {
        self.sequence = sequence
        self.stampNanoseconds = stampNanoseconds
        self.bootID = bootID
        self.schemaFingerprint = schemaFingerprint
    }

    /// The size of a header as this module writes it, in bytes.
    public static let encodedSize = 36

    /// The largest header frame accepted, in bytes; it leaves room for fields of later versions.
    public static let maximumEncodedSize = 1024

    /// The header in protobuf wire format, ``encodedSize`` bytes.
    public var encoded: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.encodedSize) { buffer, count in
            encode(into: UnsafeMutableRawBufferPointer(buffer))
            count = Self.encodedSize
        }
    }

    /// Writes the header to the front of `buffer`, which holds at least ``encodedSize`` bytes.
    @inline(__always)
    func encode(into buffer: UnsafeMutableRawBufferPointer) {
        precondition(buffer.count >= Self.encodedSize)
        buffer[0] = 0x09
        buffer.storeBytes(of: sequence.littleEndian, toByteOffset: 1, as: UInt64.self)
        buffer[9] = 0x11
        buffer.storeBytes(of: stampNanoseconds.littleEndian, toByteOffset: 10, as: Int64.self)
        buffer[18] = 0x19
        buffer.storeBytes(of: bootID.littleEndian, toByteOffset: 19, as: UInt64.self)
        buffer[27] = 0x21
        buffer.storeBytes(of: schemaFingerprint.littleEndian, toByteOffset: 28, as: UInt64.self)
    }

    /// Parses a header frame.
    ///
    /// - Returns: nil when the frame is not a protobuf message, is over ``maximumEncodedSize`` bytes, lacks sequence,
    ///   stamp or boot id, or has sequence 0.
    public init?(decoding bytes: UnsafeRawBufferPointer) {
        let fields: Fields
        if let canonical = Self.readCanonical(bytes) {
            fields = canonical
        } else if let general = Self.readGeneral(bytes) {
            fields = general
        } else {
            return nil
        }
        guard fields.sequence > 0 else { return nil }
        self.init(
            sequence: fields.sequence, stampNanoseconds: Int64(bitPattern: fields.stamp), bootID: fields.boot,
            schemaFingerprint: fields.fingerprint)
    }

    private typealias Fields = (sequence: UInt64, stamp: UInt64, boot: UInt64, fingerprint: UInt64)

    /// Parses the frame as this module writes it, with four loads.
    @inline(__always)
    private static func readCanonical(_ bytes: UnsafeRawBufferPointer) -> Fields? {
        guard bytes.count == encodedSize, bytes[0] == 0x09, bytes[9] == 0x11, bytes[18] == 0x19, bytes[27] == 0x21
        else { return nil }
        func load(_ offset: Int) -> UInt64 {
            UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        return (load(1), load(10), load(19), load(28))
    }

    /// Parses the frame in any encoding; nil when a required field is missing.
    private static func readGeneral(_ bytes: UnsafeRawBufferPointer) -> Fields? {
        guard let found = readFound(bytes), let sequence = found.sequence, let stamp = found.stamp,
            let boot = found.boot
        else { return nil }
        return (sequence, stamp, boot, found.fingerprint)
    }

    private typealias FoundFields = (sequence: UInt64?, stamp: UInt64?, boot: UInt64?, fingerprint: UInt64)

    /// Parses any protobuf encoding of the fields; as protobuf specifies, the last occurrence of a repeated field counts.
    private static func readFound(_ bytes: UnsafeRawBufferPointer) -> FoundFields? {
        guard bytes.count <= maximumEncodedSize else { return nil }
        var reader = WireReader(bytes)
        var found: FoundFields = (nil, nil, nil, 0)
        while !reader.isAtEnd {
            guard let tag = reader.varint() else { return nil }
            switch tag {
            case 0x09: found.sequence = reader.fixed64()
            case 0x11: found.stamp = reader.fixed64()
            case 0x19: found.boot = reader.fixed64()
            case 0x21: found.fingerprint = reader.fixed64() ?? 0
            default: reader.skip(tag: tag)
            }
            if reader.failed { return nil }
        }
        return found
    }

    /// Returns the defect of a frame that ``init(decoding:)`` refuses, for example `a header without stamp_ns`.
    static func defect(of bytes: UnsafeRawBufferPointer) -> String {
        guard bytes.count <= maximumEncodedSize else {
            return "a header of \(bytes.count) bytes, over \(maximumEncodedSize)"
        }
        guard let found = readFound(bytes) else { return "a header that is not a navbus.v1.Header" }
        let fields = [("sequence", found.sequence), ("stamp_ns", found.stamp), ("boot_id", found.boot)]
        let missing = fields.filter { $0.1 == nil }.map(\.0)
        return missing.isEmpty
            ? "a header with sequence 0, which counts from 1" : "a header without \(missing.joined(separator: ", "))"
    }
}
