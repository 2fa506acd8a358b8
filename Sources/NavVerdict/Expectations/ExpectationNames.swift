import NavBus
import NavSpelling
import NavMessages

/// The words, fields and values that `expect` lines may name. A misspelt name would match nothing, so a `never` line would
/// always hold.
enum ExpectationNames {
    private struct Topic {
        var messages: [any Message.Type]
        /// The allowed words that are not enum names; nil when any word is allowed.
        var words: [String]? = []
        /// The fields that are not in the message.
        var fields: [String] = []
    }

    /// The published topics.
    private static let topics: [String: Topic] = [
        "state": Topic(messages: [NavigationState.self], words: ["REROUTING", "HELD"]),
        "position": Topic(messages: [MatchedPosition.self]), "progress": Topic(messages: [RouteProgress.self]),
        "deviation": Topic(messages: [RouteProgress.self]), "route": Topic(messages: [Route.self], words: ["none"]),
        "preview": Topic(messages: [RoutePreview.self], words: ["none", "active"]),
        "reroute": Topic(messages: [RerouteEvent.self]),
        "alternatives": Topic(
            messages: [Alternatives.self, Alternative.self], words: ["ADDED", "REMOVED", "FAILED", "UPDATED"],
            fields: ["alternatives.count"]),
        "switch": Topic(messages: [AlternativeSwitch.self], words: ["DRIVING", "CALL"]),
        "faster": Topic(messages: [FasterRoute.self]), "refresh": Topic(messages: [RouteRefresh.self]),
        "say": Topic(messages: [SpokenInstruction.self]),
        "show": Topic(messages: [VisualInstruction.self], words: ["none"]),
        "arrival": Topic(messages: [ArrivalEvent.self]), "approach": Topic(messages: [ArrivalEvent.self]),
        "rejected": Topic(messages: [FixRejected.self]), "simulation": Topic(messages: [SimulationEvent.self]),
        "receiver": Topic(messages: [ReceiverSelection.self], words: nil),
        "ask": Topic(messages: [PolicyRequest.self]), "policy": Topic(messages: [PolicyDecision.self], words: ["by"]),
    ]

    /// Checks the names that a pattern uses for its topic.
    static func check(_ pattern: EventPattern) throws(LineError) {
        guard let topic = topics[pattern.topic] else { return }
        for word in pattern.words { try check(word: word, pattern.topic, topic) }
        for condition in pattern.conditions where !topic.fields.contains(condition.field) {
            try check(condition, topic)
        }
    }

    private static func check(word: String, _ name: String, _ topic: Topic) throws(LineError) {
        guard let others = topic.words, UInt64(word) == nil else { return }
        let isText = name == "say" || name == "show"
        let names = others + (isText ? [] : topic.messages.flatMap { words(of: $0) })
        if names.contains(where: { globMatches(word, $0) }) || (word == "*" && !isText) { return }
        let advice =
            isText
            ? "write the text in quotes"
            : nearestName(to: word, among: names).map { "did you mean '\($0)'?" } ?? "none of its events has this word"
        throw LineError("'\(word)' is not a word of '\(name)': \(advice)")
    }

    /// Returns the names of the enums in a message, without each type's common prefix.
    private static func words(of type: any Message.Type) -> [String] {
        SchemaPool.builtIn.enums(of: type.fullName).flatMap(\.shortNames)
    }

    private static func check(_ condition: EventPattern.Condition, _ topic: Topic) throws(LineError) {
        guard let path = FieldPath(condition.field) else {
            throw LineError("'\(condition.field)' is not a field path, such as matched.course or legs[0].distance_m")
        }
        let pool = SchemaPool.builtIn
        let problems = topic.messages.map { pool.unknownField(in: path, of: $0.fullName) }
        if let problem = problems[0], problems.allSatisfy({ $0 != nil }) {
            let hint = nearestName(to: problem.name, among: problem.known).map { ", did you mean '\($0)'?" } ?? ""
            throw LineError("\(problem.type) has no field '\(problem.name)'\(hint)")
        }
        let type =
            topic.messages.lazy.compactMap { message -> EnumDeclaration? in
                if case .names(let type) = pool.values(at: path, of: message.fullName) { type } else { nil }
            }.first
        guard let type, condition.value != "unknown" else { return }
        let names = type.values.map(\.name)
        guard !names.contains(where: { globMatches(condition.value, $0) }) else { return }
        let meant = type.numbers(named: condition.value).first
        let full =
            type.values.first { $0.number == meant }?.name ?? nearestName(to: condition.value, among: names)
        throw LineError(
            "'\(condition.value)' is not a value of '\(condition.field)'"
                + (full.map { ": did you mean '\($0)'?" } ?? ""))
    }
}
