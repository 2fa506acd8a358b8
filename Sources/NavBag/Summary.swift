// The index from the summary section; every offset is checked before it is used.

extension BagIndex {
    /// Returns the index from the summary, or nil when the whole bag must be read instead.
    ///
    /// This is the case when the bag is truncated, or its summary is missing, damaged or inconsistent with the
    /// messages.
    static func summary(
        _ source: some ByteSource, dataStart: Int, options: BagReadOptions
    ) throws(BagError) -> BagIndex? {
        guard let (summary, start) = try read(source, dataStart: dataStart, options: options) else { return nil }
        return summary.index(dataStart: dataStart, dataEnd: start)
    }

    /// Whether a bag's summary is complete and states this number of messages and no chunks.
    static func isWithoutChunks(
        _ source: some ByteSource, _ dataStart: Int, messageCount: UInt64, _ options: BagReadOptions
    ) throws(BagError) -> Bool {
        guard let (summary, _) = try read(source, dataStart: dataStart, options: options) else { return false }
        return summary.spans.isEmpty && summary.chunkCount == 0 && summary.messageCount == messageCount
    }

    /// Returns the summary and its offset; nil when it is missing or damaged.
    private static func read(
        _ source: some ByteSource, dataStart: Int, options: BagReadOptions
    ) throws(BagError) -> (summary: Summary, start: Int)? {
        do throws(BagError) {
            guard let section = try footer(source, dataStart: dataStart, options: options) else { return nil }
            let summary = try source.withBytes(at: section.lowerBound, count: section.count) {
                (bytes) throws(BagError) in
                try Summary(bytes, base: section.lowerBound)
            }
            return (summary, section.lowerBound)
        } catch {
            if error.code == .io { throw error }
            return nil
        }
    }

    /// Returns the location of the summary section, from the footer; nil without a summary.
    private static func footer(
        _ source: some ByteSource, dataStart: Int, options: BagReadOptions
    ) throws(BagError) -> Range<Int>? {
        let size = Layout.recordHeader + Layout.footerContent
        let start = source.count - Layout.magic.count - size
        guard start >= dataStart else { return nil }
        let isMagic = try source.withBytes(at: start + size, count: Layout.magic.count) { (bytes) throws(BagError) in
            bytes.elementsEqual(Layout.magic)
        }
        guard isMagic else { return nil }
        let (summaryStart, offsetsStart, crc) = try source.record(Opcode.footer, start, size, limit: size) {
            (cursor) throws(BagError) in
            (try cursor.length64(), try cursor.length64(), try cursor.u32())
        }
        let end = offsetsStart == 0 ? start : offsetsStart
        guard summaryStart >= dataStart, summaryStart <= end, end <= start else { return nil }
        if options.checkCRC, crc != 0 {
            guard try source.checksum(of: summaryStart..<start + size - 4) == crc else { return nil }
        } else {
            // The CRC covers the offsets too; without it, a damaged offset must not make the reader allocate the size of the file.
            guard end - summaryStart <= options.storedLimit else { return nil }
        }
        return summaryStart..<end
    }
}

/// The records of a summary section.
private struct Summary {
    var definitions = Definitions()
    var spans: [BagSpan] = []
    var attachments: [BagRecordLocation] = []
    var metadata: [BagRecordLocation] = []
    var messageCount: UInt64?
    var chunkCount: Int?
    var times: (start: UInt64, end: UInt64)?
    var counts: [UInt16: UInt64] = [:]

