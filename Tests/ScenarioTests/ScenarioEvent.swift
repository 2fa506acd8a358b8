import NavKit
import NavMessages
import NavNavigator
import NavRouting
import NavWire
import NavigationNode

/// Something that was told, asked or answered, as the lines of a scenario name it.
struct ScenarioEvent {
    /// The topics that lines may name. Some are no topics of the bus: approaches but the first, a change of the deviation in the progress,
    /// tiles that are needed, a question to the routing worker and one that is taken back, the answer to a command.
    static let topics = [
        "state", "position", "progress", "route", "preview", "reroute", "alternatives", "switch", "faster", "refresh",
        "say", "show", "arrival", "approach", "rejected", "simulation", "receiver", "ask", "policy", "tiles",
        "deviation", "request",
        "cancel", "reply",
    ]

    /// Seconds since the start of the drive.
    var time: Double
    var topic: String
    /// What tells it from others of its topic, the most important first.
    var words: [String]
    /// The text of an instruction, the names of a route's roads.
    var text = ""
    /// The message that it was told in.
    var message: (any Message)?
    /// Fields of what is no message.
    var fields: [String: String] = [:]

    /// The value of a field as it stands in the message; nil where there is none.
    func field(_ path: String) -> String? {
        if let value = fields[path] { return value }
        guard let message, let json = ScenarioEvent.json(message), let value = FieldPath(path)?.value(in: json) else {
            return nil
        }
        return value.hasPrefix("\"") && value.count >= 2 ? String(value.dropFirst().dropLast()) : value
    }

    private static func json(_ message: some Message) -> String? { try? MessageJSON.text(of: message) }

    /// The line that a scenario would expect it with, with its time before it.
    var description: String { "\(tenths(time)): \(line)" }

    /// The line that a scenario would expect it with.
    var line: String {
        let shown =
            text.isEmpty ? "" : topic == "say" || topic == "show" || topic == "reply" ? " \"\(text)\"" : " via \(text)"
        return ([topic] + words).joined(separator: " ") + shown
    }

    /// The same with the fields that conditions ask for.
    func described(for conditions: [ScenarioPattern.Condition]) -> String {
        let values = conditions.map { "\($0.field) = \(field($0.field) ?? "unknown")" }
        return description + (values.isEmpty ? "" : " where " + values.joined(separator: " and "))
    }
}

/// A number with one digit behind the point.
func tenths(_ value: Double) -> String {
    let number = Int((value * 10).rounded())
    return "\(number / 10).\(abs(number % 10))"
}

extension ScenarioEvent {
    /// The event of a published message; nil for what no line names.
    init?(_ message: any Message, topic: String, at time: Double) {
        self.init(time: time, topic: "", words: [], message: message)
        switch message {
        case let state as NavMessages.NavigationState:
            self.topic = "state"
            words = [word(state.phase), word(state.guidance)].filter { !$0.isEmpty }
            if state.rerouteInProgress == true { words.append("REROUTING") }
            if state.isHeld == true { words.append("HELD") }
        case let position as NavMessages.MatchedPosition: (self.topic, words) = ("position", [word(position.source)])
        case let progress as NavMessages.RouteProgress:
            (self.topic, words) = ("progress", [word(progress.deviation), word(progress.source)])
        case let route as NavMessages.Route:
            self.topic = "route"
            guard route.geometry != nil else {
                words = ["none"]
                return
            }
            words = ["\(route.routeId ?? 0)", word(route.reason)]
            text = ScenarioEvent.roads(of: route)
        case let preview as NavMessages.RoutePreview:
            self.topic = "preview"
            words =
                preview.routes.isEmpty
                ? ["none"] : ["\(preview.routes.count)", "active", "\(preview.activeIndex ?? 0)"]
            if let error = preview.error { words.append(word(error.code)) }
            if let index = preview.activeIndex.map(Int.init), preview.routes.indices.contains(index) {
                text = preview.routes[index].summary?.names.joined(separator: ", ") ?? ""
            }
        case let fix as NavMessages.FixRejected: (self.topic, words) = ("rejected", [word(fix.reason)])
        case let visual as NavMessages.VisualInstruction:
            self.topic = "show"
            text = visual.primary?.text ?? ""
            if text.isEmpty { words = ["none"] }
        case let spoken as NavMessages.SpokenInstruction: (self.topic, text) = ("say", spoken.text ?? "")
        default: guard take(step: message) else { return nil }
        }
    }

