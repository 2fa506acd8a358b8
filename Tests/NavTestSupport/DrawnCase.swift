import NavGeo
import NavMap
import NavRouting

/// A drawn map with the expected routes, as a text that needs no knowledge of Swift.
///
///     A left turn that a relation forbids is not made.
///
///     map
///         D---F
///         |   |
///     A---B---C
///
///     ways
///     AB BC BD DF FC: highway=residential
///
///     nodes
///     C: highway=traffic_signals
///
///     relations
///     from AB via B to BD: restriction=no_left_turn, except=hgv
///
///     expect
///     car A to D: ABCFD
///     truck A to D: ABD
///
/// The text before `map` describes the behaviour. `map at a tile corner` puts the drawing at a corner of tiles, `map,
/// traffic keeps left` selects left-hand traffic. Ways are strings of nodes of the drawing; the ways on one line share
/// their tags, which are separated by a comma and a space. A relation's members are ways (`via` may also be one node),
/// several separated by spaces; `?` is a missing member.
///
/// An expectation is a vehicle, places, and the nodes that the route passes. The vehicle is `car` or `truck`,
/// optionally with `height`, `width`, `length` (metres), `weight` or `axle` (load, tonnes), and then optionally
/// `hazmat` (carries dangerous goods). A place is a node, or `A>B`: halfway from A to B, heading for B. `on Mo 08:00`
/// or `on Jul 4 08:00` is the time (in 2026). `A or B` allows either, `no route` expects none. `relations with an
/// effect: 1` is the number of relations that the importer applied.
package struct DrawnCase: Sendable {
    /// An expectation of a case.
    private struct Expectation: Sendable {
        var line: String
        var profile: VehicleProfile
        var places: [String]
        var time: LocalTime?
        var routes: [String]
    }

    /// The behaviour that the case describes.
    package let summary: String
    private let map: ASCIIMap
    private var expectations: [Expectation] = []
    private var effects: Int?

    /// Reads a case.
    ///
    /// - Throws: ``ASCIIMap/Mistake`` with the invalid line.
    package init(_ text: String) throws {
        var sections: [String: [String]] = [:]
        var heading = ""
        var mapHeading = ""
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            if ["ways", "nodes", "relations", "expect"].contains(line) || line == "map" || line.hasPrefix("map ")
                || line.hasPrefix("map,")
            {
                if line.hasPrefix("map") { mapHeading = line }
                heading = line.hasPrefix("map") ? "map" : line
            } else if heading == "map" || !line.allSatisfy({ $0 == " " }) {
                sections[heading, default: []].append(line)
            }
        }
        summary = (sections[""] ?? []).joined(separator: " ")
        var roads: [(way: String, tags: [String: String])] = []
        for line in sections["ways"] ?? [] {
            let (names, tags) = try DrawnCase.entry(line)
            for name in names.split(separator: " ") { roads.append((String(name), try DrawnCase.tags(tags, line))) }
        }
        var nodes: [Character: [String: String]] = [:]
        for line in sections["nodes"] ?? [] {
            let (names, tags) = try DrawnCase.entry(line)
            for name in names where name != " " { nodes[name] = try DrawnCase.tags(tags, line) }
        }
        map = try ASCIIMap(
            (sections["map"] ?? []).joined(separator: "\n"),
            placement: mapHeading.contains("tile corner") ? .everyTileCorner : .insideTiles, roads: roads, nodes: nodes,
            restrictions: try (sections["relations"] ?? []).map(DrawnCase.restriction),
            leftHandTraffic: mapHeading.contains("keeps left"))
        for line in sections["expect"] ?? [] {
            let (question, answer) = try DrawnCase.entry(line)
            if question == "relations with an effect" {
                effects = Int(answer)
            } else {
                expectations.append(try DrawnCase.expectation(line, question, answer))
            }
        }
        if expectations.isEmpty { throw ASCIIMap.Mistake("the case expects no route") }
    }

    private static func entry(_ line: String) throws -> (String, String) {
        let bytes = Array(line.utf8)
        guard let colon = bytes.indices.dropLast().first(where: { bytes[$0] == 58 && bytes[$0 + 1] == 32 }) else {
            throw ASCIIMap.Mistake("'\(line)' has no colon with a space after it")
        }
        let left = String(decoding: bytes[..<colon], as: UTF8.self)
        let right = String(decoding: bytes[(colon + 1)...].drop { $0 == 32 }, as: UTF8.self)
        return (left, right)
    }

    /// Returns tags separated by a comma and a space, so that values may contain commas.
    private static func tags(_ text: String, _ line: String) throws -> [String: String] {
        var result: [String: String] = [:]
        var parts: [String] = []
        for word in text.split(separator: " ", omittingEmptySubsequences: false) {
            if let last = parts.last, !last.hasSuffix(",") {
                parts[parts.count - 1] += " " + word
            } else {
                parts.append(String(word))
            }
        }
        for part in parts {
            let tag = part.hasSuffix(",") ? part.dropLast() : part[...]
            guard let sign = tag.firstIndex(of: "=") else { throw ASCIIMap.Mistake("'\(line)': '\(tag)' is not a tag") }
            result[String(tag[..<sign])] = String(tag[tag.index(after: sign)...])
        }
        return result
    }

    private static func restriction(_ line: String) throws -> ASCIIMap.Restriction {
        let (text, tagText) = try entry(line)
        var members: [String: String] = [:]
        var role = ""
        for word in text.split(separator: " ") {
            if ["from", "via", "to"].contains(word) {
                role = String(word)
            } else {
                members[role] = members[role].map { $0 + " " + word } ?? String(word)
            }
        }
        return ASCIIMap.Restriction(
            "", from: members["from"] ?? "", via: members["via"] ?? "", to: members["to"] ?? "",
            tags: try tags(tagText, line))
    }

    private static let days = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func expectation(_ line: String, _ question: String, _ answer: String) throws -> Expectation {
        let wrong = ASCIIMap.Mistake("'\(line)' is not understood")
        var words = question.split(separator: " ").map(String.init)[...]
        guard let kind = words.popFirst().flatMap(VehicleProfile.Kind.init) else { throw wrong }
        var profile = VehicleProfile(kind: kind)
        while let word = words.first, ["height", "width", "length", "weight", "axle"].contains(word) {
            guard words.count >= 2, let value = Float(words[words.startIndex + 1]) else { throw wrong }
            switch word {
            case "height": profile.height = value
            case "width": profile.width = value
            case "length": profile.length = value
            case "axle": profile.axleLoad = value
            default: profile.weight = value
            }
            words = words.dropFirst(2)
        }
        if words.first == "hazmat" {
            profile.carriesDangerousGoods = true
            words = words.dropFirst()
        }
        var time: LocalTime?
        if let on = words.firstIndex(of: "on") {
            let when = Array(words[(on + 1)...])
            let clock = (when.last ?? "").split(separator: ":").compactMap { Int($0) }
            guard clock.count == 2, when.count >= 2 else { throw wrong }
            if let day = days.firstIndex(of: when[0]) {
                // 5 January 2026 is a Monday.
                time = LocalTime(year: 2026, month: 1, day: 5 + day, hour: clock[0], minute: clock[1])
            } else if let month = months.firstIndex(of: when[0]), when.count == 3, let day = Int(when[1]) {
                time = LocalTime(year: 2026, month: month + 1, day: day, hour: clock[0], minute: clock[1])
            }
            guard time != nil else { throw wrong }
            words = words[..<on]
        }
        let places = words.filter { $0 != "to" }
        guard places.count >= 2 else { throw wrong }
        return Expectation(
            line: line, profile: profile, places: Array(places), time: time,
            routes: answer == "no route"
                ? [answer] : answer.split(separator: " ").map(String.init).filter { $0 != "or" })
    }

    /// Returns the failed expectations, one per line; empty when all are met.
    package func failures() throws -> [String] {
        var failures: [String] = []
        if let effects, effects != map.restrictionCount {
            failures.append("\(map.restrictionCount) relations have an effect, expected \(effects)")
        }
        for expectation in expectations {
            let answer = try answer(expectation)
            if !expectation.routes.contains(answer) { failures.append("'\(expectation.line)' but it is \(answer)") }
        }
        return failures
    }

    private func answer(_ expectation: Expectation) throws -> String {
        let model = CostModel(profile: expectation.profile)
        let router = Router(Metric(map.turns, model: model, at: expectation.time))
        let request = RouteRequest(waypoints: try expectation.places.map(waypoint), snapRadius: 20)
        switch router.route(request, workspace: SearchWorkspace()) {
        case .found(let route): return map.letters(of: route)
        case .unreachable, .offRoad: return "no route"
        case let other: return "\(other)"
        }
    }

    private func waypoint(_ place: String) throws -> Waypoint {
        let letters = Array(place)
        if letters.count == 1 { return Waypoint(try map.coordinate(letters[0])) }
        guard letters.count == 3, letters[1] == ">" else { throw ASCIIMap.Mistake("'\(place)' is not a place") }
        return Waypoint(
            try map.position(between: letters[0], letters[2]), bearing: try map.bearing(letters[0], letters[2]))
    }
}
