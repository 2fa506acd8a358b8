/// A writer of an MCAP bag to a sink: chunks with indexes, then a summary.
///
/// Equal calls produce equal bytes (with equal versions of libzstd and liblz4): the writer reads no clock and its order is fixed. Memory
/// holds one chunk, the definitions, and about 100 bytes per finished chunk. If the process ends without ``close()``, the bag lacks its
/// index and at most the chunk that was being filled; a file still has a footer, so that any reader can read it to the end.
///
/// The writer is a struct that owns its position in the sink: do not copy it. After the sink has thrown, every call throws
/// ``BagError/Code/sinkFailed`` until ``flush()`` or ``close()`` finds that the sink accepts bytes again; no data written before is lost in
/// that case.
package struct MCAPWriter<Sink: ByteSink> {
    /// The sink of the bytes.
    package private(set) var sink: Sink
    /// The options given to the initialiser.
    package let options: BagWriteOptions
    /// The counts of what has been written so far.
    package private(set) var statistics = BagStatistics()

    private enum State {
        case open
        case closed
        /// The sink rejected bytes, which are kept for a retry.
        case stalled(BagError)
        case failed(BagError)
    }

    private var state = State.open
    private let compressor: Compressor
    /// Bytes to be written to the sink.
    private let out = RecordBuffer(capacity: 1 << 16)
    /// The number of bytes that the sink has accepted, and their CRC within the data section.
    private var drained = 0
    private var dataCRC: UInt32 = 0
    private let tail = RecordBuffer(capacity: 64)
    /// Whether the sink has accepted the summary and the footer, which must be last.
    private var hasSummary = false

    private var chunk: ChunkBuilder
    private var schemas: [BagSchema] = []
    private var channels: [BagChannel] = []
    /// The schema ids by definition; the id in the key is 0.
    private var schemaIDs: [BagSchema: UInt16] = [:]
    private var channelIDs: [BagChannel: UInt16] = [:]
    private let chunkIndexes = RecordBuffer()
    private let attachmentIndexes = RecordBuffer()
    private let metadataIndexes = RecordBuffer()

    /// Writes the magic bytes and the header.
    ///
    /// - Throws: ``BagError/Code/invalidArgument`` for options out of range, and ``BagError/Code/sinkFailed``.
    package init(_ sink: Sink, options: BagWriteOptions = BagWriteOptions()) throws(BagError) {
        try options.validate()
        self.sink = sink
        self.options = options
        compressor = Compressor(options.compression, level: options.compressionLevel)
        chunk = ChunkBuilder(capacity: options.chunkSize)
        Layout.magic.withUnsafeBytes { out.append(bytes: $0) }
        let buffer = out
        buffer.record(Opcode.header) {
            buffer.append(string: options.profile)
            buffer.append(string: options.library)
        }
        try drain()
    }

    // MARK: Definitions

    /// Adds a schema, or finds the identical one, and returns its id.
    ///
    /// - Parameters:
    ///   - name: the type's name; for protobuf its full name.
    ///   - encoding: `protobuf`, `jsonschema`, …
    ///   - data: for protobuf a serialised FileDescriptorSet with all types that the type uses.
    /// - Throws: ``BagError/Code/limitExceeded`` for the 65,536th schema or one over the record limit.
    package mutating func addSchema(name: String, encoding: String, data: [UInt8]) throws(BagError) -> UInt16 {
        try checkOpen()
        let key = BagSchema(id: 0, name: name, encoding: encoding, data: data)
        if let known = schemaIDs[key] { return known }
        guard schemas.count < Int(UInt16.max) else {
            throw BagError(.limitExceeded, "a bag holds at most 65535 schemas")
        }
        try checkSize(name.utf8.count + encoding.utf8.count + data.count, "the schema \(name)")
        // Perform the steps that may fail first, so that every registered definition is in the bag.
        if options.chunkSize > 0 { try makeRoom(data.count) }
        let schema = BagSchema(id: UInt16(schemas.count + 1), name: name, encoding: encoding, data: data)
        schemas.append(schema)
        schemaIDs[key] = schema.id
        statistics.schemaCount += 1
        definitionBuffer.append(schema)
        try drainIfFull()
        return schema.id
    }

    /// Adds a channel, or finds the identical one, and returns its id.
    ///
    /// - Parameters:
    ///   - topic: the topic, such as `/gnss/fix`.
    ///   - schemaID: from ``addSchema(name:encoding:data:)``; 0 for none.
    ///   - messageEncoding: `protobuf`, `json`, …
    ///   - metadata: free key-value pairs.
    /// - Throws: ``BagError/Code/invalidArgument`` for an unknown schema, ``BagError/Code/limitExceeded`` for the
    ///   65,536th channel.
    package mutating func addChannel(
        topic: String, schemaID: UInt16, messageEncoding: String, metadata: [String: String] = [:]
    ) throws(BagError) -> UInt16 {
        try checkOpen()
        guard Int(schemaID) <= schemas.count else {
            throw BagError(.invalidArgument, "the channel \(topic) names schema \(schemaID), which was never added")
        }
        let key = BagChannel(
            id: 0, schemaID: schemaID, topic: topic, messageEncoding: messageEncoding, metadata: metadata)
        if let known = channelIDs[key] { return known }
        guard channels.count < Int(UInt16.max) else {
            throw BagError(.limitExceeded, "a bag holds at most 65535 channels")
        }
        let size = metadata.reduce(topic.utf8.count + messageEncoding.utf8.count) {
            $0 + $1.key.utf8.count + $1.value.utf8.count
        }
        try checkSize(size, "the channel \(topic)")
        if options.chunkSize > 0 { try makeRoom(size) }
        let channel = BagChannel(
            id: UInt16(channels.count + 1), schemaID: schemaID, topic: topic, messageEncoding: messageEncoding,
            metadata: metadata)
        channels.append(channel)
        channelIDs[key] = channel.id
        statistics.channelCount += 1
        statistics.messageCounts.append(0)
        chunk.addChannel()
        definitionBuffer.append(channel)
        try drainIfFull()
        return channel.id
    }

    /// Adds a channel and its schema in one step, reusing identical ones.
    ///
    /// See ``addChannel(topic:schemaID:messageEncoding:metadata:)`` for the errors.
    package mutating func addChannel(
        topic: String, schemaName: String, schemaEncoding: String, schemaData: [UInt8], messageEncoding: String,
        metadata: [String: String] = [:]
    ) throws(BagError) -> UInt16 {
        let schema = try addSchema(name: schemaName, encoding: schemaEncoding, data: schemaData)
        return try addChannel(topic: topic, schemaID: schema, messageEncoding: messageEncoding, metadata: metadata)
    }

    private var definitionBuffer: RecordBuffer { options.chunkSize > 0 ? chunk.records : out }

    // MARK: Messages

    /// Writes one message.
    ///
    /// - Parameters:
    ///   - channel: an id returned by this writer.
    ///   - sequence: the publisher's counter, or 0.
    ///   - logTime: the time of recording, ns; any order is allowed, because readers sort by it.
    ///   - publishTime: the time of publication, ns; `logTime` if unknown.
    ///   - data: the encoded message.
    /// - Throws: ``BagError/Code/invalidArgument`` for an unknown channel, ``BagError/Code/limitExceeded`` for a
    ///   message over ``BagWriteOptions/maxRecordBytes``; the writer stays usable after both.
    package mutating func write(
        channel: UInt16, sequence: UInt32, logTime: UInt64, publishTime: UInt64, data: UnsafeRawBufferPointer
    ) throws(BagError) {
        try checkOpen()
        let slot = Int(channel) - 1
        guard slot >= 0, slot < channels.count else {
            throw BagError(.invalidArgument, "a message names channel \(channel), which was never added")
        }
        try checkSize(data.count, "a message")
        if options.chunkSize > 0 {
            try makeRoom(data.count)
            chunk.index(slot: slot, logTime: logTime)
            Self.append(channel, sequence, logTime, publishTime, data, to: chunk.records)
        } else {
            Self.append(channel, sequence, logTime, publishTime, data, to: out)
        }
        statistics.count(slot: slot, logTime: logTime)
        if options.chunkSize > 0 {
            if chunk.records.count >= options.chunkSize { try finishChunk() }
        } else {
            try drainIfFull()
        }
    }

    @inline(__always)
    private static func append(
        _ channel: UInt16, _ sequence: UInt32, _ logTime: UInt64, _ publishTime: UInt64,
        _ data: UnsafeRawBufferPointer, to buffer: RecordBuffer
    ) {
        let content = Layout.messageHeader + data.count
        let place = buffer.reserve(Layout.recordHeader + content)
        place.storeBytes(of: Opcode.message, as: UInt8.self)
        place.storeBytes(of: UInt64(content).littleEndian, toByteOffset: 1, as: UInt64.self)
        place.storeBytes(of: channel.littleEndian, toByteOffset: 9, as: UInt16.self)
        place.storeBytes(of: sequence.littleEndian, toByteOffset: 11, as: UInt32.self)
        place.storeBytes(of: logTime.littleEndian, toByteOffset: 15, as: UInt64.self)
        place.storeBytes(of: publishTime.littleEndian, toByteOffset: 23, as: UInt64.self)
        if let start = data.baseAddress { (place + 31).copyMemory(from: start, byteCount: data.count) }
        buffer.advance(Layout.recordHeader + content)
    }

    /// The current size of the bag in bytes, including bytes not yet compressed or accepted by the sink.
    package var byteCount: Int { drained + out.count + chunk.records.count }

    // MARK: Other records

    /// Adds a metadata record.
    package mutating func addMetadata(name: String, _ entries: [String: String]) throws(BagError) {
        try checkOpen()
        let size = entries.reduce(name.utf8.count) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        try checkSize(size, "the metadata \(name)")
        let offset = drained + out.count
        let buffer = out
        buffer.record(Opcode.metadata) {
            buffer.append(string: name)
            buffer.append(map: entries)
        }
        let length = drained + out.count - offset
        let indexes = metadataIndexes
        indexes.record(Opcode.metadataIndex) {
            indexes.append(UInt64(offset))
            indexes.append(UInt64(length))
            indexes.append(string: name)
        }
        statistics.metadataCount += 1
        try drainIfFull()
    }

    /// Adds a file as an attachment.
    ///
    /// - Throws: ``BagError/Code/limitExceeded`` when it exceeds ``BagWriteOptions/maxRecordBytes``.
    ///
    /// - Parameters:
    ///   - logTime: the time of recording, ns.
    ///   - createTime: the time of creation, ns; 0 if unknown.
    package mutating func addAttachment(
        name: String, mediaType: String, logTime: UInt64, createTime: UInt64, data: [UInt8]
    ) throws(BagError) {
        try checkOpen()
        try checkSize(name.utf8.count + mediaType.utf8.count + data.count, "the attachment \(name)")
        let start = out.count
        let offset = drained + start
        let buffer = out
        let checksums = options.checksums
        buffer.record(Opcode.attachment) {
            buffer.append(logTime)
            buffer.append(createTime)
            buffer.append(string: name)
            buffer.append(string: mediaType)
            buffer.append(UInt64(data.count))
            buffer.append(array: data)
            let content = UnsafeRawBufferPointer(rebasing: buffer.bytes[(start + Layout.recordHeader)...])
            buffer.append(checksums ? Checksum.of(content) : 0)
        }
        let length = drained + out.count - offset
        let indexes = attachmentIndexes
        indexes.record(Opcode.attachmentIndex) {
            indexes.append(UInt64(offset))
            indexes.append(UInt64(length))
            indexes.append(logTime)
            indexes.append(createTime)
            indexes.append(UInt64(data.count))
            indexes.append(string: name)
            indexes.append(string: mediaType)
        }
        statistics.attachmentCount += 1
        try drainIfFull()
    }

    // MARK: Finishing

    /// Closes the current chunk and passes all bytes to the sink, so that they survive a crash.
    ///
    /// Retries bytes that the sink has rejected before.
    package mutating func flush() throws(BagError) {
        try retry()
        try checkOpen()
        try finishChunk()
        try drain()
        try flushSink()
    }

    /// Writes the summary and the footer, after which no data can be added; a second call has no effect.
    ///
    /// After a failure, another call completes the remaining work. Even if only the sink's flush remains, all other calls still throw.
    package mutating func close() throws(BagError) {
        if case .closed = state { return }
        if !hasSummary { try finishFile() }
        try flushSink()
        state = .closed
    }

    private mutating func finishFile() throws(BagError) {
        try retry()
        try checkOpen()
        try finishChunk()
        try drain()
        let crc = options.checksums ? dataCRC : 0
        let buffer = out
        buffer.record(Opcode.dataEnd) { buffer.append(crc) }
        appendSummary()
        // Written in one call, since an incomplete summary would mislead a reader.
        defer {
            out.removeAll()
            tail.removeAll()
        }
        out.append(bytes: tail.bytes)
        do {
            try sink.write(out.bytes)
        } catch {
            throw fail(error)
        }
        drained += out.count
        hasSummary = true
    }

    /// Passes the rejected bytes to the sink again; does nothing when there are none.
    package mutating func retry() throws(BagError) {
        guard case .stalled = state, !hasSummary else { return }
        state = .open
        try drain()
    }

    private mutating func finishChunk() throws(BagError) {
        guard chunk.records.count > 0 else { return }
        let offset = drained + out.count
        do {
            try chunk.finish(
                at: offset, into: out, index: chunkIndexes, compressor: compressor,
                compression: options.compression, checksums: options.checksums)
        } catch {
            state = .failed(error)
            throw error
        }
        statistics.chunkCount += 1
        try drain()
    }

    /// Closes the chunk if the next record would exceed its size.
    @inline(__always)
    private mutating func makeRoom(_ extra: Int) throws(BagError) {
        guard chunk.records.count > 0, chunk.records.count + extra + 64 > options.chunkSize else { return }
        try finishChunk()
    }

    /// Appends the summary section, the summary offsets, the footer and the closing magic.
    private func appendSummary() {
        let dataEnd = out.count
        let summaryStart = drained + dataEnd
        var groups: [(opcode: UInt8, start: Int, length: Int)] = []
        func group(_ opcode: UInt8, _ content: () -> Void) {
            let before = out.count
            content()
            if out.count > before { groups.append((opcode, drained + before, out.count - before)) }
        }
        group(Opcode.schema) { for schema in schemas { out.append(schema) } }
        group(Opcode.channel) { for channel in channels { out.append(channel) } }
        group(Opcode.statistics) { statistics.append(to: out) }
        group(Opcode.chunkIndex) { out.append(bytes: chunkIndexes.bytes) }
        group(Opcode.attachmentIndex) { out.append(bytes: attachmentIndexes.bytes) }
        group(Opcode.metadataIndex) { out.append(bytes: metadataIndexes.bytes) }
        let offsetsStart = drained + out.count
        for group in groups {
            out.record(Opcode.summaryOffset) {
                out.append(group.opcode)
                out.append(UInt64(group.start))
                out.append(UInt64(group.length))
            }
        }
        let summary = UnsafeRawBufferPointer(rebasing: out.bytes[dataEnd...])
        appendFooter(summaryStart, offsetsStart) { Checksum.of($0, continuing: Checksum.of(summary)) }
    }

    /// Appends the footer and the closing magic to the tail; `crc` also covers the given fields of the footer.
    private func appendFooter(_ summaryStart: Int, _ offsetsStart: Int, crc: (UnsafeRawBufferPointer) -> UInt32) {
        let start = tail.count
        tail.append(Opcode.footer)
        tail.append(UInt64(Layout.footerContent))
        tail.append(UInt64(summaryStart))
        tail.append(UInt64(offsetsStart))
        tail.append(options.checksums ? crc(UnsafeRawBufferPointer(rebasing: tail.bytes[start...])) : 0)
        Layout.magic.withUnsafeBytes { tail.append(bytes: $0) }
    }

    private mutating func drainIfFull() throws(BagError) {
        if out.count >= 1 << 16 { try drain() }
    }

    private mutating func drain() throws(BagError) {
        guard out.count > 0 else { return }
        let crc = options.checksums ? Checksum.of(out.bytes, continuing: dataCRC) : 0
        // The provisional end of a bag without a summary.
        tail.removeAll()
        let buffer = tail
        buffer.record(Opcode.dataEnd) { buffer.append(crc) }
        appendFooter(0, 0) { _ in 0 }
        defer { tail.removeAll() }
        do {
            try sink.write(out.bytes, provisionalTail: tail.bytes)
        } catch {
            throw fail(error)
        }
        dataCRC = crc
        drained += out.count
        out.removeAll()
    }

    private mutating func flushSink() throws(BagError) {
        do {
            try sink.flush()
        } catch {
            throw fail(error)
        }
    }

    private mutating func fail(_ cause: any Error) -> BagError {
        let error = BagError(.sinkFailed, "the bag cannot be written further: \(cause)", offset: drained)
        state = .stalled(error)
        return error
    }

    @inline(__always)
    private func checkOpen() throws(BagError) {
        switch state {
        case .open: return
        case .closed: throw BagError(.closed, "the bag is closed; nothing can be added")
        case .stalled(let error), .failed(let error): throw error
        }
    }

    @inline(__always)
    private func checkSize(_ size: Int, _ what: @autoclosure () -> String) throws(BagError) {
        guard size <= options.maxRecordBytes else {
            throw BagError(.limitExceeded, "\(what()) has \(size) bytes; the limit is \(options.maxRecordBytes)")
        }
    }
}
