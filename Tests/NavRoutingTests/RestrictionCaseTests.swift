import Foundation
import NavTestSupport
import Testing

/// The cases of the folder `Restrictions`: one behaviour per file, after the OSM wiki. ``DrawnCase`` documents them.
@Suite("Restrictions, access and barriers on drawn maps")
struct RestrictionCaseTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Restrictions")

    static let names: [String] = {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return all.filter { $0.hasSuffix(".txt") }.sorted()
    }()

    @Test("routes match the expectations of the case", arguments: names)
    func routes(name: String) throws {
        let text = try String(contentsOf: Self.folder.appendingPathComponent(name), encoding: .utf8)
        let drawn = try DrawnCase(text)
        #expect(!drawn.summary.isEmpty)
        for failure in try drawn.failures() { Issue.record("\(name): \(failure)") }
    }

    @Test("there are cases, and their descriptions are distinct")
    func complete() throws {
        #expect(Self.names.count >= 60)
        let summaries = try Self.names.map {
            try DrawnCase(try String(contentsOf: Self.folder.appendingPathComponent($0), encoding: .utf8)).summary
        }
        #expect(Set(summaries).count == summaries.count)
    }

    @Test("a wrong expectation fails, and a syntax error is reported with its place")
    func mistakes() throws {
        let road = "One road.\nmap\nA--B\nways\nAB: highway=residential\nexpect\n"
        #expect(try DrawnCase(road + "car A to B: AB").failures() == [])
        #expect(try DrawnCase(road + "car A to B: BA").failures() == ["'car A to B: BA' but it is AB"])
        #expect(try DrawnCase(road + "car A to B: no route").failures().count == 1)
        #expect(try DrawnCase(road + "relations with an effect: 1\ncar A to B: AB").failures().count == 1)
        for wrong in ["", "tank A to B: AB", "car A: AB", "car A to B", "car A to B on Xx 08:00: AB"] {
            #expect(throws: ASCIIMap.Mistake.self) { try DrawnCase(road + wrong) }
        }
    }
}
