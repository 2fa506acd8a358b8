/// A chunk being filled: its records, and the offset of each message in them.
struct ChunkBuilder {
    private struct Entry {
        var slot: Int
        var logTime: UInt64
        var offset: UInt64
    }

    let records: RecordBuffer
    private var entries: ContiguousArray<Entry> = []
    /// The number of messages per channel in this chunk; also temporary storage for each channel's write position in
    /// the index.
    private var counts: ContiguousArray<Int> = []
    private var startTime = UInt64.max
    private var endTime: UInt64 = 0

    init(capacity: Int) { records = RecordBuffer(capacity: capacity) }

    mutating func addChannel() { counts.append(0) }

    /// Records the message whose record is about to be appended.
    @inline(__always)
    mutating func index(slot: Int, logTime: UInt64) {
        entries.append(Entry(slot: slot, logTime: logTime, offset: UInt64(records.count)))
        counts[slot] += 1
        startTime = min(startTime, logTime)
        endTime = max(endTime, logTime)
    }

    /// Appends the chunk, which begins at byte `offset` of the bag, and its message indexes to `out`, then starts an empty one.
    ///
    /// The record for the summary goes to `index`.
    mutating func finish(
        at offset: Int, into out: RecordBuffer, index: RecordBuffer, compressor: Compressor,
        compression: BagCompression, checksums: Bool
    ) throws(BagError) {
        let base = out.count
        let first = entries.isEmpty ? 0 : startTime
        out.append(Opcode.chunk)
        out.append(UInt64(0))
        out.append(first)
        out.append(endTime)
        out.append(UInt64(records.count))
        out.append(checksums ? Checksum.of(records.bytes) : 0)
        out.append(string: compression.rawValue)
        let sizeAt = out.count
        out.append(UInt64(0))
        let packed = try compressor.pack(records.bytes, into: out)
        out.patch(UInt64(packed), at: sizeAt)
        let length = out.count - base
        out.patch(UInt64(length - Layout.recordHeader), at: base + 1)

        let indexOffsets = appendMessageIndexes(to: out)
        let indexLength = out.count - base - length
        let uncompressed = records.count
        let last = endTime
        index.record(Opcode.chunkIndex) {
            index.append(first)
            index.append(last)
            index.append(UInt64(offset))
            index.append(UInt64(length))
            index.append(UInt32(truncatingIfNeeded: indexOffsets.count * 10))
            for (slot, place) in indexOffsets {
                index.append(UInt16(truncatingIfNeeded: slot + 1))
                index.append(UInt64(offset + place - base))
            }
            index.append(UInt64(indexLength))
            index.append(string: compression.rawValue)
            index.append(UInt64(packed))
            index.append(UInt64(uncompressed))
        }
        records.removeAll()
        entries.removeAll(keepingCapacity: true)
        startTime = .max
        endTime = 0
    }

    /// Appends one record per channel with messages, by channel id: first the headers, then the entries in one pass.
    ///
    /// Leaves the counts at zero.
    private mutating func appendMessageIndexes(to out: RecordBuffer) -> [(slot: Int, place: Int)] {
        var offsets: [(slot: Int, place: Int)] = []
        let room = entries.count * 16 + counts.count * 15
        _ = out.reserve(room)
        for slot in counts.indices where counts[slot] > 0 {
            offsets.append((slot, out.count))
            let size = counts[slot] * 16
            out.append(Opcode.messageIndex)
            out.append(UInt64(6 + size))
            out.append(UInt16(truncatingIfNeeded: slot + 1))
            out.append(UInt32(truncatingIfNeeded: size))
            counts[slot] = out.count
            _ = out.reserve(size)
            out.advance(size)
        }
        for entry in entries {
            out.patch(entry.logTime, at: counts[entry.slot])
            out.patch(entry.offset, at: counts[entry.slot] + 8)
            counts[entry.slot] += 16
        }
        for (slot, _) in offsets { counts[slot] = 0 }
        return offsets
    }
}
