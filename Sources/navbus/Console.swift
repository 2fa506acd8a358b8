import Foundation
import Glibc
import NavKit

/// Human-readable output: colours on a terminal, aligned columns, notes on standard error.
enum Console {
    static let isTerminal = isatty(STDOUT_FILENO) == 1

    /// The number of columns of the terminal, or `COLUMNS` if set; nil in a pipe.
    static let width: Int? = {
        if let text = ProcessInfo.processInfo.environment["COLUMNS"], let columns = Int(text), columns >= 40 {
            return columns
        }
        var size = winsize()
        guard isTerminal, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return max(Int(size.ws_col), 40)
    }()

    /// Whether to use colours: only on a terminal that supports them, unless the user has disabled them (no-color.org).
    private static let hasColour: Bool = {
        let environment = ProcessInfo.processInfo.environment
        return isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }()

    enum Style: String {
        case bold = "1"
        case dim = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
    }

    static func styled(_ text: String, _ style: Style?) -> String {
        guard hasColour, let style, !text.isEmpty else { return text }
        return "\u{1b}[\(style.rawValue)m\(text)\u{1b}[0m"
    }

    /// Prints texts, each beginning on a new line and wrapped at the terminal's width.
    static func paragraphs(_ texts: [String], indentation: Int, _ style: Style? = nil) {
        for text in texts {
            let margin = String(repeating: " ", count: indentation + text.prefix { $0 == " " }.count)
            for line in broken(String(text.drop { $0 == " " }), at: (width ?? .max) - margin.count) {
                print(margin + styled(line, style))
            }
        }
    }

    /// Prints a title and a text after it, which continues on indented lines if it does not fit.
    static func heading(_ title: String, _ text: String) {
        let lines = broken(text, at: (width ?? .max) - title.count - 2)
        let isBeside = title.count + 2 + lines[0].count <= width ?? .max
        print(styled(title, .bold) + (isBeside ? "  " + lines[0] : ""))
        let rest = isBeside ? lines.dropFirst().joined(separator: " ") : text
        if !rest.isEmpty { paragraphs([rest], indentation: 4) }
    }

    /// The minimum width of a wrapped column.
    static let narrowest = 24

    /// Returns a text wrapped at spaces into pieces of at most `width` characters; a longer word is wrapped after its commas, if any.
    static func broken(_ text: String, at width: Int) -> [String] {
        let width = max(width, narrowest)
        guard text.count > width else { return [text] }
        var pieces: [String] = []
        var piece = ""
        for word in text.split(separator: " ") {
            var space = " "
            for part in word.count > width ? listed(word) : [word] {
                if !piece.isEmpty, piece.count + space.count + part.count <= width {
                    piece += space + part
                } else {
                    if !piece.isEmpty { pieces.append(piece) }
                    piece = String(part)
                }
                space = ""
            }
        }
        return pieces + [piece]
    }

    /// Returns the parts of a word up to and including each comma.
    private static func listed(_ word: Substring) -> [Substring] {
        var parts: [Substring] = []
        var rest = word
        while let comma = rest.firstIndex(of: ",") {
            parts.append(rest[...comma])
            rest = rest[rest.index(after: comma)...]
        }
        return rest.isEmpty ? parts : parts + [rest]
    }

    /// Writes one line to standard error.
    static func note(_ text: String) {
        StandardError.write("navbus: \(printable(text))\n")
    }

    /// Returns text from another process without control characters that would affect a terminal.
    static func printable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { isControl($0) ? "\u{fffd}" : $0 }))
    }

    /// Returns valid JSON on one line; escapes control characters in strings that JSON allows but that would affect a
    /// terminal.
    static func escaped(json text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var line = ""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            // White space between values; strings cannot contain it.
            case ..<0x20: line += " "
            case 0x7f..<0xa0: line += "\\u00" + String(scalar.value, radix: 16)
            default: line.unicodeScalars.append(scalar)
            }
        }
        return line
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7f..<0xa0).contains(scalar.value)
    }
}

extension NodeError {
    /// Returns an error with text from another process.
    static func printable(_ code: Code, _ text: String) -> NodeError { NodeError(code, Console.printable(text)) }
}

/// A table with aligned columns; numbers are right-aligned.
struct Table {
    struct Cell {
        var text: String
        var style: Console.Style?
        var isNumber = false

        init(_ text: String, _ style: Console.Style? = nil) {
            self.text = Console.printable(text)
            self.style = style
        }

        static func number(_ text: String) -> Cell {
            var cell = Cell(text)
            cell.isNumber = true
            return cell
        }
    }

    private var rows: [[Cell]] = []

