/// The schemas and channels by id, and the selection of channels.
struct Definitions {
    enum Selection {
        case unknown
        case known
        case wanted
    }

    private(set) var schemas: [UInt16: BagSchema] = [:]
    private(set) var channels: [UInt16: BagChannel] = [:]
    /// The ``Selection`` by channel id, up to the highest id; the loop over messages reads only this.
    private(set) var selection: ContiguousArray<Selection> = []
    private let topics: Set<String>?

    /// A selection of the channels of `topics`, or of all channels; definitions of other channels are kept but their
    /// messages skipped.
    init(topics: [String]? = nil) { self.topics = topics.map { Set($0) } }

    init(_ index: BagIndex, topics: [String]?) {
        self.init(topics: topics)
        for schema in index.schemas { schemas[schema.id] = schema }
        for channel in index.channels { select(channel) }
    }

    private mutating func select(_ channel: BagChannel) {
        channels[channel.id] = channel
        let missing = Int(channel.id) + 1 - selection.count
        if missing > 0 { selection.append(contentsOf: repeatElement(.unknown, count: missing)) }
        selection[Int(channel.id)] = topics?.contains(channel.topic) ?? true ? .wanted : .known
    }

    /// Adds a schema unless its id is defined already; a schema with id 0 is ignored, as the format requires.
    mutating func add(_ schema: BagSchema, at offset: Int) throws(BagError) {
        guard schema.id != 0 else { return }
        guard let known = schemas[schema.id] else {
            schemas[schema.id] = schema
            return
        }
        guard known == schema else {
            throw BagError(.malformed, "schema \(schema.id) is defined again, differently", offset: offset)
        }
    }

    mutating func add(_ channel: BagChannel, at offset: Int) throws(BagError) {
        guard let known = channels[channel.id] else { return select(channel) }
        guard known == channel else {
            throw BagError(.malformed, "channel \(channel.id) is defined again, differently", offset: offset)
        }
    }

    @inline(__always)
    func selection(of channel: UInt16) -> Selection {
        Int(channel) < selection.count ? selection[Int(channel)] : .unknown
    }

    var sortedSchemas: [BagSchema] { schemas.values.sorted { $0.id < $1.id } }
    var sortedChannels: [BagChannel] { channels.values.sorted { $0.id < $1.id } }
}

/// The selected messages of a block, in reading order.
struct BlockContents {
    /// A message: its log time, and the offset and length of its record's content in the block.
    struct Entry {
        var logTime: UInt64
        var offset: UInt32
        var length: UInt32
    }

    let bytes: [UInt8]
    /// The offset of the block in the bag, which orders equal log times.
    let offset: Int
    private(set) var entries: ContiguousArray<Entry> = []
    private(set) var position = 0
    private(set) var orphanMessages = 0

    /// Walks the records of `block`.
    ///
    /// - Parameters:
    ///   - learning: whether to add the definitions in the block; otherwise only the given ones apply.
    ///   - sorted: whether to sort by log time, then by file order, instead of keeping the file order.
    ///   - failure: the error that stopped the walk before the end of the block; the messages before it are kept.
    init(
        _ block: Block, _ definitions: inout Definitions, learning: Bool, start: UInt64 = 0, end: UInt64? = nil,
        sorted: Bool, failure: inout BagError?
    ) {
        bytes = block.bytes
        offset = block.offset
        var isOrdered = true
        var previous: UInt64 = 0
        bytes.withUnsafeBytes { all in
            var place = 0
            while place < all.count {
                let left = all.count - place
                guard left >= Layout.recordHeader else {
                    failure = Self.cut(at: block.offset, left)
                    return
                }
                let opcode = all[place]
                let length = UInt64(littleEndian: all.loadUnaligned(fromByteOffset: place + 1, as: UInt64.self))
                guard length <= UInt64(left - Layout.recordHeader) else {
                    failure = Self.cut(at: block.offset, left)
                    return
                }
                let content = place + Layout.recordHeader
                let size = Int(length)
                place = content + size
                if opcode == Opcode.message {
                    guard size >= Layout.messageHeader else {
                        failure = BagError(.malformed, "a message record has only \(size) bytes", offset: block.offset)
                        return
                    }
                    let channel = UInt16(littleEndian: all.loadUnaligned(fromByteOffset: content, as: UInt16.self))
                    switch definitions.selection(of: channel) {
                    case .wanted: break
                    case .known: continue
                    case .unknown:
                        orphanMessages += 1
                        continue
                    }
                    let time = UInt64(littleEndian: all.loadUnaligned(fromByteOffset: content + 6, as: UInt64.self))
                    guard time >= start, end.map({ time < $0 }) ?? true else { continue }
                    isOrdered = isOrdered && time >= previous
                    previous = time
                    entries.append(Entry(logTime: time, offset: UInt32(content), length: UInt32(size)))
                } else if opcode == 0 {
                    failure = BagError(.malformed, "a record has opcode 0", offset: block.offset)
                    return
                } else if learning, opcode == Opcode.schema || opcode == Opcode.channel {
                    let record = UnsafeRawBufferPointer(rebasing: all[content..<place])
                    do throws(BagError) {
                        try Self.learn(opcode, record, &definitions, at: block.offset)
                    } catch {
                        failure = error
                    }
                }
            }
        }
        if sorted, !isOrdered {
            entries.sort { ($0.logTime, $0.offset) < ($1.logTime, $1.offset) }
        }
    }

    private static func cut(at offset: Int, _ left: Int) -> BagError {
        BagError(.truncated, "a record exceeds the \(left) bytes left in its chunk", offset: offset)
    }

    private static func learn(
        _ opcode: UInt8, _ record: UnsafeRawBufferPointer, _ definitions: inout Definitions, at offset: Int
    ) throws(BagError) {
        var cursor = ByteCursor(record, base: offset)
        if opcode == Opcode.schema {
            try definitions.add(try BagSchema(&cursor), at: offset)
        } else {
            try definitions.add(try BagChannel(&cursor), at: offset)
        }
    }

    var isExhausted: Bool { position >= entries.count }

    /// The log time of the next message; there must be one.
    var nextTime: UInt64 { entries[position].logTime }

    mutating func next() -> BagMessage? {
        guard position < entries.count else { return nil }
        let entry = entries[position]
        position += 1
        let start = Int(entry.offset)
        let data = start + Layout.messageHeader
        let (channel, sequence, publishTime) = bytes.withUnsafeBytes { all in
            (
                UInt16(littleEndian: all.loadUnaligned(fromByteOffset: start, as: UInt16.self)),
                UInt32(littleEndian: all.loadUnaligned(fromByteOffset: start + 2, as: UInt32.self)),
                UInt64(littleEndian: all.loadUnaligned(fromByteOffset: start + 14, as: UInt64.self))
            )
        }
        return BagMessage(
            channelID: channel, sequence: sequence, logTime: entry.logTime, publishTime: publishTime,
            data: bytes[data..<start + Int(entry.length)])
    }
}
