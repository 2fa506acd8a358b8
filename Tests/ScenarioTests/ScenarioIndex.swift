import Foundation

/// The mapping from rows of the behaviour table to scenarios.
enum ScenarioIndex {
    /// The file with the meaning of each row.
    static let rowsFile = "Scenarios/ROWS"
    /// The rows in order, each a name such as `A5` and its meaning.
    static let rows: [(name: String, meaning: String)] = {
        let file = ScenarioTests.folder.appendingPathComponent("ROWS")
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { line in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            return (
                String(line[..<colon]), ScenarioText.trimmed(String(line[line.index(after: colon)...]))
            )
        }
    }()

    /// Returns the meaning of a row; nil for an unknown row.
    static func meaning(of row: String) -> String? { rows.first { $0.name == row }?.meaning }

    /// Returns the expected content of `Scenarios/INDEX.md`.
    static func text(_ scenarios: [Scenario]) -> String {
        var lines = [
            "# Which scenario shows what", "",
            "Made from the scenarios by their test; with `NAVBUS_REWRITE=1` in the environment it writes this file anew.",
            "",
            "| row | meaning | scenarios |", "|---|---|---|",
        ]
        for row in rows {
            let names = scenarios.filter { $0.rows.contains(row.name) }.map { scenario in
                let name = scenario.file.replacingOccurrences(of: ".scenario", with: "")
                return "[\(name)](\(scenario.file))" + (scenario.known == nil ? "" : " (known to fail)")
            }
            lines.append("| \(row.name) | \(row.meaning) | \(names.isEmpty ? "none" : names.joined(separator: ", ")) |")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
