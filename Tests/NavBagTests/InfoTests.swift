import NavBag
import NavTestSystem
import Testing

@Suite struct InfoTests {
    @Test(arguments: [0, 1024, 1 << 20]) func summaryAndScanAgree(chunkSize: Int) throws {
        var list = samples(999)
        list.swapAt(0, 700)
        list.swapAt(3, 998)
        let bytes = try bag(list, BagWriteOptions(compression: .zstd, chunkSize: chunkSize))
        var options = BagReadOptions()
        options.ignoreSummary = true
        let summary = try MCAPReader(MemorySource(bytes)).info()
        let scan = try MCAPReader(MemorySource(bytes), options: options).info()
        #expect(summary.channels == scan.channels)
        #expect(summary.timeRange == scan.timeRange)
        #expect(summary.packings == scan.packings)
    }

    @Test func figuresMatchTheMessages() throws {
        let list = samples(999)
        let bytes = try bag(list, BagWriteOptions(compression: .zstd, chunkSize: 4096))
        let info = try MCAPReader(MemorySource(bytes)).info()
        #expect(info.fileBytes == bytes.count)
        #expect(info.messageCount == 999)
        #expect(info.duration == 499_000_000)
        #expect(info.channels.map(\.channel.topic) == ["/gnss/fix", "/nav/position", "/nav/progress"])
        for channel in info.channels {
            #expect(channel.messageCount == 333)
            #expect(channel.schemaName == "test.v1.Sample")
        }
        let packing = try #require(info.packings.first)
        #expect(info.packings.count == 1 && packing.compression == "zstd" && packing.chunkCount > 10)
        #expect(packing.ratio > 1.2)
    }
}
