/// Gives the instructions of a route as the vehicle gets to them, each exactly once.
///
/// It looks only at the step that the vehicle is on: what a jump passes over is not told, and what is due after a start in the middle of
/// the route is. Of the announcements of one maneuver it gives the most urgent that is due and drops those before it; it leaves time to
/// finish speaking, and drops an announcement that the next would follow too soon. It does not decide whether the vehicle is on the route.
public struct InstructionTrigger: Sendable, Equatable {
    /// What is announced.
    public let guidance: RouteGuidance
    private var given: [Given]
    /// Metres from the route's start between which the last announcement is spoken.
    private var speaking = 0.0..<0.0

    /// The instructions of one step that were given or are no longer to be given.
    private struct Given: OptionSet, Sendable {
        let rawValue: UInt8
        static let visual = Given(rawValue: 1 << 0)
        static let depart = Given(rawValue: 1 << 1)
        static let `continue` = Given(rawValue: 1 << 2)
        static let far = Given(rawValue: 1 << 3)
        static let prepare = Given(rawValue: 1 << 4)
        static let near = Given(rawValue: 1 << 5)
        static let now = Given(rawValue: 1 << 6)
        /// The maneuver was told together with the one before.
        static let chained = Given(rawValue: 1 << 7)

        static let opening: Given = [.depart, .continue]
        static let early: Given = [.depart, .continue, .far, .prepare]
        static let beforeNow: Given = [.depart, .continue, .far, .prepare, .near]
    }

    /// A departure further behind than this is not announced, metres.
    static let departReach = 50.0
    /// Two maneuvers told together are not both told again when they are no further apart than this, metres.
    static let shortStep = 25.0

    /// A trigger that has given nothing yet.
    public init(_ guidance: RouteGuidance) {
        self.guidance = guidance
        given = Array(repeating: [], count: guidance.steps.count)
    }

    /// The instructions that are due, banners first.
    ///
    /// - Parameters:
    ///   - offset: metres from the route's start; nothing is due for a value that is not finite.
    ///   - speed: m/s; nil, negative or not finite is unknown and counts as the speed expected on the road.
    ///   - leg: the leg that the vehicle is on; nil goes by the offset alone.
    public mutating func update(offset: Double, speed: Double?, leg: Int? = nil) -> [Instruction] {
        guard offset.isFinite, let located = guidance.step(at: offset, leg: leg) else { return [] }
        var due: [Instruction] = []
        // At a stop the arrival itself is the last thing to tell of the step before it.
        var step = located
        let isArrival = guidance.steps[located].maneuver.type == .arrive
        if isArrival, guidance.steps[located].index > 0, !given[located - 1].contains(.now) { step = located - 1 }
        showBanner(guidance.bannerStep(step, at: offset), &due)
        if let spoken = speak(step, offset, speed) {
            due.append(.spoken(spoken))
            if spoken.id.kind == .now, step + 1 < guidance.steps.count,
                guidance.steps[step + 1].maneuver.type == .arrive,
                guidance.steps[step + 1].leg == guidance.steps[step].leg
            {
                showBanner(step + 1, &due)
            }
        }
        return due
    }

    /// The words and the banner of the arrival at a leg's end, unless they were given: for a vehicle that is there by another way, or sooner
    /// than the words were due.
    public mutating func arrive(leg: Int) -> [Instruction] {
        guard guidance.legs.indices.contains(leg), guidance.legs[leg].count > 1 else { return [] }
        let step = guidance.legs[leg].upperBound - 2
        guard !given[step].contains(.now) else { return [] }
        let offset = guidance.announcements[step].maneuverOffset
        var due: [Instruction] = []
        if let spoken = tellNow(step, offset, 0, 0) { due.append(.spoken(spoken)) }
        showBanner(step + 1, &due)
        return due
    }

    /// The banner that belongs to a place, given or not; nil for that of an arrival whose words were not given.
    public func banner(offset: Double, leg: Int? = nil) -> VisualInstruction? {
        guard offset.isFinite, let located = guidance.step(at: offset, leg: leg) else { return nil }
        let step = guidance.bannerStep(located, at: offset)
        guard guidance.steps[step].maneuver.type != .arrive || step == 0 || given[step - 1].contains(.now) else {
            return nil
        }
        return guidance.visuals[step]
    }

    private mutating func showBanner(_ step: Int, _ due: inout [Instruction]) {
        guard !given[step].contains(.visual) else { return }
        // The banner of an arrival is shown with the words.
        if guidance.steps[step].maneuver.type == .arrive, step > 0, !given[step - 1].contains(.now) { return }
        given[step].insert(.visual)
        due.append(.visual(guidance.visuals[step]))
    }

    // MARK: Speech

