import NavBag
import NavSimulation
import NavTestSystem
import Testing

@Suite struct QueryTests {
    /// Returns messages in a random order of log time, so that chunks overlap in time, some completely.
    private func shuffled(_ count: Int, seed: UInt64) -> [Sample] {
        var random = SeededRandom(seed: seed)
        return samples(count).map {
            var sample = $0
            sample.logTime = UInt64(random.below(count / 3))
            return sample
        }
    }

    @Test(arguments: BagCompression.allCases, [0, 1024, 8192])
    func overlappingChunksMergeByLogTimeAndKeepFileOrderForEqualTimes(
        compression: BagCompression, chunkSize: Int
    ) throws {
        let written = shuffled(1_500, seed: 1)
        let reader = try MCAPReader(
            MemorySource(bag(written, BagWriteOptions(compression: compression, chunkSize: chunkSize))))
        let expected = written.enumerated().sorted { ($0.element.logTime, $0.offset) < ($1.element.logTime, $1.offset) }
            .map(\.element)
        #expect(try reader.all() == expected)
        #expect(try reader.all(BagQuery(order: .file)) == written)
    }

    @Test func topicsAndTimesFilter() throws {
        let written = shuffled(1_000, seed: 2)
        let reader = try MCAPReader(MemorySource(bag(written, BagWriteOptions(compression: .lz4, chunkSize: 2048))))
        for (start, end) in [(0, 50), (100, 200), (330, 400), (50, 50), (60, 40)] as [(UInt64, UInt64)] {
            let found = try reader.all(
                BagQuery(topics: ["/gnss/fix", "/nowhere"], start: start, end: end, order: .file))
            #expect(found == written.filter { $0.topic == "/gnss/fix" && $0.logTime >= start && $0.logTime < end })
        }
        #expect(try reader.all(BagQuery(topics: [])).isEmpty)
        #expect(try reader.all(BagQuery(start: 300)).count == written.count { $0.logTime >= 300 })
    }

    @Test func chunksWithoutMatchingMessagesAreNotRead() throws {
        var list: [Sample] = []
        for (n, topic) in ["/a", "/b", "/c"].enumerated() {
            for sample in samples(100) {
                var sample = sample
                sample.topic = topic
                sample.logTime = UInt64(n * 1000) + UInt64(list.count)
                list.append(sample)
            }
        }
        var bytes = try bag(list, BagWriteOptions(compression: .none, chunkSize: 1024))
        let spans = try MCAPReader(MemorySource(bytes)).index.spans
        // The first and the last chunk are damaged; a query for the time in between must not read them.
        for span in [spans[0], spans[spans.count - 1]] {
            for offset in span.offset + 50..<span.offset + span.length { bytes[offset] = 0xFF }
        }
        let reader = try MCAPReader(MemorySource(bytes))
        #expect(try reader.all(BagQuery(topics: ["/b"])) == list.filter { $0.topic == "/b" })
        #expect(try reader.all(BagQuery(start: 1200, end: 1300)).count == list.count { (1200..<1300) ~= $0.logTime })
        #expect(throws: BagError.self) { try reader.all() }
    }

    @Test func cursorContinuesAfterDamagedChunk() throws {
        let written = samples(300)
        var bytes = try bag(written, BagWriteOptions(compression: .none, chunkSize: 1024))
        let spans = try MCAPReader(MemorySource(bytes)).index.spans
        bytes[spans[2].offset + spans[2].length - 1] ^= 1
        var cursor = try MCAPReader(MemorySource(bytes)).messages()
        var count = 0
        var errors: [BagError] = []
        while true {
            do {
                guard try cursor.next() != nil else { break }
                count += 1
            } catch {
                errors.append(error)
            }
        }
        #expect(errors.map(\.code) == [.crcMismatch])
        #expect(count < 300 && count > 250)
        #expect(cursor.progress == 1)

        var options = BagReadOptions()
        options.checkCRC = false
        #expect(try MCAPReader(MemorySource(bytes), options: options).all().count == 300)
    }

    @Test func memoryOfOverlappingChunksIsBounded() throws {
        var random = SeededRandom(seed: 3)
        let written = (0..<3_000).map { n in
            Sample(
                topic: "/x", sequence: 0, logTime: n % 40 == 0 ? 0 : UInt64(1 + random.below(9)), publishTime: 0,
                data: [UInt8](repeating: UInt8(n % 256), count: 100))
        }
        let bytes = try bag(written, BagWriteOptions(compression: .zstd, chunkSize: 2048))
        var options = BagReadOptions()
        options.maxChunkBytes = 4096
        options.maxOpenBytes = 64 << 10
        let reader = try MCAPReader(MemorySource(bytes), options: options)
        let error = #expect(throws: BagError.self) { try reader.all() }
        #expect(error?.code == .limitExceeded)
        #expect(try reader.all(BagQuery(order: .file)) == written)
    }
}
