import CNavProto
import NavMessages
import Testing

private typealias D = DescriptorWriter

/// A schema that is not compiled into this program.
private let foreign = D.set(
    messages: [
        D.message(
            "Everything",
            [
                D.field("i32", 1, .int32), D.field("s32", 2, .sint32), D.field("s64", 3, .sint64),
                D.field("u64", 4, .uint64), D.field("f", 5, .float), D.field("d", 6, .double),
                D.field("flag", 7, .bool), D.field("text", 8, .string), D.field("raw", 9, .bytes),
                D.field("color", 10, .enumeration, of: ".test.v1.Color", defaultText: "RED"),
                D.field("plain", 11, .int32, .repeated), D.field("packed", 12, .sint32, .repeated, packed: true),
                D.field("inner", 13, .message, of: ".test.v1.Everything"),
                D.field("list", 14, .message, .repeated, of: ".test.v1.Everything"),
                D.field("names", 15, .message, .repeated, of: ".test.v1.Everything.NamesEntry"),
                D.field("a", 16, .int32, oneof: 0), D.field("b", 17, .message, of: ".test.v1.Everything", oneof: 0),
                D.field("colors", 18, .enumeration, .repeated, of: ".test.v1.Color", packed: true),
                D.field("by_id", 19, .message, .repeated, of: ".test.v1.Everything.ByIdEntry"),
                D.field("old", 20, .group),
            ],
            nested: [
                D.message("NamesEntry", [D.field("key", 1, .string), D.field("value", 2, .int32)], isMapEntry: true),
                D.message(
                    "ByIdEntry",
                    [D.field("key", 1, .int64), D.field("value", 2, .message, of: ".test.v1.Everything")],
                    isMapEntry: true),
            ], oneofs: ["choice"]),
        D.message("Strict", [D.field("id", 1, .int32, .required), D.field("note", 2, .string)]),
    ], enums: [D.enumeration("Color", [("NONE", 0), ("RED", 1), ("CRIMSON", 1), ("BLUE", -2)])])

private func text(_ bytes: [UInt8], as type: String = "test.v1.Everything", indent: Bool = false) throws -> String {
    try SchemaPool(fileDescriptorSet: foreign).json(decoding: bytes, as: type, indent: indent).json
}

private func encode(_ json: String, as type: String = "test.v1.Everything") throws -> [UInt8] {
    try SchemaPool(fileDescriptorSet: foreign).encode(json: json, as: type)
}

