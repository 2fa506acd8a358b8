import NavVerdict

/// An error in a scenario: the file, the line and the remedy.
struct ScenarioError: Error, CustomStringConvertible {
    var file: String
    var line: Int
    var what: String

    var description: String { line > 0 ? "\(file), line \(line): \(what)" : "\(file): \(what)" }
}

/// A scenario divided into its sections.
struct ScenarioText {
    /// The sections in the order in which they appear in a file.
    static let sections = ["map", "ways", "nodes", "relations", "configuration", "drive", "expect"]

    let file: String
    /// The lines before the first section.
    private(set) var head: [SourceLine] = []
    /// The text after `map` on its line.
    private(set) var mapOptions = SourceLine(number: 0, text: "")
    private var bodies: [String: [SourceLine]] = [:]

    /// Divides a text into sections. Lines that begin with `#` are comments, except in the drawing, where each
    /// character counts.
    init(_ text: String, file: String) throws {
        self.file = file
        var section = ""
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let trimmed = ScenarioText.trimmed(String(line))
            let entry = SourceLine(number: index + 1, text: section == "map" ? String(line) : trimmed)
            if let name = ScenarioText.heading(String(line)) {
                guard bodies[name] == nil else {
                    throw ScenarioError(file: file, line: index + 1, what: "duplicate section '\(name)'")
                }
                section = name
                bodies[name] = []
                if name == "map" {
                    mapOptions = SourceLine(
                        number: index + 1, text: ScenarioText.trimmed(String(trimmed.dropFirst("map".count))))
                }
            } else if section == "map" {
                bodies["map", default: []].append(entry)
            } else if !trimmed.isEmpty, !trimmed.hasPrefix("#") {
                if section.isEmpty { head.append(entry) } else { bodies[section, default: []].append(entry) }
            }
        }
        for name in ["map", "ways", "drive", "expect"] where bodies[name]?.isEmpty != false {
            throw ScenarioError(
                file: file, line: 0,
                what: "no section '\(name)'; a scenario has \(ScenarioText.sections.joined(separator: ", "))")
        }
    }

    /// The lines of a section; empty when it is absent.
    subscript(section: String) -> [SourceLine] { bodies[section] ?? [] }

    /// Returns the section that a line begins; nil for other lines. A heading is at the start of its line.
    private static func heading(_ line: String) -> String? {
        if line.hasPrefix("map") {
            let rest = line.dropFirst(3)
            return rest.isEmpty || rest.hasPrefix(",") ? "map" : nil
        }
        return sections.contains(line) ? line : nil
    }

    static func trimmed(_ text: String) -> String {
        var part = text[...]
        while part.first == " " { part.removeFirst() }
        while part.last == " " { part.removeLast() }
        return String(part)
    }
}