    /// The messages that tell a step of something; false for another.
    private mutating func take(step message: any Message) -> Bool {
        switch message {
        case let event as NavMessages.RerouteEvent:
            topic = "reroute"
            words = [word(event.phase), word(event.reason)]
            if let rejection = event.rejection { words.append(word(rejection)) }
            if let error = event.error { words.append(word(error.code)) }
        case let event as NavMessages.ArrivalEvent:
            // Only the first approach is a step; the others come with every fix.
            let isRepeated = event.phase == .approaching && event.isFirst != true
            topic = isRepeated ? "approach" : "arrival"
            let number = event.phase == .legStarted ? event.legIndex : event.waypointIndex
            words = isRepeated ? ["\(number ?? 0)"] : [word(event.phase), "\(number ?? 0)"]
        case let event as NavMessages.SimulationEvent:
            (topic, words) = ("simulation", [word(event.phase), word(event.reason)])
            if let end = event.endReason { words.append(word(end)) }
        case let event as NavMessages.AlternativeSwitch:
            (topic, words) = ("switch", [word(event.phase), event.byDriving == true ? "DRIVING" : "CALL"])
            if let error = event.error { words.append(word(error.code)) }
        case let event as NavMessages.FasterRoute:
            (topic, words) = ("faster", [word(event.phase)])
            text = event.reason ?? event.route?.summary?.names.joined(separator: ", ") ?? ""
        case let event as NavMessages.RouteRefresh: (topic, words) = ("refresh", [word(event.phase)])
        case let request as NavMessages.PolicyRequest: (topic, words) = ("ask", [word(request.kind)])
        case let decision as NavMessages.PolicyDecision:
            topic = "policy"
            words = [word(decision.kind), word(decision.verdict), "by", word(decision.decidedBy)]
        case let selection as ReceiverSelection:
            (topic, words) = ("receiver", [selection.receiver ?? "", word(selection.reason)])
        default: return false
        }
        return true
    }

    /// The events of a list of alternatives: one for each that came or went. Who names an alternative names its roads.
    static func events(_ list: NavMessages.Alternatives, known: inout [UInt64: String], at time: Double)
        -> [ScenarioEvent]
    {
        for alternative in list.alternatives {
            guard let route = alternative.route, let id = route.routeId else { continue }
            known[id] = route.summary?.names.joined(separator: ", ") ?? ""
        }
        func event(_ words: [String], _ id: UInt64) -> ScenarioEvent {
            var event = ScenarioEvent(
                time: time, topic: "alternatives", words: words, text: known[id] ?? "",
                message: list.alternatives.first { $0.route?.routeId == id } ?? list)
            event.fields["alternatives.count"] = "\(list.alternatives.count)"
            return event
        }
        var events = list.removed.map { event(["REMOVED", word($0.reason)], $0.routeId ?? 0) }
        events += list.added.map { event(["ADDED"], $0) }
        if let error = list.error {
            events.append(
                ScenarioEvent(time: time, topic: "alternatives", words: ["FAILED", word(error.code)], message: list))
        }
        if events.isEmpty {
            events.append(ScenarioEvent(time: time, topic: "alternatives", words: ["UPDATED"], message: list))
        }
        return events
    }

    /// The roads that a route's steps take, each once in a row.
    private static func roads(of route: NavMessages.Route) -> String {
        var names: [String] = []
        for step in route.legs.flatMap(\.steps) {
            guard let name = step.name, names.last != name else { continue }
            names.append(name)
        }
        return names.joined(separator: ", ")
    }
}

/// The name of an enum's value without what the names of its type have in common; empty for none.
private func word(_ value: (some ProtoEnum)?) -> String {
    guard let value else { return "" }
    let names = type(of: value).names.map(\.name)
    guard let first = names.first(where: { $0.hasSuffix("UNSPECIFIED") }) else { return value.description }
    let prefix = first.dropLast("UNSPECIFIED".count)
    return value.description.hasPrefix(prefix) ? String(value.description.dropFirst(prefix.count)) : value.description
}

extension ScenarioEvent {
    /// A question to the routing worker.
    init(_ query: RouteQuery, at time: Double) {
        let purpose =
            switch query.purpose {
            case .calculate: "CALCULATE"
            case .start: "START"
            case .reroute: "REROUTE"
            case .fasterRoute: "FASTER_ROUTE"
            case .alternatives: "ALTERNATIVES"
            }
        self.init(time: time, topic: "request", words: [purpose])
        let options = query.request.options
        fields = [
            "waypoints": "\(query.request.waypoints.count - 1)", "alternatives": "\(query.alternatives)",
            "initial_maneuver_avoidance_m": "\(options.initialManeuverAvoidance)",
            "chosen_route_edges": "\(options.chosenRoute.count)", "chosen_route_factor": "\(options.chosenRouteFactor)",
            "allow_online": "\(query.allowsOnline)",
        ]
        if let course = query.request.waypoints.first?.bearing { fields["course_deg"] = "\(course * 180 / .pi)" }
    }

    /// The answer to a command.
    init(_ reply: CommandReply, to command: String, at time: Double) {
        self.init(time: time, topic: "reply", words: [command, "OK"])
        switch reply {
        case .failed(let failure):
            words = [command, "FAILED", ScenarioEvent.code(failure.code)]
            text = failure.message
        case .routes(let routes, _): fields["routes"] = "\(routes.count)"
        case .refreshed(let event):
            if case .refreshed(let changed) = event.phase { fields["changed_segment_count"] = "\(changed)" }
        case .following, .awaitingPosition, .selected, .requested, .stopped, .legStarted: break
        }
    }

    /// `NO_ROUTE` for `noRoute`, as the messages name it.
    private static func code(_ code: RouteFailure.Code) -> String {
        if code == .tilesNeeded { return "MISSING_TILES" }
        return "\(code)".reduce(into: "") { $0 += $1.isUppercase ? "_\($1)" : $1.uppercased() }
    }
}
