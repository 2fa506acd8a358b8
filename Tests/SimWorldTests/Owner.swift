import NavGeo
import NavMatching
import NavNavigator
import NavRouting
import NavSimulation

/// The owner's policy node, which answers, remains silent, or answers late, twice or wrongly.
struct SimOwner {
    private var random: SeededRandom
    private let map: SimMap
    private let wildness: Double

    init(_ map: SimMap, wildness: Double, seed: UInt64) {
        random = SeededRandom(seed: seed)
        self.map = map
        self.wildness = wildness
    }

    private mutating func chance(_ share: Double) -> Bool { random.uniform() < share }

    /// Returns the answers to a question, each with its delay in seconds.
    mutating func answers(_ request: PolicyRequest) -> [(delay: Double, answer: PolicyAnswer)] {
        let patience = request.deadline.seconds(since: request.stamp)
        if chance(0.15 * wildness) { return [] }
        let delay = chance(0.2 * wildness) ? patience + 2 * random.uniform() : patience * 0.9 * random.uniform()
        var answers = [(delay, answer(request.question))]
        if chance(0.1 * wildness) { answers.append((delay + random.uniform(), answer(request.question))) }
        return answers
    }

    /// Returns an unsolicited answer.
    mutating func unasked() -> (id: UInt64, answer: PolicyAnswer) {
        (random.next(), PolicyAnswer(verdict: chance(0.5)))
    }

    private mutating func answer(_ question: PolicyQuestion) -> PolicyAnswer {
        let isRejected = chance(0.15 * wildness)
        var content: PolicyAnswer.Content?
        switch question {
        case .rerouteOptions(_, var preferences, let waypoints):
            if chance(0.2) {
                preferences.options.initialManeuverAvoidance = chance(0.1) ? .nan : 200 * random.uniform()
            }
            let via = chance(0.15) ? [Waypoint(map.coordinate(&random), isStop: false)] : []
            if chance(0.4) { content = .reroute(chance(0.5) ? preferences : nil, via.isEmpty ? [] : via + waypoints) }
        case .reviseInstruction:
            if chance(0.3) {
                let line = RevisedInstruction.Line(text: "Other words", components: [])
                let words: RevisedInstruction.Content =
                    chance(0.5)
                    ? .spoken(text: "Other words", ssml: nil)
                    : .visual(primary: line, secondary: chance(0.5) ? line : nil, sub: nil, lanes: [])
                content = .instruction(
                    RevisedInstruction(chance(0.5) ? words : nil, isSuppressed: chance(0.2)))
            }
        default: break
        }
        // Content that belongs to another kind of question.
        if chance(0.05 * wildness) { content = .instruction(RevisedInstruction(.spoken(text: "?", ssml: nil))) }
        return PolicyAnswer(
            verdict: isRejected ? nil : chance(0.75), decider: isRejected ? .unavailable : .client,
            hold: chance(0.3) ? (chance(0.1) ? .nan : 30 * random.uniform()) : nil, content: content)
    }
}