    private mutating func speak(_ step: Int, _ offset: Double, _ reported: Double?) -> SpokenInstruction? {
        let plan = guidance.announcements[step]
        guard let nowLead = plan.now, !given[step].contains(.now) else { return nil }
        let speed = reported.flatMap { $0.isFinite && $0 >= 0 ? min($0, 100) : nil } ?? plan.expectedSpeed
        let remaining = max(plan.maneuverOffset - offset, 0)
        let now = min(nowLead.distance(speed: speed), plan.unambiguousDistance)
        let near = plan.near.map { max($0.distance(speed: speed), now) }
        let prepare = plan.prepare.map { max($0.distance(speed: speed), near ?? now) }
        let far = plan.far.map { max($0.distance(speed: speed), prepare ?? now) }

        if let departure = depart(step, offset, near: near ?? now, remaining, speed) { return departure }
        if remaining <= now { return tellNow(step, offset, remaining, speed) }
        // While the last words are still spoken, or the maneuver behind is still being driven, all else waits.
        guard !speaking.contains(offset),
            offset >= plan.start + min(guidance.options.timing.settleDistance, remaining / 2)
        else { return nil }
        if let near, remaining <= near { return tellAhead(step, .near, offset, remaining, speed, until: now) }
        if let prepare, remaining <= prepare {
            return tellAhead(step, .prepare, offset, remaining, speed, until: near ?? now)
        }
        if let far, remaining <= far { return tellAhead(step, .far, offset, remaining, speed, until: prepare ?? now) }
        return tellToContinue(step, offset, remaining, speed)
    }

    private mutating func depart(
        _ step: Int, _ offset: Double, near: Double, _ remaining: Double, _ speed: Double
    ) -> SpokenInstruction? {
        let own = guidance.steps[step].maneuver
        guard own.type == .depart, !given[step].contains(.depart) else { return nil }
        given[step].insert(.depart)
        guard offset - own.routeOffset <= InstructionTrigger.departReach else { return nil }
        let text = guidance.options.text
        var sentence = text.body(own, atHand: true)
        given[step].formUnion(.opening)
        if remaining <= near {
            sentence = text.chained(sentence, text.body(guidance.steps[step + 1].maneuver, atHand: false))
            given[step].formUnion([.far, .prepare, .near, .chained])
        }
        return said(sentence, step, .depart, offset, remaining, speed)
    }

    private mutating func tellNow(_ step: Int, _ offset: Double, _ remaining: Double, _ speed: Double)
        -> SpokenInstruction?
    {
        let plan = guidance.announcements[step]
        if given[step].contains(.chained) {
            // Just told. Said again only when there is room for it.
            if plan.maneuverOffset - plan.start <= InstructionTrigger.shortStep,
                guidance.steps[step + 1].maneuver.type != .arrive
            {
                return nil
            }
            if speaking.contains(offset), remaining > 12 { return nil }
        }
        given[step].formUnion([.now, .depart, .continue, .far, .prepare, .near])
        let text = guidance.options.text
        return said(
            withFollowing(text.body(guidance.steps[step + 1].maneuver, atHand: true), step), step, .now, offset,
            remaining,
            speed)
    }

    private mutating func tellAhead(
        _ step: Int, _ kind: InstructionID.Kind, _ offset: Double, _ remaining: Double, _ speed: Double,
        until next: Double
    ) -> SpokenInstruction? {
        let (own, dropped): (Given, Given) =
            switch kind {
            case .near: (.near, .early)
            case .prepare: (.prepare, [.opening, .far])
            default: (.far, .opening)
            }
        guard given[step].isDisjoint(with: own) else { return nil }
        let text = guidance.options.text
        var sentence = text.inDistance(remaining, text.body(guidance.steps[step + 1].maneuver, atHand: false))
        let timing = guidance.options.timing
        let room = InstructionTiming.speechSeconds(sentence.text) + (kind == .near ? timing.pause : timing.longPause)
        guard remaining - next >= room * speed || speed == 0 else { return nil }
        if kind == .near { sentence = withFollowing(sentence, step, limit: timing.longestAnnouncement) }
        given[step].formUnion(own.union(dropped))
        return said(sentence, step, kind, offset, remaining, speed)
    }

    private mutating func tellToContinue(
        _ step: Int, _ offset: Double, _ remaining: Double, _ speed: Double
    ) -> SpokenInstruction? {
        guard !given[step].contains(.continue), remaining > guidance.options.timing.continueDistance,
            guidance.steps[step + 1].maneuver.type != .newName
        else { return nil }
        given[step].formUnion(.opening)
        let sentence = guidance.options.text.continuing(on: guidance.steps[step].maneuver.road, metres: remaining)
        return said(sentence, step, .continue, offset, remaining, speed)
    }

    /// Adds the maneuver after the next where it follows closely; its own announcements but the last are then done.
    private mutating func withFollowing(_ sentence: Sentence, _ step: Int, limit: Int = .max) -> Sentence {
        guard guidance.announcements[step].isChained, step + 2 < guidance.steps.count else { return sentence }
        let text = guidance.options.text
        let both = text.chained(sentence, text.body(guidance.steps[step + 2].maneuver, atHand: false))
        guard both.text.count <= limit else { return sentence }
        given[step + 1].formUnion([.opening, .far, .prepare, .near, .chained])
        return both
    }

    private mutating func said(
        _ sentence: Sentence, _ step: Int, _ kind: InstructionID.Kind, _ offset: Double, _ remaining: Double,
        _ speed: Double
    ) -> SpokenInstruction {
        let text = guidance.options.text
        let finished = text.finished(sentence)
        speaking = offset..<(offset + InstructionTiming.speechSeconds(finished.text) * speed)
        return SpokenInstruction(
            id: InstructionID(leg: guidance.steps[step].leg, step: guidance.steps[step].index, kind: kind),
            distance: remaining, text: finished.text, ssml: finished.ssml(language: text.phrases.language))
    }
}
