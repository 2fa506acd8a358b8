import Foundation
import NavMessages
import Testing

/// The documented tables of topics and services, which must equal the catalogue; `NAVBUS_REWRITE=1` rewrites them.
@Suite("Documented tables")
struct DocumentedTablesTests {
    static let article = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Sources/navbus/navbus.docc/TopicsAndServices.md")

    static let tables = [
        ("topics", TopicCatalogue.markdownTable()), ("services", ServiceCatalogue.markdownTable()),
    ]

    @Test("documented tables equal the catalogue")
    func equalTheCatalogue() throws {
        var text = try String(contentsOf: Self.article, encoding: .utf8)
        if ProcessInfo.processInfo.environment["NAVBUS_REWRITE"] == "1" {
            for (name, table) in Self.tables {
                text.replaceSubrange(try Self.place(of: name, in: text), with: table)
            }
            try text.write(to: Self.article, atomically: true, encoding: .utf8)
        }
        for (name, table) in Self.tables {
            #expect(
                text[try Self.place(of: name, in: text)] == table,
                "the table of \(name) is out of date: run this test with NAVBUS_REWRITE=1")
        }
    }

    @Test("example messages have the current schema's fingerprints")
    func fingerprintsAreOfToday() throws {
        let text = try String(contentsOf: Self.article, encoding: .utf8)
        let bytes = withUnsafeBytes(of: RerouteEvent.schemaFingerprint.littleEndian) { Array($0) }
        let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
        #expect(text.contains("21 \(digits) "), "the example of a message has the fingerprint of another schema")
        let sources = Self.article.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let wire = try String(contentsOf: sources.appendingPathComponent("NavBus/NavBus.docc/Wire.md"), encoding: .utf8)
        let number = String(GnssFix.schemaFingerprint, radix: 16)
        let padded = String(repeating: "0", count: 16 - number.count) + number
        #expect(wire.contains("\"schema_fingerprint\": \"\(padded)\""))
    }

    @Test("a table is found only between its markers")
    func places() throws {
        let text = "a\n<!-- topics -->\n| x |\n<!-- /topics -->\nb\n"
        #expect(text[try Self.place(of: "topics", in: text)] == "| x |\n")
        #expect(throws: Failure.self) { try Self.place(of: "services", in: text) }
        #expect(throws: Failure.self) { try Self.place(of: "topics", in: text + text) }
    }

    struct Failure: Error, CustomStringConvertible { let description: String }

    /// Returns the range of the table: the lines between `<!-- name -->` and `<!-- /name -->`.
    static func place(of name: String, in text: String) throws -> Range<String.Index> {
        let (open, close) = ("<!-- \(name) -->\n", "<!-- /\(name) -->\n")
        let (starts, ends) = (text.ranges(of: open), text.ranges(of: close))
        guard starts.count == 1, ends.count == 1, starts[0].upperBound <= ends[0].lowerBound else {
            throw Failure(
                description: "TopicsAndServices.md must have \(open.dropLast()) and \(close.dropLast()) once each")
        }
        return starts[0].upperBound..<ends[0].lowerBound
    }
}
