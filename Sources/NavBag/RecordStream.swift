/// A stream of messages of one type on one topic, with the schema to decode them, independent of the file's format.
package final class RecordChannel: Sendable {
    /// The topic, such as `/gnss/fix`.
    package let topic: String
    /// `protobuf`, `cdr`, `ros1`, `json`, …
    package let messageEncoding: String
    /// The schema's name; empty without a schema.
    package let schemaName: String
    /// The schema's encoding; empty without a schema.
    package let schemaEncoding: String
    /// The schema: for protobuf a serialised FileDescriptorSet.
    package let schemaData: [UInt8]
    /// Free key-value pairs.
    package let metadata: [String: String]

    /// Creates a channel with all its fields.
    package init(
        topic: String, messageEncoding: String, schemaName: String, schemaEncoding: String, schemaData: [UInt8],
        metadata: [String: String] = [:]
    ) {
        (self.topic, self.messageEncoding, self.metadata) = (topic, messageEncoding, metadata)
        (self.schemaName, self.schemaEncoding, self.schemaData) = (schemaName, schemaEncoding, schemaData)
    }
}

/// One message of a recording, independent of the file's format.
package struct Record: Sendable {
    /// The stream that the message belongs to.
    package var channel: RecordChannel
    /// The publisher's counter, or 0.
    package var sequence: UInt32
    /// The time of recording, ns.
    package var logTime: UInt64
    /// The time of publication, ns.
    package var publishTime: UInt64
    /// The encoded message.
    package var data: ArraySlice<UInt8>

    /// Creates a record with all its fields.
    package init(
        channel: RecordChannel, sequence: UInt32 = 0, logTime: UInt64, publishTime: UInt64, data: ArraySlice<UInt8>
    ) {
        (self.channel, self.sequence, self.logTime) = (channel, sequence, logTime)
        (self.publishTime, self.data) = (publishTime, data)
    }
}

/// A recording read message by message, with bounded memory.
package protocol RecordSource {
    /// Returns the next message, or nil after the last.
    ///
    /// After an error about a damaged part, it may be called again for the messages after that part.
    mutating func next() throws(BagError) -> Record?
    /// The share that has been read, 0...1.
    var progress: Double { get }
}

