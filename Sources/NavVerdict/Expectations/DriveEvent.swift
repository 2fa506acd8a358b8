package import NavMessages

/// An event of a drive in the terms of `expect` lines: a published message, a request, or an answer.
package struct DriveEvent {
    /// The topics that lines may name.
    ///
    /// Some are not bus topics: repeated approaches, a change of the deviation in the progress, needed tiles, a request to the
    /// routing worker and its cancellation, the answer to a command.
    package static let topics = [
        "state", "position", "progress", "route", "preview", "reroute", "alternatives", "switch", "faster", "refresh",
        "say", "show", "arrival", "approach", "rejected", "simulation", "receiver", "ask", "policy", "tiles",
        "deviation", "request",
        "cancel", "reply",
    ]

    /// The topics without messages, which a recording does not contain.
    package static let unpublishedTopics: Set = ["tiles", "request", "cancel", "reply"]

    /// Seconds since the start of the drive.
    package var time: Double
    package var topic: String
    /// The words that distinguish the event from other events of its topic, the most important first.
    package var words: [String]
    /// The text of an instruction, or the road names of a route.
    package var text = ""
    /// The message of the event.
    package var message: (any Message)?
    /// Additional fields that are not in the message.
    package var fields: [String: String] = [:]

    /// Returns the value of a field as written in the message; nil when it is absent.
    package func field(_ path: String) -> String? {
        if let value = fields[path] { return value }
        guard let message, let json = DriveEvent.json(message), let value = FieldPath(path)?.value(in: json) else {
            return nil
        }
        return value.hasPrefix("\"") && value.count >= 2 ? String(value.dropFirst().dropLast()) : value
    }

    package init(
        time: Double, topic: String, words: [String], text: String = "", message: (any Message)? = nil
    ) {
        (self.time, self.topic, self.words, self.text, self.message) = (time, topic, words, text, message)
    }

    private static func json(_ message: some Message) -> String? { try? MessageJSON.text(of: message) }

    /// The `expect` line for the event, preceded by its time.
    package var description: String { "\(tenths(time)): \(line)" }

    /// The `expect` line for the event.
    package var line: String {
        let shown =
            text.isEmpty ? "" : topic == "say" || topic == "show" || topic == "reply" ? " \"\(text)\"" : " via \(text)"
        return ([topic] + words).joined(separator: " ") + shown
    }

    /// Returns the description with the fields used in conditions.
    package func described(for conditions: [EventPattern.Condition]) -> String {
        let values = conditions.map { "\($0.field) = \(field($0.field) ?? "unknown")" }
        return description + (values.isEmpty ? "" : " where " + values.joined(separator: " and "))
    }
}

/// Returns a number with one decimal.
package func tenths(_ value: Double) -> String {
    guard value.magnitude < 1e15 else { return "\(value)" }
    let number = Int((value * 10).rounded())
    return (number < 0 ? "-" : "") + "\(abs(number) / 10).\(abs(number) % 10)"
}

extension DriveEvent {
    /// Creates the event of a published message; nil when `expect` lines cannot name it.
    package init?(_ message: any Message, topic: String, at time: Double) {
        self.init(time: time, topic: "", words: [], message: message)
        switch message {
        case let state as NavigationState:
            self.topic = "state"
            words = [word(state.phase), word(state.guidance)].filter { !$0.isEmpty }
            if state.rerouteInProgress == true { words.append("REROUTING") }
            if state.isHeld == true { words.append("HELD") }
        case let position as MatchedPosition: (self.topic, words) = ("position", [word(position.source)])
        case let progress as RouteProgress:
            (self.topic, words) = ("progress", [word(progress.deviation), word(progress.source)])
        case let route as Route:
            self.topic = "route"
            guard route.geometry != nil else {
                words = ["none"]
                return
            }
            words = ["\(route.routeId ?? 0)", word(route.reason)]
            text = DriveEvent.roads(of: route)
        case let preview as RoutePreview:
            self.topic = "preview"
            words =
                preview.routes.isEmpty
                ? ["none"] : ["\(preview.routes.count)", "active", "\(preview.activeIndex ?? 0)"]
            if let error = preview.error { words.append(word(error.code)) }
            if let index = preview.activeIndex.map(Int.init), preview.routes.indices.contains(index) {
                text = preview.routes[index].summary?.names.joined(separator: ", ") ?? ""
            }
        case let fix as FixRejected: (self.topic, words) = ("rejected", [word(fix.reason)])
        case let visual as VisualInstruction:
            self.topic = "show"
            text = visual.primary?.text ?? ""
            if text.isEmpty { words = ["none"] }
        case let spoken as SpokenInstruction: (self.topic, text) = ("say", spoken.text ?? "")
        default: guard take(step: message) else { return nil }
        }
    }

