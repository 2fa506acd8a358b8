import NavGeo
package import NavGuidance
package import NavMessages
package import NavNavigator

extension InstructionID {
    /// The instruction's number within its route on the bus: leg in the upper bits, then step or notice, then kind; never 0.
    package var wire: UInt32 {
        wire(UInt32(InstructionID.Kind.allCases.firstIndex(of: kind) ?? 0) + 1)
    }

    /// Like ``wire``, for repeats of a maneuver's spoken instruction.
    fileprivate var wireOfRepeats: UInt32 { wire(0xf) }

    private func wire(_ kind: UInt32) -> UInt32 {
        UInt32(min(leg, 0xff)) << 24 | UInt32(min(self.kind == .notice ? notice : step, 0xfffff)) << 4 | kind
    }
}

extension RouteGuidance {
    /// Returns the step that begins with the announced maneuver: the one after the instruction's own, or the leg's last; nil for a notice.
    fileprivate func step(announcedBy id: InstructionID) -> NavGuidance.RouteStep? {
        guard id.kind != .notice, legs.indices.contains(id.leg), !legs[id.leg].isEmpty else { return nil }
        return steps[min(legs[id.leg].lowerBound + id.step + 1, legs[id.leg].upperBound - 1)]
    }

    /// Returns the notice that an instruction announces.
    fileprivate func notice(_ id: InstructionID) -> NavGuidance.RouteNotice? {
        notices.first { $0.leg == id.leg && $0.number == id.notice }
    }
}

extension NavMessages.VisualInstruction {
    package init(
        _ instruction: NavGuidance.VisualInstruction, distance: Double, duration: Double, context: EventContext,
        guidance: RouteGuidance
    ) {
        let step = guidance.step(announcedBy: instruction.id)
        self.init(
            stampNs: context.stamp.nanoseconds, sessionId: context.session, routeId: context.route,
            causeSequence: context.cause, eventSequence: context.eventSequence, instructionId: instruction.id.wire,
            legIndex: UInt32(instruction.id.leg), stepIndex: step.map { UInt32($0.index) },
            maneuver: step.map { NavMessages.Maneuver($0.maneuver) },
            primary: NavMessages.InstructionText(instruction.primary),
            secondary: instruction.secondary.map { NavMessages.InstructionText($0) },
            sub: instruction.sub.map { NavMessages.InstructionText($0) },
            subManeuver: instruction.sub.flatMap {
                NavMessages.Maneuver(
                    RevisedInstruction.SubManeuver(
                        type: $0.type, modifier: $0.modifier, roundaboutExit: $0.roundaboutExit))
            }, lanes: instruction.lanes.map { NavMessages.Lane($0) },
            triggerDistanceM: instruction.maneuverOffset - instruction.routeOffset, distanceToManeuverM: distance,
            durationToManeuverS: duration, drivingSide: NavMessages.RoadSide(instruction.drivingSide),
            language: instruction.language ?? guidance.options.text.phrases.language)
    }

    /// Creates the message that clears the display.
    package init(clearedAt context: EventContext) {
        self.init(
            stampNs: context.stamp.nanoseconds, sessionId: context.session, routeId: context.route,
            causeSequence: context.cause, eventSequence: context.eventSequence, cleared: true)
    }
}

extension NavMessages.InstructionText {
    package init(_ banner: Banner) {
        self.init(text: banner.text, components: banner.components.map { InstructionComponent($0) })
        if let abbreviations = banner.abbreviations {
            abbreviate(abbreviations)
            return
        }
        var priority: UInt32 = 0
        for index in components.indices {
            guard components[index].kind == .text, let text = components[index].text,
                let short = Abbreviations.shorter(text)
            else { continue }
            (components[index].abbreviation, components[index].abbreviationPriority) = (short, priority)
            priority += 1
        }
    }

    private mutating func abbreviate(_ abbreviations: [BannerAbbreviation?]) {
        for (index, short) in zip(components.indices, abbreviations) {
            components[index].abbreviation = short?.text
            components[index].abbreviationPriority = short?.priority.map { UInt32(clamping: $0) }
        }
    }
}

extension RevisedInstruction.Line {
    /// Creates a line from a message; nil without any text. Components without text are left out.
    package init?(_ line: NavMessages.InstructionText) {
        let worded = line.components.filter { $0.text.nonEmpty != nil }
        let components = worded.map { BannerComponent($0) }
        let text = line.text.nonEmpty ?? components.reduce(into: "") { $0 += $0.isEmpty ? $1.text : " " + $1.text }
        guard !text.isEmpty else { return nil }
        let abbreviations = worded.map { part in
            part.abbreviation.nonEmpty.map {
                BannerAbbreviation($0, priority: part.abbreviationPriority.map { Int($0) })
            }
        }
        self.init(
            text: text, components: components.isEmpty ? [.text(text)] : components,
            abbreviations: abbreviations.contains { $0 != nil } ? abbreviations : nil)
    }
}

