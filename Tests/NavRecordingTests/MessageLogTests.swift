import NavBag
import NavKit
import NavMessages
import NavRecording
import NavTestKit
import NavTestSystem
import Testing

/// Message logs written to bags.
struct MessageLogTests {
    @Test func everyTopicHasTheSchemaOfItsType() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/log.mcap"
            var log = MessageLog(try BagWriter(path: path))
            let fix = GnssFix(latitude: 1, longitude: 2)
            try log.write(fix, topic: "/gnss/fix", logTime: 10, publishTime: 9)
            try log.write(fix, topic: "/rear/fix", logTime: 11, publishTime: 9)
            try log.write([1, 2, 3], topic: "/own", type: "own.Type", sequence: 5, logTime: 12, publishTime: 9)
            try log.addMetadata(name: "about", ["who": "test"])
            #expect(log.messageCount == 3)
            try log.close()

            let reader = try BagReader(path: path)
            let schemas = Dictionary(
                uniqueKeysWithValues: reader.index.channels.map { ($0.topic, reader.index.schema($0.schemaID)) })
            #expect(schemas["/gnss/fix"]??.name == GnssFix.fullName)
            #expect(schemas["/gnss/fix"]??.data == Schema.fileDescriptorSet(for: GnssFix.fullName))
            #expect(schemas["/rear/fix"]??.name == GnssFix.fullName)
            #expect(schemas["/own"]??.data.isEmpty ?? true)
            #expect(try content(of: path).map(\.data) == [fix.encoded(), fix.encoded(), [1, 2, 3]])
        }
    }

    @Test func sequencesAreThePublishersOrCounted() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/log.mcap"
            var log = MessageLog(try BagWriter(path: path))
            let fix = GnssFix(latitude: 1, longitude: 2)
            for _ in 0..<2 { try log.write(fix, topic: "/gnss/fix", logTime: 1, publishTime: 1) }
            for sequence in [7, 9, UInt64(UInt32.max) + 3] {
                try log.write([], topic: "/own", type: "", sequence: sequence, logTime: -5, publishTime: -5)
            }
            try log.close()
            let reader = try BagReader(path: path)
            var cursor = reader.messages(BagQuery(order: .file))
            var sequences: [UInt32] = []
            var times: Set<UInt64> = []
            while let message = try cursor.next() {
                sequences.append(message.sequence)
                times.insert(message.logTime)
            }
            #expect(sequences == [1, 2, 7, 9, 2])
            // Times before 1970 become 0, because bags cannot represent them.
            #expect(times == [0, 1])
        }
    }
}
