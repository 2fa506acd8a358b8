/// The findings of ``checkBag(_:options:schemaProblem:)``.
package struct BagCheck: Hashable, Sendable {
    /// The messages of one channel.
    package struct Channel: Hashable, Sendable {
        /// Topic, encoding and metadata.
        package let channel: BagChannel
        /// The schema's name; empty without a schema.
        package let schemaName: String
        /// The number of readable messages.
        package internal(set) var messageCount: UInt64 = 0
        /// The number of published messages missing from the bag, from sequence gaps.
        ///
        /// They are counted per run of a publisher: each run has a channel with its `boot_id`.
        package internal(set) var missingCount: UInt64 = 0
        var last: UInt32?
    }

    /// The first hundred problems, in file order.
    package private(set) var problems: [String] = []
    /// The number of all problems, including those not kept.
    package private(set) var problemCount = 0
    /// The number of readable messages.
    package internal(set) var messageCount: UInt64 = 0
    /// The earliest and the latest log time, ns; nil without messages.
    package internal(set) var timeRange: ClosedRange<UInt64>?
    /// The number of messages whose log time is before the preceding message's, which the format allows.
    package internal(set) var backwardCount: UInt64 = 0
    /// The longest gap between consecutive messages in file order, ns.
    package internal(set) var longestGap: UInt64 = 0
    /// The channels, sorted by topic, then by id.
    package internal(set) var channels: [Channel] = []

    /// Whether messages are found through an index, which bags without chunks lack.
    package internal(set) var isIndexed = true

    /// Whether the check found no problem.
    package var isSound: Bool { problemCount == 0 }

    mutating func note(_ problem: String, count: Int = 1) {
        problemCount += count
        if problems.count < BagDamage.kept { problems.append(problem) }
    }
}

/// Reads a whole bag and compares its index with its content.
///
/// It checks framing, checksums, definitions, message indexes, statistics, and the publishers' sequences. Memory holds one
/// chunk, the definitions and about 100 bytes per chunk.
///
/// - Parameter schemaProblem: returns the reason why messages of a schema cannot be decoded; nil when they can.
/// - Throws: the errors of ``MCAPLinearReader/init(_:topics:options:)`` and of the source.
package func checkBag(
    _ source: some ByteSource, options: BagReadOptions = BagReadOptions(), schemaProblem: (BagSchema) -> String?
) throws(BagError) -> BagCheck {
    var check = BagCheck()
    var reader = try MCAPLinearReader(source, options: options)
    var channels: [UInt16: BagCheck.Channel] = [:]
    var spans: [BagSpan] = []
    var records = (attachments: 0, metadata: 0)
    var previous: UInt64?
    while let item = try reader.advance() {
        switch item {
        case .block(_, let span):
            if span.kind == .chunk { spans.append(span) }
            while let message = reader.nextInBlock() {
                check.take(message, after: &previous)
                channels[message.channelID, default: reader.known.checked(message.channelID)].take(message)
            }
        case .attachment(let offset, let length):
            records.attachments += 1
            do throws(BagError) {
                _ = try source.attachmentName(offset, length, checkCRC: options.checkCRC)
            } catch {
                reader.note(error)
            }
        case .metadata(let offset, let length):
            records.metadata += 1
            do throws(BagError) {
                _ = try source.metadata(offset, length, limit: options.storedLimit)
            } catch {
                reader.note(error)
            }
        }
    }
    let damage = reader.damage
    for error in damage.errors { check.note(error.description) }
    if damage.count > damage.errors.count { check.note("further problems", count: damage.count - damage.errors.count) }
    if damage.orphanMessages > 0 {
        check.note("\(damage.orphanMessages) messages belong to undefined channels")
    }
    if let ending = reader.ending, ending != .complete { check.note(ending.description) }
    for schema in reader.known.sortedSchemas {
        if let problem = schemaProblem(schema) { check.note("the schema \(schema.name): \(problem)") }
    }
    for channel in reader.known.sortedChannels where channels[channel.id] == nil {
        channels[channel.id] = reader.known.checked(channel.id)
    }
    check.channels = channels.values.sorted { ($0.channel.topic, $0.channel.id) < ($1.channel.topic, $1.channel.id) }
    for channel in check.channels where channel.missingCount > 0 {
        check.note("\(channel.channel.topic): \(channel.missingCount) messages are missing from the sequence")
    }
    let (_, dataStart) = try BlockReader.readHeader(source)
    guard let index = try BagIndex.summary(source, dataStart: dataStart, options: options) else {
        if spans.isEmpty, try BagIndex.isWithoutChunks(source, dataStart, messageCount: check.messageCount, options) {
            check.isIndexed = false
        } else {
            check.note("there is no usable index: the summary is missing or damaged")
        }
        return check
    }
    try check.compare(index, source, spans, records, reader.known, options)
    return check
}

extension MCAPReader {
    /// Reads the messages of some topics in file order, and checks their order and the publishers' sequences.
    ///
    /// - Throws: the errors of ``MessageCursor/next()``.
    package func checkSequences(of topics: [String]) throws(BagError) -> BagCheck {
        var check = BagCheck()
        var channels: [UInt16: BagCheck.Channel] = [:]
        var previous: UInt64?
        var cursor = messages(BagQuery(topics: topics, order: .file))
        while let message = try cursor.next() {
            guard let channel = index.channel(message.channelID) else { continue }
            check.take(message, after: &previous)
            let name = index.schema(channel.schemaID)?.name ?? ""
            channels[channel.id, default: BagCheck.Channel(channel: channel, schemaName: name)].take(message)
        }
        check.channels = channels.values.sorted {
            ($0.channel.topic, $0.channel.id) < ($1.channel.topic, $1.channel.id)
        }
        return check
    }
}