extension RevisedInstruction.SubManeuver {
    /// Creates the maneuver of a sub line from a message; nil when it names none.
    package init?(_ maneuver: NavMessages.Maneuver) {
        self.init(
            type: maneuver.type.flatMap { NavGuidance.ManeuverType($0) },
            modifier: maneuver.modifier.flatMap { NavGuidance.ManeuverModifier($0) },
            roundaboutExit: maneuver.roundaboutExit.flatMap { $0 == 0 ? nil : Int($0) })
        if self == Self() { return nil }
    }
}

extension NavMessages.Maneuver {
    /// Creates the message of a sub line's maneuver; nil when it names none.
    package init?(_ maneuver: RevisedInstruction.SubManeuver) {
        if maneuver == RevisedInstruction.SubManeuver() { return nil }
        self.init(
            type: maneuver.type.map { NavMessages.ManeuverType($0) },
            modifier: maneuver.modifier.map { NavMessages.ManeuverModifier($0) },
            roundaboutExit: maneuver.roundaboutExit.map { UInt32(clamping: $0) })
    }
}

extension NavMessages.InstructionText {
    package init(_ line: RevisedInstruction.Line) {
        self.init(text: line.text, components: line.components.map { InstructionComponent($0) })
        if let abbreviations = line.abbreviations { abbreviate(abbreviations) }
    }
}

extension BannerComponent {
    package init(_ component: InstructionComponent) {
        let text = component.text ?? ""
        switch component.kind {
        case .shield: self = .shield(text)
        case .exit: self = .exitLabel(text)
        case .exitNumber: self = .exitNumber(text)
        case .delimiter: self = .delimiter(text)
        default: self = .text(text)
        }
    }
}

extension InstructionComponent {
    package init(_ component: BannerComponent) {
        switch component {
        case .text(let text): self.init(kind: .text, text: text)
        case .shield(let text): self.init(kind: .shield, text: text)
        case .exitLabel(let text): self.init(kind: .exit, text: text)
        case .exitNumber(let text): self.init(kind: .exitNumber, text: text)
        case .delimiter(let text): self.init(kind: .delimiter, text: text)
        }
    }
}

extension NavMessages.Lane {
    package init(_ lane: NavGuidance.Lane) {
        self.init(
            indications: lane.indications.map { NavMessages.LaneIndication($0) }, valid: lane.isValid,
            active: lane.isRecommended, validIndication: lane.active.map { NavMessages.LaneIndication($0) },
            closed: lane.isClosed ? true : nil, possible: lane.isPossible)
    }
}

extension NavGuidance.Lane {
    package init(_ lane: NavMessages.Lane) {
        let indications = lane.indications.compactMap { NavGuidance.LaneIndication($0) }
        let isActive = lane.active ?? false
        self.init(
            indications: indications, isValid: lane.valid ?? false,
            active: lane.validIndication.flatMap { NavGuidance.LaneIndication($0) }
                ?? (isActive ? indications.first : nil),
            isClosed: lane.closed ?? false, isPossible: lane.possible, isRecommended: isActive)
    }
}

extension NavGuidance.LaneIndication {
    package init?(_ indication: NavMessages.LaneIndication) {
        guard let known = Self.allCases.first(where: { NavMessages.LaneIndication($0) == indication }) else {
            return nil
        }
        self = known
    }
}

extension NavMessages.SpokenInstruction {
    package init(
        _ instruction: NavGuidance.SpokenInstruction, distance: Double, duration: Double, context: EventContext,
        guidance: RouteGuidance?
    ) {
        let step = guidance?.step(announcedBy: instruction.id)
        let notice = instruction.id.kind == .notice ? guidance?.notice(instruction.id) : nil
        self.init(
            stampNs: context.stamp.nanoseconds, sessionId: context.session, routeId: context.route,
            causeSequence: context.cause, eventSequence: context.eventSequence,
            utteranceId: instruction.isRepeat ? instruction.id.wireOfRepeats : instruction.id.wire,
            legIndex: UInt32(instruction.id.leg),
            stepIndex: step.map { UInt32($0.index) } ?? notice.map { _ in UInt32(instruction.id.step) },
            maneuver: step.map { NavMessages.Maneuver($0.maneuver) } ?? notice.map { NavMessages.Maneuver($0) },
            urgency: SpokenUrgency(instruction.id.kind),
            text: instruction.text, ssml: instruction.ssml.isEmpty ? nil : instruction.ssml,
            language: instruction.language ?? guidance?.options.text.phrases.language,
            triggerDistanceM: instruction.triggerDistance,
            distanceToManeuverM: distance,
            durationToManeuverS: duration, isRepeat: instruction.isRepeat ? true : nil,
            isNotice: notice.map { _ in true })
    }
}

extension SpokenUrgency {
    package init(_ kind: InstructionID.Kind) {
        switch kind {
        case .visual, .depart, .continue: self = .follow
        case .far: self = .early
        case .prepare, .near, .notice: self = .prepare
        case .now: self = .now
        }
    }
}
