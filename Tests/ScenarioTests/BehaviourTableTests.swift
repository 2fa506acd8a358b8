import Foundation
import NavConfig
import NavKit
import NavMessages
import NavTestSupport
import NavWire
import NavigationNode
import Testing

/// The reference table of behaviour, `EveryBehaviour.md`: complete, and correct as far as it can be tested.
@Suite("Reference of behaviour")
struct BehaviourTableTests {
    private static let article = "Sources/NavNavigator/NavNavigator.docc/EveryBehaviour.md"
    /// The number of rows of each part.
    private static let parts = [
        ("A", 21), ("B", 7), ("C", 12), ("D", 19), ("E", 7), ("F", 4), ("G", 12), ("H", 2),
    ]
    /// Rows that do not apply to a vehicle, for a reason given in the table.
    private static let notOfAVehicle: Set = ["G5"]

    private struct Row {
        let name: String
        let what: String
        let place: String
        let shown: String
    }

    private static func rows() throws -> [Row] {
        let root = ScenarioTests.folder.deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent(article), encoding: .utf8)
        return text.split(separator: "\n").compactMap { line in
            guard line.hasPrefix("| "), !line.hasPrefix("| row ") else { return nil }
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).map {
                ScenarioText.trimmed(String($0))
            }
            return cells.count == 6 ? Row(name: cells[1], what: cells[2], place: cells[3], shown: cells[4]) : nil
        }
    }

    /// Returns the texts between backquotes.
    private static func quoted(_ cell: String) -> [String] {
        cell.split(separator: "`", omittingEmptySubsequences: false).enumerated().compactMap { index, part in
            index % 2 == 1 ? String(part) : nil
        }
    }

    @Test("each row occurs once, in order")
    func complete() throws {
        let expected = Self.parts.flatMap { part, count in (1...count).map { "\(part)\($0)" } }
        #expect(try Self.rows().map(\.name) == expected)
        #expect(try Self.rows().allSatisfy { !$0.what.isEmpty })
        // The scenarios have the same rows.
        let known = ScenarioIndex.rows.map(\.name).filter { !$0.hasPrefix("complaint") }
        #expect(known == expected.filter { !Self.notOfAVehicle.contains($0) })
    }

    @Test("each row is covered by scenarios that declare it and pass")
    func shown() throws {
        for row in try Self.rows() {
            let scenarios = Self.quoted(row.shown)
            #expect(scenarios.isEmpty == Self.notOfAVehicle.contains(row.name), "no scenario covers \(row.name)")
            for name in scenarios {
                let file = name + ".scenario"
                #expect(ScenarioTests.files.contains(file), "\(row.name): scenario '\(name)' does not exist")
                guard ScenarioTests.files.contains(file) else { continue }
                let scenario = try ScenarioTests.scenario(file)
                #expect(scenario.rows.contains(row.name), "\(name) does not list \(row.name) under 'shows'")
                #expect(scenario.known == nil, "scenario \(name), which covers \(row.name), is known to fail")
            }
        }
    }

    @Test("topics, methods and keys exist in the catalogue and in the node")
    func places() throws {
        let topics = Set(TopicCatalogue.all.map(\.name))
        let methods = Set(
            ServiceCatalogue.all.flatMap { service in
                service.methods.map { "\(service.name.split(separator: ".").last ?? "")/\($0.name)" }
            })
        let keys = Set(NavigationConfiguration.keys.map(\.name))
        for row in try Self.rows() {
            let names = Self.quoted(row.place)
            #expect(names.isEmpty == Self.notOfAVehicle.contains(row.name), "\(row.name) names no topic, method or key")
            for name in names {
                let isKnown = topics.contains(name) || methods.contains(name) || keys.contains(name)
                #expect(isKnown, "\(row.name): '\(name)' is not a topic, method or key")
            }
        }
    }

    @Test("each of the fifteen complaints has a scenario in the folder complaints")
    func complaints() throws {
        let scenarios = try ScenarioTests.files.filter { $0.hasPrefix("complaints/") }.map {
            try ScenarioTests.scenario($0)
        }
        for number in 1...15 {
            let answers = scenarios.filter { $0.rows.contains("complaint \(number)") && $0.known == nil }
            #expect(!answers.isEmpty, "complaint \(number) has no scenario")
        }
    }
}
