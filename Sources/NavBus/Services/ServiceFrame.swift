/// The header of every message between a service's client and server: `navbus.v1.ServiceFrame` in protobuf wire
/// format, see <doc:Services> for the fields and who sends what.
package struct ServiceFrame: Sendable, Hashable {
    /// What a message is for.
    package enum Kind: UInt8, Sendable {
        case request = 1
        case response, end, cancel, credit, ping, pong, goodbye
        /// Between hosts: asks for the announcement, and carries it.
        case watch, announcement
    }

    /// The largest header accepted, in bytes.
    package static let maximumEncodedSize = 65_536

    package var kind: Kind
    package var call: UInt64 = 0
    package var sequence: UInt64 = 0
    package var service = ""
    package var method = ""
    package var timeoutNanoseconds: UInt64 = 0
    package var metadata: [MetadataEntry] = []
    package var isIdempotent = false
    package var credit: UInt64 = 0
    package var code: UInt8 = 0
    package var message = ""
    package var details: [UInt8] = []
    package var serverBootID: UInt64 = 0
    package var hasResponse = false

    package init(_ kind: Kind, call: UInt64 = 0) {
        self.kind = kind
        self.call = call
    }

    package init(end call: UInt64, _ status: CallStatus) {
        self.init(.end, call: call)
        code = status.code.rawValue
        message = String(status.message.prefix(2000))
        details = status.details
        metadata = Array(status.trailers.prefix(MetadataEntry.maximumCount))
    }

    package var status: CallStatus {
        CallStatus(StatusCode(rawValue: code), message, details: details, trailers: metadata)
    }

    /// The header in wire format; absent fields are zero or empty.
    package var encoded: [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(64)
        out.append(0x08)
        out.append(kind.rawValue)
        if call != 0 { Self.append(fixed: call, 2, to: &out) }
        if sequence != 0 { Self.append(sequence, 3, to: &out) }
        if !service.isEmpty { Self.append(service.utf8, 4, to: &out) }
        if !method.isEmpty { Self.append(method.utf8, 5, to: &out) }
        if timeoutNanoseconds != 0 { Self.append(timeoutNanoseconds, 6, to: &out) }
        for entry in metadata {
            var inner: [UInt8] = []
            Self.append(entry.key.utf8, 1, to: &inner)
            Self.append(entry.value, 2, to: &inner)
            Self.append(inner, 7, to: &out)
        }
        if isIdempotent { Self.append(1, 8, to: &out) }
        if credit != 0 { Self.append(credit, 9, to: &out) }
        if code != 0 { Self.append(UInt64(code), 10, to: &out) }
        if !message.isEmpty { Self.append(message.utf8, 11, to: &out) }
        if !details.isEmpty { Self.append(details, 12, to: &out) }
        if serverBootID != 0 { Self.append(fixed: serverBootID, 13, to: &out) }
        if hasResponse { Self.append(1, 14, to: &out) }
        return out
    }

    /// Reads a header; nil when it is not protobuf, over the limit, of an unknown kind, or holds invalid text.
    package init?(decoding bytes: UnsafeRawBufferPointer) {
        guard bytes.count <= Self.maximumEncodedSize else { return nil }
        self.init(.ping)
        var reader = WireReader(bytes)
        var kind: Kind?
        while !reader.isAtEnd {
            guard let tag = reader.varint() else { return nil }
            switch tag {
            case 0x08: kind = Kind(rawValue: UInt8(truncatingIfNeeded: min(reader.varint() ?? 0, 255)))
            case 0x11: call = reader.fixed64() ?? 0
            case 0x18: sequence = reader.varint() ?? 0
            case 0x22: service = Self.text(reader.bytes()) ?? ""
            case 0x2a: method = Self.text(reader.bytes()) ?? ""
            case 0x30: timeoutNanoseconds = reader.varint() ?? 0
            case 0x3a:
                guard metadata.count < MetadataEntry.maximumCount, let inner = reader.bytes(),
                    let entry = Self.entry(inner)
                else { return nil }
                metadata.append(entry)
            case 0x40: isIdempotent = reader.varint() ?? 0 != 0
            case 0x48: credit = reader.varint() ?? 0
            case 0x50: code = UInt8(truncatingIfNeeded: min(reader.varint() ?? 0, 255))
            case 0x5a: message = Self.text(reader.bytes()) ?? ""
            case 0x62: details = reader.bytes().map { [UInt8]($0) } ?? []
            case 0x69: serverBootID = reader.fixed64() ?? 0
            case 0x70: hasResponse = reader.varint() ?? 0 != 0
            default: reader.skip(tag: tag)
            }
            if reader.failed { return nil }
        }
        guard let kind else { return nil }
        self.kind = kind
    }

    private static func entry(_ bytes: UnsafeRawBufferPointer) -> MetadataEntry? {
        var reader = WireReader(bytes)
        var entry = MetadataEntry("", [])
        while !reader.isAtEnd {
            guard let tag = reader.varint() else { return nil }
            switch tag {
            case 0x0a: entry.key = text(reader.bytes()) ?? ""
            case 0x12: entry.value = reader.bytes().map { [UInt8]($0) } ?? []
            default: reader.skip(tag: tag)
            }
            if reader.failed { return nil }
        }
        return entry
    }

    private static func text(_ bytes: UnsafeRawBufferPointer?) -> String? {
        bytes.map { String(decoding: $0, as: UTF8.self) }
    }

    private static func append(varint value: UInt64, to out: inout [UInt8]) {
        var value = value
        while value >= 0x80 {
            out.append(UInt8(truncatingIfNeeded: value) | 0x80)
            value >>= 7
        }
        out.append(UInt8(truncatingIfNeeded: value))
    }

    private static func append(_ value: UInt64, _ field: UInt64, to out: inout [UInt8]) {
        append(varint: field << 3, to: &out)
        append(varint: value, to: &out)
    }

    private static func append(fixed value: UInt64, _ field: UInt64, to out: inout [UInt8]) {
        append(varint: field << 3 | 1, to: &out)
        withUnsafeBytes(of: value.littleEndian) { out.append(contentsOf: $0) }
    }

    private static func append(_ bytes: some Collection<UInt8>, _ field: UInt64, to out: inout [UInt8]) {
        append(varint: field << 3 | 2, to: &out)
        append(varint: UInt64(bytes.count), to: &out)
        out.append(contentsOf: bytes)
    }
}

extension ServiceFrame {
    /// The header, without message, details and metadata when they are too much for a reader to accept.
    var boundedEncoding: [UInt8] {
        let whole = encoded
        guard whole.count > Self.maximumEncodedSize else { return whole }
        var small = self
        (small.message, small.details, small.metadata) = ("status details over the limit were left out", [], [])
        return small.encoded
    }
}