/// The messages of a bag query as records.
package struct BagRecords<Source: ByteSource>: RecordSource {
    private var cursor: MessageCursor<Source>
    private let channels: [UInt16: RecordChannel]

    /// Creates a source of the messages of a query.
    package init(_ reader: MCAPReader<Source>, _ query: BagQuery = BagQuery()) {
        cursor = reader.messages(query)
        channels = Dictionary(
            reader.index.channels.map { ($0.id, reader.recordChannel($0)) }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns the next message.
    package mutating func next() throws(BagError) -> Record? {
        while let message = try cursor.next() {
            guard let channel = channels[message.channelID] else { continue }
            return Record(message, channel)
        }
        return nil
    }

    /// The share that has been read.
    package var progress: Double { cursor.progress }
}

extension Record {
    /// Creates a record from a bag's message and its channel.
    package init(_ message: BagMessage, _ channel: RecordChannel) {
        self.init(
            channel: channel, sequence: message.sequence, logTime: message.logTime, publishTime: message.publishTime,
            data: message.data)
    }
}

/// Several recordings merged by log time; at equal times the earlier recording comes first.
package struct MergedRecords: RecordSource {
    private var sources: [any RecordSource]
    private var heads: [Record?]
    /// The sources whose next message has not been read yet.
    private var pending: [Int]

    /// Merges sources, each of which is sorted by log time.
    package init(_ sources: [any RecordSource]) {
        self.sources = sources
        heads = Array(repeating: nil, count: sources.count)
        pending = Array(sources.indices.reversed())
    }

    /// Returns the earliest of the sources' next messages.
    package mutating func next() throws(BagError) -> Record? {
        while let place = pending.last {
            // After an error, the same source is read again.
            heads[place] = try sources[place].next()
            pending.removeLast()
        }
        var first: Int?
        for place in heads.indices {
            guard let time = heads[place]?.logTime else { continue }
            if first.flatMap({ heads[$0]?.logTime }).map({ time < $0 }) ?? true { first = place }
        }
        guard let first else { return nil }
        pending = [first]
        return heads[first]
    }

    /// The mean share of the sources that has been read.
    package var progress: Double {
        sources.isEmpty ? 1 : sources.reduce(0) { $0 + $1.progress } / Double(sources.count)
    }
}

extension MCAPWriter {
    /// Writes a record; the first one of a channel also adds the channel and its schema.
    ///
    /// - Parameter ids: the ids of the channels so far; pass the same map to each call.
    package mutating func write(_ record: Record, ids: inout [ObjectIdentifier: UInt16]) throws(BagError) {
        let key = ObjectIdentifier(record.channel)
        var id = ids[key]
        if id == nil {
            let channel = record.channel
            let schema =
                channel.schemaName.isEmpty && channel.schemaEncoding.isEmpty
                ? 0
                : try addSchema(name: channel.schemaName, encoding: channel.schemaEncoding, data: channel.schemaData)
            id = try addChannel(
                topic: channel.topic, schemaID: schema, messageEncoding: channel.messageEncoding,
                metadata: channel.metadata)
            ids[key] = id
        }
        try write(
            channel: id ?? 0, sequence: record.sequence, logTime: record.logTime, publishTime: record.publishTime,
            data: record.data)
    }
}

// MARK: - Latched values

extension MCAPReader {
    /// Returns a channel with its schema.
    package func recordChannel(_ channel: BagChannel) -> RecordChannel {
        let schema = index.schema(channel.schemaID)
        return RecordChannel(
            topic: channel.topic, messageEncoding: channel.messageEncoding, schemaName: schema?.name ?? "",
            schemaEncoding: schema?.encoding ?? "", schemaData: schema?.data ?? [], metadata: channel.metadata)
    }

    /// Returns the last message of each topic before a log time, by topic: the latched values at that time.
    ///
    /// Reads chunks backwards, only as far as needed.
    ///
    /// - Parameter channels: the channels to consider; nil for all channels of the topics.
    package func lastMessages(
        of topics: [String], on channels: Set<UInt16>? = nil, before time: UInt64
    ) throws(BagError) -> [String: BagMessage] {
        var found: [String: BagMessage] = [:]
        try lookBack(topics, channels, before: time) { message, topic in
            if found[topic].map({ $0.logTime < message.logTime }) ?? true { found[topic] = message.copied }
        } isSettled: { topic, end in
            found[topic].map { $0.logTime >= end } ?? false
        }
        return found
    }

    /// Returns the latest log time of some topics before a log time; nil when they have no earlier message.
    ///
    /// - Parameter channels: the channels to consider; nil for all channels of the topics.
    package func lastTime(
        of topics: [String], on channels: Set<UInt16>? = nil, before time: UInt64
    ) throws(BagError) -> UInt64? {
        var latest: UInt64?
        try lookBack(topics, channels, before: time) { message, _ in
            latest = max(latest ?? 0, message.logTime)
        } isSettled: { _, end in
            latest.map { $0 >= end } ?? false
        }
        return latest
    }

    /// Calls `visit` with the last message of each topic in each chunk, starting with the chunk that ends last.
    ///
    /// - Parameter isSettled: whether a chunk that ends at the given time cannot change the result for a topic.
    private func lookBack(
        _ topics: [String], _ channels: Set<UInt16>?, before time: UInt64, visit: (BagMessage, String) -> Void,
        isSettled: (String, UInt64) -> Bool
    ) throws(BagError) {
        let names = Dictionary(
            index.channels.filter { topics.contains($0.topic) && channels?.contains($0.id) ?? true }
                .map { ($0.id, $0.topic) },
            uniquingKeysWith: { first, _ in first })
        let loader = BlockLoader(options)
        let spans = index.spans.filter { $0.startTime < time }
            .sorted { ($0.endTime, $0.offset) > ($1.endTime, $1.offset) }
        for span in spans {
            let missing = names.filter { !isSettled($0.value, min(span.endTime, time - 1)) }
            if missing.isEmpty { return }
            guard span.messageIndexes.isEmpty || span.messageIndexes.contains(where: { missing[$0.channel] != nil })
            else { continue }
            var definitions = Definitions(index, topics: Array(Set(missing.values)))
            var failure: BagError?
            var contents = BlockContents(
                try loader.load(span, from: source), &definitions, learning: false, end: time, sorted: true,
                failure: &failure)
            var last: [String: BagMessage] = [:]
            while let message = contents.next() {
                if let topic = missing[message.channelID] { last[topic] = message }
            }
            for (topic, message) in last { visit(message, topic) }
        }
    }
}

extension BagMessage {
    /// A copy of the message that does not keep its chunk in memory.
    fileprivate var copied: BagMessage {
        BagMessage(
            channelID: channelID, sequence: sequence, logTime: logTime, publishTime: publishTime,
            data: ArraySlice(Array(data)))
    }
}
