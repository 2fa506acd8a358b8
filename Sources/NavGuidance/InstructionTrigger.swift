public import NavGeo

/// A trigger that emits each instruction of a route exactly once, when the vehicle reaches its place.
///
/// It considers only the current step: instructions that a jump skips are not emitted, while those due after a start in the middle of the
/// route are. Of the announcements of one maneuver, it emits the most urgent one that is due and drops earlier ones. It leaves time to
/// finish speaking, and drops an announcement that the next would follow too soon. A maneuver just named after "then" is not announced
/// again. A notice is omitted if it would delay the announcement of a maneuver. The trigger does not determine whether the vehicle is on
/// the route.
public struct InstructionTrigger: Sendable, Equatable {
    /// The guidance that is announced.
    public let guidance: RouteGuidance
    /// The distance to a stop at which ``arrive(leg:)`` is called, metres; nil when the call does not depend on distance alone.
    public var arrivalRadius: Double?
    private var given: [Given]
    /// Seconds driven since the first update.
    private var clock = 0.0
    /// The time on ``clock`` at which the last announcement ends.
    private var spokenUntil = 0.0
    /// The time on ``clock`` of the last announcement of the maneuver at the start of each step.
    private var spokenOf: [Double]
    /// The distance to the maneuver at that announcement, metres.
    private var spokenAt: [Double]
    /// The offset and stamp of the last update, and the metres driven between the last two updates, or expected until the second.
    private var lastOffset: Double?
    private var lastStamp: Timestamp?
    private var stride = 0.0
    /// The speed up to a second ago, and the last measured acceleration, m/s², which is never negative.
    private var earlier: Pace?
    private var acceleration = 0.0
    /// The first notice that has been neither announced nor passed, an index in the guidance's notices.
    private var nextNotice = 0
    /// The last result of ``speechLead(_:)``.
    private var lastSpeechLead = SpeechLead(step: -1)

    /// A speed in m/s, and its time on ``clock``.
    private struct Pace: Sendable, Equatable {
        var clock: Double
        var speed: Double
    }

    /// The least times before the maneuver at the end of a step at which its announcement must begin, seconds.
    private struct SpeechLead: Sendable, Equatable {
        var step: Int
        /// The time to name the maneuver before it is reached.
        var alone = 0.0
        /// The time to name the maneuvers announced together with it, ``InstructionTiming/actingTime`` before they are reached.
        var row = 0.0
    }

    /// The instructions of one step that have been emitted or are no longer due.
    private struct Given: OptionSet, Sendable {
        let rawValue: UInt8
        static let visual = Given(rawValue: 1 << 0)
        static let depart = Given(rawValue: 1 << 1)
        static let `continue` = Given(rawValue: 1 << 2)
        static let far = Given(rawValue: 1 << 3)
        static let prepare = Given(rawValue: 1 << 4)
        static let near = Given(rawValue: 1 << 5)
        static let now = Given(rawValue: 1 << 6)
        /// The maneuver was announced together with the previous one.
        static let chained = Given(rawValue: 1 << 7)

        static let opening: Given = [.depart, .continue]
        static let early: Given = [.depart, .continue, .far, .prepare]
    }

    /// The distance past a departure up to which it is announced, metres.
    static let departReach = 50.0
    /// The time between two jointly announced maneuvers below which the next one is included, because there is no time to announce it
    /// separately, seconds.
    static let breathlessSeconds = 4.5
    /// The greatest acceleration that is extrapolated, and the acceleration assumed at departure, m/s².
    static let greatestAcceleration = 3.0
    static let departureAcceleration = 2.0
    /// The usual interval between updates, seconds: that of most receivers, and of predictions between less frequent fixes.
    static let usualInterval = 1.0
    /// The distance past the next maneuver within which a notice is announced before that maneuver, metres: there may be no time after it.
    static let noticeReach = 200.0
    /// The most maneuvers that one announcement names, and the longest time from the first to the last of them, seconds.
    static let longestRow = 3
    static let longestRowSeconds = 15.0

    /// Creates a trigger that has not emitted any instructions.
    public init(_ guidance: RouteGuidance) {
        self.guidance = guidance
        given = Array(repeating: [], count: guidance.steps.count)
        spokenOf = Array(repeating: -.infinity, count: guidance.steps.count)
        spokenAt = Array(repeating: .infinity, count: guidance.steps.count)
    }

