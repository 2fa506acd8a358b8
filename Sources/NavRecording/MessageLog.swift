import NavKit
package import NavBag
package import NavMessages

/// A writer of topics' messages into a bag, with the schemas that readers need.
package struct MessageLog<Sink: ByteSink> {
    private var writer: MCAPWriter<Sink>
    private var channels: [Source: Channel] = [:]

    private struct Source: Hashable {
        var topic: String
        var publisher: UInt64?
    }

    private struct Channel {
        var id: UInt16
        var sequence: UInt32
    }

    package init(_ writer: MCAPWriter<Sink>) { self.writer = writer }

    package var messageCount: UInt64 { writer.statistics.messageCount }
    package var byteCount: Int { writer.byteCount }

    /// Adds an encoded message.
    ///
    /// - Parameters:
    ///   - type: the full name of its type; a message of an unknown type is written without a schema.
    ///   - sequence: the publisher's count, of which the lower 32 bits are kept; nil to number the messages here.
    ///   - publisher: the boot id of the publisher, which gets its own channel; nil to share one channel.
    ///   - node: the publisher's name, written with the channel.
    ///   - isLatched: whether a late subscriber gets the last value, written with the channel of a topic that is not in the catalogue.
    ///   - logTime: the time that orders the bag, ns.
    ///   - publishTime: the time at which its content was valid, ns.
    package mutating func write(
        _ payload: UnsafeRawBufferPointer, topic: String, type: String, sequence: UInt64?, publisher: UInt64? = nil,
        node: String? = nil, isLatched: Bool = false, logTime: Int64, publishTime: Int64
    ) throws(BagError) {
        let source = Source(topic: topic, publisher: publisher)
        var channel = try channel(source, type: type, node: node, isLatched: isLatched)
        channel.sequence = sequence.map { UInt32(truncatingIfNeeded: $0) } ?? channel.sequence &+ 1
        channels[source] = channel
        try writer.write(
            channel: channel.id, sequence: channel.sequence, logTime: UInt64(clamping: logTime),
            publishTime: UInt64(clamping: publishTime), data: payload)
    }

    /// Adds an encoded message from a collection.
    package mutating func write(
        _ payload: some RandomAccessCollection<UInt8>, topic: String, type: String, sequence: UInt64?, logTime: Int64,
        publishTime: Int64
    ) throws(BagError) {
        try Array(payload).span.withUnsafeBytes { (bytes) throws(BagError) in
            try write(
                bytes, topic: topic, type: type, sequence: sequence, logTime: logTime, publishTime: publishTime)
        }
    }

    package mutating func write(_ message: any Message, topic: String, logTime: Int64, publishTime: Int64)
        throws(BagError)
    {
        try write(
            message.encoded(), topic: topic, type: type(of: message).fullName, sequence: nil, logTime: logTime,
            publishTime: publishTime)
    }

    package mutating func addMetadata(name: String, _ entries: [String: String]) throws(BagError) {
        try writer.addMetadata(name: name, entries)
    }

    package mutating func addAttachment(
        name: String, mediaType: String, logTime: UInt64, data: [UInt8]
    ) throws(BagError) {
        try writer.addAttachment(name: name, mediaType: mediaType, logTime: logTime, createTime: 0, data: data)
    }

    /// Closes the current chunk, so that a crash loses no earlier messages.
    package mutating func flush() throws(BagError) { try writer.flush() }

    /// Retries the writes that the sink has rejected.
    package mutating func retry() throws(BagError) { try writer.retry() }

    package mutating func close() throws(BagError) { try writer.close() }

    private mutating func channel(_ source: Source, type: String, node: String?, isLatched: Bool) throws(BagError)
        -> Channel
    {
        if let known = channels[source] { return known }
        var metadata = source.publisher.map { ["boot_id": String($0, radix: 16)] } ?? [:]
        metadata["node"] = node
        if isLatched, TopicCatalogue.topic(named: source.topic) == nil { metadata["qos"] = "latched" }
        let id = try writer.addChannel(
            topic: source.topic, schemaName: type, schemaEncoding: "protobuf",
            schemaData: Schema.fileDescriptorSet(for: type) ?? [], messageEncoding: "protobuf",
            metadata: metadata)
        let channel = Channel(id: id, sequence: 0)
        channels[source] = channel
        return channel
    }
}

extension BagChannel {
    /// Whether a late subscriber gets the topic's last value: according to the catalogue, otherwise to the channel's
    /// metadata.
    package var isLatched: Bool { isLatchedTopic(topic, metadata) }
}

extension RecordChannel {
    /// Whether a late subscriber gets the topic's last value: according to the catalogue, otherwise to the channel's
    /// metadata.
    package var isLatched: Bool { isLatchedTopic(topic, metadata) }
}

private func isLatchedTopic(_ topic: String, _ metadata: [String: String]) -> Bool {
    TopicCatalogue.topic(named: topic).map { $0.qos == .latched } ?? (metadata["qos"] == "latched")
}
