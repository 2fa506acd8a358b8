import NavBag
import NavTestSystem
import Testing

@Suite struct WriterTests {
    /// Compares every byte of a bag with one message, derived by hand from the format specification.
    @Test func bytesOfATinyBagFollowTheSpecification() throws {
        var options = BagWriteOptions(compression: .none)
        options.profile = "p"
        options.library = "lib"
        var writer = try MCAPWriter(MemorySink(), options: options)
        let channel = try writer.addChannel(
            topic: "/t", schemaName: "S", schemaEncoding: "protobuf", schemaData: [0xAA], messageEncoding: "protobuf",
            metadata: ["b": "2", "a": "1"])
        try writer.write(channel: channel, sequence: 7, logTime: 100, publishTime: 90, data: [1, 2, 3])
        try writer.close()

        let magic: [UInt8] = [0x89, 0x4D, 0x43, 0x41, 0x50, 0x30, 0x0D, 0x0A]
        let header = RawBag.rawRecord(0x01, string("p") + string("lib"))
        let schema = RawBag.rawRecord(0x03, le(UInt16(1)) + string("S") + string("protobuf") + le(UInt32(1)) + [0xAA])
        let pairs = string("a") + string("1") + string("b") + string("2")
        let channelRecord = RawBag.rawRecord(
            0x04,
            le(UInt16(1)) + le(UInt16(1)) + string("/t") + string("protobuf") + le(UInt32(pairs.count)) + pairs)
        let message = RawBag.rawRecord(
            0x05, le(UInt16(1)) + le(UInt32(7)) + le(UInt64(100)) + le(UInt64(90)) + [1, 2, 3])
        let records = schema + channelRecord + message
        let chunk = RawBag.rawRecord(0x06, RawBag.chunk(records, start: 100, end: 100, crc: crc32(records)))
        let messageIndex = RawBag.rawRecord(
            0x07, le(UInt16(1)) + le(UInt32(16)) + le(UInt64(100)) + le(UInt64(schema.count + channelRecord.count)))
        let data = magic + header + chunk + messageIndex
        let chunkStart = magic.count + header.count
        let dataEnd = RawBag.rawRecord(0x0F, le(crc32(data)))
        let statistics = RawBag.rawRecord(
            0x0B,
            le(UInt64(1)) + le(UInt16(1)) + le(UInt32(1)) + le(UInt32(0)) + le(UInt32(0)) + le(UInt32(1))
                + le(UInt64(100)) + le(UInt64(100)) + le(UInt32(10)) + le(UInt16(1)) + le(UInt64(1)))
        let indexFields =
            le(UInt64(100)) + le(UInt64(100)) + le(UInt64(chunkStart)) + le(UInt64(chunk.count)) + le(UInt32(10))
            + le(UInt16(1)) + le(UInt64(chunkStart + chunk.count)) + le(UInt64(messageIndex.count)) + string("")
        let chunkIndex = RawBag.rawRecord(
            0x08, indexFields + le(UInt64(records.count)) + le(UInt64(records.count)))
        let summaryStart = data.count + dataEnd.count
        var summary: [UInt8] = []
        var offsets: [UInt8] = []
        for (opcode, record) in [(0x03, schema), (0x04, channelRecord), (0x0B, statistics), (0x08, chunkIndex)] {
            offsets += RawBag.rawRecord(
                0x0E, [UInt8(opcode)] + le(UInt64(summaryStart + summary.count)) + le(UInt64(record.count)))
            summary += record
        }
        let footerHead = [0x02] + le(UInt64(20)) + le(UInt64(summaryStart)) + le(UInt64(summaryStart + summary.count))
        let expected =
            data + dataEnd + summary + offsets + footerHead + le(crc32(summary + offsets + footerHead)) + magic
        #expect(writer.sink.bytes == expected)
    }

    /// Returns the CRC-32 computed bit by bit, as a check of zlib's.
    private func crc32(_ bytes: [UInt8]) -> UInt32 {
        var crc: UInt32 = .max
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        return ~crc
    }

    @Test func identicalDefinitionsAreSharedAndDifferentOnesAreNot() throws {
        var writer = try MCAPWriter(MemorySink())
        let a = try writer.addSchema(name: "A", encoding: "protobuf", data: [1])
        #expect(try writer.addSchema(name: "A", encoding: "protobuf", data: [1]) == a)
        let b = try writer.addSchema(name: "A", encoding: "protobuf", data: [2])
        #expect(b != a)
        let first = try writer.addChannel(topic: "/x", schemaID: a, messageEncoding: "protobuf")
        #expect(try writer.addChannel(topic: "/x", schemaID: a, messageEncoding: "protobuf") == first)
        #expect(try writer.addChannel(topic: "/x", schemaID: b, messageEncoding: "protobuf") != first)
        #expect(writer.statistics.channelCount == 2 && writer.statistics.schemaCount == 2)
    }

