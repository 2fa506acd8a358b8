/// The header of every message between a service's client and server: `navbus.v1.ServiceFrame` in protobuf wire format,
/// see <doc:Services> for the fields and who sends them.
@dynamicMemberLookup
package struct ServiceFrame: Sendable, Hashable {
    /// The purpose of a message.
    package enum Kind: UInt8, Sendable {
        case request = 1
        case response, end, cancel, credit, ping, pong, goodbye
        /// Between hosts: a request for the announcement, and the announcement.
        case watch, announcement
    }

    /// The largest header accepted, in bytes.
    package static let maximumEncodedSize = 65_536

    package var kind: Kind
    package var call: UInt64 = 0
    package var sequence: UInt64 = 0
    package var credit: UInt64 = 0
    package var code: UInt8 = 0
    package var hasResponse = false
    /// Zero or one element: the array serves as a box.
    private var opening: [Opening] = []

    /// The fields that only the first and last frames of a call have.
    ///
    /// They are boxed because every message of a stream has a frame, which is passed through several functions.
    package struct Opening: Sendable, Hashable {
        package var service = ""
        package var method = ""
        package var timeoutNanoseconds: UInt64 = 0
        package var metadata: [MetadataEntry] = []
        package var isIdempotent = false
        package var message = ""
        package var details: [UInt8] = []
        package var serverBootID: UInt64 = 0
        /// The kind of method that the client expects; nil for either.
        package var isStreamExpected: Bool?
        /// The largest response that the client accepts, in bytes; 0 when unspecified.
        package var maximumResponseSize: UInt64 = 0

        fileprivate static let absent = Opening()
    }

    /// The fields of ``Opening``, as if they were the frame's own.
    package subscript<Value>(dynamicMember field: WritableKeyPath<Opening, Value>) -> Value {
        get { opening.isEmpty ? Opening.absent[keyPath: field] : opening[0][keyPath: field] }
        set {
            if opening.isEmpty { opening.append(Opening()) }
            opening[0][keyPath: field] = newValue
        }
    }

    package init(_ kind: Kind, call: UInt64 = 0) {
        self.kind = kind
        self.call = call
    }

    package init(end call: UInt64, _ status: CallStatus) {
        self.init(.end, call: call)
        code = status.code.rawValue
        if status == .ok { return }
        self.message = String(status.message.prefix(2000))
        self.details = status.details
        self.metadata = Array(status.trailers.prefix(MetadataEntry.maximumCount))
    }

    /// Whether this kind of frame has a meaningful payload.
    var carriesPayload: Bool { kind == .request || kind == .response || kind == .announcement || hasResponse }

    package var status: CallStatus {
        CallStatus(StatusCode(rawValue: code), self.message, details: self.details, trailers: self.metadata)
    }

    /// The header in wire format; zero or empty fields are absent.
    package var encoded: [UInt8] {
        let opening = opening.first ?? Opening.absent
        let texts = opening.service.utf8.count + opening.method.utf8.count + opening.message.utf8.count
        let bound =
            160 + texts + opening.details.count
            + opening.metadata.reduce(0) { $0 + $1.key.utf8.count + $1.value.count + 40 }
        return [UInt8](unsafeUninitializedCapacity: bound) { buffer, count in
            count = encode(into: UnsafeMutableRawBufferPointer(buffer)) ?? 0
        }
    }

    /// Writes the header to the front of `buffer`.
    ///
    /// - Returns: the header's size, nil when it does not fit.
    package func encode(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        var out = WireWriter(buffer)
        out.varint(1, UInt64(kind.rawValue))
        if call != 0 { out.fixed64(2, call) }
        if sequence != 0 { out.varint(3, sequence) }
        if let opening = opening.first { encodeFront(of: opening, to: &out) }
        if credit != 0 { out.varint(9, credit) }
        if code != 0 { out.varint(10, UInt64(code)) }
        if let opening = opening.first {
            if !opening.message.isEmpty { out.text(11, opening.message) }
            if !opening.details.isEmpty { out.bytes(12, opening.details) }
            if opening.serverBootID != 0 { out.fixed64(13, opening.serverBootID) }
        }
        if hasResponse { out.varint(14, 1) }
        if let opening = opening.first {
            if let isStreamExpected = opening.isStreamExpected { out.varint(15, isStreamExpected ? 2 : 1) }
            if opening.maximumResponseSize != 0 { out.varint(16, opening.maximumResponseSize) }
        }
        return out.overflowed ? nil : out.count
    }

    private func encodeFront(of opening: Opening, to out: inout WireWriter) {
        if !opening.service.isEmpty { out.text(4, opening.service) }
        if !opening.method.isEmpty { out.text(5, opening.method) }
        if opening.timeoutNanoseconds != 0 { out.varint(6, opening.timeoutNanoseconds) }
        for entry in opening.metadata {
            let (key, value) = (entry.key.utf8.count, entry.value.count)
            out.header(7, key + value + 2 + WireWriter.size(UInt64(key)) + WireWriter.size(UInt64(value)))
            out.text(1, entry.key)
            out.bytes(2, entry.value)
        }
        if opening.isIdempotent { out.varint(8, 1) }
    }

    /// Writes the header, without message, details and metadata when they exceed what a reader accepts.
    package func encode(boundedInto buffer: UnsafeMutableRawBufferPointer) -> Int {
        if let count = encode(into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Self.maximumEncodedSize))) {
            return count
        }
        var small = self
        (small.message, small.details, small.metadata) = ("status details over the limit were omitted", [], [])
        return small.encode(into: buffer) ?? 0
    }

    /// Parses a header; nil when it is not protobuf, over the limit, of an unknown kind, or holds invalid text.
    package init?(decoding bytes: UnsafeRawBufferPointer) {
        var names = NameCache?.none
        self.init(decoding: bytes, &names)
    }

    /// Parses a header, with names taken from a cache.
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
            case 0x22: self.service = Self.text(reader.bytes(), &names)
            case 0x2a: self.method = Self.text(reader.bytes(), &names)
            case 0x30: self.timeoutNanoseconds = reader.varint() ?? 0
            case 0x3a:
                guard self.metadata.count < MetadataEntry.maximumCount, let inner = reader.bytes(),
                    let entry = Self.entry(inner)
                else { return nil }
                self.metadata.append(entry)
            case 0x40: self.isIdempotent = reader.varint() ?? 0 != 0
            case 0x48: credit = reader.varint() ?? 0
            case 0x50: code = UInt8(truncatingIfNeeded: min(reader.varint() ?? 0, 255))
            case 0x5a: self.message = Self.text(reader.bytes()) ?? ""
            case 0x62: self.details = reader.bytes().map { [UInt8]($0) } ?? []
            case 0x69: self.serverBootID = reader.fixed64() ?? 0
            case 0x70: hasResponse = reader.varint() ?? 0 != 0
            case 0x78: self.isStreamExpected = Self.shape(reader.varint() ?? 0)
            case 0x80: self.maximumResponseSize = reader.varint() ?? 0
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
