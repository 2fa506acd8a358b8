import NavConfig
import NavKit
import NavTestSupport
import NavVerdict
import NavWire
import NavigationNode

/// One behaviour as text: a drawn map, a drive with its faults, and the expected events.
struct Scenario {
    /// The file below `Scenarios`, such as `policy/asks-before-a-reroute.scenario`.
    let file: String
    let title: String
    /// The rows of the behaviour table that the scenario covers, such as `A5` and `complaint 7`.
    let rows: [String]
    /// The reason for a known failure; nil if the scenario must pass.
    let known: String?
    let map: ASCIIMap
    /// The nodes of each road.
    let ways: [String]
    /// Nodes whose tiles are missing at the start.
    let missing: [Character]
    let configuration: NavigationConfiguration
    let steps: [ScenarioStep]
    let expectations: Expectations
    /// The text of the file.
    let text: String

    /// Parses a scenario.
    ///
    /// - Throws: ``ScenarioError`` with the file, the line and the remedy.
    init(_ text: String, file: String) throws {
        self.text = text
        self.file = file
        let sections = try ScenarioText(text, file: file)
        func each<Value>(_ section: String, _ read: (SourceLine) throws -> Value) throws -> [Value] {
            try sections[section].map { line in
                do {
                    return try read(line)
                } catch let mistake as LineError {
                    throw ScenarioError(file: file, line: line.number, what: mistake.what)
                } catch let mistake as ConfigError {
                    throw ScenarioError(file: file, line: line.number, what: mistake.description)
                }
            }
        }
        (title, rows, known) = try Scenario.head(sections)
        (map, missing) = try Scenario.map(sections)
        ways = try Scenario.roads(sections).map(\.way)
        let settings = try each("configuration") { line in try Scenario.setting(line.text) }
        var configuration = NavigationConfiguration()
        for (line, given) in zip(sections["configuration"], settings) {
            var setting = given
            if given.value.hasPrefix("@") {
                // A place in the drawing.
                do {
                    let place = try ScenarioPlace(String(given.value.dropFirst()))
                    setting.value = try map.coordinate(place).text
                } catch {
                    throw ScenarioError(
                        file: file, line: line.number, what: "'\(given.value)' is not a place of the drawing")
                }
            }
            configuration = try Scenario.changed(configuration, setting, isLive: false, file: file, line: line.number)
        }
        self.configuration = configuration
        steps = try each("drive") { line in try ScenarioStep(line) }
        let lines = try each("expect") { line in try Expectation(line) }
        expectations = Expectations(lines)
    }

    private static func head(_ sections: ScenarioText) throws -> (String, [String], String?) {
        var title = ""
        var rows: [String] = []
        var known: String?
        for line in sections.head {
            if line.text.hasPrefix("shows:") {
                rows = line.text.dropFirst("shows:".count).split(separator: ",").map {
                    ScenarioText.trimmed(String($0))
                }
                if let stranger = rows.first(where: { ScenarioIndex.meaning(of: $0) == nil }) {
                    throw ScenarioError(
                        file: sections.file, line: line.number,
                        what: "'\(stranger)' is not a row of \(ScenarioIndex.rowsFile): write A5 or complaint 7")
                }
            } else if line.text.hasPrefix("known:") {
                known = ScenarioText.trimmed(String(line.text.dropFirst("known:".count)))
            } else {
                title += (title.isEmpty ? "" : " ") + line.text
            }
        }
        guard !title.isEmpty else {
            throw ScenarioError(file: sections.file, line: 1, what: "the first lines must describe the scenario")
        }
        guard !rows.isEmpty else {
            throw ScenarioError(
                file: sections.file, line: 1, what: "no line 'shows: A5, …' that names the rows of the behaviour")
        }
        return (title, rows, known)
    }

    /// `key = value`.
    static func setting(_ text: String) throws(LineError) -> (key: String, value: String) {
        guard let sign = text.firstIndex(of: "=") else { throw LineError("'\(text)' is not key = value") }
        return (
            ScenarioText.trimmed(String(text[..<sign])),
            ScenarioText.trimmed(String(text[text.index(after: sign)...]))
        )
    }

