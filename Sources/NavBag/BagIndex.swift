/// The index of a bag, without its messages, taken from the summary or built by reading the whole bag.
package struct BagIndex: Hashable, Sendable {
    /// The origin of the index.
    package enum Origin: Hashable, Sendable {
        case summary
        /// The whole bag was read, because it has no usable summary or because of the options.
        case scan(BagEnding, BagDamage)

        /// Returns a user-facing warning about the unreadable part of a bag; nil when no part is known to be unreadable.
        package func warning(about path: String) -> String? {
            loss.map { "'\(path)' is damaged: \($0); using the readable part" }
        }

        /// A one-line description of the unreadable part of the bag; nil when no part is known to be unreadable.
        package var loss: String? {
            guard case .scan(let ending, let damage) = self else { return nil }
            if ending != .complete { return ending.description }
            if let first = damage.errors.first {
                return damage.count > 1 ? "\(first), and \(damage.count - 1) more" : first.description
            }
            return damage.isNone ? nil : "\(damage.orphanMessages) messages belong to undefined channels"
        }
    }

    /// The origin of the index.
    package internal(set) var origin = Origin.summary
    /// All schemas by id.
    package internal(set) var schemas: [BagSchema] = []
    /// All channels by id.
    package internal(set) var channels: [BagChannel] = []
    /// The spans of the messages, in file order.
    package internal(set) var spans: [BagSpan] = []
    /// The attachments, in file order.
    package internal(set) var attachments: [BagRecordLocation] = []
    /// The metadata records, in file order.
    package internal(set) var metadata: [BagRecordLocation] = []
    /// The total number of messages; nil when the summary does not state it.
    package internal(set) var messageCount: UInt64?
    /// The earliest and the latest log time, ns; nil without messages or when the summary does not state them.
    package internal(set) var timeRange: ClosedRange<UInt64>?
    /// Message count, first and last log time by channel id; only the count when it comes from a summary.
    var tallies: [UInt16: Tally] = [:]

    struct Tally: Hashable, Sendable {
        var count: UInt64 = 0
        var times: ClosedRange<UInt64>?

        mutating func add(_ time: UInt64) {
            count += 1
            times = times.map { min($0.lowerBound, time)...max($0.upperBound, time) } ?? time...time
        }
    }

    /// Returns the channel with an id.
    package func channel(_ id: UInt16) -> BagChannel? {
        let place = channels.partitioningIndex { $0.id >= id }
        return place < channels.count && channels[place].id == id ? channels[place] : nil
    }

    /// Returns the schema with an id.
    package func schema(_ id: UInt16) -> BagSchema? {
        let place = schemas.partitioningIndex { $0.id >= id }
        return place < schemas.count && schemas[place].id == id ? schemas[place] : nil
    }

    /// Returns the channels of a topic: usually one, several when several publishers were recorded separately.
    package func channels(topic: String) -> [BagChannel] { channels.filter { $0.topic == topic } }
}

