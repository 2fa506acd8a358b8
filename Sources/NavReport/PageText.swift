import Foundation
import NavGeo

/// The text that a browser paints before the script has read the data.
struct PageText {
    /// The most instructions: more than fit on a screen.
    private static let mostInstructions = 40

    private let document: DriveReport.Document
    private let summaries: [DriveSummary]

    /// Creates the text of a page.
    ///
    /// - Parameter summaries: the summaries of the document's runs.
    init(_ document: DriveReport.Document, _ summaries: [DriveSummary]) {
        (self.document, self.summaries) = (document, summaries)
    }

    private var isDouble: Bool { document.runs.count > 1 }
    private var runs: [(letter: String, run: DriveReport.RunDocument)] { Array(zip(["A", "B"], document.runs)) }
    private var duration: Int64 { document.runs.map(\.duration).reduce(1, max) }
    /// The time of the first place, ms since the start.
    private var firstTime: Int64? { summaries.compactMap(\.firstTime).min() }

    /// The parts of the page by their marks, in the order of the page.
    var parts: [(mark: String, markup: String)] {
        [
            ("@CLASS@", isDouble ? "double" : ""), ("@HEADING@", escapedForMarkup(heading)), ("@WHEN@", when),
            ("@FACTS@", facts), ("@LIST@", instructions), ("@CLOCK@", clock),
        ]
    }

    private var heading: String {
        runs.map { (isDouble ? "\($0.letter) " : "") + $0.run.name }.joined(separator: "  ·  ")
    }

    private var when: String {
        guard let run = document.runs.first else { return "" }
        if document.live != nil {
            return "connecting · " + (firstTime == nil ? "no position yet" : Self.date(run.start + duration))
        }
        let first = summaries.map { $0.firstTime ?? 0 }.min() ?? 0
        return Self.date(run.start + first) + " · " + (isDouble ? "two runs compared" : Self.clock(duration))
    }

    /// The key figures of the drives. Two runs share the columns; a figure that one of them lacks is shown as a dash.
    private var facts: String {
        let figures = summaries.map(\.figures)
        var columns: [String] = []
        for figure in figures.joined() where !columns.contains(figure.name) { columns.append(figure.name) }
        return zip(runs, figures).map { item, figures in
            let letter = isDouble ? "<div class=\"letter\"><dt>Run</dt><dd>\(item.letter)</dd></div>" : ""
            let list = columns.map { column in
                let figure = figures.first { $0.name == column } ?? DriveSummary.Figure(name: column, value: "–")
                let more = figure.more.isEmpty ? "" : "<small>\(figure.more)</small>"
                return "<div><dt>\(column)</dt><dd>\(figure.value)\(more)</dd></div>"
            }
            return "<dl class=\"facts run\(item.letter)\" aria-label=\"\(escapedForMarkup(item.run.name))\">"
                + letter + list.joined() + "</dl>"
        }.joined()
    }

    /// The first rows of the instructions, as the script creates them but without icons; empty for two runs, whose list differs.
    private var instructions: String {
        guard let run = document.runs.first, !isDouble, !run.instructions.isEmpty else { return "" }
        let rows = run.instructions.prefix(Self.mostInstructions).enumerated().map { index, item in
            """
            <li><button type="button" class="row runA" data-t="\(item.t)">\
            <svg viewBox="0 0 24 24" class="maneuver" aria-hidden="true"></svg>\
            <span class="what">\(escapedForMarkup(item.text))</span>\
            <span class="time">\(Self.clock(item.t))<small>\(index + 1)</small></span></button></li>
            """
        }
        return "<ol class=\"rows instructions\">\(rows.joined())</ol>"
    }

    private var clock: String {
        let time = document.live == nil ? min(firstTime ?? duration, duration) : duration
        return "\(Self.clock(time)) / \(Self.clock(duration))"
    }

    // MARK: Numbers, formatted as in the script

    /// Returns a time in ms as minutes and seconds, with hours if there are any.
    static func clock(_ milliseconds: Int64) -> String {
        let seconds = max(milliseconds / 1_000, 0)
        let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, String(format: "%02d", Int(seconds % 60)))
        return hours > 0 ? "\(hours):\(String(format: "%02d", Int(minutes))):\(rest)" : "\(minutes):\(rest)"
    }

    /// Returns the date and time of ms since the Unix epoch.
    private static func date(_ milliseconds: Int64) -> String {
        let second = Date(timeIntervalSince1970: (Double(milliseconds) / 1_000).rounded(.down))
        return second.formatted(.iso8601.dateTimeSeparator(.space)).replacing("Z", with: " UTC")
    }

    static func metres(_ metres: Double) -> String {
        guard metres >= 1_000 else { return "\(Int(metres.rounded())) m" }
        return String(format: metres >= 100_000 ? "%.0f km" : "%.1f km", metres / 1_000)
    }

    /// Returns a duration in s.
    static func duration(_ seconds: Double) -> String {
        if seconds < 100 { return String(format: "%.0f s", seconds) }
        if seconds < 5_400 { return String(format: seconds < 600 ? "%.1f min" : "%.0f min", seconds / 60) }
        let minutes = Int((seconds / 60).rounded())
        return "\(minutes / 60) h \(String(format: "%02d", minutes % 60)) min"
    }
}