    /// Returns a configuration with one key changed; an error has the node's message.
    static func changed(
        _ configuration: NavigationConfiguration, _ setting: (key: String, value: String), isLive: Bool, file: String,
        line: Int
    ) throws(ScenarioError) -> NavigationConfiguration {
        do throws(ConfigError) {
            if isLive { return try ConfigLoader.changed(configuration, [setting]) }
            let wanted = try ConfigLoader.load(
                NavigationConfiguration.self, file: nil, overrides: ["\(setting.key)=\(setting.value)"])
            var changed = configuration
            for key in NavigationConfiguration.keys where key.name == setting.key {
                key.copy(from: wanted, to: &changed)
            }
            return changed
        } catch {
            throw ScenarioError(file: file, line: line, what: error.description)
        }
    }

    // MARK: The map

    private static func map(_ sections: ScenarioText) throws -> (ASCIIMap, [Character]) {
        var grid = 100.0
        var placement = ASCIIMap.Placement.insideTiles
        var keepsLeft = false
        var missing: [Character] = []
        let line = sections.mapOptions
        for option in line.text.split(separator: ",").map({ ScenarioText.trimmed(String($0)) }) {
            let words = option.split(separator: " ").map(String.init)
            if words.count == 4, words[1...] == ["m", "a", "character"], let metres = Double(words[0]), metres > 0 {
                grid = metres
            } else if option == "at a tile corner" {
                placement = .everyTileCorner
            } else if option == "traffic keeps left" {
                keepsLeft = true
            } else if words.starts(with: ["without", "the", "tiles", "at"]) {
                missing += words.dropFirst(4).compactMap(\.first)
            } else {
                throw ScenarioError(
                    file: sections.file, line: line.number,
                    what: "'\(option)' is not understood; after 'map,' write: 50 m a character, at a tile corner, "
                        + "without the tiles at D E, traffic keeps left")
            }
        }
        do {
            let map = try ASCIIMap(
                sections["map"].map(\.text).joined(separator: "\n"), gridMetres: grid, placement: placement,
                roads: try roads(sections), nodes: try nodes(sections), restrictions: try restrictions(sections),
                leftHandTraffic: keepsLeft)
            for node in missing { _ = try map.coordinate(node) }
            return (map, missing)
        } catch let mistake as ASCIIMap.Mistake {
            throw ScenarioError(file: sections.file, line: line.number, what: "the map: \(mistake.description)")
        }
    }

    private static func roads(_ sections: ScenarioText) throws -> [(way: String, tags: [String: String])] {
        var roads: [(way: String, tags: [String: String])] = []
        for line in sections["ways"] {
            let (names, tags) = try entry(line, sections)
            for name in names.split(separator: " ") { roads.append((String(name), tags)) }
        }
        return roads
    }

    private static func nodes(_ sections: ScenarioText) throws -> [Character: [String: String]] {
        var nodes: [Character: [String: String]] = [:]
        for line in sections["nodes"] {
            let (names, tags) = try entry(line, sections)
            for name in names where name != " " { nodes[name] = tags }
        }
        return nodes
    }

    private static func restrictions(_ sections: ScenarioText) throws -> [ASCIIMap.Restriction] {
        try sections["relations"].map { line in
            let (text, tags) = try entry(line, sections)
            var members: [String: String] = [:]
            var role = ""
            for word in text.split(separator: " ").map(String.init) {
                if ["from", "via", "to"].contains(word) {
                    role = word
                } else {
                    members[role] = members[role].map { $0 + " " + word } ?? word
                }
            }
            return ASCIIMap.Restriction(
                "", from: members["from"] ?? "", via: members["via"] ?? "", to: members["to"] ?? "", tags: tags)
        }
    }

    /// Returns names and tags: names, a colon, and tags separated by a comma and a space.
    private static func entry(_ line: SourceLine, _ sections: ScenarioText) throws -> (String, [String: String]) {
        guard let colon = line.text.firstIndex(of: ":") else {
            throw ScenarioError(
                file: sections.file, line: line.number,
                what: "'\(line.text)' has no colon: write AB BC: highway=residential, name=Main Street")
        }
        var tags: [String: String] = [:]
        for part in line.text[line.text.index(after: colon)...].split(separator: ",") {
            let tag = ScenarioText.trimmed(String(part))
            guard let sign = tag.firstIndex(of: "=") else {
                throw ScenarioError(
                    file: sections.file, line: line.number, what: "'\(tag)' is not a tag: write key=value")
            }
            tags[String(tag[..<sign])] = String(tag[tag.index(after: sign)...])
        }
        return (String(line.text[..<colon]), tags)
    }
}
