import CBzip2
package import NavBag

/// The kind of a record (field `op` of its header).
private enum Operation {
    static let message: UInt8 = 2
    static let chunk: UInt8 = 5
    static let connection: UInt8 = 7
}

/// A sequential reader of a ROS 1 bag (format 2.0), chunk by chunk, without its index.
///
/// Memory holds one chunk and the connections. The records of a chunk are sorted by time.
package struct ROS1Bag<Source: ByteSource>: RecordSource {
    private static var version: [UInt8] { Array("#ROSBAG V2.0\n".utf8) }
    /// The largest chunk, header or message that is read.
    private static var largest: Int { 128 << 20 }
    /// The maximum number of connections of a bag.
    private static var mostConnections: Int { 65_535 }

    private let source: Source
    private var position: Int
    private var connections: [UInt32: RecordChannel] = [:]
    /// The messages of the open chunk, the next one last.
    private var ready: [Record] = []

    /// Whether bytes are the beginning of a ROS 1 bag.
    package static func begins(_ head: [UInt8]) -> Bool { head.starts(with: version) }

    package init(_ source: Source) throws(BagError) {
        self.source = source
        position = Self.version.count
        let head = try source.withBytes(at: 0, count: min(source.count, position)) { (bytes) throws(BagError) in
            Array(bytes)
        }
        guard head == Self.version else {
            throw BagError(.malformed, "not a ROS 1 bag of format 2.0: convert older ones with 'rosbag fix'", offset: 0)
        }
    }

    /// The share of the file that has been read.
    package var progress: Double { source.count > 0 ? Double(position) / Double(source.count) : 1 }

    /// Returns the next message.
    ///
    /// Throws once where the bag is truncated or damaged, and once for each chunk that cannot be unpacked.
    package mutating func next() throws(BagError) -> Record? {
        while ready.isEmpty {
            guard position < source.count else { return nil }
            let start = position
            // After an error, the same place must not be read again.
            position = source.count
            let header = try block(at: start)
            let data = try extent(at: header.upperBound)
            position = data.upperBound
            try take(try read(header), data)
        }
        return ready.removeLast()
    }

    /// Returns the range of the bytes that follow a 32-bit length.
    private func extent(at offset: Int) throws(BagError) -> Range<Int> {
        guard source.count - offset >= 4 else { throw BagError(.truncated, "the bag is truncated", offset: offset) }
        let length = try source.withBytes(at: offset, count: 4) { (bytes) throws(BagError) in
            Int(UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self)))
        }
        guard length <= source.count - offset - 4 else {
            throw BagError(
                .truncated, "a record claims \(length) bytes, more than the truncated bag has", offset: offset)
        }
        return offset + 4..<offset + 4 + length
    }

    private func block(at offset: Int) throws(BagError) -> Range<Int> {
        let range = try extent(at: offset)
        guard range.count <= 1 << 20 else {
            throw BagError(.limitExceeded, "the header of a record has \(range.count) bytes", offset: offset)
        }
        return range
    }

    private func read(_ range: Range<Int>) throws(BagError) -> [UInt8] {
        guard range.count <= Self.largest else {
            throw BagError(.limitExceeded, "a record has \(range.count) bytes", offset: range.lowerBound)
        }
        return try source.withBytes(at: range.lowerBound, count: range.count) { (bytes) throws(BagError) in
            Array(bytes)
        }
    }

    private mutating func take(_ header: [UInt8], _ data: Range<Int>) throws(BagError) {
        let fields = try Self.fields(header[...])
        switch fields["op"]?.first {
        case Operation.chunk:
            let size = Int(fields["size"]?.littleEndian32 ?? 0)
            guard size <= Self.largest else {
                throw BagError(.limitExceeded, "a chunk claims \(size) bytes", offset: data.lowerBound)
            }
            let name = String(decoding: fields["compression"] ?? [], as: UTF8.self)
            let packed = try read(data)
            switch name {
            case "none": try takeChunk(packed[...])
            case "lz4": try takeChunk(try unpackLZ4(packed, size: size)[...])
            case "bz2": try takeChunk(try Self.unpackBzip2(packed, size: size)[...])
            default:
                throw BagError(
                    .unsupportedCompression, "a chunk is compressed with '\(name.prefix(40))'", offset: data.lowerBound)
            }
        case Operation.connection, Operation.message: try takeRecord(fields, try read(data)[...])
        default: break
        }
    }

    private mutating func takeChunk(_ chunk: ArraySlice<UInt8>) throws(BagError) {
        var rest = chunk
        func part() throws(BagError) -> ArraySlice<UInt8> {
            guard let length = rest.littleEndian32, Int(length) <= rest.count - 4 else {
                throw BagError(.malformed, "a chunk ends within a record")
            }
            defer { rest = rest.dropFirst(4 + Int(length)) }
            return rest.dropFirst(4).prefix(Int(length))
        }
        var failure: BagError?
        do throws(BagError) {
            while !rest.isEmpty {
                let header = try part()
                try takeRecord(try Self.fields(header), try part())
            }
        } catch {
            failure = error
        }
        // The sort is stable: messages with equal times keep their order in the chunk.
        ready = ready.enumerated().sorted { ($0.element.logTime, $0.offset) > ($1.element.logTime, $1.offset) }
            .map(\.element)
        if let failure { throw failure }
    }

    private mutating func takeRecord(_ fields: [String: ArraySlice<UInt8>], _ data: ArraySlice<UInt8>) throws(BagError)
    {
        guard let id = fields["conn"]?.littleEndian32 else { return }
        if fields["op"]?.first == Operation.connection {
            guard connections[id] == nil, connections.count < Self.mostConnections else { return }
            let about = try Self.fields(data)
            let text = { (name: String) in String(decoding: about[name] ?? [], as: UTF8.self) }
            connections[id] = RecordChannel(
                topic: String(decoding: fields["topic"] ?? [], as: UTF8.self), messageEncoding: "ros1",
                schemaName: text("type"), schemaEncoding: "ros1msg",
                schemaData: Array(about["message_definition"] ?? []), metadata: ["callerid": text("callerid")])
        } else if fields["op"]?.first == Operation.message {
            guard let channel = connections[id], let time = fields["time"], let seconds = time.littleEndian32,
                let nanoseconds = time.dropFirst(4).littleEndian32
            else { throw BagError(.malformed, "a message has no time or an undefined connection") }
            let stamp = UInt64(seconds) * 1_000_000_000 + UInt64(nanoseconds)
            ready.append(Record(channel: channel, logTime: stamp, publishTime: stamp, data: data))
        }
    }

    /// Parses the fields of a header: `name=value`, each after its length.
    private static func fields(_ header: ArraySlice<UInt8>) throws(BagError) -> [String: ArraySlice<UInt8>] {
        var fields: [String: ArraySlice<UInt8>] = [:]
        var rest = header
        while !rest.isEmpty {
            guard let length = rest.littleEndian32, Int(length) <= rest.count - 4 else {
                throw BagError(.malformed, "a field of a record header exceeds the header")
            }
            let field = rest.dropFirst(4).prefix(Int(length))
            guard let equals = field.firstIndex(of: UInt8(ascii: "=")) else {
                throw BagError(.malformed, "a field of a record header has no value")
            }
            fields[String(decoding: field[..<equals], as: UTF8.self)] = field[(equals + 1)...]
            rest = rest.dropFirst(4 + Int(length))
        }
        return fields
    }

    private static func unpackBzip2(_ packed: [UInt8], size: Int) throws(BagError) -> [UInt8] {
        var produced = UInt32(size)
        var packed = packed
        var status: Int32 = 0
        let unpacked = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            status = packed.withUnsafeMutableBytes { input in
                BZ2_bzBuffToBuffDecompress(
                    UnsafeMutableRawPointer(buffer.baseAddress)?.assumingMemoryBound(to: CChar.self), &produced,
                    input.baseAddress?.assumingMemoryBound(to: CChar.self), UInt32(input.count), 0, 0)
            }
            count = status == BZ_OK ? Int(produced) : 0
        }
        guard status == BZ_OK, unpacked.count == size else {
            throw BagError(.malformed, "a bz2 chunk cannot be unpacked to the \(size) bytes that it claims")
        }
        return unpacked
    }
}

extension ArraySlice<UInt8> {
    /// The first four bytes; nil when there are fewer.
    fileprivate var littleEndian32: UInt32? {
        guard count >= 4 else { return nil }
        return (0..<4).reduce(0) { $0 | UInt32(self[startIndex + $1]) << (8 * UInt32($1)) }
    }
}
