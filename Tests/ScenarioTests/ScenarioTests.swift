import Foundation
import NavTestSupport
import NavVerdict
import Testing

/// The files below `Scenarios`: one behaviour each. `Scenarios/README.md` describes their format.
@Suite("Scenarios")
struct ScenarioTests {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Scenarios").resolvingSymlinksInPath()

    /// The scenario files, such as `policy/asks-before-a-reroute.scenario`.
    static let files: [String] = {
        let all = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        return all.filter { $0.hasSuffix(".scenario") }.sorted()
    }()

    static func scenario(_ file: String) throws -> Scenario {
        try Scenario(try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8), file: file)
    }

    private static let rewrites = ProcessInfo.processInfo.environment["NAVBUS_REWRITE"] == "1"

    @Test("events match the scenario", arguments: files)
    func events(file: String) throws {
        let scenario = try Self.scenario(file)
        let run = try ScenarioRun(scenario)
        try run.run()
        let failures = scenario.expectations.failures(run.events)
        if let dump = ProcessInfo.processInfo.environment["NAVBUS_TRANSCRIPT"], file.contains(dump) {
            let lines = run.events.filter { !["progress", "position"].contains($0.topic) }.map(\.description)
            FileHandle.standardError.write(Data((lines.joined(separator: "\n") + "\n").utf8))
        }
        if Self.rewrites, !failures.isEmpty, scenario.known == nil {
            let text = ScenarioRewriting.text(scenario, run.events)
            try text.write(to: Self.folder.appendingPathComponent(file), atomically: true, encoding: .utf8)
        }
        if let known = scenario.known {
            withKnownIssue("\(file): \(known)") { Self.record(file, scenario, failures) }
        } else {
            Self.record(file, scenario, failures)
        }
        // A second run must be byte-identical.
        let again = try ScenarioRun(scenario)
        try again.run()
        #expect(run.bytes == again.bytes, "\(file): a second run differs")
    }

    private static func record(_ file: String, _ scenario: Scenario, _ failures: [String]) {
        guard !failures.isEmpty else { return }
        Issue.record("\(file): \(scenario.title)\n\(failures.joined(separator: "\n"))")
    }

    @Test("there are scenarios, and their descriptions are distinct")
    func complete() throws {
        #expect(Self.files.count >= 40)
        let titles = try Self.files.map { try Self.scenario($0).title }
        #expect(Set(titles).count == titles.count)
    }
}

/// The index of rows, as stored with the scenarios.
@Suite("Index of scenarios")
struct ScenarioIndexTests {
    @Test("the index matches the scenarios")
    func index() throws {
        let text = ScenarioIndex.text(try ScenarioTests.files.map { try ScenarioTests.scenario($0) })
        let file = ScenarioTests.folder.appendingPathComponent("INDEX.md")
        if ProcessInfo.processInfo.environment["NAVBUS_REWRITE"] == "1" {
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        #expect(
            try String(contentsOf: file, encoding: .utf8) == text,
            "INDEX.md is out of date: run the test with NAVBUS_REWRITE=1 in the environment")
    }

    @Test("rows have unique names and meanings")
    func rows() {
        #expect(ScenarioIndex.rows.count > 80)
        #expect(Set(ScenarioIndex.rows.map(\.name)).count == ScenarioIndex.rows.count)
        #expect(ScenarioIndex.rows.allSatisfy { !$0.meaning.isEmpty })
    }
}