@Suite("Schemas read at run time")
struct DynamicSchemaTests {
    @Test(
        "the text of random content of every compiled-in type encodes to the same bytes",
        arguments: RoundTripTests.names)
    func everyType(name: String) throws {
        let descriptor = try #require(RandomMessageWriter.descriptor(name))
        let type = try #require(Schema.type(named: name))
        // The schema as provided by a node: only the files of this type.
        let pool = try SchemaPool(fileDescriptorSet: try #require(Schema.fileDescriptorSet(for: name)))
        for seed in 0..<40 as Range<UInt64> {
            var writer = RandomMessageWriter(seed: seed)
            // Read and written by the compiled codec, which omits proto3 default values.
            let bytes = try reencode(type, writer.message(descriptor))
            let (text, pretty) = (
                try pool.json(decoding: bytes, as: name), try pool.json(decoding: bytes, as: name, indent: true)
            )
            #expect(text.unknownFieldCount == 0)
            #expect(try pool.encode(json: text.json, as: name) == bytes, "seed \(seed)")
            #expect(try pool.encode(json: pretty.json, as: name) == bytes, "seed \(seed)")
            #expect(try MessageJSON.text(decoding: bytes, as: name) == text.json)
        }
    }

    private func reencode<M: Message>(_ type: M.Type, _ bytes: [UInt8]) throws -> [UInt8] {
        try M(decoding: bytes).encoded()
    }

    @Test(
        "every kind of field is written and read",
        arguments: [
            #"{"i32":-5,"s32":-2147483648,"s64":"-9223372036854775808","u64":"18446744073709551615"}"#,
            #"{"f":0.1,"d":1e+300,"flag":true,"text":"ä\"\\\n\u0007\u009b","raw":"AP8="}"#,
            #"{"f":"NaN","d":"-Infinity","color":"BLUE"}"#, #"{"color":7}"#,
            #"{"plain":[1,-1],"packed":[0,-1,5],"colors":["NONE","RED",9]}"#,
            #"{"inner":{"inner":{"i32":1}},"list":[{},{"i32":2}]}"#,
            #"{"names":{"x":1,"y":0},"by_id":{"-3":{"i32":1},"4":{}}}"#, #"{"b":{"a":3}}"#, "{}",
        ])
    func allKinds(json: String) throws {
        #expect(try text(try encode(json)) == json)
    }

    @Test(
        "every form that protobuf's JSON permits is read",
        arguments: [
            (#"{"byId":{"1":{}}}"#, #"{"by_id":{"1":{}}}"#),
            (#"{"u64":7,"i32":"7","s32":1e3,"s64":5.0}"#, #"{"i32":7,"s32":1000,"s64":"5","u64":"7"}"#),
            (#"{ "raw" : "_-8" , "text":null, "color":"CRIMSON" }"#, #"{"raw":"/+8=","color":"RED"}"#),
            (#"{"d":1,"f":"2.5"}"#, #"{"f":2.5,"d":1.0}"#), (#"{"text":"\ud83d\ude97"}"#, #"{"text":"🚗"}"#),
        ])
    func lenient(json: String, canonical: String) throws {
        // protoc provides the JSON name; this test's descriptor set has none, so only this case fails.
        if json.contains("byId") {
            #expect(throws: MessageTextError.self) { try encode(json) }
        } else {
            #expect(try text(try encode(json)) == canonical)
        }
        let fix = try SchemaPool.builtIn.encode(json: #"{"frameId":"a"}"#, as: "navbus.v1.GnssFix")
        #expect(try GnssFix(decoding: fix).frameId == "a")
    }

    @Test(
        "the error for an invalid text has its location and the expected value",
        arguments: [
            (#"{"i32":}"#, "i32", "number"), (#"{"i32":2147483648}"#, "i32", "2147483647"),
            (#"{"list":[{},{"u64":-1}]}"#, "list[1].u64", "18446744073709551615"),
            (#"{"inner":{"nam":1}}"#, "inner", "'nam'"), (#"{"color":"PINK"}"#, "color", "CRIMSON"),
            (#"{"flag":1}"#, "flag", "true or false"), (#"{"text":"a\u0000"}"#, "text", "NUL"),
            (#"{"raw":"a"}"#, "raw", "base64"), (#"{"raw":"AA=A"}"#, "raw", "base64"),
            (#"{"a":1,"b":{}}"#, "b", "oneof choice"),
            (#"{"a":1,"a":2}"#, "a", "duplicate"), (#"{"names":{"x":1,"x":2}}"#, "names.x", "duplicate"),
            (#"{"plain":5}"#, "plain", "list"),
            (#"{"names":[]}"#, "names", "braces"), (#"{"f":1e39}"#, "f", "32-bit"), (#"{"d":1e999}"#, "d", "number"),
            (#"{"old":{}}"#, "old", "group"), (#"{} {}"#, "", "unexpected"), ("", "", "braces"), ("[]", "", "braces"),
            (#"{"text":"a"#, "text", "unterminated"), (#"{"text":"\x"}"#, "text", "escape"),
            (#"{"i32":1.5}"#, "i32", "integer"),
            (#"{"text":"\u+123"}"#, "text", "hexadecimal"), (#"{"text":"\ud800"}"#, "text", "surrogate"),
            (#"{"text":"\ud83d \ude00"}"#, "text", "surrogate"),
            (#"{"i32":1 "d":1}"#, "", "','"),
        ])
    func badText(json: String, field: String, says: String) throws {
        let error = try #require(throws: MessageTextError.self) { try encode(json) }
        #expect(error.field == field)
        #expect(error.description.contains(says), "\(error)")
        #expect(error.description.contains("test.v1.Everything") && error.position <= json.utf8.count + 1)
    }

    @Test("a required field is required in both directions")
    func requiredFields() throws {
        #expect(throws: MessageError.missingField("test.v1.Strict.id")) { try text([], as: "test.v1.Strict") }
        let error = try #require(throws: MessageTextError.self) { try encode(#"{"note":"x"}"#, as: "test.v1.Strict") }
        #expect(error.description.contains("'id'"))
        #expect(try text(try encode(#"{"id":0}"#, as: "test.v1.Strict"), as: "test.v1.Strict") == #"{"id":0}"#)
    }

    @Test("repeated occurrences merge: the last value of a single field counts, lists may be packed")
    func merging() throws {
        let twice = try encode(#"{"inner":{"i32":1,"text":"a"},"i32":1}"#) + encode(#"{"inner":{"i32":2},"i32":3}"#)
        #expect(try text(twice) == #"{"i32":3,"inner":{"i32":2,"text":"a"}}"#)
        // Field 11 (plain) is sent packed, field 12 (packed) unpacked.
        #expect(try text([0x5a, 2, 1, 2, 0x58, 3, 0x60, 1]) == #"{"plain":[1,2,3],"packed":[-1]}"#)
        #expect(
            try text(try encode(#"{"names":{"x":1,"y":2}}"#) + encode(#"{"names":{"x":3}}"#))
                == #"{"names":{"x":3,"y":2}}"#)
        let oneof = try encode(#"{"b":{"i32":1}}"#) + encode(#"{"a":5}"#) + encode(#"{"b":{"s32":2}}"#)
        #expect(try text(oneof) == #"{"b":{"s32":2}}"#)
    }

    @Test("unknown fields are counted, not shown")
    func unknownFields() throws {
        let pool = try SchemaPool(fileDescriptorSet: foreign)
        let bytes = try encode(#"{"i32":1}"#) + [0xc2, 0x3e, 3, 1, 2, 3, 0xc0, 0x3e, 1]
        let text = try pool.json(decoding: bytes, as: "test.v1.Everything")
        #expect(text.json == #"{"i32":1}"# && text.unknownFieldCount == 2)
    }

    @Test("plain proto3 fields are always shown, optional ones only if present")
    func proto3() throws {
        let pool = try SchemaPool(
            fileDescriptorSet: D.set(
                syntax: "proto3",
                messages: [
                    D.message(
                        "P",
                        [
                            D.field("n", 1, .int32), D.field("o", 2, .int32, oneof: 0, proto3Optional: true),
                            D.field("r", 3, .int32, .repeated), D.field("m", 4, .message, of: ".test.v1.P"),
                            D.field("s", 5, .string),
                        ], oneofs: ["_o"])
                ]))
        #expect(try pool.json(decoding: [], as: "test.v1.P").json == #"{"n":0,"s":""}"#)
        let bytes = try pool.encode(json: #"{"n":0,"o":0,"r":[1,2],"m":{"s":"x"}}"#, as: "test.v1.P")
        #expect(bytes == [0x10, 0, 0x1a, 2, 1, 2, 0x22, 3, 0x2a, 1, 0x78])
        #expect(
            try pool.json(decoding: bytes, as: "test.v1.P").json
                == #"{"n":0,"o":0,"r":[1,2],"m":{"n":0,"s":"x"},"s":""}"#)
    }

    @Test("an enum value is found by its full name, its short name or a suffix, in this order")
    func enumNames() throws {
        let path = try #require(FieldPath("spoofing"))
        guard case .names(let type) = SchemaPool.builtIn.values(at: path, of: GnssFix.fullName) else {
            Issue.record("not an enum")
            return
        }
        for name in ["DETECTED", "SPOOFING_STATUS_DETECTED", "STATUS_DETECTED"] {
            #expect(type.numbers(named: name) == [SpoofingStatus.detected.rawValue], "\(name)")
        }
        #expect(type.numbers(named: "NOT_DETECTED") == [SpoofingStatus.notDetected.rawValue])
        #expect(type.numbers(named: "TECTED").isEmpty && type.numbers(named: "").isEmpty)
        let fix = try SchemaPool.builtIn.encode(json: #"{"spoofing":"DETECTED"}"#, as: GnssFix.fullName)
        #expect(try GnssFix(decoding: fix).spoofing == .detected)
    }

    @Test(
        "integers are compared exactly, other numbers as floating-point",
        arguments: [
            ("185127663281636445", "=", "185127663281636444", 0.0, false as Bool?),
            ("185127663281636445", ">", "185127663281636444", 0, true),
            ("-9223372036854775808", "<", "18446744073709551615", 0, true), ("3.0", "=", "3", 0, true),
            ("1e3", "!=", "1000", 0, false), ("3", "=", "4", 1, true), ("3", "!=", "4", 1, false),
            ("3", "=", "4", 0.5, false), ("x", "=", "4", 0, nil), ("4", "=", "", 0, nil),
        ])
    func numbers(left: String, comparison: String, right: String, tolerance: Double, holds: Bool?) {
        #expect(NumberComparison.holds(left, comparison, right, tolerance: tolerance) == holds)
    }

    @Test("a type is described by its fields")
    func declaration() throws {
        let pool = try SchemaPool(fileDescriptorSet: foreign)
        let lines = pool.declaration(of: "test.v1.Everything")
        #expect(lines.contains("10: test.v1.Color color  (default RED; NONE, RED, CRIMSON, BLUE)"))
        #expect(lines.contains("15: map<string, int32> names") && lines.contains("11: repeated int32 plain"))
        #expect(lines.contains("16: int32 a  (one of choice)"))
        #expect(pool.declaration(of: "no.Such").isEmpty)
    }

    @Test("the compiled-in services are read with their streams")
    func services() throws {
        for service in ServiceCatalogue.all {
            let found = try #require(SchemaPool.builtIn.service(named: service.name))
            #expect(found.methods.map(\.name) == service.methods.map { $0.name })
            for (method, expected) in zip(found.methods, service.methods) {
                #expect(method.request == expected.request.fullName && method.response == expected.response.fullName)
                #expect(method.isServerStreaming == expected.isServerStreaming && !method.isClientStreaming)
            }
        }
    }

    @Test(
        "a field path finds the value in a JSON text",
        arguments: [
            ("a", "1"), ("b.c[1]", #"{"d":"]}"}"#), ("b.c[1].d", #""]}""#), ("b.c[2]", nil), ("a.b", nil), ("x", nil),
        ])
    func paths(path: String, value: String?) throws {
        let path = try #require(FieldPath(path))
        #expect(path.value(in: #"{"a":1,"b":{"c":[0,{"d":"]}"}]}}"#) == value)
        for text in ["", "a.", "a[", "a[x]", "a[-1]", ".a"] { #expect(FieldPath(text) == nil) }
    }
}
