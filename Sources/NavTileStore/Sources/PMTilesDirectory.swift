/// A directory of a PMTiles archive, which locates tiles and further directories.
package struct PMTilesDirectory: Sendable {
    package struct Entry: Sendable, Hashable {
        package var id: UInt64
        /// The offset relative to the start of the data, or of the leaf directories.
        package var offset: UInt64
        package var length: UInt32
        /// The number of consecutive tiles with this content; 0 for a directory that begins with ``id``.
        package var run: UInt32
    }

    /// The maximum number of entries, which keeps their memory below 24 MiB.
    package static let longest = 1_000_000

    /// The entries in order of ascending id; runs do not overlap.
    package let entries: [Entry]

    /// The memory used, bytes.
    package var cost: Int { entries.count * MemoryLayout<Entry>.stride }

    /// Parses a directory; nil when it is malformed: impossible counts, ids not in ascending order, offsets beyond the
    /// sections.
    ///
    /// - Parameter bytes: the unpacked directory.
    package init?(_ bytes: [UInt8], data: UInt64, leaves: UInt64) {
        var reader = Varints(bytes: bytes)
        // Each entry takes at least four bytes, so a larger count is rejected before memory is reserved.
        guard let count = reader.next(), count > 0, count <= UInt64(min(Self.longest, bytes.count / 4)) else {
            return nil
        }
        var entries = [Entry](repeating: Entry(id: 0, offset: 0, length: 0, run: 0), count: Int(count))
        var id: UInt64 = 0
        for index in entries.indices {
            guard let step = reader.next(), index == 0 || step > 0 else { return nil }
            let (sum, isOver) = id.addingReportingOverflow(step)
            guard !isOver else { return nil }
            id = sum
            entries[index].id = id
        }
        for index in entries.indices {
            guard let run = reader.next().flatMap({ UInt32(exactly: $0) }) else { return nil }
            entries[index].run = run
            let (end, isOver) = entries[index].id.addingReportingOverflow(UInt64(max(run, 1)))
            guard !isOver, index + 1 == entries.count || end <= entries[index + 1].id else { return nil }
        }
        for index in entries.indices {
            guard let length = reader.next().flatMap({ UInt32(exactly: $0) }), length > 0 else { return nil }
            entries[index].length = length
        }
        for index in entries.indices {
            guard let number = reader.next() else { return nil }
            if number > 0 {
                entries[index].offset = number - 1
            } else {
                guard index > 0 else { return nil }
                let (sum, isOver) = entries[index - 1].offset
                    .addingReportingOverflow(UInt64(entries[index - 1].length))
                guard !isOver else { return nil }
                entries[index].offset = sum
            }
            let (end, isOver) = entries[index].offset.addingReportingOverflow(UInt64(entries[index].length))
            guard !isOver, end <= (entries[index].run == 0 ? leaves : data) else { return nil }
        }
        guard reader.isAtEnd else { return nil }
        self.entries = entries
    }

    /// Returns the entry that covers a tile, which is the tile itself or a directory to search; nil when there is no
    /// such tile.
    package func find(_ id: UInt64) -> Entry? {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].id <= id { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return nil }
        let entry = entries[low - 1]
        return entry.run == 0 || id - entry.id < UInt64(entry.run) ? entry : nil
    }

    private struct Varints {
        let bytes: [UInt8]
        var offset = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        var isAtEnd: Bool { offset == bytes.count }

        mutating func next() -> UInt64? {
            var value: UInt64 = 0
            for shift in stride(from: UInt64(0), to: 64, by: 7) {
                guard offset < bytes.count else { return nil }
                let byte = bytes[offset]
                offset += 1
                guard shift < 63 || byte <= 1 else { return nil }
                value |= UInt64(byte & 0x7f) << shift
                if byte < 0x80 { return value }
            }
            return nil
        }
    }
}