    /// Reads a message that reports a step of a process; false for any other message.
    private mutating func take(step message: any Message) -> Bool {
        switch message {
        case let event as RerouteEvent:
            topic = "reroute"
            words = [word(event.phase), word(event.reason)]
            if let rejection = event.rejection { words.append(word(rejection)) }
            if let error = event.error { words.append(word(error.code)) }
        case let event as ArrivalEvent:
            // Only the first approach is a step; further ones are published with every fix.
            let isRepeated = event.phase == .approaching && event.isFirst != true
            topic = isRepeated ? "approach" : "arrival"
            let number = event.phase == .legStarted ? event.legIndex : event.waypointIndex
            words = isRepeated ? ["\(number ?? 0)"] : [word(event.phase), "\(number ?? 0)"]
        case let event as SimulationEvent:
            (topic, words) = ("simulation", [word(event.phase), word(event.reason)])
            if let end = event.endReason { words.append(word(end)) }
        case let event as AlternativeSwitch:
            (topic, words) = ("switch", [word(event.phase), event.byDriving == true ? "DRIVING" : "CALL"])
            if let error = event.error { words.append(word(error.code)) }
        case let event as FasterRoute:
            (topic, words) = ("faster", [word(event.phase)])
            text = event.reason ?? event.route?.summary?.names.joined(separator: ", ") ?? ""
        case let event as RouteRefresh: (topic, words) = ("refresh", [word(event.phase)])
        case let request as PolicyRequest: (topic, words) = ("ask", [word(request.kind)])
        case let decision as PolicyDecision:
            topic = "policy"
            words = [word(decision.kind), word(decision.verdict), "by", word(decision.decidedBy)]
        case let selection as ReceiverSelection:
            (topic, words) = ("receiver", [selection.receiver ?? "", word(selection.reason)])
        default: return false
        }
        return true
    }

    /// Returns the road names of a route's steps, without consecutive repeats.
    private static func roads(of route: Route) -> String {
        var names: [String] = []
        for step in route.legs.flatMap(\.steps) {
            guard let name = step.name, names.last != name else { continue }
            names.append(name)
        }
        return names.joined(separator: ", ")
    }
}

/// Returns the name of an enum's value without the common prefix of its type; empty for nil.
private func word(_ value: (some ProtoEnum)?) -> String {
    guard let value else { return "" }
    let names = type(of: value).names.map(\.name)
    guard let first = names.first(where: { $0.hasSuffix("UNSPECIFIED") }) else { return value.description }
    let prefix = first.dropLast("UNSPECIFIED".count)
    return value.description.hasPrefix(prefix) ? String(value.description.dropFirst(prefix.count)) : value.description
}

/// A converter of a drive's messages into events, which remembers the names of alternatives and the deviation.
package struct DriveEventReader {
    private let topics: Set<String>?
    /// The roads of each alternative, by the number of its route.
    package private(set) var names: [UInt64: String] = [:]
    private var deviation: DeviationState?

    /// Creates a reader of the events of some topics; nil for all.
    package init(topics: Set<String>? = nil) { self.topics = topics }

    /// Returns the events of a published message; empty when `expect` lines cannot name it.
    package mutating func events(of message: any Message, topic: String, at time: Double) -> [DriveEvent] {
        // Comparing types first is faster than casting: these messages are published with each fix.
        let type = type(of: message)
        if type == MatchedPosition.self, !isWanted("position") { return [] }
        var events: [DriveEvent] = []
        if type == RouteProgress.self, let progress = message as? RouteProgress {
            // Progress is published with each fix, so unneeded events are not created.
            let isChange = progress.deviation != deviation
            deviation = progress.deviation
            guard isWanted("progress") || isChange && isWanted("deviation") else { return [] }
            guard let event = DriveEvent(message, topic: topic, at: time) else { return [] }
            if isWanted("progress") { events.append(event) }
            guard isChange, isWanted("deviation") else { return events }
            var change = event
            (change.topic, change.words) = ("deviation", [event.words[0]])
            return events + [change]
        }
        if let list = message as? Alternatives {
            return isWanted("alternatives") ? self.events(list, at: time) : []
        }
        if let event = DriveEvent(message, topic: topic, at: time), isWanted(event.topic) { events.append(event) }
        return events
    }

    private func isWanted(_ topic: String) -> Bool { topics?.contains(topic) ?? true }

    /// Returns the events of a list of alternatives: one for each added or removed route, named by its roads.
    private mutating func events(_ list: Alternatives, at time: Double) -> [DriveEvent] {
        for alternative in list.alternatives {
            guard let route = alternative.route, let id = route.routeId else { continue }
            names[id] = route.summary?.names.joined(separator: ", ") ?? ""
        }
        func event(_ words: [String], _ id: UInt64) -> DriveEvent {
            var event = DriveEvent(
                time: time, topic: "alternatives", words: words, text: names[id] ?? "",
                message: list.alternatives.first { $0.route?.routeId == id } ?? list)
            event.fields["alternatives.count"] = "\(list.alternatives.count)"
            return event
        }
        var events = list.removed.map { event(["REMOVED", word($0.reason)], $0.routeId ?? 0) }
        events += list.added.map { event(["ADDED"], $0) }
        if let error = list.error {
            events.append(
                DriveEvent(time: time, topic: "alternatives", words: ["FAILED", word(error.code)], message: list))
        }
        if events.isEmpty {
            events.append(DriveEvent(time: time, topic: "alternatives", words: ["UPDATED"], message: list))
        }
        return events
    }
}
