import Foundation
import NavBag
import NavSimulation
import NavTestKit
import NavTestSystem
import Testing

/// Truncated, damaged and hostile bags.
@Suite struct DamageTests {
    /// Reads a bag in every way, which must end without a trap whatever the content. Returns the messages of the linear
    /// reader.
    @discardableResult
    private func exercise(_ bytes: [UInt8]) -> [Sample] {
        var options = BagReadOptions()
        options.maxChunkBytes = 1 << 20
        let source = MemorySource(bytes)
        var found: [Sample] = []
        if var linear = try? MCAPLinearReader(source, options: options) {
            found = (try? linear.all()) ?? []
            #expect(linear.ending != nil)
        }
        let isRecoverable = (try? MCAPLinearReader(recovering: source, options: options)).map {
            var reader = $0
            let recovered = (try? reader.all()) ?? []
            #expect(recovered.count >= found.count)
            found = recovered
            return true
        }
        if let reader = try? MCAPReader(source, options: options) {
            for order in [BagQuery.Order.logTime, .file] {
                var cursor = reader.messages(BagQuery(start: 1, order: order))
                var previous: UInt64 = 0
                // Each error skips one chunk, so there are at most as many errors as records.
                for _ in 0...bytes.count {
                    do {
                        guard let message = try cursor.next() else { break }
                        #expect(order == .file || message.logTime >= previous)
                        previous = message.logTime
                    } catch {
                        continue
                    }
                }
                #expect((try? cursor.next()) == .some(nil))
            }
            _ = reader.info()
            for place in reader.index.attachments { _ = try? reader.attachment(place) }
            for place in reader.index.metadata { _ = try? reader.metadata(place) }
        }
        _ = try? checkBag(source, options: options) { _ in nil }
        if var writer = try? MCAPWriter(MemorySink(), options: BagWriteOptions(compression: .none)) {
            if isRecoverable ?? false, let recovery = try? recoverBag(from: source, to: &writer, options: options) {
                #expect(recovery.messageCount == UInt64(found.count))
                #expect((try? MCAPReader(MemorySource(writer.sink.bytes)).index.messageCount) == UInt64(found.count))
            }
        }
        return found
    }

    @Test(arguments: BagCompression.allCases, [0, 1024])
    func truncationAnywhereKeepsTheMessagesBeforeIt(compression: BagCompression, chunkSize: Int) throws {
        let written = samples(60)
        let bytes = try bag(written, BagWriteOptions(compression: compression, chunkSize: chunkSize))
        var most = 0
        for length in 0..<bytes.count {
            let found = exercise(Array(bytes[..<length]))
            #expect(found == Array(written.prefix(found.count)))
            #expect(found.count >= most, "a longer file returned fewer messages")
            most = found.count
        }
        #expect(most == 60)
    }

