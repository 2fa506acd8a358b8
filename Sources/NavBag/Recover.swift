/// The result of ``recoverBag(from:to:options:)``.
package struct BagRecovery: Hashable, Sendable {
    /// Messages copied.
    package internal(set) var messageCount: UInt64 = 0
    /// Metadata records and attachments copied.
    package internal(set) var recordCount = 0
    /// The damaged parts that were skipped.
    package internal(set) var damage = BagDamage()
    /// The ending of the damaged bag.
    package internal(set) var ending = BagEnding.complete
}

/// Copies every readable part of a truncated or damaged bag into a new well-formed one, in file order.
///
/// - Parameters:
///   - writer: a new, empty writer; it is closed at the end, and channels get new ids.
///   - options: the checks of the source; damaged chunks are skipped and reported.
/// - Throws: ``BagError/Code/notMCAP``, ``BagError/Code/truncated`` or ``BagError/Code/malformed`` when neither the beginning of the source
///   nor any chunk can be read; also the errors of the writer.
package func recoverBag<Sink: ByteSink>(
    from source: some ByteSource, to writer: inout MCAPWriter<Sink>, options: BagReadOptions = BagReadOptions()
) throws(BagError) -> BagRecovery {
    var reader = try MCAPLinearReader(recovering: source, options: options)
    var recovery = BagRecovery()
    // The new ids by the id in the source; 0 for a channel not copied yet.
    var channels = ContiguousArray<UInt16>(repeating: 0, count: reader.known.selection.count)
    while let item = try reader.advance() {
        switch item {
        case .block:
            let missing = reader.known.selection.count - channels.count
            if missing > 0 { channels.append(contentsOf: repeatElement(0, count: missing)) }
            while let message = reader.nextInBlock() {
                if channels[Int(message.channelID)] == 0 {
                    channels[Int(message.channelID)] = try writer.copyChannel(message.channelID, reader.known)
                }
                do throws(BagError) {
                    try writer.write(
                        channel: channels[Int(message.channelID)], sequence: message.sequence,
                        logTime: message.logTime, publishTime: message.publishTime, data: message.data)
                    recovery.messageCount += 1
                } catch {
                    guard error.code == .limitExceeded else { throw error }
                    reader.note(error)
                }
            }
        case .attachment(let offset, let length):
            do throws(BagError) {
                let attachment = try source.attachment(offset, length, options)
                try writer.addAttachment(
                    name: attachment.name, mediaType: attachment.mediaType, logTime: attachment.logTime,
                    createTime: attachment.createTime, data: attachment.data)
                recovery.recordCount += 1
            } catch {
                if error.code == .sinkFailed || error.code == .io { throw error }
                reader.note(error)
            }
        case .metadata(let offset, let length):
            do throws(BagError) {
                let metadata = try source.metadata(offset, length, limit: options.storedLimit)
                try writer.addMetadata(name: metadata.name, metadata.entries)
                recovery.recordCount += 1
            } catch {
                if error.code == .sinkFailed || error.code == .io { throw error }
                reader.note(error)
            }
        }
    }
    for channel in reader.known.sortedChannels where channels[Int(channel.id)] == 0 {
        _ = try writer.copyChannel(channel.id, reader.known)
    }
    try writer.close()
    recovery.damage = reader.damage
    recovery.ending = reader.ending ?? .complete
    return recovery
}

extension MCAPWriter {
    /// Returns the id in this bag of a channel of the source, which is added if necessary; a missing schema stays
    /// missing.
    fileprivate mutating func copyChannel(_ id: UInt16, _ known: Definitions) throws(BagError) -> UInt16 {
        guard let channel = known.channels[id] else {
            throw BagError(.invalidArgument, "channel \(id) is not defined")
        }
        var schemaID: UInt16 = 0
        if let schema = known.schemas[channel.schemaID] {
            schemaID = try addSchema(name: schema.name, encoding: schema.encoding, data: schema.data)
        }
        return try addChannel(
            topic: channel.topic, schemaID: schemaID, messageEncoding: channel.messageEncoding,
            metadata: channel.metadata)
    }
}
