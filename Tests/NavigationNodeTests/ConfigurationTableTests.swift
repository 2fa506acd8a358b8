import Foundation
import GNSSNode
import NavConfig
import NavKit
import NavRecording
import NavReplay
import NavWire
import NavigationNode
import Testing
import TileCacheNode

/// The documented tables of configuration keys, which must equal those of the nodes; `NAVBUS_REWRITE=1` rewrites them.
@Suite(.serialized)
struct ConfigurationTableTests {
    static let article = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Sources/navbus/navbus.docc/ConfigurationKeys.md")

    @Test(arguments: [
        ("every node", ConfigLoader.markdownTable(KitConfiguration.self)),
        ("navigation-node", ConfigLoader.markdownTable(NavigationConfiguration.self)),
        ("gnss-node", ConfigLoader.markdownTable(GNSSConfiguration.self)),
        ("tile-cache-node", ConfigLoader.markdownTable(TileCacheConfiguration.self)),
    ])
    func documentedKeysMatchTheNode(_ node: String, _ table: String) throws {
        var text = try String(contentsOf: Self.article, encoding: .utf8)
        let start = try #require(text.firstRange(of: "<!-- keys of \(node) -->\n")).upperBound
        let end = try #require(text.firstRange(of: "<!-- /keys of \(node) -->\n")).lowerBound
        try #require(start <= end)
        if ProcessInfo.processInfo.environment["NAVBUS_REWRITE"] == "1" {
            text.replaceSubrange(start..<end, with: table)
            try text.write(to: Self.article, atomically: true, encoding: .utf8)
        } else {
            #expect(text[start..<end] == table, "the keys of \(node) are out of date: run with NAVBUS_REWRITE=1")
        }
    }
}
