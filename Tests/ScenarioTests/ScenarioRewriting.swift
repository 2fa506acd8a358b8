import NavVerdict

/// Replaces expected events by actual ones, for an author to review.
enum ScenarioRewriting {
    /// Returns the text of a scenario with the actual sequence of events; other expectations are unchanged.
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
