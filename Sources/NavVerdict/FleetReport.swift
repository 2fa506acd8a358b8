import NavGeo

extension FleetResult {
    /// The first characters of each document.
    package static let (junitBeginning, htmlBeginning) = ("<?xml", "<!DOCTYPE html>")

    /// Returns the results as JUnit XML for build servers: a bag that could not be run is an error, a changed bag a failure of type
    /// `changed`. A bag that passed without any check is skipped. Unjudged criteria and notes are written to the output of their bag.
    package func junit(name: String) -> String {
        let most = mostDocumentedChanges
        let cases = bags.map { bag -> String in
            let head = "  <testcase classname=\"\(escapedForMarkup(name))\" name=\"\(escapedForMarkup(bag.bag))\""
            let notes = bag.notes.map(escapedForMarkup).joined(separator: "\n")
            let output = notes.isEmpty ? "" : "\n    <system-out>\(notes)</system-out>"
            guard bag.verdict != .passed else {
                let skipped = isUnchecked(bag) ? "\n    <skipped message=\"not judged\"/>" : ""
                return skipped.isEmpty && output.isEmpty ? head + "/>" : head + ">\(skipped)\(output)\n  </testcase>"
            }
            let message = escapedForMarkup(bag.headline ?? "")
            let details = escapedForMarkup(Self.details(of: bag, most: most, rest: Self.restInOut))
            let (element, kind) = bag.hasRun ? ("failure", bag.verdict.rawValue) : ("error", "error")
            return """
                \(head)>
                    <\(element) type="\(kind)" message="\(message)">\(details)</\(element)>\(output)
                  </testcase>
                """
        }
        let errors = bags.count { !$0.hasRun }
        let skippedCount = bags.count(where: isUnchecked)
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuite name="\(escapedForMarkup(name))" tests="\(bags.count)" failures="\(bags.count - count(.passed) - errors)" errors="\(errors)" skipped="\(skippedCount)">
            \(cases.joined(separator: "\n"))
            </testsuite>

            """
    }

    /// The classes of the changes of all bags.
    package var classes: [ChangeClass] {
        ChangeClass.classes(bags.filter { $0.verdict != .failed || !$0.changes.isEmpty }.map { ($0.bag, $0.changes) })
    }

    /// The most changes in a document: about ten megabytes.
    private static let mostChanges = 100_000
    private static let restInOut = "--out has all of them"

    /// The most changes of a bag in a document: all of them in most fleets, else an equal share.
    private var mostDocumentedChanges: Int {
        max(Self.mostChanges / max(bags.count { !$0.changes.isEmpty }, 1), 6)
    }

    /// Returns the problems of a bag, and the command that reproduces them.
    ///
    /// - Parameters:
    ///   - most: the number of changes that are listed; the remaining ones are only counted.
    ///   - rest: the place of the full list.
    package static func details(of bag: BagResult, most: Int, rest: String) -> String {
        var lines = bag.failures + bag.changes.prefix(most).map(\.description)
        if bag.changes.count > most { lines.append("… \(bag.changes.count - most) more changes (\(rest))") }
        return (lines + [bag.command]).joined(separator: "\n")
    }

    /// Returns the results as one self-contained HTML page.
    package func html(name: String, comparison: PairedComparison?) -> String {
        let metrics = Metric.allCases.map(\.rawValue).filter { metric in
            bags.contains { $0.record.metrics[metric] != nil }
        }
        func cell(_ text: String, _ kind: String = "td") -> String { "<\(kind)>\(escapedForMarkup(text))</\(kind)>" }
        let most = mostDocumentedChanges
        let rows = bags.map { bag in
            let figures = metrics.map { cell(bag.record.metrics[$0].map(plainNumber) ?? "") }.joined()
            let notes = bag.notes.map { "<p>\(escapedForMarkup($0))</p>" }.joined()
            let verdict = isUnchecked(bag) ? "not judged" : bag.verdict.rawValue
            let details =
                bag.verdict == .passed
                ? notes
                : notes + "<details><summary>\(escapedForMarkup(bag.headline ?? ""))</summary><pre>"
                    + "\(escapedForMarkup(Self.details(of: bag, most: most, rest: Self.restInOut)))</pre></details>"
            return "<tr class=\"\(bag.verdict.rawValue)\">\(cell(bag.bag, "th"))\(cell(verdict))"
                + "<td>\(details)</td>\(cell(bag.tags.joined(separator: ", ")))\(figures)</tr>"
        }
        let kinds = classes.map { "<li>\(escapedForMarkup($0.description))</li>" }
        var compared = ""
        if let comparison {
            compared =
                "<h2>Comparison</h2><pre>" + escapedForMarkup(comparison.lines.joined(separator: "\n")) + "</pre>"
        }
        return """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
            <title>\(escapedForMarkup(name)): \(summary)</title>
            <style>
            :root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
            body { margin: 2rem auto; max-width: 90rem; padding: 0 1rem; }
            table { border-collapse: collapse; display: block; overflow-x: auto; }
            th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid #8885; }
            .failed td:nth-child(2) { color: #c22; font-weight: 600; }
            .changed td:nth-child(2) { color: #a60; font-weight: 600; }
            pre { overflow-x: auto; white-space: pre-wrap; }
            h1, p, li, pre { overflow-wrap: anywhere; }
            details { min-width: 16rem; max-width: 40rem; }
            </style></head><body>
            <h1>\(escapedForMarkup(name))</h1>
            <p>\(summary). Build \(escapedForMarkup(build)).</p>
            \(kinds.isEmpty ? "" : "<h2>Classes of changes</h2><ul>\(kinds.joined())</ul>")
            \(compared)
            <h2>Bags</h2>
            <table><thead><tr>\((["bag", "verdict", "why", "tags"] + metrics).map { cell($0, "th") }.joined())</tr></thead>
            <tbody>
            \(rows.joined(separator: "\n"))
            </tbody></table></body></html>

            """
    }
}

extension PairedComparison {
    /// The comparison as text lines.
    package var lines: [String] {
        var lines = rows.map { row in
            let low = row.interval.lowerBound == -.infinity ? "unbounded" : plainNumber(row.interval.lowerBound)
            let high = row.interval.upperBound == .infinity ? "unbounded" : plainNumber(row.interval.upperBound)
            // A difference that may be due to chance is evidence neither for nor against a change.
            let mark = row.isChange ? "CHANGED" : row.differing == 0 ? "same   " : "unclear"
            let sides = [("before", row.onlyBefore), ("now", row.onlyAfter)].filter { $0.1 > 0 }
            let missing = sides.map { "in \($0.1) bags only \($0.0)" }.joined(separator: ", ")
            guard row.pairs > 0 else { return "\(mark) \(row.metric): \(missing)" }
            var judgement = ""
            if row.hasShifted, let prefersMore = Metric(rawValue: row.metric)?.prefersMore {
                judgement = prefersMore == (row.mean > 0) ? ", better" : ", worse"
            } else if !row.interval.lowerBound.isFinite || !row.interval.upperBound.isFinite {
                judgement = ", too few bags differ for a decision"
            }
            return
                "\(mark) \(row.metric): \(row.mean > 0 ? "+" : "")\(plainNumber(row.mean)) in the mean of \(row.pairs), "
                + "\(row.differing) differ, interval \(low) to \(high)\(judgement)"
                + (missing.isEmpty ? "" : "; " + missing)
        }
        lines += verdicts.map { "\($0.bag): \($0.before.rawValue) before, \($0.after.rawValue) now" }
        if !unpaired.isEmpty { lines.append("\(unpaired.count) bags are in only one of the two results") }
        let kinds = ChangeClass.classes(changes)
        lines.append("\(changes.count) bags with changed events" + (kinds.isEmpty ? "" : ", by kind:"))
        return lines + kinds.map { "  " + $0.description }
    }

    /// Whether there is a change: a significantly shifted metric, a value that one side lacks, or a worse verdict.
    package var isChange: Bool {
        rows.contains(where: \.isChange) || verdicts.contains { $0.before == .passed }
    }
}
