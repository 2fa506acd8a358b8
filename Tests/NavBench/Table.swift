/// A table of figures with a group of lines for each comparison.
package struct FigureTable {
    private let figures: [Figure]

    /// Creates a table of `figures` in their order.
    package init(_ figures: [Figure]) { self.figures = figures }

    /// The lines of the table with aligned columns; a peer shared with the following lines is shown once.
    package var lines: [String] {
        var rows = [["figure", "navbus", "peer", "ratio", "unit", "compared with"]]
        var lastPeer: String?
        for figure in figures {
            let peer = figure.peer ?? "–"
            rows.append([
                figure.name, Self.text(figure.value), Self.text(figure.peerValue), Self.ratio(figure.ratio),
                figure.unit, peer == lastPeer ? "″" : peer,
            ])
            lastPeer = peer
        }
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.enumerated().flatMap { index, row in
            let line = row.indices.map { column in
                let space = String(repeating: " ", count: widths[column] - row[column].count)
                return (1...3).contains(column) ? space + row[column] : row[column] + space
            }.joined(separator: "  ")
            return index == 0 ? [line, String(repeating: "─", count: line.count)] : [line]
        }
    }

    private static func text(_ value: Double?) -> String {
        guard let value, value.isFinite else { return "–" }
        switch value.magnitude {
        case 1e15...: return "\(value)"
        case 100_000...: return grouped(Int64(value.rounded()))
        case 100...: return fixed(value, 0)
        case 10...: return fixed(value, 1)
        default: return fixed(value, 2)
        }
    }

    private static func ratio(_ value: Double?) -> String {
        guard let value, value.isFinite, value.magnitude < 1e15 else { return "–" }
        return fixed(value, 2) + " ×"
    }

    private static func grouped(_ value: Int64) -> String {
        var digits = Array(String(value))
        var position = digits.count - 3
        while position > (value < 0 ? 1 : 0) {
            digits.insert("\u{2009}", at: position)
            position -= 3
        }
        return String(digits)
    }

    private static func fixed(_ value: Double, _ decimals: Int) -> String {
        var factor: Int64 = 1
        for _ in 0..<decimals { factor *= 10 }
        let scaled = Int64((value * Double(factor)).rounded())
        guard decimals > 0 else { return "\(scaled)" }
        let fraction = String(scaled.magnitude % factor.magnitude)
        let zeros = String(repeating: "0", count: decimals - fraction.count)
        return "\(scaled < 0 ? "-" : "")\(scaled.magnitude / factor.magnitude).\(zeros)\(fraction)"
    }
}
