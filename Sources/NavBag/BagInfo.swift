/// A summary of a bag for display.
public struct BagInfo: Hashable, Sendable {
    /// One channel.
    public struct Channel: Hashable, Sendable {
        /// Topic, encoding and metadata.
        public let channel: BagChannel
        /// The schema's name; empty without a schema.
        public let schemaName: String
        /// The schema's encoding; empty without a schema.
        public let schemaEncoding: String
        /// The number of messages; nil when the summary does not give it.
        public let messageCount: UInt64?
        /// The earliest and the latest log time, ns; nil without messages or without message indexes.
        public let timeRange: ClosedRange<UInt64>?
    }

    /// The chunks of one compression.
    public struct Packing: Hashable, Sendable {
        /// The compression's name as in the bag; empty for uncompressed chunks.
        public let compression: String
        /// The number of chunks.
        public let chunkCount: Int
        /// Packed bytes.
        public let compressedBytes: UInt64
        /// Unpacked bytes, as declared by the chunks.
        public let uncompressedBytes: UInt64
        /// The ratio of unpacked to packed bytes; 1 when there are none.
        public var ratio: Double {
            compressedBytes == 0 ? 1 : Double(uncompressedBytes) / Double(compressedBytes)
        }
    }

    /// The writer of the bag.
    public let header: BagHeader
    /// The size of the whole bag in bytes.
    public let fileBytes: Int
    /// Whether the figures come from the summary or from reading the whole bag; in the latter case also how the bag ends.
    public let origin: BagIndex.Origin
    /// The number of messages; nil when the summary does not give it.
    public let messageCount: UInt64?
    /// The earliest and the latest log time, ns; nil without messages.
    public let timeRange: ClosedRange<UInt64>?
    /// The channels, sorted by topic, then by id.
    public let channels: [Channel]
    /// The chunks by compression, sorted by name.
    public let packings: [Packing]
    /// Names of the metadata records.
    public let metadata: [String]
    /// Names of the attachments.
    public let attachments: [String]

    /// Time from the first message to the last, ns.
    public var duration: UInt64 { timeRange.map { $0.upperBound - $0.lowerBound } ?? 0 }
}

extension MCAPReader {
    /// Returns the figures of the bag; with a summary, this reads only the summary and a few message indexes, whatever the size.
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

    /// Returns the first and last log time by channel, from the message indexes.
    ///
    /// It reads an index only if that may widen the known range: usually those of each channel's first and last chunk.
    /// A channel with a damaged index has no times.
    private func channelTimes() -> [UInt16: ClosedRange<UInt64>] {
        var times: [UInt16: ClosedRange<UInt64>] = [:]
        var damaged: Set<UInt16> = []
        // Malicious overlapping indexes could ask for the whole file repeatedly; valid ones are read at most twice.
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
        let size = length + Layout.recordHeader
        return try source.record(Opcode.messageIndex, place.offset, size, limit: size) {
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
