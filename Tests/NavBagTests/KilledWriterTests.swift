import Foundation
import NavBag
import NavTestKit
import NavTestSystem
import Testing

/// Bags of a killed writer or a full disk, and bags damaged later.
@Suite struct KilledWriterTests {
    @Test(arguments: [0, 1024])
    func aFileIsCompleteAfterEveryWrite(chunkSize: Int) throws {
        try withTemporaryFolder { directory in
            let path = directory + "/bag.mcap"
            let written = samples(60)
            var writer = try BagWriter(path: path, options: BagWriteOptions(compression: .none, chunkSize: chunkSize))
            for (count, sample) in written.enumerated() {
                let reader = try BagReader(path: path)
                #expect(reader.index.origin == .scan(.complete, BagDamage()))
                #expect(try reader.all() == Array(written.prefix(count)))
                try writer.add(sample)
                try writer.flush()
            }
            try writer.close()
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(try bytes(written, chunkSize)))
        }
    }

    private func bytes(_ samples: [Sample], _ chunkSize: Int) throws -> [UInt8] {
        var writer = try MCAPWriter(
            MemorySink(), options: BagWriteOptions(compression: .none, chunkSize: chunkSize))
        for sample in samples {
            try writer.add(sample)
            try writer.flush()
        }
        try writer.close()
        return writer.sink.bytes
    }

    /// A write is ordered so that the file is a valid bag after each step.
    @Test func aFileIsCompleteAfterEachStepOfAWrite() throws {
        try withTemporaryFolder { directory in
            let path = directory + "/bag.mcap"
            var writer = try BagWriter(path: path, options: BagWriteOptions(compression: .none))
            for sample in samples(30) { try writer.add(sample) }
            try writer.flush()
            let before = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
            for sample in samples(300) { try writer.add(sample) }
            try writer.flush()
            let after = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
            try writer.close()
            let whole = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
            for (old, new) in [(before, after), (after, whole)] {
                // The new end is written first, then everything after the old end, which is overwritten last.
                var states = [old + [UInt8](repeating: 0, count: new.count - old.count - 37) + new.suffix(37)]
                for cut in stride(from: old.count, to: new.count - 37, by: 97) {
                    states.append(
                        old + new[old.count..<cut] + [UInt8](repeating: 0, count: new.count - 37 - cut) + new.suffix(37)
                    )
                }
                for state in states {
                    let count = try MCAPReader(MemorySource(state)).all().count
                    #expect(count == (old == before ? 30 : 330))
                }
            }
        }
    }

    @Test func refusedBytesAreWrittenAgain() throws {
        struct DiskFull: Error {}
        let written = samples(900)
        let options = BagWriteOptions(compression: .none, chunkSize: 1024)
        var taken: [UInt8] = []
        var calls = 0
        let sink = ClosureSink { bytes in
            calls += 1
            guard calls % 3 == 1 else { throw DiskFull() }
            taken += Array(bytes)
        }
        var writer: MCAPWriter<ClosureSink>? = try MCAPWriter(sink, options: options)
        for sample in written {
            let count = writer?.statistics.messageCount ?? 0
            while writer?.statistics.messageCount == count {
                do { try writer?.add(sample) } catch { try? writer?.retry() }
            }
        }
        for _ in 0..<9 { try? writer?.close() }
        writer = nil
        let reader = try MCAPReader(MemorySource(taken))
        #expect(try reader.all() == written)
    }

    @Test func messageOfTheLargestSizeIsReadBack() throws {
        var writer = try MCAPWriter(MemorySink())
        let channel = try writer.addChannel(topic: "/nav/journal", schemaID: 0, messageEncoding: "protobuf")
        let large = [UInt8](repeating: 7, count: 64 << 20)
        try writer.write(channel: channel, sequence: 1, logTime: 1, publishTime: 1, data: large)
        #expect(throws: BagError.self) {
            try writer.write(channel: channel, sequence: 2, logTime: 2, publishTime: 2, data: large + [0])
        }
        try writer.write(channel: channel, sequence: 3, logTime: 3, publishTime: 3, data: [])
        try writer.close()
        #expect(try MCAPReader(MemorySource(writer.sink.bytes)).all().map(\.data.count) == [64 << 20, 0])
    }

    @Test func damageLosesOnlyTheDamagedPart() throws {
        let written = samples(400)
        for compression in BagCompression.allCases {
            let whole = try bag(written, BagWriteOptions(compression: compression, chunkSize: 1024))
            let spans = try MCAPReader(MemorySource(whole)).index.spans
            for (hit, isCut) in [(3, false), (4, true)] {
                var bytes = whole
                // The chunk and the following record boundary are overwritten, like a lost sector, or removed.
                let range = spans[hit].offset + 2..<spans[hit + 1].offset - 3
                if isCut {
                    bytes.removeSubrange(range)
                } else {
                    for place in range { bytes[place] = 0 }
                }
                var writer = try MCAPWriter(MemorySink())
                let recovery = try recoverBag(from: MemorySource(bytes), to: &writer)
                let found = try MCAPReader(MemorySource(writer.sink.bytes)).all()
                #expect(UInt64(found.count) == recovery.messageCount && recovery.damage.count > 0)
                #expect(found.count >= written.count - 2 * written.count / spans.count - 40)
                #expect(Set(found).isSubset(of: Set(written)))
            }
        }
    }

    @Test func damagedLengthDoesNotHideLaterMessages() throws {
        let written = samples(400)
        let whole = try bag(written, BagWriteOptions(compression: .none, chunkSize: 1024))
        let spans = try MCAPReader(MemorySource(whole)).index.spans
        for (place, byte) in [(1, 0x17), (4, 0xFF), (7, 0x40)] as [(Int, UInt8)] {
            var bytes = whole
            bytes[spans[2].offset + place] ^= byte
            var reader = try MCAPLinearReader(MemorySource(bytes))
            #expect(try reader.all().count > written.count - 40, "byte \(place)")
            #expect(!reader.damage.isNone && reader.ending == .complete)
        }
    }

    @Test func everyChangedByteIsDetectedOrHarmless() throws {
        let written = samples(20)
        for options in [BagWriteOptions(compression: .none), BagWriteOptions(compression: .zstd, chunkSize: 1024)] {
            let whole = try bag(written, options)
            #expect(try checkBag(MemorySource(whole)) { _ in nil }.problems == [])
            for place in whole.indices {
                var bytes = whole
                bytes[place] ^= 0x55
                guard (try? checkBag(MemorySource(bytes)) { _ in nil }.problems) == [] else { continue }
                // If no damage is reported, the reader must return the same messages.
                #expect(try MCAPReader(MemorySource(bytes)).all() == written, "byte \(place)")
            }
        }
    }

    @Test func sequenceGapsAreReportedAndRestartsAreNotGaps() throws {
        var writer = try MCAPWriter(MemorySink())
        let channel = try writer.addChannel(
            topic: "/nav/journal", schemaID: 0, messageEncoding: "protobuf", metadata: ["boot_id": "1"])
        for (time, sequence) in ([1, 2, 5, 6, 1, 2, 4] as [UInt32]).enumerated() {
            try writer.write(channel: channel, sequence: sequence, logTime: UInt64(time), publishTime: 0, data: [1])
        }
        try writer.close()
        let check = try checkBag(MemorySource(writer.sink.bytes)) { _ in nil }
        #expect(check.channels.map(\.missingCount) == [3] && check.messageCount == 7)
        #expect(check.problems == ["/nav/journal: 3 messages are missing from the sequence"])
        let reader = try MCAPReader(MemorySource(writer.sink.bytes))
        #expect(try reader.checkSequences(of: ["/nav/journal"]).channels.map(\.missingCount) == [3])
        #expect(try reader.checkSequences(of: ["/gnss/fix"]).channels.isEmpty)
    }

    @Test func progressCountsMessagesAndNotChunks() throws {
        var cursor = try MCAPReader(MemorySource(try bag(samples(400)))).messages()
        for count in 1...400 {
            _ = try cursor.next()
            #expect(abs(cursor.progress - Double(count) / 400) < 0.001)
        }
    }
}