    init(_ bytes: UnsafeRawBufferPointer, base: Int) throws(BagError) {
        var cursor = ByteCursor(bytes, base: base)
        while cursor.remaining > 0 {
            let opcode = try cursor.u8()
            let length = try cursor.length64()
            let start = base + cursor.position
            var content = ByteCursor(try cursor.take(length), base: start)
            switch opcode {
            case Opcode.schema: try definitions.add(try BagSchema(&content), at: start)
            case Opcode.channel: try definitions.add(try BagChannel(&content), at: start)
            case Opcode.chunkIndex: spans.append(try BagSpan(&content))
            case Opcode.statistics: try readStatistics(&content)
            case Opcode.attachmentIndex:
                let (offset, length) = (try content.length64(), try content.length64())
                _ = try content.take(24)
                attachments.append(BagRecordLocation(name: try content.string(), offset: offset, length: length))
            case Opcode.metadataIndex:
                let (offset, length) = (try content.length64(), try content.length64())
                metadata.append(BagRecordLocation(name: try content.string(), offset: offset, length: length))
            case 0: throw BagError(.malformed, "a record has opcode 0", offset: start)
            default: break
            }
        }
    }

    private mutating func readStatistics(_ cursor: inout ByteCursor) throws(BagError) {
        messageCount = try cursor.u64()
        _ = try cursor.take(2 + 4 + 4 + 4)
        chunkCount = Int(try cursor.u32())
        times = (try cursor.u64(), try cursor.u64())
        let base = cursor.base
        var map = ByteCursor(try cursor.bytes32(), base: base)
        while map.remaining > 0 { counts[try map.u16()] = try map.u64() }
    }

    /// The union of the time ranges in the statistics and in the chunks with messages: older versions of the format's C++
    /// writer leave messages at time 0 out of the statistics.
    private var timeRange: ClosedRange<UInt64>? {
        guard messageCount != 0 else { return nil }
        var ranges = spans.filter { $0.startTime <= $0.endTime && !$0.messageIndexes.isEmpty }.map {
            $0.startTime...$0.endTime
        }
        if let times, times.start <= times.end { ranges.append(times.start...times.end) }
        guard let first = ranges.map(\.lowerBound).min(), let last = ranges.map(\.upperBound).max() else { return nil }
        return first...last
    }

    /// Returns the index, or nil when it is inconsistent with the messages.
    ///
    /// This is the case when chunks overlap in the file, lie outside the data section, are fewer than the statistics state, or have
    /// channels without a definition in the summary.
    func index(dataStart: Int, dataEnd: Int) -> BagIndex? {
        if spans.isEmpty, messageCount != 0 { return nil }
        if let chunkCount, chunkCount != spans.count { return nil }
        var index = BagIndex()
        index.spans = spans.sorted { $0.offset < $1.offset }
        var end = dataStart
        for span in index.spans {
            guard span.offset >= end, span.offset <= dataEnd, span.length <= dataEnd - span.offset,
                span.length > Layout.recordHeader, span.startTime <= span.endTime,
                span.messageIndexes.allSatisfy({ definitions.channels[$0.channel] != nil })
            else { return nil }
            end = span.offset + span.length
        }
        index.schemas = definitions.sortedSchemas
        index.channels = definitions.sortedChannels
        if index.channels.isEmpty, messageCount != 0 { return nil }
        index.attachments = attachments
        index.metadata = metadata
        index.messageCount = messageCount
        index.timeRange = timeRange
        for channel in index.channels where !counts.isEmpty || messageCount == 0 {
            index.tallies[channel.id] = BagIndex.Tally(count: counts[channel.id] ?? 0)
        }
        return index
    }
}

extension BagSpan {
    fileprivate init(_ cursor: inout ByteCursor) throws(BagError) {
        kind = .chunk
        startTime = try cursor.u64()
        endTime = try cursor.u64()
        offset = try cursor.length64()
        length = try cursor.length64()
        let base = cursor.base
        var map = ByteCursor(try cursor.bytes32(), base: base)
        while map.remaining > 0 {
            messageIndexes.append(IndexOffset(channel: try map.u16(), offset: try map.length64()))
        }
        _ = try cursor.u64()
        compression = try cursor.string()
        compressedSize = try cursor.length64()
        uncompressedSize = try cursor.length64()
    }
}
