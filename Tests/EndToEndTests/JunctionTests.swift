import Foundation
import NavTestSystem
import Testing

/// `navbus map junction` on the extract of Helsinki.
struct JunctionTests {
    @Test func aJunctionIsDrawnTheSameEachTimeAsTextAndAsGeoJSON() async throws {
        try await withSandbox { box in
            let call = [
                "map", "junction", "--tiles", try await Town.shared.tiles, "60.1700,24.9400", "--radius", "500",
            ]
            let text = try await box.succeed("navbus", call).outputLines.map(String.init)
            #expect(text == (try await box.succeed("navbus", call).outputLines.map(String.init)))
            #expect(text.first?.hasPrefix("node ") == true)
            let arms = text.filter { $0.dropFirst().hasPrefix(" ") && !$0.hasPrefix(" ") }
            #expect(arms.count >= 3, "\(text)")
            let bearings = arms.compactMap { Int($0.dropFirst(2).prefix { $0.isNumber }) }
            #expect(bearings.count == arms.count)
            #expect(bearings == bearings.sorted(), "the roads come clockwise from north")
            #expect(text.contains { $0.hasPrefix("from ") } && text.contains { $0.hasPrefix("  to ") })

            let document = try await box.succeed("navbus", call + ["--format", "geojson"]).outputLines.joined()
            let object = try #require(try JSONSerialization.jsonObject(with: Data(document.utf8)) as? [String: Any])
            let features = try #require(object["features"] as? [[String: Any]])
            let kinds = features.compactMap { ($0["properties"] as? [String: Any])?["kind"] as? String }
            #expect(kinds.count { $0 == "junction" } == 1 && kinds.count { $0 == "arm" } == arms.count)
            #expect(kinds.count { $0 == "way" } == text.count { $0.hasPrefix("  to ") })
        }
    }
}