    @Test func mistakesAreErrorsAndLeaveTheWriterUsable() throws {
        var options = BagWriteOptions()
        options.maxRecordBytes = 2000
        var writer = try MCAPWriter(MemorySink(), options: options)
        #expect(throws: BagError.self) {
            try writer.addChannel(topic: "/x", schemaID: 3, messageEncoding: "protobuf")
        }
        let channel = try writer.addChannel(topic: "/x", schemaID: 0, messageEncoding: "raw")
        let unknown = #expect(throws: BagError.self) {
            try writer.write(channel: 9, sequence: 0, logTime: 0, publishTime: 0, data: [])
        }
        #expect(unknown?.code == .invalidArgument)
        let large = #expect(throws: BagError.self) {
            try writer.write(
                channel: channel, sequence: 0, logTime: 0, publishTime: 0, data: [UInt8](repeating: 0, count: 2001))
        }
        #expect(large?.description == "a message has 2001 bytes; the limit is 2000")
        try writer.write(channel: channel, sequence: 0, logTime: 1, publishTime: 1, data: [1])
        try writer.close()
        let closed = #expect(throws: BagError.self) {
            try writer.write(channel: channel, sequence: 0, logTime: 1, publishTime: 1, data: [1])
        }
        #expect(closed?.code == .closed)
        #expect(try MCAPReader(MemorySource(writer.sink.bytes)).all().count == 1)
    }

    @Test func optionsOutOfRangeAreRefused() {
        for change: (inout BagWriteOptions) -> Void in [
            { $0.chunkSize = 5 }, { $0.chunkSize = -1 }, { $0.chunkSize = 1 << 40 }, { $0.compressionLevel = 40 },
            { $0.maxRecordBytes = 0 },
        ] {
            var options = BagWriteOptions()
            change(&options)
            let error = #expect(throws: BagError.self) { _ = try MCAPWriter(MemorySink(), options: options) }
            #expect(error?.code == .invalidArgument)
        }
    }

    @Test func fullDiskIsReportedAndEndsTheWriter() throws {
        struct DiskFull: Error {}
        for room in [0, 40, 3_000, 20_000] {
            var taken = 0
            let sink = ClosureSink { bytes in
                guard taken + bytes.count <= room else { throw DiskFull() }
                taken += bytes.count
            }
            let error = #expect(throws: BagError.self) {
                var writer = try MCAPWriter(sink, options: BagWriteOptions(compression: .none, chunkSize: 1024))
                do {
                    for sample in samples(1_000) { try writer.add(sample) }
                    try writer.close()
                } catch let error as BagError {
                    #expect(error.code == .sinkFailed)
                    try writer.close()
                }
            }
            #expect(error?.code == .sinkFailed)
        }
    }

    @Test func closeThatIsRepeatedAfterAFailedFlushWritesTheSummaryOnce() throws {
        let disk = UnreliableDisk()
        var writer = try MCAPWriter(disk)
        for sample in samples(100) { try writer.add(sample) }
        disk.isFailing = true
        #expect(throws: BagError.self) { try writer.close() }
        let late = #expect(throws: BagError.self) {
            try writer.retry()
            try writer.add(samples(1)[0])
        }
        #expect(late?.code == .sinkFailed, "no record may follow the footer")
        disk.isFailing = false
        try writer.close()
        var other = try MCAPWriter(MemorySink())
        for sample in samples(100) { try other.add(sample) }
        try other.close()
        #expect(disk.bytes == other.sink.bytes)
    }

    @Test func fullDeviceIsReportedWithItsPath() throws {
        let error = #expect(throws: BagError.self) {
            var writer = try BagWriter(path: "/dev/full", overwrite: true)
            try writer.close()
        }
        #expect(error?.code == .sinkFailed)
        #expect(error?.reason.contains("cannot write /dev/full: No space left on device") == true)
    }

    @Test func flushKeepsEverythingBeforeIt() throws {
        var writer = try MCAPWriter(MemorySink())
        for sample in samples(100) { try writer.add(sample) }
        try writer.flush()
        let safe = writer.sink.bytes
        for sample in samples(50) { try writer.add(sample) }
        #expect(writer.sink.bytes == safe, "an open chunk stays in memory")
        var reader = try MCAPLinearReader(MemorySource(safe))
        #expect(try reader.all() == samples(100))
    }
}

/// A sink in memory that can fail to make its bytes durable.
private final class UnreliableDisk: ByteSink {
    private(set) var bytes: [UInt8] = []
    var isFailing = false

    func write(_ bytes: UnsafeRawBufferPointer) throws { self.bytes += bytes }

    func flush() throws {
        struct Failure: Error {}
        if isFailing { throw Failure() }
    }
}
