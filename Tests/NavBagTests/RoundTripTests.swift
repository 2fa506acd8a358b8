import NavBag
import NavTestKit
import NavTestSystem
import Testing

@Suite struct RoundTripTests {
    @Test(arguments: BagCompression.allCases, [0, 1024, 1 << 20])
    func everythingWrittenIsReadBack(compression: BagCompression, chunkSize: Int) throws {
        let written = samples(2_000)
        let bytes = try bag(written, BagWriteOptions(compression: compression, chunkSize: chunkSize))
        let reader = try MCAPReader(MemorySource(bytes))
        #expect(try reader.all() == written)
        #expect(reader.header == BagHeader(profile: "", library: "navbus"))
        #expect(reader.index.messageCount == 2_000)
        #expect(reader.index.schemas.map(\.name) == ["test.v1.Sample"])
        #expect(reader.index.schemas.first?.data == descriptor)
        #expect(reader.index.channels.map(\.topic) == ["/gnss/fix", "/nav/position", "/nav/progress"])
        #expect(reader.index.channels.first?.metadata == ["qos": "keep_last", "node": "test"])
        #expect(chunkSize == 0 || reader.index.origin == .summary)

        let metadata = try #require(reader.index.metadata.first)
        #expect(try reader.metadata(metadata).entries == ["vin": "X1", "model": "test"])
        let place = try #require(reader.index.attachments.first)
        let attachment = try reader.attachment(place)
        #expect(attachment.name == "config.yaml" && attachment.mediaType == "text/yaml")
        #expect(attachment.logTime == 5 && attachment.createTime == 6)
        #expect(attachment.data == Array("a: 1\n".utf8))

        var linear = try MCAPLinearReader(MemorySource(bytes))
        #expect(try linear.all() == written)
        #expect(linear.ending == .complete)
        #expect(linear.damage.isNone)
    }

    @Test func compressionSavesSpace() throws {
        var sizes: [BagCompression: Int] = [:]
        for compression in BagCompression.allCases {
            sizes[compression] = try bag(samples(3_000), BagWriteOptions(compression: compression)).count
        }
        let none = try #require(sizes[.none])
        #expect(try #require(sizes[.lz4]) < none * 3 / 4)
        #expect(try #require(sizes[.zstd]) < none * 3 / 4)
    }

    @Test(arguments: BagCompression.allCases) func sameCallsGiveSameBytes(compression: BagCompression) throws {
        let options = BagWriteOptions(compression: compression, chunkSize: 4096)
        #expect(try bag(samples(1_000), options) == bag(samples(1_000), options))
    }

    @Test func emptyBagIsWellFormed() throws {
        var writer = try MCAPWriter(MemorySink())
        try writer.close()
        try writer.close()
        let reader = try MCAPReader(MemorySource(writer.sink.bytes))
        #expect(reader.index.origin == .summary)
        #expect(reader.index.messageCount == 0)
        #expect(reader.index.timeRange == nil)
        #expect(try reader.all().isEmpty)
        #expect(reader.info().duration == 0)
    }

    @Test func messageLargerThanAChunkHasASeparateChunk() throws {
        var list = samples(10)
        list[5].data = [UInt8](repeating: 7, count: 100_000)
        let reader = try MCAPReader(
            MemorySource(bag(list, BagWriteOptions(compression: .zstd, chunkSize: 1024))))
        #expect(try reader.all() == list)
        #expect(reader.index.spans.count { $0.uncompressedSize > 1024 } == 1)
    }

    @Test func extremeTimesSurvive() throws {
        var list = samples(3)
        list[0].logTime = 0
        list[2].logTime = .max
        let reader = try MCAPReader(MemorySource(bag(list)))
        #expect(try reader.all() == list)
        #expect(reader.info().duration == .max)
        #expect(try reader.all(BagQuery(start: .max)) == [list[2]])
    }

    @Test func fileRoundTripThroughMapping() throws {
        try withTemporaryFolder { directory in
            let path = directory + "/drive.mcap"
            var writer = try BagWriter(path: path, durable: true)
            for sample in samples(500) { try writer.add(sample) }
            try writer.flush()
            // A reader opens the bag while the recorder is still running.
            let early = try BagReader(path: path)
            #expect(try early.all() == samples(500))
            guard case .scan(.complete, _) = early.index.origin else {
                Issue.record("an unfinished bag must be scanned, not \(early.index.origin)")
                return
            }
            try writer.close()
            let reader = try BagReader(path: path)
            #expect(reader.index.origin == .summary)
            #expect(try reader.all() == samples(500))
            let refusal = #expect(throws: BagError.self) { _ = try BagWriter(path: path) }
            #expect(refusal?.description == "cannot create \(path): File exists")
        }
    }
}
