/// A summary of a bag for display.
package struct BagInfo: Hashable, Sendable {
    /// One channel.
    package struct Channel: Hashable, Sendable {
        /// Topic, encoding and metadata.
        package let channel: BagChannel
        /// The schema's name; empty without a schema.
        package let schemaName: String
        /// The number of messages; nil when the summary does not state it.
        package let messageCount: UInt64?
    }

    /// The chunks of one compression.
    package struct Packing: Hashable, Sendable {
        /// The compression's name as in the bag; empty for uncompressed chunks.
        package let compression: String
        /// The number of chunks.
        package let chunkCount: Int
        /// Packed bytes.
        package let compressedBytes: UInt64
        /// Unpacked bytes, as declared by the chunks.
        package let uncompressedBytes: UInt64
        /// The ratio of unpacked to packed bytes; 1 when there are none.
        package var ratio: Double {
            compressedBytes == 0 ? 1 : Double(uncompressedBytes) / Double(compressedBytes)
        }
    }

    /// The size of the whole bag in bytes.
    package let fileBytes: Int
    /// The number of messages; nil when the summary does not state it.
    package let messageCount: UInt64?
    /// The earliest and the latest log time, ns; nil without messages.
    package let timeRange: ClosedRange<UInt64>?
    /// The channels, sorted by topic, then by id.
    package let channels: [Channel]
    /// The chunks by compression, sorted by name.
    package let packings: [Packing]

    /// The time from the first message to the last, ns.
    package var duration: UInt64 { timeRange.map { $0.upperBound - $0.lowerBound } ?? 0 }
}

extension MCAPReader {
    /// Returns the summary of the bag from its index.
    package func info() -> BagInfo {
        let channels = index.channels.sorted { ($0.topic, $0.id) < ($1.topic, $1.id) }.map { channel in
            BagInfo.Channel(
                channel: channel, schemaName: index.schema(channel.schemaID)?.name ?? "",
                messageCount: index.tallies[channel.id]?.count)
        }
        // A single pass, since a bag may name as many compressions as it has chunks.
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
            fileBytes: source.count, messageCount: index.messageCount, timeRange: index.timeRange, channels: channels,
            packings: packings)
    }
}
