import NavBag
import NavTestKit
import NavTestSystem
import Testing

/// Merging the files of a split recording.
struct BagMergeTests {
    /// A message of a recorder's file, on a latched topic unless it is a fix.
    private struct Received {
        var topic = "/nav/state"
        var boot = "a1"
        var sequence: UInt32 = 5
        var logTime: UInt64
        var publishTime: UInt64 = 1_000
        var byte: UInt8 = 1
    }

    /// Writes a file as a recorder does.
    private func write(_ path: String, _ messages: [Received], host: String, attachments: [[UInt8]]) throws {
        var writer = try BagWriter(path: path)
        try writer.addMetadata(name: "navbus.recorder", ["version": "1", "host": host])
        for data in attachments {
            try writer.addAttachment(
                name: "notes.txt", mediaType: "text/plain", logTime: messages[0].logTime, createTime: 0, data: data)
        }
        for message in messages {
            let channel = try writer.addChannel(
                topic: message.topic, schemaID: 0, messageEncoding: "protobuf", metadata: ["boot_id": message.boot])
            try writer.write(
                channel: channel, sequence: message.sequence, logTime: message.logTime,
                publishTime: message.publishTime, data: [message.byte])
        }
        try writer.close()
    }

    @Test func repeatedMessagesOfASplitRecordingAreMergedOnce() async throws {
        try await withSandbox { box in
            let first = [
                Received(logTime: 1_000), Received(boot: "b2", logTime: 1_001),
                Received(topic: "/gnss/fix", logTime: 1_002),
            ]
            // The first message repeats one of the first file; the others only resemble one.
            let second = [
                Received(logTime: 2_000), Received(topic: "/gnss/fix", logTime: 2_001),
                Received(logTime: 2_002, byte: 2),
                Received(sequence: 6, logTime: 2_003, byte: 2),
                Received(sequence: 6, logTime: 2_004, publishTime: 2_004, byte: 2),
            ]
            let third = [Received(sequence: 6, logTime: 3_000, publishTime: 2_004, byte: 2)]
            try write(box.path + "/d.mcap", first, host: "car", attachments: [[1], [1]])
            try write(box.path + "/d_1.mcap", second, host: "car", attachments: [[1], [2]])
            try write(box.path + "/d_2.mcap", third, host: "van", attachments: [[2]])
            try await box.succeed("navbus", ["bag", "merge", "d.mcap", "d_1.mcap", "d_2.mcap", "-o", "m.mcap"])
            let times = try content(of: box.path + "/m.mcap").map(\.logTime)
            #expect(times == [1_000, 1_001, 1_002, 2_001, 2_002, 2_003, 2_004])
            let reader = try BagReader(path: box.path + "/m.mcap")
            let hosts = try reader.index.metadata.map { try reader.metadata($0).entries["host"] }
            #expect(hosts == ["car", "van", nil])
            // A duplicate within one file is not a repetition.
            #expect(try reader.index.attachments.map { try reader.attachment($0).data } == [[1], [1], [2]])
        }
    }
}
