/// The facts about a bag for people.
public struct BagInfo: Hashable, Sendable {
    /// One channel.
    public struct Channel: Hashable, Sendable {
        /// Topic, encoding and metadata.
        public let channel: BagChannel
        /// The schema's name; empty for none.
        public let schemaName: String
        /// The schema's encoding; empty for none.
        public let schemaEncoding: String
        /// Messages; nil where the summary does not say.
        public let messageCount: UInt64?
        /// The earliest and the latest log time, ns; nil without messages or without message indexes.
        public let timeRange: ClosedRange<UInt64>?
    }

    /// The chunks of one compression.
    public struct Packing: Hashable, Sendable {
        /// The compression's name as in the bag; empty for none.
        public let compression: String
        /// The number of chunks.
        public let chunkCount: Int
        /// Packed bytes.
        public let compressedBytes: UInt64
        /// Unpacked bytes, as the chunks claim.
        public let uncompressedBytes: UInt64
        /// Unpacked over packed; 1 for nothing.
        public var ratio: Double {
            compressedBytes == 0 ? 1 : Double(uncompressedBytes) / Double(compressedBytes)
        }
    }

    /// The writer of the bag.
    public let header: BagHeader
    /// Bytes of the whole bag.
    public let fileBytes: Int
    /// Whether the figures come from the summary or from reading it through; then also how the bag ends.
    public let origin: BagIndex.Origin
    /// Messages; nil where the summary does not say.
    public let messageCount: UInt64?
    /// The earliest and the latest log time, ns; nil without messages.
    public let timeRange: ClosedRange<UInt64>?
    /// The channels, by topic, equal topics by id.
    public let channels: [Channel]
    /// The chunks by compression, sorted by its name.
    public let packings: [Packing]
    /// Names of the metadata records.
    public let metadata: [String]
    /// Names of the attachments.
    public let attachments: [String]

    /// Time from the first message to the last, ns.
    public var duration: UInt64 { timeRange.map { $0.upperBound - $0.lowerBound } ?? 0 }
}

extension MCAPReader {
    /// The figures of the bag. With a summary this reads that and a few message indexes, whatever the size.
    public func info() -> BagInfo {
        var times: [UInt16: ClosedRange<UInt64>] = [:]
        if index.origin == .summary {
            times = channelTimes()
        } else {
            for (id, tally) in index.tallies { times[id] = tally.times }
        }
        let channels = index.channels.sorted { ($0.topic, $0.id) < ($1.topic, $1.id) }.map { channel in
            let schema = index.schema(channel.schemaID)
            return BagInfo.Channel(
                channel: channel, schemaName: schema?.name ?? "", schemaEncoding: schema?.encoding ?? "",
                messageCount: index.tallies[channel.id]?.count, timeRange: times[channel.id])
        }
        // In one pass: a bag may name as many compressions as it has chunks.
        var sums: [String: (chunks: Int, packed: UInt64, unpacked: UInt64)] = [:]
        for span in index.spans where span.kind != .bare {
            let sum = sums[span.compression] ?? (0, 0, 0)
            sums[span.compression] = (
                sum.chunks + 1, sum.packed &+ UInt64(span.compressedSize), sum.unpacked &+ UInt64(span.uncompressedSize)
            )
        }
        let packings = sums.sorted { $0.key < $1.key }.map { name, sum in
            BagInfo.Packing(
                compression: name, chunkCount: sum.chunks, compressedBytes: sum.packed, uncompressedBytes: sum.unpacked)
        }
        return BagInfo(
            header: header, fileBytes: source.count, origin: index.origin, messageCount: index.messageCount,
            timeRange: index.timeRange, channels: channels, packings: packings,
            metadata: index.metadata.map(\.name), attachments: index.attachments.map(\.name))
    }

    /// First and last log time by channel, from the message indexes. One is read only where it may widen what is known:
    /// mostly those of each channel's first and last chunk. A channel with a damaged index has no times.
    private func channelTimes() -> [UInt16: ClosedRange<UInt64>] {
        var times: [UInt16: ClosedRange<UInt64>] = [:]
        var damaged: Set<UInt16> = []
        // Indexes that overlap each other could ask for the whole file again and again; honest ones are read twice.
        var budget = Int(clamping: UInt64(source.count) * 2)
        func widen(_ spans: [BagSpan], _ mayWiden: (BagSpan, ClosedRange<UInt64>) -> Bool) {
            for span in spans {
                for place in span.messageIndexes where !damaged.contains(place.channel) {
                    if let known = times[place.channel], !mayWiden(span, known) { continue }
                    do throws(BagError) {
                        guard let found = try indexedTimes(place, &budget) else { continue }
                        times[place.channel] =
                            times[place.channel].map {
                                min($0.lowerBound, found.lowerBound)...max($0.upperBound, found.upperBound)
                            } ?? found
                    } catch {
                        damaged.insert(place.channel)
                    }
                }
            }
        }
        widen(index.spans.sorted { ($0.startTime, $0.offset) < ($1.startTime, $1.offset) }) {
            $0.startTime < $1.lowerBound
        }
        widen(index.spans.sorted { ($0.endTime, $0.offset) > ($1.endTime, $1.offset) }) {
            $0.endTime > $1.upperBound
        }
        for channel in damaged { times[channel] = nil }
        return times
    }

    private func indexedTimes(_ place: BagSpan.IndexOffset, _ budget: inout Int) throws(BagError) -> ClosedRange<
        UInt64
    >? {
        guard place.offset >= 0, place.offset <= source.count - Layout.recordHeader else {
            throw BagError(.malformed, "the summary points beyond the end of the file", offset: place.offset)
        }
        let (_, length) = try BlockReader.recordHeader(source, at: place.offset)
        guard length <= source.count - place.offset - Layout.recordHeader, length <= budget else {
            throw BagError(.malformed, "message indexes exceed the file", offset: place.offset)
        }
        budget -= length
        return try source.record(Opcode.messageIndex, place.offset, length + Layout.recordHeader) {
            (cursor) throws(BagError) -> ClosedRange<UInt64>? in
            _ = try cursor.u16()
            let size = Int(try cursor.u32())
            var entries = ByteCursor(try cursor.take(size), base: place.offset)
            var tally = BagIndex.Tally()
            while entries.remaining > 0 {
                tally.add(try entries.u64())
                _ = try entries.u64()
            }
            return tally.times
        }
    }
}
