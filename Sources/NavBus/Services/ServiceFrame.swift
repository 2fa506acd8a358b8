/// The header of every message between a service's client and server: `navbus.v1.ServiceFrame` in protobuf wire
/// format, see <doc:Services> for the fields and who sends what.
package struct ServiceFrame: Sendable, Hashable {
    /// The purpose of a message.
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
    /// The kind of method that the client expects; nil when it does not care.
    package var isStreamExpected: Bool?
    /// The largest response the client accepts, in bytes; 0 when it does not say.
    package var maximumResponseSize: UInt64 = 0

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

    /// False for kinds whose second frame means nothing.
    var carriesPayload: Bool { kind == .request || kind == .response || kind == .announcement || hasResponse }

    package var status: CallStatus {
        CallStatus(StatusCode(rawValue: code), message, details: details, trailers: metadata)
    }

    /// The header in wire format; absent fields are zero or empty.
    package var encoded: [UInt8] {
        let bound =
            160 + service.utf8.count + method.utf8.count + message.utf8.count + details.count
            + metadata.reduce(0) { $0 + $1.key.utf8.count + $1.value.count + 40 }
        return [UInt8](unsafeUninitializedCapacity: bound) { buffer, count in
            count = encode(into: UnsafeMutableRawBufferPointer(buffer)) ?? 0
        }
    }

    /// Writes the header to the front of `buffer`.
    ///
    /// - Returns: its size, nil when it does not fit.
    package func encode(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        var out = WireWriter(buffer)
        out.varint(1, UInt64(kind.rawValue))
        if call != 0 { out.fixed64(2, call) }
        if sequence != 0 { out.varint(3, sequence) }
        if !service.isEmpty { out.text(4, service) }
        if !method.isEmpty { out.text(5, method) }
        if timeoutNanoseconds != 0 { out.varint(6, timeoutNanoseconds) }
        for entry in metadata {
            let (key, value) = (entry.key.utf8.count, entry.value.count)
            out.header(7, key + value + 2 + WireWriter.size(UInt64(key)) + WireWriter.size(UInt64(value)))
            out.text(1, entry.key)
            out.bytes(2, entry.value)
        }
        if isIdempotent { out.varint(8, 1) }
        if credit != 0 { out.varint(9, credit) }
        if code != 0 { out.varint(10, UInt64(code)) }
        if !message.isEmpty { out.text(11, message) }
        if !details.isEmpty { out.bytes(12, details) }
        if serverBootID != 0 { out.fixed64(13, serverBootID) }
        if hasResponse { out.varint(14, 1) }
        if let isStreamExpected { out.varint(15, isStreamExpected ? 2 : 1) }
        if maximumResponseSize != 0 { out.varint(16, maximumResponseSize) }
        return out.overflowed ? nil : out.count
    }

    /// Writes the header without message, details and metadata when they are too much for a reader to accept.
    func encode(boundedInto buffer: UnsafeMutableRawBufferPointer) -> Int {
        if let count = encode(into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Self.maximumEncodedSize))) {
            return count
        }
        var small = self
        (small.message, small.details, small.metadata) = ("status details over the limit were left out", [], [])
        return small.encode(into: buffer) ?? 0
    }

    /// Reads a header; nil when it is not protobuf, over the limit, of an unknown kind, or holds invalid text.
    package init?(decoding bytes: UnsafeRawBufferPointer) {
        var names = NameCache?.none
        self.init(decoding: bytes, &names)
    }

    /// Reads a header, with names taken from a cache.
    init?(decoding bytes: UnsafeRawBufferPointer, _ names: inout NameCache?) {
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
            case 0x22: service = Self.text(reader.bytes(), &names)
            case 0x2a: method = Self.text(reader.bytes(), &names)
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
            case 0x78: isStreamExpected = Self.shape(reader.varint() ?? 0)
            case 0x80: maximumResponseSize = reader.varint() ?? 0
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

    private static func shape(_ value: UInt64) -> Bool? { value == 1 ? false : value == 2 ? true : nil }

    private static func text(_ bytes: UnsafeRawBufferPointer?, _ names: inout NameCache?) -> String {
        guard let bytes else { return "" }
        return names?.text(bytes) ?? String(decoding: bytes, as: UTF8.self)
    }

    private static func text(_ bytes: UnsafeRawBufferPointer?) -> String? {
        bytes.map { String(decoding: $0, as: UTF8.self) }
    }
}

extension ServiceFrame {
    /// The header, without message, details and metadata when they are too much for a reader to accept.
    package var boundedEncoding: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.maximumEncodedSize) { buffer, count in
            count = encode(boundedInto: UnsafeMutableRawBufferPointer(buffer))
        }
    }
}