    /// Returns the instructions that are due, banners first.
    ///
    /// - Parameters:
    ///   - offset: metres from the route's start; nothing is due for a value that is not finite.
    ///   - speed: m/s; nil, a negative or a non-finite value stands for the speed expected on the road.
    ///   - leg: the leg that the vehicle is on; nil to use the offset alone.
    ///   - stamp: the time of the position; nil estimates it from distance and speed. A stamp earlier than the last one counts as equal to
    ///     it.
    public mutating func update(
        offset: Double, speed reported: Double?, leg: Int? = nil, at stamp: Timestamp? = nil
    ) -> [Instruction] {
        guard offset.isFinite, let located = guidance.step(at: offset, leg: leg) else { return [] }
        let speed = speed(reported, on: located)
        pass(to: offset, speed, at: stamp)
        var due: [Instruction] = []
        // At a stop, the previous step stays current until the arrival has been announced.
        var step = located
        let isArrival = guidance.steps[located].maneuver.type == .arrive
        if isArrival, guidance.steps[located].index > 0, !given[located - 1].contains(.now) { step = located - 1 }
        showBanner(guidance.bannerStep(step, at: offset), &due)
        if let spoken = speak(step, offset, speed) {
            due.append(.spoken(spoken))
        } else if let spoken = announceNotice(step, offset, speed) {
            due.append(.spoken(spoken))
        }
        return due
    }

    /// Returns the announcement and the banner of the arrival at a leg's end, unless already emitted.
    ///
    /// The caller determines the arrival: the vehicle may also stop at a red light shortly before the destination.
    public mutating func arrive(leg: Int) -> [Instruction] {
        guard guidance.legs.indices.contains(leg), guidance.legs[leg].count > 1 else { return [] }
        let step = guidance.legs[leg].upperBound - 2
        guard !given[step].contains(.now) else { return [] }
        var due: [Instruction] = []
        let plan = guidance.announcements[step]
        if let spoken = announceNow(step, 0, leads(plan, plan.expectedSpeed)) { due.append(.spoken(spoken)) }
        showBanner(step + 1, &due)
        return due
    }

    /// Returns an announcement of the next maneuver on request, with the remaining distance; nil if no maneuver follows on the leg.
    ///
    /// Announcements that would repeat it within a few seconds are then omitted, including those of maneuvers announced with it.
    ///
    /// - Parameters:
    ///   - offset: metres from the route's start.
    ///   - speed: m/s; nil, a negative or a non-finite value stands for the speed expected on the road.
    ///   - leg: the leg that the vehicle is on; nil to use the offset alone.
    public mutating func repeated(offset: Double, speed reported: Double?, leg: Int? = nil) -> SpokenInstruction? {
        guard offset.isFinite, let located = guidance.step(at: offset, leg: leg) else { return nil }
        let rest = located..<guidance.legs[guidance.steps[located].leg].upperBound
        guard let step = rest.first(where: { guidance.announcements[$0].now != nil }) else { return nil }
        let plan = guidance.announcements[step]
        let remaining = max(plan.maneuverOffset - offset, 0)
        let leads = leads(plan, speed(reported, on: located))
        let maneuver = guidance.steps[step + 1].maneuver
        // An arrival is worded as reached only once it has been announced.
        let isAtHand = remaining <= leads.now && (maneuver.type != .arrive || given[step].contains(.now))
        let kind: InstructionID.Kind =
            switch remaining {
            case ...leads.now: .now
            case ...(leads.near ?? 0): .near
            case ...(leads.prepare ?? 0): .prepare
            default: .far
            }
        let text = guidance.text(step)
        var sentence = text.body(maneuver, atHand: isAtHand)
        if !isAtHand || remaining > plan.unambiguousDistance + 1 { sentence = text.inDistance(remaining, sentence) }
        if kind == .now || kind == .near {
            sentence = withFollowing(sentence, step, limit: guidance.options.timing.longestAnnouncement)
        }
        var spoken = announcement(sentence, step, kind, remaining, due: remaining)
        spoken.isRepeat = true
        return spoken
    }