extension Definitions {
    fileprivate func checked(_ id: UInt16) -> BagCheck.Channel {
        let channel =
            channels[id] ?? BagChannel(id: id, schemaID: 0, topic: "", messageEncoding: "", metadata: [:])
        return BagCheck.Channel(channel: channel, schemaName: schemas[channel.schemaID]?.name ?? "")
    }
}

extension BagCheck.Channel {
    fileprivate mutating func take(_ message: BagMessage) {
        messageCount += 1
        // Other writers number messages differently. A lower number is a repetition.
        if channel.metadata["boot_id"] != nil, let last, message.sequence > last {
            missingCount += UInt64(message.sequence - last - 1)
        }
        last = message.sequence
    }
}

extension BagCheck {
    fileprivate mutating func take(_ message: BagMessage, after previous: inout UInt64?) {
        let time = message.logTime
        messageCount += 1
        timeRange = timeRange.map { min($0.lowerBound, time)...max($0.upperBound, time) } ?? time...time
        if let before = previous {
            if time < before {
                backwardCount += 1
            } else if time - before > longestGap {
                longestGap = time - before
            }
        }
        previous = time
    }

    /// Compares an index with the content of the bag.
    fileprivate mutating func compare(
        _ index: BagIndex, _ source: some ByteSource, _ spans: [BagSpan], _ records: (attachments: Int, metadata: Int),
        _ known: Definitions, _ options: BagReadOptions
    ) throws(BagError) {
        if index.schemas != known.sortedSchemas || index.channels != known.sortedChannels {
            note("the schemas or channels of the index differ from those of the messages")
        }
        if let count = index.messageCount, count != messageCount {
            note("the statistics count \(count) messages, but there are \(messageCount)")
        }
        for channel in channels {
            guard let count = index.tallies[channel.channel.id]?.count, count != channel.messageCount else { continue }
            let topic = channel.channel.topic
            note("\(topic): the statistics count \(count) messages, but there are \(channel.messageCount)")
        }
        if let range = index.timeRange, range != timeRange {
            note("the times of the index differ from those of the messages")
        }
        if index.attachments.count != records.attachments || index.metadata.count != records.metadata {
            note("the attachments or metadata of the index differ from those of the bag")
        }
        if index.spans.count != spans.count {
            note("the index has \(index.spans.count) chunks, but there are \(spans.count)")
        }
        let loader = BlockLoader(options)
        for (indexed, found) in zip(index.spans, spans) {
            var bare = indexed
            bare.messageIndexes = []
            guard bare == found else {
                note("the index entry of a chunk does not match the chunk (at byte \(found.offset))")
                continue
            }
            guard !indexed.messageIndexes.isEmpty, let block = try? loader.load(found, from: source) else { continue }
            var failure: BagError?
            var definitions = known
            let contents = BlockContents(block, &definitions, learning: false, sorted: false, failure: &failure)
            let entries = contents.entriesByChannel
            let isRight = indexed.messageIndexes.allSatisfy { place in
                (try? source.messageIndex(place, limit: options.storedLimit)) == entries[place.channel]
            }
            if !isRight || entries.count != indexed.messageIndexes.count {
                note("the message indexes of a chunk do not point to its messages (at byte \(found.offset))")
            }
        }
    }
}

/// An entry of a message index.
struct IndexedMessage: Equatable {
    var logTime: UInt64
    var offset: UInt64
}

extension BlockContents {
    fileprivate var entriesByChannel: [UInt16: [IndexedMessage]] {
        var result: [UInt16: [IndexedMessage]] = [:]
        for entry in entries {
            let channel = bytes.withUnsafeBytes {
                UInt16(littleEndian: $0.loadUnaligned(fromByteOffset: Int(entry.offset), as: UInt16.self))
            }
            let offset = UInt64(entry.offset) - UInt64(Layout.recordHeader)
            result[channel, default: []].append(IndexedMessage(logTime: entry.logTime, offset: offset))
        }
        return result
    }
}

extension ByteSource {
    /// Returns the entries of a message index, sorted by offset.
    fileprivate func messageIndex(_ place: BagSpan.IndexOffset, limit: Int) throws(BagError) -> [IndexedMessage] {
        guard place.offset >= 0, place.offset <= count - Layout.recordHeader else {
            throw BagError(.malformed, "a message index lies beyond the end of the file", offset: place.offset)
        }
        let (_, length) = try BlockReader.recordHeader(self, at: place.offset)
        let (size, overflow) = length.addingReportingOverflow(Layout.recordHeader)
        return try record(Opcode.messageIndex, place.offset, overflow ? .max : size, limit: limit) {
            (cursor) throws(BagError) in
            guard try cursor.u16() == place.channel else {
                throw BagError(.malformed, "a message index belongs to another channel", offset: place.offset)
            }
            let base = cursor.base
            var pairs = ByteCursor(try cursor.bytes32(), base: base)
            var entries: [IndexedMessage] = []
            while pairs.remaining > 0 {
                entries.append(IndexedMessage(logTime: try pairs.u64(), offset: try pairs.u64()))
            }
            return entries.sorted { $0.offset < $1.offset }
        }
    }
}
