import NavVerdict

/// Puts what came in the place of what was expected, for an author to read through.
enum ScenarioRewriting {
    /// The text of a scenario whose lines in a row are those that came. Other expectations stay as they are.
    static func text(_ scenario: Scenario, _ events: [DriveEvent]) -> String {
        let alignment = EventAlignment(scenario.expectations.sequence, exact: scenario.expectations.exact, events)
        var lines = scenario.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        var taken = Set(scenario.expectations.sequence.map(\.line.number))
        let place = taken.min() ?? lines.count
        let rows: [String] = alignment.rows.compactMap { row in
            switch row {
            case .match(let pattern, _): pattern.line.text
            case .extra(let event): event.line
            case .missing(let pattern): "# did not come: \(pattern.line.text)"
            case .other: nil
            }
        }
        var result: [String] = []
        for (index, line) in lines.enumerated() {
            if index + 1 == place, !taken.isEmpty || scenario.expectations.sequence.isEmpty { result += rows }
            if taken.remove(index + 1) == nil { result.append(line) }
        }
        lines = result
        return lines.joined(separator: "\n")
    }
}
