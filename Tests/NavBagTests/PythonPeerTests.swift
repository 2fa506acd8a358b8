import Foundation
import NavBag
import NavTestKit
import NavTestSystem
import Testing

/// Interoperability with the reference implementation: each reads the other's bags.
@Suite(
    .enabled(
        if: Python.has("mcap, zstandard, lz4.frame"), "needs Python with mcap, zstandard and lz4: set NAVBUS_PYTHON"))
struct PythonPeerTests {
    private static let dump = """
        import sys, hashlib
        from mcap.reader import NonSeekingReader, SeekingReader
        with open(sys.argv[1], "rb") as file:
            reader = SeekingReader(file, validate_crcs=True)
            summary = reader.get_summary()
            print("header", reader.get_header().library, summary.statistics.message_count,
                  summary.statistics.chunk_count, len(summary.chunk_indexes))
            for schema, channel, message in reader.iter_messages():
                print(channel.topic, schema.name, len(schema.data), message.sequence, message.log_time,
                      message.publish_time, hashlib.md5(message.data).hexdigest())
            for m in reader.iter_metadata():
                print("metadata", m.name, sorted(m.metadata.items()))
            for a in reader.iter_attachments():
                print("attachment", a.name, a.media_type, a.log_time, a.create_time, a.data)
        with open(sys.argv[1], "rb") as file:
            print("linear", sum(1 for _ in NonSeekingReader(file, validate_crcs=True).iter_messages()))
        """

    @Test(arguments: BagCompression.allCases, [0, 4096])
    func referenceReaderReadsBagsWithEveryChecksum(compression: BagCompression, chunkSize: Int) throws {
        let written = samples(700)
        let options = BagWriteOptions(compression: compression, chunkSize: chunkSize)
        let text = try withTemporaryFolder { directory in
            let path = directory + "/bag.mcap"
            try Data(bag(written, options)).write(to: URL(fileURLWithPath: path))
            return try Python.run(["-c", Self.dump, path])
        }
        var lines = text.split(separator: "\n").map(String.init)
        #expect(lines.removeFirst().hasPrefix("header navbus 700 "))
        #expect(lines.removeLast() == "linear 700")
        #expect(lines.removeLast() == "attachment config.yaml text/yaml 5 6 b'a: 1\\n'")
        #expect(lines.removeLast() == "metadata vehicle [('model', 'test'), ('vin', 'X1')]")
        let fields = lines.map { $0.split(separator: " ").prefix(6).joined(separator: " ") }
        #expect(
            fields
                == written.map {
                    "\($0.topic) test.v1.Sample 200 \($0.sequence) \($0.logTime) \($0.publishTime)"
                })
        // Only the digests of the payloads are compared.
        let digests = lines.compactMap { $0.split(separator: " ").last }
        #expect(Set(digests).count == Set(written.map(\.data)).count)
    }

    @Test func readerReadsBagsOfTheReferenceWriter() throws {
        let script = """
            import sys
            from mcap.writer import Writer, CompressionType
            for name in ("NONE", "LZ4", "ZSTD"):
                with open(sys.argv[1] + "/" + name, "wb") as file:
                    writer = Writer(file, chunk_size=2000, compression=CompressionType[name], enable_data_crcs=True)
                    writer.start(profile="x", library="peer")
                    schema = writer.register_schema("S", "protobuf", b"abc")
                    channels = [writer.register_channel(f"/{n}", "protobuf", schema, {"k": "v"}) for n in range(3)]
                    for n in range(1000):
                        writer.add_message(channels[n % 3], log_time=n // 2, data=bytes([n % 256]) * (n % 50),
                                           publish_time=n, sequence=n)
                    writer.add_metadata("m", {"a": "b"})
                    writer.add_attachment(1, 2, "att", "text/plain", b"hello")
                    writer.finish()
            """
        try withTemporaryFolder { directory in
            _ = try Python.run(["-c", script, directory])
            for name in ["NONE", "LZ4", "ZSTD"] {
                let reader = try BagReader(path: directory + "/" + name)
                #expect(reader.header == BagHeader(profile: "x", library: "peer"))
                #expect(reader.index.origin == .summary)
                let found = try reader.all()
                #expect(found.map(\.sequence) == Array(0..<1000))
                #expect(
                    found.allSatisfy {
                        $0.data
                            == [UInt8](
                                repeating: UInt8($0.sequence % 256),
                                count: Int($0.sequence % 50))
                    })
                #expect(try reader.metadata(#require(reader.index.metadata.first)).entries == ["a": "b"])
                #expect(try reader.attachment(#require(reader.index.attachments.first)).data == Array("hello".utf8))
                var linear = try MCAPLinearReader(reader.source)
                #expect(try linear.all() == found)
                #expect(linear.ending == .complete && linear.damage.isNone)
            }
        }
    }
}
