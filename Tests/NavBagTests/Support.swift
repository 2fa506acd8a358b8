import Foundation
import NavBag
import NavTestSystem
import Testing

/// A message that a test writes and expects to read back.
struct Sample: Hashable {
    var topic: String
    var sequence: UInt32
    var logTime: UInt64
    var publishTime: UInt64
    var data: [UInt8]
}

/// Returns `count` messages on three topics, with log times that ascend by 1 ms and partly repeat.
func samples(_ count: Int) -> [Sample] {
    let base: UInt64 = 1_700_000_000_000_000_000
    let topics = ["/gnss/fix", "/nav/position", "/nav/progress"]
    return (0..<count).map { (n: Int) -> Sample in
        let size = (n * 7) % 90
        return Sample(
            topic: topics[n % 3], sequence: UInt32(n), logTime: base + UInt64(n / 2) * 1_000_000,
            publishTime: base + UInt64(n), data: (0..<size).map { UInt8(truncatingIfNeeded: $0 &* n) })
    }
}

let descriptor = [UInt8]((0..<200).map { UInt8($0) })

extension MCAPWriter {
    mutating func add(_ sample: Sample) throws {
        let channel = try addChannel(
            topic: sample.topic, schemaName: "test.v1.Sample", schemaEncoding: "protobuf", schemaData: descriptor,
            messageEncoding: "protobuf", metadata: ["qos": "keep_last", "node": "test"])
        try write(
            channel: channel, sequence: sample.sequence, logTime: sample.logTime, publishTime: sample.publishTime,
            data: sample.data)
    }
}

/// Returns a whole bag in memory: the samples, one metadata record, one attachment.
func bag(_ samples: [Sample], _ options: BagWriteOptions = BagWriteOptions()) throws -> [UInt8] {
    var writer = try MCAPWriter(MemorySink(), options: options)
    try writer.addMetadata(name: "vehicle", ["vin": "X1", "model": "test"])
    for sample in samples { try writer.add(sample) }
    try writer.addAttachment(
        name: "config.yaml", mediaType: "text/yaml", logTime: 5, createTime: 6, data: Array("a: 1\n".utf8))
    try writer.close()
    return writer.sink.bytes
}

extension MCAPReader {
    /// Returns all messages of a query with their topics.
    func all(_ query: BagQuery = BagQuery()) throws -> [Sample] {
        var cursor = messages(query)
        var found: [Sample] = []
        while let message = try cursor.next() {
            found.append(Sample(message, topic: index.channel(message.channelID)?.topic ?? "?"))
        }
        return found
    }
}

extension MCAPLinearReader {
    /// Returns all remaining messages.
    mutating func all() throws -> [Sample] {
        var found: [Sample] = []
        while let message = try next() {
            found.append(Sample(message, topic: channel(message.channelID)?.topic ?? "?"))
        }
        return found
    }
}

extension Sample {
    init(_ message: BagMessage, topic: String) {
        self.init(
            topic: topic, sequence: message.sequence, logTime: message.logTime, publishTime: message.publishTime,
            data: Array(message.data))
    }
}

/// A writer of raw records, for bags that the bag writer would not produce.
struct RawBag {
    var bytes: [UInt8] = [0x89, 0x4D, 0x43, 0x41, 0x50, 0x30, 0x0D, 0x0A]

    init() { record(0x01, string("") + string("raw")) }

    mutating func record(_ opcode: UInt8, _ content: [UInt8]) {
        bytes += [opcode] + le(UInt64(content.count)) + content
    }

    mutating func footer(summaryStart: Int = 0) {
        record(0x02, le(UInt64(summaryStart)) + le(UInt64(0)) + le(UInt32(0)))
        bytes += [0x89, 0x4D, 0x43, 0x41, 0x50, 0x30, 0x0D, 0x0A]
    }

    static func rawRecord(_ opcode: UInt8, _ content: [UInt8]) -> [UInt8] {
        [opcode] + le(UInt64(content.count)) + content
    }

    static func channel(_ id: UInt16, _ topic: String) -> [UInt8] {
        rawRecord(0x04, le(id) + le(UInt16(0)) + string(topic) + string("raw") + le(UInt32(0)))
    }

    static func message(_ channel: UInt16, time: UInt64, _ data: [UInt8] = [1, 2, 3]) -> [UInt8] {
        rawRecord(0x05, le(channel) + le(UInt32(0)) + le(time) + le(time) + data)
    }

    /// Returns the content of a chunk record.
    static func chunk(
        _ records: [UInt8], start: UInt64 = 0, end: UInt64 = 0, compression: String = "", claim: UInt64? = nil,
        crc: UInt32 = 0
    ) -> [UInt8] {
        le(start) + le(end) + le(claim ?? UInt64(records.count)) + le(crc) + string(compression)
            + le(UInt64(records.count)) + records
    }

    /// Returns the content of a chunk index record.
    static func chunkIndex(start: UInt64, end: UInt64, offset: Int, length: Int, size: Int) -> [UInt8] {
        le(start) + le(end) + le(UInt64(offset)) + le(UInt64(length)) + le(UInt32(0)) + le(UInt64(0)) + string("")
            + le(UInt64(size)) + le(UInt64(size))
    }
}

func le<T: FixedWidthInteger>(_ value: T) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { Array($0) } }

func string(_ text: String) -> [UInt8] { le(UInt32(text.utf8.count)) + Array(text.utf8) }
