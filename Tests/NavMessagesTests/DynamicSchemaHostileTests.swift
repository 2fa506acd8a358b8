import CNavProto
import NavMessages
import NavSimulation
import Testing

private typealias D = DescriptorWriter

@Suite("Hostile schemas, and hostile bytes under any schema")
struct DynamicSchemaHostileTests {
    /// A recursive message with a list of an enum whose only value has a long name.
    private static let recursive = D.set(
        messages: [
            D.message(
                "Node",
                [
                    D.field("next", 1, .message, of: ".test.v1.Node"),
                    D.field("kind", 2, .enumeration, .repeated, of: ".test.v1.Kind"),
                    D.field("children", 3, .message, .repeated, of: ".test.v1.Node"),
                ])
        ], enums: [D.enumeration("Kind", [(String(repeating: "K", count: 500), 0)])])

    private func refused(_ set: [UInt8], _ says: String) throws {
        let error = try #require(throws: SchemaError.self) { try SchemaPool(fileDescriptorSet: set) }
        #expect(error.description.contains(says), "\(error)")
    }

    @Test("an invalid schema is refused with the location of the error")
    func refusedSchemas() throws {
        try refused([0x0a, 5, 1], "protobuf")
        try refused([UInt8](repeating: 0, count: SchemaPool.maximumSize + 1), "limit")
        try refused(D.set(messages: [D.message("A", []), D.message("A", [])]), "twice")
        try refused(D.set(messages: [D.message("A", [D.field("x", 1, .message, of: ".no.Such")])]), "'no.Such'")
        try refused(D.set(messages: [D.message("A", [D.field("x", 1, .message, of: "B")])]), "fully qualified")
        try refused(D.set(messages: [D.message("A\u{1b}[2J", [])]), "identifier")
        try refused(D.set(messages: [D.message("A", [D.field("x", 0, .int32)])]), "test.v1.A.x")
        try refused(
            D.set(messages: [D.message("A", [D.field("x", 1, .int32), D.field("y", 1, .int32)])]), "test.v1.A.y")
        try refused(D.set(messages: [D.message("A", [D.field("x", 1, .int32), D.field("x", 2, .int32)])]), "twice")
        try refused(D.set(messages: [D.message("A", [D.field("x", 1, .int32, oneof: 3)])]), "oneof")
        try refused(D.set(messages: [D.message("A", [D.field("x", 1, .message)])]), "type")
        try refused(D.set(messages: [D.message("A", [], isMapEntry: true)]), "map")
        try refused(D.set(messages: [D.message(String(repeating: "A", count: 600), [])]), "512")
        var nested = D.message("A", [])
        for _ in 0..<150 { nested = D.message("A", [], nested: [nested]) }
        try refused(D.set(messages: [nested]), "deep")
        let values = (0...SchemaPool.maximumDeclarations).map { ("V\($0)", $0) }
        try refused(D.set(enums: [D.enumeration("E", values)]), "declarations")
    }

