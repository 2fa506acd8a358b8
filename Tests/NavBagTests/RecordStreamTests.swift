import NavBag
import NavSimulation
import NavTestSystem
import Testing

/// Bags as record sequences: merging, and searching backwards.
struct RecordStreamTests {
    /// Returns a reader of many small chunks, so that a backward search can skip some.
    private func reader(_ samples: [Sample], ignoreSummary: Bool = false) throws -> MCAPReader<MemorySource> {
        var options = BagReadOptions()
        options.ignoreSummary = ignoreSummary
        let bytes = try bag(samples, BagWriteOptions(compression: .none, chunkSize: 1_024))
        return try MCAPReader(MemorySource(bytes), options: options)
    }

    private func sample(_ topic: String, _ time: UInt64, _ byte: UInt8) -> Sample {
        Sample(topic: topic, sequence: UInt32(byte), logTime: time, publishTime: time, data: [byte])
    }

    @Test(arguments: [false, true])
    func lastMessageBeforeATimeMatchesASlowSearch(ignoreSummary: Bool) throws {
        // Chunks that overlap in time, and messages with equal times.
        var random = SeededRandom(seed: 3)
        let samples = (0..<2_000).map { index in
            sample("/t\(random.below(7))", UInt64(1_000 + index - random.below(120)), UInt8(index % 251))
        }
        let reader = try reader(samples, ignoreSummary: ignoreSummary)
        #expect(reader.index.spans.count > 20)
        let ordered = try reader.all()
        let topics = ["/t0", "/t3", "/t5", "/none"]
        for time in [0, 900, 1_000, 1_001, 1_500, 2_000, 2_999, 4_000] as [UInt64] {
            let found = try reader.lastMessages(of: topics, before: time)
            for topic in topics {
                let wanted = ordered.last { $0.topic == topic && $0.logTime < time }
                #expect(found[topic]?.logTime == wanted?.logTime, "\(topic) before \(time)")
            }
            let latest = ordered.last { topics.contains($0.topic) && $0.logTime < time }
            #expect(try reader.lastTime(of: topics, before: time) == latest?.logTime)
        }
    }

    @Test func mergedBagsAreOrderedByTimeThenByBag() throws {
        let first = try reader((0..<300).map { sample("/a", UInt64($0) * 2, 1) })
        let second = try reader((0..<300).map { sample("/b", UInt64($0) * 3, 2) })
        let third = try reader([])
        var merged = MergedRecords([first, second, third].map { BagRecords($0) })
        var found: [(UInt64, String)] = []
        while let record = try merged.next() { found.append((record.logTime, record.channel.topic)) }
        #expect(found.count == 600 && merged.progress == 1)
        #expect(zip(found, found.dropFirst()).allSatisfy { ($0.0, $0.1) <= ($1.0, $1.1) })
    }

    @Test func recordsAreWrittenWithTheirSchemasAndMetadata() throws {
        let samples = samples(200)
        var records = BagRecords(try reader(samples))
        var writer = try MCAPWriter(MemorySink())
        var ids: [ObjectIdentifier: UInt16] = [:]
        while let record = try records.next() { try writer.write(record, ids: &ids) }
        try writer.close()
        let copy = try MCAPReader(MemorySource(writer.sink.bytes))
        #expect(try copy.all() == reader(samples).all())
        #expect(copy.index.schemas.map(\.data) == [descriptor])
        #expect(copy.index.channels.allSatisfy { $0.metadata == ["qos": "keep_last", "node": "test"] })
    }
}
