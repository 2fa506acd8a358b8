/// A process's row in the table at the end of a launch.
struct SummaryRow {
    let name: String
    let end: String
    let restarts: Int
    /// The total time of all its runs; nil when it never ran.
    let time: Duration?
    let usage: ProcessUsage
}

/// Returns the table: a line of headings and one line per process, in columns.
func summaryTable(_ rows: [SummaryRow]) -> [String] {
    let headings = ["node", "end", "restarts", "time", "cpu", "memory"]
    // The reason why a process was not started can be long; it was reported in full when it occurred.
    let widest = 72
    let cells = rows.map { row in
        [
            row.name, row.end.count > widest ? row.end.prefix(widest - 1) + "…" : row.end,
            row.restarts == 0 ? "-" : String(row.restarts),
            row.time.map(seconds) ?? "-", row.time == nil ? "-" : seconds(row.usage.processorTime),
            row.usage.peakMemory == 0 ? "-" : megabytes(row.usage.peakMemory),
        ]
    }
    let widths = headings.indices.map { column in ([headings] + cells).map { $0[column].count }.max() ?? 0 }
    return ([headings] + cells).map { line in
        var text = ""
        for (column, cell) in line.enumerated() {
            let padding = String(repeating: " ", count: max(0, widths[column] - cell.count))
            text += column < 2 ? cell + padding : padding + cell
            if column + 1 < line.count { text += "  " }
        }
        return text
    }
}

/// Formats a duration as `0.12 s` or `75.3 s`, rounded down.
func seconds(_ duration: Duration) -> String {
    let (whole, fraction) = duration.components
    let hundredths = fraction / 10_000_000_000_000_000
    if whole < 10 { return "\(whole).\(hundredths < 10 ? "0" : "")\(hundredths) s" }
    return "\(whole).\(hundredths / 10) s"
}

private func megabytes(_ bytes: Int64) -> String {
    let tenths = bytes / 104_857
    return "\(tenths / 10).\(tenths % 10) MiB"
}