    @Test("nesting depth is limited in both directions")
    func depth() throws {
        let pool = try SchemaPool(fileDescriptorSet: Self.recursive)
        func nested(_ count: Int) -> [UInt8] {
            (1..<count).reduce([]) { inner, _ in [0x0a] + D.varint(UInt64(inner.count)) + inner }
        }
        let deepest = try pool.json(decoding: nested(SchemaPool.maximumDepth), as: "test.v1.Node").json
        #expect(try pool.encode(json: deepest, as: "test.v1.Node") == nested(SchemaPool.maximumDepth))
        #expect(throws: MessageError.tooDeep(type: "test.v1.Node", limit: SchemaPool.maximumDepth)) {
            try pool.json(decoding: nested(SchemaPool.maximumDepth + 1), as: "test.v1.Node")
        }
        #expect(throws: MessageTextError.self) {
            try pool.encode(
                json: deepest.replacing("{}", with: #"{"next":{"next":{}}}"#), as: "test.v1.Node")
        }
        #expect(throws: MessageTextError.self) {
            try pool.encode(json: String(repeating: #"{"next":"#, count: 100_000), as: "test.v1.Node")
        }
        #expect(FieldPath("b")?.value(in: #"{"a":"# + String(repeating: "[", count: 100_000)) == nil)
    }

    @Test("bytes that would expand to an excessive text are refused")
    func flood() throws {
        let pool = try SchemaPool(fileDescriptorSet: Self.recursive)
        let bytes = [0x12] + D.varint(1 << 20) + [UInt8](repeating: 0, count: 1 << 20)
        #expect {
            try pool.json(decoding: bytes, as: "test.v1.Node")
        } throws: { error in
            if case .expandsTooMuch? = error as? MessageError { true } else { false }
        }
        #expect(throws: MessageError.tooLarge(type: "test.v1.Node", size: bytes.count, limit: 1000)) {
            try pool.json(decoding: bytes, as: "test.v1.Node", limit: 1000)
        }
    }

    @Test(
        "groups and wrong shapes are malformed",
        arguments: [
            [0x0b, 0x0c], [0x08, 1], [0x12, 1, 0x80], [0x15, 1, 2, 3, 4], [0x07], [0x0a, 0xff, 0xff, 0xff, 0xff, 0x7f],
        ] as [[UInt8]])
    func malformed(bytes: [UInt8]) throws {
        let pool = try SchemaPool(fileDescriptorSet: Self.recursive)
        #expect(throws: MessageError.malformed(type: "test.v1.Node", size: bytes.count)) {
            try pool.json(decoding: bytes, as: "test.v1.Node")
        }
    }

    @Test("damaged schemas are accepted or refused, and damaged messages of these are read or refused")
    func fuzzSchemas() throws {
        var random = SeededRandom(seed: 0x7363_6865_6d61)
        let original = try #require(Schema.fileDescriptorSet(for: "navbus.v1.NodeHealth"))
        var usable = 0
        for _ in 0..<3_000 {
            var bytes = original
            for _ in 0...Int.random(in: 0..<4, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
            guard let pool = try? SchemaPool(fileDescriptorSet: bytes) else { continue }
            usable += 1
            for message in pool.messages.prefix(40) {
                let noise = (0..<40).map { _ in UInt8.random(in: 0...60, using: &random) }
                _ = try? pool.json(decoding: noise, as: message.fullName)
                _ = pool.declaration(of: message.fullName)
            }
        }
        #expect(usable > 0)
    }

    @Test("damaged messages are read as the compiled codec reads them", arguments: HostileInputTests.fuzzed)
    func fuzzMessages(name: String) throws {
        let descriptor = try #require(RandomMessageWriter.descriptor(name))
        let type = try #require(Schema.type(named: name))
        var random = SeededRandom(seed: 0x6675_7a7a)
        var agreed = 0
        for round in 0..<4_000 {
            var writer = RandomMessageWriter(seed: UInt64(round % 16))
            writer.presence = 40
            var bytes = writer.message(descriptor)
            guard !bytes.isEmpty, bytes.count < 2_000 else { continue }
            for _ in 0...Int.random(in: 0..<3, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
            guard let compiled = try? reencode(type, bytes), let text = try? MessageJSON.text(decoding: bytes, as: name)
            else { continue }
            agreed += 1
            // The same bytes are read twice: by the compiled codec, and from the text.
            let again = try SchemaPool.builtIn.encode(json: text, as: name)
            #expect(try MessageJSON.text(decoding: compiled, as: name) == MessageJSON.text(decoding: again, as: name))
        }
        #expect(agreed > 100)
    }

    private func reencode<M: Message>(_ type: M.Type, _ bytes: [UInt8]) throws -> [UInt8] {
        try M(decoding: bytes).encoded()
    }

    @Test("damaged texts are read or refused")
    func fuzzTexts() throws {
        var random = SeededRandom(seed: 0x6a73_6f6e)
        let fix = try MessageJSON.text(of: GnssFixTests.full)
        let characters = Array("{}[]\",:\\u0019eE+-.ntf ä".utf8)
        for _ in 0..<20_000 {
            var bytes = Array(fix.utf8)
            for _ in 0...Int.random(in: 0..<3, using: &random) {
                let at = Int.random(in: 0..<bytes.count, using: &random)
                if Bool.random(using: &random) {
                    bytes[at] = characters[Int.random(in: 0..<characters.count, using: &random)]
                } else {
                    bytes.removeSubrange(at..<min(bytes.count, at + Int.random(in: 1...20, using: &random)))
                }
                if bytes.isEmpty { bytes = [0x7b] }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            if let message = try? SchemaPool.builtIn.encode(json: text, as: "navbus.v1.GnssFix") {
                _ = try GnssFix(decoding: message)
            }
        }
    }
}
