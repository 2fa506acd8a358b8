import CNavProto
import NavMessages
import NavTestSystem
import Testing

/// Google's protobuf for Python as a peer that reads the schema, the bytes and the JSON.
@Suite("Python's protobuf as a peer")
struct PythonPeerTests {
    static let script = """
        import sys
        from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
        types = {}
        def type_of(name, schema):
            if name not in types:
                files = descriptor_pb2.FileDescriptorSet.FromString(bytes.fromhex(schema))
                own = descriptor_pool.DescriptorPool()
                for file in files.file:
                    own.AddSerializedFile(file.SerializeToString())
                found = own.FindMessageTypeByName(name)
                make = getattr(message_factory, "GetMessageClass", None)
                types[name] = make(found) if make else message_factory.MessageFactory(own).GetPrototype(found)
            return types[name]
        for line in sys.stdin:
            name, schema, data, text = line.rstrip("\\n").split("\\t")
            kind = type_of(name, schema)
            message = kind.FromString(bytes.fromhex(data))
            same = json_format.Parse(text, kind()) == message
            print(message.SerializeToString(deterministic=True).hex(), "json" if same else "JSON DIFFERS")
        """

    @Test(
        "it reads every type, writes the same bytes and reads the JSON",
        .enabled(if: Python.has("google.protobuf"), "needs Python with google.protobuf: set NAVBUS_PYTHON"))
    func everyType() throws {
        var input = ""
        var expected: [String] = []
        for type in MessageRegistry.all where type.fullName.hasPrefix("navbus.") {
            let name = type.fullName
            let descriptor = try #require(RandomMessageWriter.descriptor(name))
            let schema = hex(try #require(Schema.fileDescriptorSet(for: name)))
            for seed in 100..<104 as Range<UInt64> {
                var writer = RandomMessageWriter(seed: seed)
                writer.presence = 60
                let bytes = try type.init(decoding: writer.message(descriptor)).encoded()
                // Protobuf's JSON has a Timestamp as text, ours as two numbers, so it is left out.
                let json = try MessageJSON.text(decoding: bytes, as: name)
                if json.contains("\"timestamp\":{") { continue }
                input += "\(name)\t\(schema)\t\(hex(bytes))\t\(json)\n"
                expected.append(hex(bytes) + " json")
            }
        }
        let lines = try Python.run(["-c", Self.script], input: input).split(separator: "\n").map { String($0) }
        try #require(lines.count == expected.count)
        #expect(expected.count > 400)
        for (line, want) in zip(lines, expected) { #expect(line == want) }
    }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
