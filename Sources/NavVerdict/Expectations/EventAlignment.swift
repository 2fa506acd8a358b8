/// The alignment of expected lines and events with the fewest unmatched ones.
package struct EventAlignment {
    package enum Row {
        case match(EventPattern, DriveEvent)
        case missing(EventPattern)
        case extra(DriveEvent)
        /// An unmatched event of a topic that allows other events.
        case other(DriveEvent)
    }

    package private(set) var rows: [Row] = []

    /// Whether every line matches an event and no event is extra.
    package var fits: Bool {
        rows.allSatisfy { row in
            switch row {
            case .match, .other: true
            case .missing, .extra: false
            }
        }
    }

    package init(_ patterns: [EventPattern], exact: [String], _ all: [DriveEvent]) {
        let topics = Set(patterns.map(\.topic)).union(exact)
        let events = all.filter { topics.contains($0.topic) }
        let (height, width) = (patterns.count, events.count)
        let costs = events.map { exact.contains($0.topic) ? 1 : 0 }
        // cost[i][j] is the number of unmatched rows from the i-th line and the j-th event on.
        var cost = [[Int]](repeating: [Int](repeating: 0, count: width + 1), count: height + 1)
        for i in (0...height).reversed() {
            for j in (0...width).reversed() {
                if i == height, j == width { continue }
                var best = Int.max
                if i < height { best = min(best, cost[i + 1][j] + 1) }
                if j < width { best = min(best, cost[i][j + 1] + costs[j]) }
                if i < height, j < width, cost[i + 1][j + 1] < best, patterns[i].matches(events[j]) {
                    best = cost[i + 1][j + 1]
                }
                cost[i][j] = best
            }
        }
        var (i, j) = (0, 0)
        while i < height || j < width {
            if i < height, j < width, cost[i][j] == cost[i + 1][j + 1], patterns[i].matches(events[j]) {
                rows.append(.match(patterns[i], events[j]))
                (i, j) = (i + 1, j + 1)
            } else if j < width, cost[i][j] == cost[i][j + 1] + costs[j] {
                rows.append(costs[j] == 0 ? .other(events[j]) : .extra(events[j]))
                j += 1
            } else {
                rows.append(.missing(patterns[i]))
                i += 1
            }
        }
    }

    /// The alignment in two columns, expected and actual; of many consecutive other events only the first and the last are shown.
    package var transcript: String {
        let missing = rows.compactMap { if case .missing(let pattern) = $0 { pattern } else { nil } }
        func described(_ event: DriveEvent) -> String {
            // Showing the value of the field that prevents a match is more useful than only reporting the event as missing.
            event.described(for: missing.first { $0.meansButForFields(event) }?.conditions ?? [])
        }
        var lines: [String] = []
        var skipped: [DriveEvent] = []
        func flush() {
            let isLong = skipped.count > 4
            for (index, event) in skipped.enumerated() {
                if isLong, index == 1 { lines.append(line(" ", "", "… \(skipped.count - 2) more")) }
                let isShown = !isLong || index == 0 || index == skipped.count - 1
                if isShown || missing.contains(where: { $0.meansButForFields(event) }) {
                    lines.append(line(" ", "", described(event)))
                }
            }
            skipped = []
        }
        for row in rows {
            if case .other(let event) = row {
                skipped.append(event)
                continue
            }
            flush()
            switch row {
            case .match(let pattern, let event): lines.append(line("=", pattern.line.text, event.description))
            case .missing(let pattern): lines.append(line("-", pattern.line.text, ""))
            case .extra(let event): lines.append(line("+", "", described(event)))
            case .other: break
            }
        }
        flush()
        return (["  expected (- missing)".padded(to: 54) + "| actual (+ unexpected)"] + lines)
            .joined(separator: "\n")
    }

    private func line(_ mark: String, _ expected: String, _ actual: String) -> String {
        "\(mark) \(expected)".padded(to: 54) + "| \(actual)"
    }
}

extension String {
    /// Returns the text padded with trailing spaces to a width; at least one space is added.
    package func padded(to width: Int) -> String { self + String(repeating: " ", count: max(width - count, 1)) }
}