    /// Returns the banner for a position, whether emitted before or not; nil for an arrival that has not been announced.
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
        // An arrival's banner is shown together with its announcement.
        if guidance.steps[step].maneuver.type == .arrive, step > 0, !given[step - 1].contains(.now) { return }
        given[step].insert(.visual)
        due.append(.visual(guidance.visuals[step]))
    }

    // MARK: Speech

    /// The distances to a maneuver at which its announcements are due, metres.
    private struct Leads {
        var far, prepare, near: Double?
        var now: Double
        /// The distance at which the next update would come too late for an announcement.
        var latest: Double
    }

    private func leads(
        _ plan: StepAnnouncements, _ speed: Double, _ speech: SpeechLead = SpeechLead(step: -1)
    ) -> Leads {
        let latest = guidance.options.timing.latest * speed + stride
        let wanted = max(plan.now?.distance(speed: speed) ?? 0, max(speech.alone, speech.row) * speed)
        let now = min(wanted, max(plan.unambiguousDistance, latest, speech.alone * speed))
        let near = plan.near.map { max($0.distance(speed: speed), now) }
        let prepare = plan.prepare.map { max($0.distance(speed: speed), near ?? now) }
        let far = plan.far.map { max($0.distance(speed: speed), prepare ?? now) }
        return Leads(far: far, prepare: prepare, near: near, now: now, latest: latest)
    }

    /// Returns the reported speed, at most 100 m/s, or the step's expected speed if it is invalid, m/s.
    private func speed(_ reported: Double?, on step: Int) -> Double {
        reported.flatMap { $0.isFinite && $0 >= 0 ? min($0, 100) : nil } ?? guidance.announcements[step].expectedSpeed
    }

    private mutating func pass(to offset: Double, _ speed: Double, at stamp: Timestamp?) {
        let moved = max(offset - (lastOffset ?? offset), 0)
        let seconds: Double
        if let stamp, let lastStamp {
            seconds = stamp.seconds(since: lastStamp)
        } else {
            seconds = moved / max(speed, 1)
        }
        clock += min(max(seconds, 0), 3_600)
        // At the first update of a route, the interval to the next one is unknown.
        stride = lastOffset == nil ? speed * InstructionTrigger.usualInterval : min(moved, 2 * speed)
        (lastOffset, lastStamp) = (offset, stamp)
        guard let earlier else { return earlier = Pace(clock: clock, speed: speed) }
        // Measured over at least a second: the speeds of a fast receiver are noisy.
        guard clock - earlier.clock >= 1 else { return }
        let rise = (speed - earlier.speed) / (clock - earlier.clock)
        acceleration = min(max(rise, 0), InstructionTrigger.greatestAcceleration)
        self.earlier = Pace(clock: clock, speed: speed)
    }

    private mutating func speak(_ step: Int, _ offset: Double, _ speed: Double) -> SpokenInstruction? {
        let plan = guidance.announcements[step]
        guard plan.now != nil, !given[step].contains(.now) else { return nil }
        let remaining = max(plan.maneuverOffset - offset, 0)
        let leads = leads(plan, speed, speechLead(step))
        let isArrival = guidance.steps[step + 1].maneuver.type == .arrive
        let now = isArrival ? max(leads.now, arrivalRadius ?? 0) : leads.now

        if let departure = depart(step, offset, speed, remaining) { return departure }
        if remaining <= now {
            return isArrival
                ? announceArrivalAhead(step, remaining, speed, leads) : announceNow(step, remaining, leads)
        }
        // Wait until the last announcement has ended and the vehicle is past the previous maneuver.
        guard clock >= spokenUntil,
            offset >= plan.start + min(guidance.options.timing.settleDistance, remaining / 2)
        else { return nil }
        if let near = leads.near, remaining <= near {
            return announceAhead(step, .near, remaining, speed, due: near, until: now)
        }
        if let prepare = leads.prepare, remaining <= prepare {
            return announceAhead(step, .prepare, remaining, speed, due: prepare, until: leads.near ?? now)
        }
        if let far = leads.far, remaining <= far {
            return announceAhead(step, .far, remaining, speed, due: far, until: leads.prepare ?? now)
        }
        return announceContinuation(step, remaining)
    }

    private mutating func depart(
        _ step: Int, _ offset: Double, _ speed: Double, _ remaining: Double
    ) -> SpokenInstruction? {
        let own = guidance.steps[step].maneuver
        guard own.type == .depart, !given[step].contains(.depart) else { return nil }
        // Waits for another announcement to end, such as that of the arrival at the previous stop, while there is time.
        let driven = offset - own.routeOffset
        guard clock >= spokenUntil || driven + stride > InstructionTrigger.departReach else { return nil }
        given[step].insert(.depart)
        guard driven <= InstructionTrigger.departReach else { return nil }
        let text = guidance.text(step)
        var sentence = text.body(own, atHand: true)
        given[step].formUnion(.opening)
        if isDueDuring(sentence, step, remaining, speed) {
            sentence = text.chained(sentence, text.body(guidance.steps[step + 1].maneuver, atHand: false))
            noteChained(step)
            sentence = withFollowing(sentence, step)
        }
        return announcement(sentence, step, .depart, remaining, due: max(length(of: step), remaining))
    }

    /// Whether a departing vehicle will be too close to the maneuver at the end of `step` to announce it after a sentence. False for an
    /// arrival, which is announced when it happens.
    private mutating func isDueDuring(_ sentence: Sentence, _ step: Int, _ remaining: Double, _ speed: Double) -> Bool {
        guard guidance.steps[step + 1].maneuver.type != .arrive else { return false }
        let plan = guidance.announcements[step]
        let ahead = extrapolated(
            plan, speed, InstructionTrigger.departureAcceleration,
            seconds: guidance.options.text.phrases.speechSeconds(sentence.text))
        let interval = max(stride, ahead.speed * InstructionTrigger.usualInterval)
        let latest = guidance.options.timing.latest * ahead.speed + interval
        return remaining - ahead.distance <= max(latest, speechLead(step).alone * ahead.speed)
    }

    private mutating func announceNow(_ step: Int, _ remaining: Double, _ leads: Leads) -> SpokenInstruction? {
        let plan = guidance.announcements[step]
        let isArrival = guidance.steps[step + 1].maneuver.type == .arrive
        if !isArrival {
            let isRecent = clock - spokenOf[step + 1] < guidance.options.timing.repeatGap
            let isSpeaking = clock < spokenUntil
            let isLast = remaining <= leads.latest
            guard !isSpeaking || isLast else { return nil }
            if let next = followers(of: step).first, !given[next].contains(.chained) {
                // Further maneuvers interrupt a sentence that names this one only if they follow immediately; otherwise they are announced
                // after it.
                if isRecent, isSpeaking, guidance.announcements[next].seconds >= InstructionTrigger.breathlessSeconds {
                    given[step].insert(.now)
                    return nil
                }
            } else {
                guard !isRecent || isLast else { return nil }
                // Already named together with the previous maneuver, and there is no time left to act on a repetition.
                if isLast, given[step].contains(.chained) {
                    given[step].insert(.now)
                    return nil
                }
            }
        }
        given[step].formUnion([.now, .depart, .continue, .far, .prepare, .near])
        let text = guidance.text(step)
        let body = text.body(guidance.steps[step + 1].maneuver, atHand: true)
        // The distance distinguishes the maneuver from an earlier road that could be mistaken for it.
        let isAmbiguous = remaining > plan.unambiguousDistance + 1
        return announcement(
            withFollowing(isAmbiguous ? text.inDistance(remaining, body) : body, step), step, .now, remaining,
            due: isArrival ? 0 : leads.now)
    }

    /// Returns the announcement of an approaching arrival that has not been announced yet; nil when ``arrive(leg:)`` would announce it
    /// again too soon.
    private mutating func announceArrivalAhead(
        _ step: Int, _ remaining: Double, _ speed: Double, _ leads: Leads
    ) -> SpokenInstruction? {
        guard !given[step].contains(.near), clock >= spokenUntil else { return nil }
        let sentence = guidance.text(step).body(guidance.steps[step + 1].maneuver, atHand: false)
        if let arrivalRadius {
            let speech =
                guidance.options.text.phrases.speechSeconds(sentence.text) + guidance.options.timing.pause
            guard remaining - arrivalRadius > speech * speed else { return nil }
        }
        given[step].formUnion([.early, .near])
        return announcement(sentence, step, .near, remaining, due: leads.now)
    }

    private mutating func announceAhead(
        _ step: Int, _ kind: InstructionID.Kind, _ remaining: Double, _ speed: Double, due lead: Double,
        until next: Double
    ) -> SpokenInstruction? {
        let (own, dropped): (Given, Given) =
            switch kind {
            case .near: (.near, .early)
            case .prepare: (.prepare, [.opening, .far])
            default: (.far, .opening)
            }
        let timing = guidance.options.timing
        guard given[step].isDisjoint(with: own), clock - spokenOf[step + 1] >= timing.repeatGap,
            remaining <= spokenAt[step + 1] * timing.repeatShare
        else { return nil }
        let text = guidance.text(step)
        var sentence = text.inDistance(remaining, text.body(guidance.steps[step + 1].maneuver, atHand: false))
        let pause = kind == .near ? timing.pause : timing.longPause
        let speech = guidance.options.text.phrases.speechSeconds(sentence.text) + pause
        // The wording of an arrival changes once it is reached.
        let isArrival = guidance.steps[step + 1].maneuver.type == .arrive
        let room = isArrival ? speech : max(speech, timing.repeatGap + 2)
        guard remaining - next >= room * speed || speed == 0 else { return nil }
        guard isArrival || !wouldRepeatTooSoon(guidance.announcements[step], remaining, speed) else { return nil }
        if kind == .near { sentence = withFollowing(sentence, step, limit: timing.longestAnnouncement) }
        given[step].formUnion(own.union(dropped))
        return announcement(sentence, step, kind, remaining, due: lead)
    }

    /// Whether the vehicle, at its current acceleration, reaches the latest place for the announcement at the maneuver within
    /// ``InstructionTiming/repeatGap``, so that an announcement now would be repeated too soon.
    private func wouldRepeatTooSoon(_ plan: StepAnnouncements, _ remaining: Double, _ speed: Double) -> Bool {
        let timing = guidance.options.timing
        let ahead = extrapolated(plan, speed, acceleration, seconds: timing.repeatGap)
        let interval = speed > 0 ? stride / speed : 0
        return remaining - ahead.distance < (timing.latest + interval) * ahead.speed
    }

    /// Returns the distance driven within `seconds` and the final speed of a vehicle that accelerates to the step's expected speed, metres
    /// and m/s.
    private func extrapolated(
        _ plan: StepAnnouncements, _ speed: Double, _ acceleration: Double, seconds: Double
    ) -> (distance: Double, speed: Double) {
        let top = max(speed, plan.expectedSpeed)
        let rising = acceleration > 0 ? min((top - speed) / acceleration, seconds) : 0
        let then = speed + acceleration * rising
        return ((speed + then) / 2 * rising + then * (seconds - rising), then)
    }

    private mutating func announceContinuation(_ step: Int, _ remaining: Double) -> SpokenInstruction? {
        guard !given[step].contains(.continue), remaining > guidance.options.timing.continueDistance,
            guidance.steps[step + 1].maneuver.type != .newName,
            // Aboard a ferry, there is no road to continue on.
            !guidance.announcements[step].isAboard
        else { return nil }
        given[step].formUnion(.opening)
        let sentence = guidance.text(step).continuing(on: guidance.steps[step].maneuver.road, metres: remaining)
        return announcement(sentence, step, .continue, remaining, due: max(length(of: step), remaining))
    }

    /// Returns the announcement of the next notice once it is near, if it ends before the place and before the next announcement of the
    /// maneuver at the end of `step`.
    private mutating func announceNotice(_ step: Int, _ offset: Double, _ speed: Double) -> SpokenInstruction? {
        while nextNotice < guidance.notices.count, guidance.notices[nextNotice].routeOffset < offset { nextNotice += 1 }
        guard nextNotice < guidance.notices.count, clock >= spokenUntil else { return nil }
        let notice = guidance.notices[nextNotice]
        let timing = guidance.options.timing
        let remaining = notice.routeOffset - offset
        let lead = (speed >= timing.fastSpeed ? timing.fast : timing.ordinary).prepare.distance(speed: speed)
        let reach = guidance.announcements[step].maneuverOffset + InstructionTrigger.noticeReach
        guard remaining <= lead, notice.leg == guidance.steps[step].leg, notice.routeOffset <= reach else { return nil }
        let text = guidance.text(step)
        let sentence = text.finished(text.inDistance(remaining, text.body(notice)))
        let seconds = text.phrases.speechSeconds(sentence.text)
        guard remaining >= seconds * speed, hasRoom(step, offset, speed, seconds: seconds + timing.pause) else {
            return nil
        }
        nextNotice += 1
        spokenUntil = clock + seconds
        return SpokenInstruction(
            id: InstructionID(
                leg: notice.leg, step: guidance.steps[step].index, kind: .notice, notice: notice.number),
            distance: remaining, triggerDistance: lead, text: sentence.text,
            ssml: sentence.ssml(language: text.phrases.language))
    }

    /// Whether no announcement of the maneuver at the end of `step` is due within `seconds`, and the previous maneuver is completed.
    private mutating func hasRoom(_ step: Int, _ offset: Double, _ speed: Double, seconds: Double) -> Bool {
        let plan = guidance.announcements[step]
        guard plan.now != nil else { return true }
        let remaining = plan.maneuverOffset - offset
        let leads = leads(plan, speed, speechLead(step))
        let now = max(leads.now, guidance.steps[step + 1].maneuver.type == .arrive ? arrivalRadius ?? 0 : 0)
        guard !given[step].contains(.now), remaining > now,
            offset >= plan.start + min(guidance.options.timing.settleDistance, remaining / 2)
        else { return false }
        let ahead = [leads.far, leads.prepare, leads.near].compactMap { $0 }.filter { $0 < remaining }.max()
        return remaining - (ahead ?? now) >= seconds * speed
    }

    /// Returns the steps after `step` whose maneuvers follow so closely that they are announced together with that of `step`.
    private func followers(of step: Int) -> Range<Int> {
        var end = step + 1
        var seconds = 0.0
        while end < step + InstructionTrigger.longestRow, guidance.announcements[end - 1].isChained,
            end + 1 < guidance.steps.count
        {
            // This includes the time for a maneuver such as a large roundabout.
            seconds += guidance.steps[end].duration
            guard seconds <= InstructionTrigger.longestRowSeconds else { break }
            end += 1
            // With more time between the two, the maneuver after them is announced separately.
            guard guidance.announcements[end - 1].seconds < InstructionTrigger.breathlessSeconds else { break }
        }
        return (step + 1)..<end
    }

    /// Appends closely following maneuvers, which are then announced at most once more, when they are reached.
    private mutating func withFollowing(_ sentence: Sentence, _ step: Int, limit: Double = .infinity) -> Sentence {
        let text = guidance.text(step)
        var row = sentence
        for next in followers(of: step) {
            let longer = text.chained(row, text.body(guidance.steps[next + 1].maneuver, atHand: false))
            guard text.phrases.speechSeconds(longer.text) <= limit else { break }
            row = longer
            noteChained(next)
        }
        return row
    }

    /// Returns the lead times of the announcement of the maneuver at the end of `step`; zero for an arrival.
    private mutating func speechLead(_ step: Int) -> SpeechLead {
        if lastSpeechLead.step == step { return lastSpeechLead }
        var lead = SpeechLead(step: step)
        defer { lastSpeechLead = lead }
        guard guidance.steps[step + 1].maneuver.type != .arrive else { return lead }
        let text = guidance.text(step)
        var row = text.body(guidance.steps[step + 1].maneuver, atHand: true)
        lead.alone = text.phrases.speechSeconds(row.text)
        var reached = 0.0
        for next in followers(of: step) {
            row = text.chained(row, text.body(guidance.steps[next + 1].maneuver, atHand: false))
            reached += guidance.announcements[next].seconds
            lead.row = max(
                lead.row, text.phrases.speechSeconds(row.text) + guidance.options.timing.actingTime - reached)
        }
        return lead
    }

    /// Returns the distance between the maneuvers at the beginning and at the end of a step, metres.
    private func length(of step: Int) -> Double {
        guidance.announcements[step].maneuverOffset - guidance.announcements[step].start
    }

    /// Marks the maneuver at the end of `step` as announced together with the one before it.
    private mutating func noteChained(_ step: Int) {
        given[step].formUnion([.opening, .far, .prepare, .near, .chained])
        spokenOf[step + 1] = clock
    }

    private mutating func announcement(
        _ sentence: Sentence, _ step: Int, _ kind: InstructionID.Kind, _ remaining: Double, due lead: Double
    ) -> SpokenInstruction {
        let phrases = guidance.options.text.phrases
        let finished = guidance.options.text.finished(sentence)
        spokenUntil = clock + phrases.speechSeconds(finished.text)
        if kind != .depart, kind != .continue { (spokenOf[step + 1], spokenAt[step + 1]) = (clock, remaining) }
        return SpokenInstruction(
            id: InstructionID(leg: guidance.steps[step].leg, step: guidance.steps[step].index, kind: kind),
            distance: remaining, triggerDistance: lead, text: finished.text,
            ssml: finished.ssml(language: phrases.language))
    }
}
