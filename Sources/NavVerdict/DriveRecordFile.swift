/// The records of a bag's runs in binary form, for the cache of runs.
///
/// A run is found by the configuration keys that it read, without decoding the rest of other runs. The format may change with each build
/// because the hash of the build is part of the file name.
package struct DriveRecordFile: Sendable {
    /// A run.
    package struct Run: Sendable {
        /// The configuration keys that it read, with their values, in a canonical encoding.
        package let keys: [UInt8]
        /// The encoded remainder of the record.
        private let rest: [UInt8]

        package init(_ record: DriveRecord) {
            var keys = RecordWriter()
            keys.add(record.keys.sorted { $0.key < $1.key }) { writer, pair in
                writer.add(pair.key)
                writer.add(pair.value)
            }
            self.keys = keys.bytes
            var rest = RecordWriter()
            rest.add(record.events) { writer, event in
                writer.add(event.time)
                writer.add(event.topic)
                writer.add(event.text)
            }
            rest.add(record.metrics.sorted { $0.key < $1.key }) { writer, pair in
                writer.add(pair.key)
                writer.add(pair.value)
            }
            rest.add(record.unexpected) { $0.add($1) }
            for lines in [record.unmeasured, record.notes, record.failure.map { [$0] }] {
                rest.add(lines.map { [$0] } ?? []) { $0.add($1) { $0.add($1) } }
            }
            rest.add(record.fixes)
            self.rest = rest.bytes
        }

        fileprivate init(_ reader: inout RecordReader) {
            keys = reader.bytes()
            rest = reader.bytes()
        }

        fileprivate func write(to writer: inout RecordWriter) {
            writer.add(keys)
            writer.add(rest)
        }

        /// Returns the keys with their values; nil when the bytes are damaged.
        package static func keys(_ bytes: [UInt8]) -> [String: String]? {
            var reader = RecordReader(bytes)
            let pairs = reader.list { ($0.text(), $0.text()) }
            return reader.isSound ? Dictionary(pairs) { first, _ in first } : nil
        }

        /// Returns the record with the given keys, which ``keys(_:)`` has decoded; nil when the bytes are damaged.
        package func record(keys: [String: String]) -> DriveRecord? {
            var reader = RecordReader(rest)
            var record = DriveRecord()
            record.keys = keys
            record.events = reader.list {
                EventDiff.Event(time: $0.number(), topic: $0.text(), text: $0.text())
            }
            record.metrics = Dictionary(reader.list { ($0.text(), $0.number()) }) { first, _ in first }
            record.unexpected = reader.list { $0.text() }
            let lines = (0..<3).map { _ in reader.list { $0.list { $0.text() } }.first }
            (record.unmeasured, record.notes, record.failure) = (lines[0], lines[1], lines[2]?.first)
            record.fixes = reader.count()
            return reader.isSound ? record : nil
        }
    }

    /// The runs.
    package let runs: [Run]

    package init(_ runs: [Run]) { self.runs = runs }

    /// Reads a file; a damaged file has no runs.
    package init(bytes: [UInt8]) {
        var reader = RecordReader(bytes)
        let runs = reader.list { Run(&$0) }
        self.runs = reader.isSound ? runs : []
    }

    package var bytes: [UInt8] {
        var writer = RecordWriter()
        writer.add(runs) { $1.write(to: &$0) }
        return writer.bytes
    }
}

/// A writer of counts, numbers, texts and lists as bytes.
private struct RecordWriter {
    private(set) var bytes: [UInt8] = []

    /// Adds a count in groups of seven bits, the lowest first.
    mutating func add(_ count: Int) {
        var rest = UInt64(max(count, 0))
        while rest > 127 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 128)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func add(_ number: Double) {
        withUnsafeBytes(of: number.bitPattern.littleEndian) { bytes += $0 }
    }

    mutating func add(_ part: some Collection<UInt8>) {
        add(part.count)
        bytes += part
    }

    mutating func add(_ text: String) { add(text.utf8) }

    mutating func add<Element>(_ list: [Element], _ element: (inout RecordWriter, Element) -> Void) {
        add(list.count)
        for item in list { element(&self, item) }
    }
}

/// A reader of the output of ``RecordWriter``; damaged bytes give zeros and empty texts.
private struct RecordReader {
    private let data: [UInt8]
    private var position = 0
    private var isDamaged = false

    init(_ data: [UInt8]) { self.data = data }

    /// Whether all bytes were read and none were missing.
    var isSound: Bool { !isDamaged && position == data.count }

    mutating func count() -> Int {
        var value = 0
        for shift in stride(from: 0, to: 63, by: 7) {
            guard position < data.count else { break }
            let byte = data[position]
            position += 1
            value |= Int(byte & 127) << shift
            if byte < 128 { return value }
        }
        isDamaged = true
        return 0
    }

    /// Returns the next bytes; none when fewer remain.
    private mutating func take(_ count: Int) -> ArraySlice<UInt8> {
        guard count <= data.count - position else {
            (isDamaged, position) = (true, data.count)
            return []
        }
        defer { position += count }
        return data[position..<position + count]
    }

    mutating func number() -> Double {
        let bytes = take(8)
        guard bytes.count == 8 else { return 0 }
        let pattern = bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
        return Double(bitPattern: UInt64(littleEndian: pattern))
    }

    mutating func bytes() -> [UInt8] { Array(take(count())) }

    mutating func text() -> String { String(decoding: take(count()), as: UTF8.self) }

    mutating func list<Element>(_ element: (inout RecordReader) -> Element) -> [Element] {
        let count = count()
        var list: [Element] = []
        // Each element takes at least one byte.
        guard count <= data.count - position else {
            isDamaged = true
            return []
        }
        list.reserveCapacity(min(count, 1 << 10))
        for _ in 0..<count where !isDamaged { list.append(element(&self)) }
        return list
    }
}