    /// Creates a table with or without a line of titles.
    init(_ titles: [String] = []) {
        if !titles.isEmpty { rows.append(titles.map { Cell($0, .dim) }) }
    }

    mutating func row(_ cells: [Cell]) { rows.append(cells) }

    /// The spaces between two columns, and before columns that continue below.
    private static let gap = 2
    private static let indentation = 4
    /// Returns the lines; columns that do not fit into `width` characters continue below, where long texts are wrapped.
    func lines(width: Int? = nil) -> [String] {
        let count = rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in
            rows.map { column < $0.count ? $0[column].text.count : 0 }.max() ?? 0
        }
        let isNumeric = (0..<count).map { column in rows.contains { column < $0.count && $0[column].isNumber } }
        let groups = Self.groups(widths, in: width ?? .max)
        return rows.flatMap { row in
            groups.enumerated().flatMap { number, group -> [String] in
                let cells = group.columns.prefix { $0 < row.count }.map { (column: $0, cell: row[$0]) }
                guard let last = cells.lastIndex(where: { !$0.cell.text.isEmpty }) else {
                    return number == 0 ? [""] : []
                }
                var line = String(repeating: " ", count: number == 0 ? 0 : Self.indentation)
                for (column, cell) in cells[..<last] {
                    let gap = String(repeating: " ", count: widths[column] - cell.text.count)
                    let text = Console.styled(cell.text, cell.style)
                    line += (isNumeric[column] ? gap + text : text + gap) + String(repeating: " ", count: Self.gap)
                }
                let (column, cell) = cells[last]
                if isNumeric[column] { line += String(repeating: " ", count: widths[column] - cell.text.count) }
                let start = cells[..<last].reduce(number == 0 ? 0 : Self.indentation) {
                    $0 + widths[$1.column] + Self.gap
                }
                let pieces = Console.broken(cell.text, at: (width ?? .max) - start)
                let hanging = String(repeating: " ", count: start)
                return pieces.enumerated().map { (index, piece) in
                    (index == 0 ? line : hanging) + Console.styled(piece, cell.style)
                }
            }
        }
    }

    /// Returns the columns of each line of a row.
    private static func groups(_ widths: [Int], in width: Int) -> [(columns: Range<Int>, end: Int)] {
        var groups: [(columns: Range<Int>, end: Int)] = []
        for (column, own) in widths.enumerated() {
            let start = groups.last.map { $0.end + gap } ?? 0
            // The last column may be wrapped if there is room for some words.
            let needed = column == widths.count - 1 ? min(own, max(Console.narrowest, own / 3)) : own
            if !groups.isEmpty, start + needed <= width {
                groups[groups.count - 1].columns = groups[groups.count - 1].columns.lowerBound..<(column + 1)
                groups[groups.count - 1].end = start + own
            } else {
                groups.append((column..<(column + 1), (groups.isEmpty ? 0 : indentation) + own))
            }
        }
        return groups
    }

    func show() { for line in lines(width: Console.width) { print(line) } }
}

/// Human-readable number formats.
enum Format {
    static func decimal(_ value: Double, _ digits: Int = 1) -> String {
        value.isFinite ? String(format: "%.\(digits)f", value) : "-"
    }

    /// Returns a duration in a suitable unit.
    static func seconds(_ value: Double) -> String {
        let size = abs(value)
        switch size {
        case ..<1e-3: return decimal(value * 1e6, 0) + " µs"
        case ..<1: return decimal(value * 1e3, 1) + " ms"
        case ..<120: return decimal(value, 1) + " s"
        case ..<7200: return decimal(value / 60, 0) + " min"
        case ..<172_800: return decimal(value / 3600, 1) + " h"
        default: return value.isFinite ? decimal(value / 86_400, 1) + " d" : "-"
        }
    }

    static func bytes(_ value: Double) -> String {
        switch value {
        case ..<1024: decimal(value, 0) + " B"
        case ..<1_048_576: decimal(value / 1024) + " KiB"
        case ..<1_073_741_824: decimal(value / 1_048_576) + " MiB"
        default: decimal(value / 1_073_741_824) + " GiB"
        }
    }

    static func hexadecimal(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// Lines that replace the previously printed ones on a terminal, and are appended in a pipe.
struct LiveLines {
    private var shown = 0

    mutating func show(_ lines: [String], _ output: inout Output) {
        if Console.isTerminal, shown > 0 { output.text("\u{1b}[\(shown)A\u{1b}[J") }
        // A wrapped line would count twice when the cursor moves up.
        if Console.isTerminal { output.text("\u{1b}[?7l") }
        for line in lines { output.line(line) }
        if Console.isTerminal { output.text("\u{1b}[?7h") }
        shown = lines.count
        output.flush()
    }
}
