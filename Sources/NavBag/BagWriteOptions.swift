/// The options of writing a bag.
package struct BagWriteOptions: Hashable, Sendable {
    /// The header's profile; empty without one.
    package var profile = ""
    /// The header's library, free text; constant, so that equal input gives equal bytes.
    package var library = "navbus"
    /// The compression of chunks; ignored without chunks.
    package var compression = BagCompression.zstd
    /// The library's level: zstd 1...19, lz4 0...12. zstd 1 can compress a fully loaded bus on one core.
    package var compressionLevel = 1
    /// The unpacked bytes after which a chunk closes, 1 KiB...32 MiB; 0 writes messages without chunks and index.
    ///
    /// A crash may lose one chunk, and a reader unpacks a whole chunk to read one message.
    package var chunkSize = 1 << 20
    /// The largest message, schema or attachment in bytes, 1 KiB...64 MiB: half of the reader's default limit for
    /// unpacked chunks.
    package var maxRecordBytes = 64 << 20
    /// Whether to write CRC-32 checksums of chunks, attachments, data and summary.
    package var checksums = true

    /// Creates options for zstd chunks of 1 MiB with checksums.
    package init() {}

    /// Creates the default options with another compression.
    package init(compression: BagCompression, chunkSize: Int = 1 << 20) {
        self.compression = compression
        self.chunkSize = chunkSize
    }

    func validate() throws(BagError) {
        guard chunkSize == 0 || (1 << 10...32 << 20).contains(chunkSize) else {
            throw BagError(.invalidArgument, "a chunk size of \(chunkSize) is neither 0 nor in 1024...33554432 bytes")
        }
        guard (1 << 10...64 << 20).contains(maxRecordBytes) else {
            throw BagError(.invalidArgument, "a record limit of \(maxRecordBytes) is not in 1024...67108864 bytes")
        }
        let levels = compression == .lz4 ? 0...12 : 1...19
        guard compression == .none || levels.contains(compressionLevel) else {
            throw BagError(
                .invalidArgument,
                "\(compression.rawValue) level \(compressionLevel) is not in \(levels.lowerBound)...\(levels.upperBound)"
            )
        }
        guard profile.utf8.count + library.utf8.count <= 1 << 16 else {
            throw BagError(.invalidArgument, "profile and library together exceed 65536 bytes")
        }
    }
}

/// The totals of a bag.
package struct BagStatistics: Hashable, Sendable {
    /// Messages.
    package internal(set) var messageCount: UInt64 = 0
    /// Schemas.
    package internal(set) var schemaCount = 0
    /// Channels.
    package internal(set) var channelCount = 0
    /// Attachments.
    package internal(set) var attachmentCount = 0
    /// Metadata records.
    package internal(set) var metadataCount = 0
    /// Chunks.
    package internal(set) var chunkCount = 0
    /// The earliest log time, ns; 0 without messages.
    package internal(set) var startTime: UInt64 = 0
    /// The latest log time, ns; 0 without messages.
    package internal(set) var endTime: UInt64 = 0
    /// Messages by channel; the writer's ids are 1, 2, 3, ….
    var messageCounts: ContiguousArray<UInt64> = []

    @inline(__always)
    mutating func count(slot: Int, logTime: UInt64) {
        startTime = messageCount == 0 ? logTime : min(startTime, logTime)
        endTime = max(endTime, logTime)
        messageCount += 1
        messageCounts[slot] += 1
    }

    func append(to buffer: RecordBuffer) {
        buffer.record(Opcode.statistics) {
            buffer.append(messageCount)
            buffer.append(UInt16(truncatingIfNeeded: schemaCount))
            buffer.append(UInt32(truncatingIfNeeded: channelCount))
            buffer.append(UInt32(truncatingIfNeeded: attachmentCount))
            buffer.append(UInt32(truncatingIfNeeded: metadataCount))
            buffer.append(UInt32(truncatingIfNeeded: chunkCount))
            buffer.append(startTime)
            buffer.append(endTime)
            let used = messageCounts.indices.filter { messageCounts[$0] > 0 }
            buffer.append(UInt32(truncatingIfNeeded: used.count * 10))
            for slot in used {
                buffer.append(UInt16(truncatingIfNeeded: slot + 1))
                buffer.append(messageCounts[slot])
            }
        }
    }
}