extension Array {
    fileprivate func partitioningIndex(where isSecond: (Element) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = low + (high - low) / 2
            if isSecond(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

// MARK: - From a full read

extension BagIndex {
    /// Reads the whole bag, damaged or not; throws the errors of ``MCAPLinearReader``.
    static func scan(_ source: some ByteSource, options: BagReadOptions) throws(BagError) -> BagIndex {
        var index = BagIndex()
        var reader = try MCAPLinearReader(source, options: options)
        var total = Tally()
        // Indexed by channel id up to the highest id; only messages of known channels are counted.
        var tallies: ContiguousArray<Tally> = []
        while let item = try reader.advance() {
            switch item {
            case .block(_, var span):
                var here = Tally()
                let missing = reader.known.selection.count - tallies.count
                if missing > 0 { tallies.append(contentsOf: repeatElement(Tally(), count: missing)) }
                while let message = reader.nextInBlock() {
                    here.add(message.logTime)
                    tallies[Int(message.channelID)].add(message.logTime)
                }
                guard let times = here.times else {
                    if span.kind != .bare { index.spans.append(span) }
                    continue
                }
                span.startTime = times.lowerBound
                span.endTime = times.upperBound
                index.spans.append(span)
                total.count += here.count
                total.times =
                    total.times.map {
                        min($0.lowerBound, times.lowerBound)...max($0.upperBound, times.upperBound)
                    } ?? times
            case .attachment(let offset, let length):
                do throws(BagError) {
                    let name = try source.attachmentName(offset, length, checkCRC: options.checkCRC)
                    index.attachments.append(BagRecordLocation(name: name, offset: offset, length: length))
                } catch {
                    reader.note(error)
                }
            case .metadata(let offset, let length):
                do throws(BagError) {
                    let name = try source.metadata(offset, length, limit: options.storedLimit).name
                    index.metadata.append(BagRecordLocation(name: name, offset: offset, length: length))
                } catch {
                    reader.note(error)
                }
            }
        }
        index.schemas = reader.known.sortedSchemas
        index.channels = reader.known.sortedChannels
        index.messageCount = total.count
        index.timeRange = total.times
        for channel in index.channels where Int(channel.id) < tallies.count {
            index.tallies[channel.id] = tallies[Int(channel.id)]
        }
        index.origin = .scan(reader.ending ?? .complete, reader.damage)
        return index
    }
}

extension ByteSource {
    /// Calls `body` with the content of the record at `offset`, which must have `opcode` and end after `length` bytes.
    ///
    /// - Parameter limit: the maximum size of the record, bytes; a larger one is rejected before memory is allocated.
    func record<Result>(
        _ opcode: UInt8, _ offset: Int, _ length: Int, limit: Int,
        _ body: (inout ByteCursor) throws(BagError) -> Result
    ) throws(BagError) -> Result {
        guard offset >= 0, length >= Layout.recordHeader, offset <= count, length <= count - offset else {
            throw BagError(
                .malformed, "the summary points beyond the end of the file, at \(length) bytes", offset: offset)
        }
        guard length <= limit else {
            throw BagError(
                .limitExceeded,
                "a \(Opcode.name(opcode)) record has \(length) bytes; the limit is \(limit), raise maxChunkBytes to "
                    + "read it", offset: offset)
        }
        return try withBytes(at: offset, count: length) { (bytes) throws(BagError) -> Result in
            var cursor = ByteCursor(bytes, base: offset)
            let found = try cursor.u8()
            let size = try cursor.length64()
            guard found == opcode, size == cursor.remaining else {
                throw BagError(
                    .malformed, "the summary points at a \(Opcode.name(opcode)) record where there is none",
                    offset: offset)
            }
            var content = ByteCursor(try cursor.take(size), base: offset + Layout.recordHeader)
            return try body(&content)
        }
    }

    func metadata(_ offset: Int, _ length: Int, limit: Int) throws(BagError) -> BagMetadata {
        try record(Opcode.metadata, offset, length, limit: limit) { (cursor) throws(BagError) in
            try BagMetadata(&cursor)
        }
    }

    func attachment(_ offset: Int, _ length: Int, _ options: BagReadOptions) throws(BagError) -> BagAttachment {
        try record(Opcode.attachment, offset, length, limit: options.storedLimit) { (cursor) throws(BagError) in
            try BagAttachment(&cursor, checkCRC: options.checkCRC)
        }
    }

    /// Returns the name of the attachment at `offset`; its contents are read only to check them, in pieces.
    ///
    /// - Parameter length: the size of the record, which lies entirely in the file, bytes.
    func attachmentName(_ offset: Int, _ length: Int, checkCRC: Bool) throws(BagError) -> String {
        let start = offset + Layout.recordHeader
        let size = length - Layout.recordHeader
        let (name, covered) = try withBytes(at: start, count: min(size, Layout.piece)) {
            (bytes) throws(BagError) -> (String, Int) in
            var cursor = ByteCursor(bytes, base: start)
            _ = try cursor.take(16)
            let name = try cursor.string()
            _ = try cursor.bytes32()
            let dataSize = try cursor.length64()
            guard dataSize <= size - cursor.position - 4 else {
                throw BagError(
                    .malformed, "the attachment \(name) claims more bytes than its record has", offset: start)
            }
            return (name, cursor.position + dataSize)
        }
        guard checkCRC else { return name }
        let stored = try withBytes(at: start + covered, count: 4) { (bytes) throws(BagError) -> UInt32 in
            UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self))
        }
        guard stored != 0 else { return name }
        guard try checksum(of: start..<start + covered) == stored else {
            throw BagError(.crcMismatch, "the attachment \(name) is damaged: its CRC differs", offset: start)
        }
        return name
    }

    /// Returns the CRC of the bytes in `range`, which are read in pieces.
    func checksum(of range: Range<Int>) throws(BagError) -> UInt32 {
        var crc: UInt32 = 0
        var place = range.lowerBound
        while place < range.upperBound {
            let size = min(Layout.piece, range.upperBound - place)
            let before = crc
            crc = try withBytes(at: place, count: size) { (bytes) throws(BagError) -> UInt32 in
                Checksum.of(bytes, continuing: before)
            }
            place += size
        }
        return crc
    }
}