    @Test(arguments: BagCompression.allCases)
    func damagedBeginningIsSkippedByARecovery(compression: BagCompression) throws {
        let written = samples(60)
        let bytes = try bag(written, BagWriteOptions(compression: compression, chunkSize: 1024))
        let headerEnd = 17 + Int(bytes[9])
        for place in 0..<headerEnd {
            for flip in [0x01, 0x80, 0xff] as [UInt8] {
                var damaged = bytes
                damaged[place] ^= flip
                var reader = try MCAPLinearReader(recovering: MemorySource(damaged))
                #expect(try reader.all() == written, "byte \(place)")
            }
        }
        let other = #expect(throws: BagError.self) {
            _ = try MCAPLinearReader(recovering: MemorySource(Array("#ROSBAG V2.0\n....................".utf8)))
        }
        #expect(other?.code == .notMCAP)
    }

    @Test(arguments: 0..<20) func thousandMutationsNeitherTrapNorHang(round: Int) throws {
        var random = SeededRandom(seed: UInt64(round))
        let options = BagWriteOptions(
            compression: BagCompression.allCases[round % 3], chunkSize: round % 4 == 3 ? 0 : 1024)
        let bytes = try bag(samples(40), options)
        for _ in 0..<1_000 {
            var mutated = bytes
            for _ in 0...random.below(4) {
                let place = random.below(mutated.count)
                switch random.below(5) {
                case 0: mutated[place] = UInt8(random.below(256))
                case 1: mutated[place] ^= 1 << UInt8(random.below(8))
                case 2: for offset in place..<min(place + 8, mutated.count) { mutated[offset] = 0xFF }
                case 3: mutated.removeSubrange(place..<min(place + random.below(20), mutated.count))
                default: mutated.insert(contentsOf: mutated[place..<min(place + 30, mutated.count)], at: place)
                }
                if mutated.isEmpty { mutated = [0] }
            }
            exercise(mutated)
        }
    }

    @Test func otherFilesAreReportedAsNotMCAP() {
        for bytes in [[], [0x50, 0x4B], Array("#ROSBAG V2.0\n....................".utf8)] as [[UInt8]] {
            let error = #expect(throws: BagError.self) { _ = try MCAPReader(MemorySource(bytes)) }
            #expect(error?.code == .notMCAP)
        }
        let missing = #expect(throws: BagError.self) { _ = try BagReader(path: "/nowhere/a.mcap") }
        #expect(missing?.description == "cannot open /nowhere/a.mcap: No such file or directory")
        let directory = #expect(throws: BagError.self) { _ = try BagReader(path: "/") }
        #expect(directory?.reason == "cannot read /: not a regular file; name a .mcap file")
        let device = #expect(throws: BagError.self) { _ = try BagReader(path: "/proc/self/cmdline") }
        #expect(device?.code == .notMCAP, "a file of unknown size counts as empty")
    }

    @Test func unknownCompressionIsReportedAndSkipped() throws {
        var raw = RawBag()
        raw.record(0x06, RawBag.chunk([1, 2, 3], compression: "brotli"))
        raw.record(0x06, RawBag.chunk(RawBag.channel(1, "/x") + RawBag.message(1, time: 5)))
        raw.footer()
        var reader = try MCAPLinearReader(MemorySource(raw.bytes))
        #expect(try reader.all().count == 1)
        #expect(reader.ending == .complete)
        #expect(reader.damage.errors.map(\.code) == [.unsupportedCompression])
        #expect(reader.damage.errors.first?.reason.contains("'brotli'") == true)
    }

    @Test func oversizedChunkIsRefusedBeforeAllocation() throws {
        var raw = RawBag()
        for claim in [UInt64(129 << 20), 1 << 40, .max] {
            raw.record(0x06, RawBag.chunk([1], compression: "zstd", claim: claim))
        }
        raw.footer()
        var reader = try MCAPLinearReader(MemorySource(raw.bytes))
        #expect(try reader.all().isEmpty)
        #expect(reader.damage.errors.map(\.code) == [.limitExceeded, .limitExceeded, .malformed])
    }

    @Test func chunkLargerThanItsStatedSizeIsDamage() throws {
        for compression in [BagCompression.zstd, .lz4] {
            var bytes = try bag(samples(50), BagWriteOptions(compression: compression))
            let span = try #require(MCAPReader(MemorySource(bytes)).index.spans.first)
            // The uncompressed size is the third field of the chunk.
            for (offset, byte) in le(UInt64(span.uncompressedSize - 1)).enumerated() {
                bytes[span.offset + 9 + 16 + offset] = byte
            }
            var reader = try MCAPLinearReader(MemorySource(bytes))
            #expect(try reader.all().isEmpty)
            #expect(reader.damage.errors.first?.code == .malformed)
        }
    }

    @Test func damagedChunkIsSkippedAndReported() throws {
        let written = samples(200)
        var bytes = try bag(written, BagWriteOptions(compression: .none, chunkSize: 1024))
        let spans = try MCAPReader(MemorySource(bytes)).index.spans
        bytes[spans[3].offset + spans[3].length - 1] ^= 1
        var reader = try MCAPLinearReader(MemorySource(bytes))
        let found = try reader.all()
        #expect(found.count < 200 && found.count > 150)
        #expect(reader.ending == .complete)
        // The errors of the chunk and of the data section that contains it.
        #expect(reader.damage.errors.map(\.code) == [.crcMismatch, .crcMismatch])
        #expect(reader.damage.errors.first?.offset == spans[3].offset + 9)
    }

    /// With a memory-mapped file, this would raise SIGBUS.
    @Test func truncationWhileReadingIsAnError() throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let written = samples(20_000)
        let path = try folder.write("cut.mcap", bag(written, BagWriteOptions(compression: .none, chunkSize: 4_096)))
        let reader = try BagReader(path: path)
        var cursor = reader.messages(BagQuery())
        #expect(try cursor.next() != nil)
        try #require(truncate(path, 100_000) == 0)
        let error = #expect(throws: BagError.self) { while try cursor.next() != nil {} }
        #expect(error?.code == .io)
        #expect(error?.description.contains("was truncated while it was read") == true)
    }

    /// The first chunk after the damage crosses the end of a search block.
    @Test(arguments: [-60, -40, -9, -1, 0, 1])
    func chunkIsFoundAnywhereBehindDamage(place: Int) throws {
        let written = samples(50)
        let sound = try bag(written, BagWriteOptions(compression: .none, chunkSize: 1 << 20))
        let span = try #require(try MCAPReader(MemorySource(sound)).index.spans.first)
        // A record that states more bytes than the file has, followed by bytes that form no record until the chunk
        // begins.
        var bytes = Array(sound[..<span.offset]) + [0x7F] + le(UInt64.max >> 1)
        let first = span.offset + 1
        bytes += [UInt8](repeating: 0, count: first + (1 << 20) + place - bytes.count)
        bytes += sound[span.offset...]
        var reader = try MCAPLinearReader(MemorySource(bytes))
        #expect(try reader.all().count == 50)
        #expect(!reader.damage.errors.isEmpty)
    }

    /// The channels are defined in the first chunk and in the summary only.
    @Test func recoveryTakesChannelsOfADamagedChunkFromTheSummary() throws {
        let written = samples(200)
        var bytes = try bag(written, BagWriteOptions(compression: .none, chunkSize: 1_024))
        let spans = try MCAPReader(MemorySource(bytes)).index.spans
        let first = try #require(spans.first)
        bytes[first.offset + first.length - 1] ^= 0xFF

        var writer = try MCAPWriter(MemorySink())
        let recovery = try recoverBag(from: MemorySource(bytes), to: &writer)
        let lost = written.count - Int(recovery.messageCount)
        #expect(spans.count > 5 && (1..<40).contains(lost) && recovery.damage.orphanMessages == 0)
        let recovered = try MCAPReader(MemorySource(writer.sink.bytes)).all()
        #expect(recovered == Array(written.dropFirst(lost)))
    }

    @Test func unknownRecordsAreSkippedAndCounted() throws {
        var raw = RawBag()
        raw.record(0x7F, [1, 2])
        raw.record(0x80, [])
        raw.record(0x80, [9])
        raw.bytes += RawBag.channel(1, "/x") + RawBag.message(1, time: 5) + RawBag.message(2, time: 6)
        raw.footer()
        let reader = try MCAPReader(MemorySource(raw.bytes))
        guard case .scan(.complete, let damage) = reader.index.origin else {
            Issue.record("the index must be scanned and complete, not \(reader.index.origin)")
            return
        }
        #expect(damage.unknownRecords == [0x7F: 1, 0x80: 2])
        #expect(damage.orphanMessages == 1)
        #expect(damage.count == 0)
        #expect(try reader.all().map(\.logTime) == [5])
    }

    @Test func beginningOfTruncatedChunkIsRecovered() throws {
        var random = SeededRandom(seed: 8)
        for compression in BagCompression.allCases {
            // The content is incompressible, so that half of the chunk contains about half of the messages, over
            // several blocks of 64 or 128 KiB.
            let written = (0..<2_000).map { n in
                Sample(
                    topic: "/x", sequence: UInt32(n), logTime: UInt64(n), publishTime: 0,
                    data: (0..<400).map { _ in UInt8(truncatingIfNeeded: random.next()) })
            }
            let bytes = try bag(written, BagWriteOptions(compression: compression))
            let reader = try MCAPReader(MemorySource(Array(bytes[..<(bytes.count / 2)])))
            let found = try reader.all()
            #expect(found.count > 700)
            #expect(found == Array(written.prefix(found.count)))
            #expect(reader.index.spans.map(\.kind) == [.partialChunk])
        }
    }

    /// If a summary does not lead to the messages, it is ignored and the whole bag is read.
    @Test func inconsistentSummariesAreIgnored() throws {
        let records = RawBag.channel(1, "/x") + RawBag.message(1, time: 50) + RawBag.message(1, time: 10)
        func made(_ indexes: (Int, Int) -> [[UInt8]]) -> [UInt8] {
            var raw = RawBag()
            let offset = raw.bytes.count
            raw.record(0x06, RawBag.chunk(records, start: 10, end: 50))
            let length = raw.bytes.count - offset
            raw.record(0x0F, le(UInt32(0)))
            let summary = raw.bytes.count
            raw.bytes += RawBag.channel(1, "/x")
            for index in indexes(offset, length) { raw.record(0x08, index) }
            raw.footer(summaryStart: summary)
            return raw.bytes
        }
        let size = records.count
        let honest = try MCAPReader(
            MemorySource(made { [RawBag.chunkIndex(start: 10, end: 50, offset: $0, length: $1, size: size)] }))
        #expect(honest.index.origin == .summary)
        #expect(try honest.all().map(\.logTime) == [10, 50])
        func index(_ start: UInt64, _ end: UInt64, _ offset: Int, _ length: Int) -> [UInt8] {
            RawBag.chunkIndex(start: start, end: end, offset: offset, length: length, size: size)
        }
        var lies: [(Int, Int) -> [[UInt8]]] = []
        lies.append { _, _ in [] }
        lies.append { offset, _ in [index(10, 50, offset, 1 << 40)] }
        lies.append { _, length in [index(10, 50, .max, length)] }
        lies.append { offset, length in [index(50, 10, offset, length)] }
        lies.append { offset, length in (0..<1000).map { _ in index(10, 50, offset, length) } }
        for lie in lies {
            let reader = try MCAPReader(MemorySource(made(lie)))
            #expect(reader.index.origin == .scan(.complete, BagDamage()))
            #expect(try reader.all().map(\.logTime) == [10, 50])
        }
        let early = try MCAPReader(
            MemorySource(made { [RawBag.chunkIndex(start: 20, end: 50, offset: $0, length: $1, size: size)] }))
        let error = #expect(throws: BagError.self) { try early.all() }
        #expect(error?.reason.contains("older than its index says") == true)
    }

    @Test func attachmentsAreIndexedAndCheckedInPieces() throws {
        var writer = try MCAPWriter(MemorySink())
        let data = [UInt8](repeating: 7, count: 3 << 20)
        try writer.addAttachment(name: "log.txt", mediaType: "text/plain", logTime: 1, createTime: 0, data: data)
        for sample in samples(10) { try writer.add(sample) }
        try writer.close()
        var options = BagReadOptions()
        options.ignoreSummary = true
        var bytes = writer.sink.bytes
        for isDamaged in [false, true] {
            if isDamaged { bytes[1 << 20] ^= 1 }
            let source = MeteredSource(bytes)
            let reader = try MCAPReader(source, options: options)
            #expect(reader.index.attachments.map(\.name) == (isDamaged ? [] : ["log.txt"]))
            let check = try checkBag(source, options: options) { _ in nil }
            #expect(check.isSound == !isDamaged)
            #expect(source.largest <= 1 << 20)
        }
    }

    /// The offset in a footer without a CRC is damaged, so that almost the whole bag would count as the summary.
    @Test func oversizedSummaryIsNotRead() throws {
        var raw = RawBag()
        let start = raw.bytes.count
        raw.record(0x06, RawBag.chunk(RawBag.channel(1, "/x") + RawBag.message(1, time: 5)))
        raw.record(0x7F, [UInt8](repeating: 0, count: 3 << 20))
        raw.footer(summaryStart: start)
        var options = BagReadOptions()
        (options.maxChunkBytes, options.checkCRC) = (1 << 20, false)
        let source = MeteredSource(raw.bytes)
        let reader = try MCAPReader(source, options: options)
        #expect(try reader.all().map(\.logTime) == [5])
        #expect(source.largest <= 1 << 20)
    }

    @Test func oversizedMetadataIsDamage() throws {
        var writer = try MCAPWriter(MemorySink())
        let text = String(repeating: "x", count: 3 << 20)
        try writer.addMetadata(name: "large", ["text": text])
        try writer.addMetadata(name: "small", ["text": "x"])
        try writer.close()
        var options = BagReadOptions()
        (options.maxChunkBytes, options.ignoreSummary) = (1 << 20, true)
        let reader = try MCAPReader(MemorySource(writer.sink.bytes), options: options)
        #expect(reader.index.metadata.map(\.name) == ["small"])
        guard case .scan(.complete, let damage) = reader.index.origin else {
            Issue.record("the index must be scanned and complete, not \(reader.index.origin)")
            return
        }
        #expect(damage.errors.map(\.code) == [.limitExceeded])
    }

    @Test func conflictingDefinitionsAreReportedAndTheFirstWins() throws {
        var raw = RawBag()
        raw.bytes += RawBag.channel(1, "/x") + RawBag.channel(1, "/x") + RawBag.channel(1, "/y")
        raw.bytes += RawBag.message(1, time: 5)
        raw.footer()
        var reader = try MCAPLinearReader(MemorySource(raw.bytes))
        #expect(try reader.all().map(\.topic) == ["/x"])
        #expect(reader.damage.errors.map(\.reason) == ["channel 1 is defined again, differently"])
    }

    /// The work is proportional to the size of a bag, whatever its numbers of definitions and compressions.
    @Test func bagOfManyDefinitionsIsNotSlow() throws {
        var raw = RawBag()
        for id in UInt16(1)...20_000 {
            raw.bytes += RawBag.rawRecord(
                0x03, le(id) + string("S\(id)") + string("protobuf") + le(UInt32(1)) + [1])
            raw.bytes += RawBag.rawRecord(
                0x04, le(id) + le(id) + string("/t\(id)") + string("raw") + le(UInt32(0)))
            raw.record(0x06, RawBag.chunk(RawBag.message(id, time: UInt64(id))))
        }
        raw.footer()
        var writer = try MCAPWriter(MemorySink(), options: BagWriteOptions(compression: .none))
        let recovery = try recoverBag(from: MemorySource(raw.bytes), to: &writer)
        #expect(recovery.messageCount == 20_000)
        let reader = try MCAPReader(MemorySource(writer.sink.bytes))
        #expect(reader.index.origin == .summary)
        #expect(reader.info().channels.count == 20_000)
        #expect(try reader.all(BagQuery(topics: ["/t777"])).map(\.logTime) == [777])
    }
}

/// A bag in memory that records the largest number of bytes requested at once.
private final class MeteredSource: ByteSource {
    private let source: MemorySource
    private(set) var largest = 0

    init(_ bytes: [UInt8]) { source = MemorySource(bytes) }

    var count: Int { source.count }

    func withBytes<Result>(
        at offset: Int, count: Int, _ body: (UnsafeRawBufferPointer) throws(BagError) -> Result
    ) throws(BagError) -> Result {
        largest = max(largest, count)
        return try source.withBytes(at: offset, count: count, body)
    }
}
