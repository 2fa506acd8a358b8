internal import NavRouting

/// What may be said on a step, and when.
struct StepAnnouncements: Sendable, Equatable {
    /// Metres from the route's start to the maneuver at the step's end.
    var maneuverOffset: Double
    /// Metres from the route's start where the maneuver at the step's beginning is over.
    var start: Double
    /// The speed expected before the maneuver, m/s.
    var expectedSpeed: Double
    /// The first announcement; nil for none.
    var far: InstructionTiming.Lead?
    /// Nil for a maneuver that is only told when it is there.
    var prepare: InstructionTiming.Lead?
    /// Nil for a maneuver that is only told when it is there.
    var near: InstructionTiming.Lead?
    /// Nil for none.
    var now: InstructionTiming.Lead?
    /// The announcement at the maneuver is never earlier than this, metres before it: behind the last road it could be taken for.
    var unambiguousDistance: Double
    /// Whether the maneuver after the next follows so closely that both are told together.
    var isChained: Bool
}

/// Turns maneuvers into instruction points.
struct InstructionPlanner {
    let route: Route
    let steps: [RouteStep]
    let legs: [Range<Int>]
    let options: GuidanceOptions

    /// The maneuver at the end of a step; nil for an arrival.
    private func next(_ step: Int) -> Maneuver? {
        step + 1 < legs[steps[step].leg].upperBound ? steps[step + 1].maneuver : nil
    }

    // MARK: Speech

    func announcements(_ step: Int) -> StepAnnouncements {
        let own = steps[step].maneuver
        guard let next = next(step) else {
            return StepAnnouncements(
                maneuverOffset: own.routeOffset, start: own.routeOffset, expectedSpeed: 0, far: nil, prepare: nil,
                near: nil, now: nil, unambiguousDistance: 0, isChained: false)
        }
        let timing = options.timing
        let speed = expectedSpeed(before: next)
        let leads = speed >= timing.fastSpeed ? timing.fast : timing.ordinary
        let isQuiet = next.type == .newName || next.type == .notification || next.type == .merge
        let isArrival = next.type == .arrive
        let clear = max(next.routeOffset - max(next.unambiguousOffset, own.endOffset), 12)
        return StepAnnouncements(
            maneuverOffset: next.routeOffset, start: min(own.endOffset, next.routeOffset), expectedSpeed: speed,
            far: isQuiet || isArrival ? nil : leads.far, prepare: isQuiet ? nil : leads.prepare,
            near: isQuiet ? nil : leads.near, now: isArrival ? timing.arrival : leads.now,
            unambiguousDistance: isArrival ? .infinity : clear, isChained: isChained(step + 1, timing.chainSeconds))
    }

    private func expectedSpeed(before maneuver: Maneuver) -> Double {
        let index = maneuver.edge - 1
        guard route.edges.indices.contains(index), route.edges[index].duration > 0 else { return 10 }
        return min(max(route.edges[index].length / route.edges[index].duration, 3), 50)
    }

    /// Whether the maneuver at the end of `step` follows that at its beginning within `seconds`.
    private func isChained(_ step: Int, _ seconds: Double) -> Bool {
        guard let following = next(step) else { return false }
        let own = steps[step].maneuver
        guard following.type != .newName, following.type != .notification, own.type != .notification else {
            return false
        }
        let length = max(following.routeOffset - own.endOffset, 0)
        // Time behind the maneuver's own end, in proportion to the way.
        let share = steps[step].length > 0 ? length / steps[step].length : 0
        return steps[step].duration * share <= seconds
    }

    // MARK: Banners

    func visual(_ step: Int) -> VisualInstruction {
        let own = steps[step].maneuver
        let shown = next(step) ?? own
        let follows = next(step) != nil && isChained(step + 1, options.timing.subBannerSeconds)
        return VisualInstruction(
            id: InstructionID(leg: steps[step].leg, step: steps[step].index, kind: .visual),
            routeOffset: min(own.endOffset, shown.routeOffset), maneuverOffset: shown.routeOffset,
            primary: primary(shown, isThere: next(step) == nil), secondary: secondary(shown),
            sub: follows ? next(step + 1).map { primary($0, isThere: false) } : nil, lanes: shown.lanes,
            drivingSide: shown.drivingSide)
    }

    /// The road's own words on the first line: a sign's exit and places, a name, or the instruction itself where the map has no words.
    private func primary(_ maneuver: Maneuver, isThere: Bool) -> Banner {
        let road = maneuver.road
        let isRamp = maneuver.type == .offRamp || maneuver.type == .onRamp
        var components: [BannerComponent] = []
        if maneuver.type == .arrive {
            components = [.text(text(maneuver, isThere: isThere))]
        } else {
            if !maneuver.exitNumber.isEmpty {
                components.append(.exitLabel(options.text.phrases.phrase(["banner.exit"])))
                components.append(.exitNumber(maneuver.exitNumber))
            }
            if isRamp, !road.destinations.isEmpty {
                components += shields(road.destinationReferences)
                components += list(road.destinations.prefix(2).map { .text($0) })
            } else {
                let name: [BannerComponent] = road.name.isEmpty ? [] : [.text(road.name)]
                let numbers = shields(road.references.filter { $0 != road.name })
                components += road.prefersReference ? numbers + name : name + numbers
            }
            if components.isEmpty || components.count == 2 && !maneuver.exitNumber.isEmpty {
                components.append(.text(text(maneuver, isThere: false)))
            }
        }
        return banner(maneuver, components)
    }

    private func text(_ maneuver: Maneuver, isThere: Bool) -> String {
        options.text.finished(options.text.body(maneuver, atHand: isThere || maneuver.type != .arrive)).text
    }

    /// Where the signs lead, below a road's name; the road's own name or number, below a sign.
    private func secondary(_ maneuver: Maneuver) -> Banner? {
        let road = maneuver.road
        guard maneuver.type != .arrive, !road.isUnnamed, !road.destinations.isEmpty else { return nil }
        if maneuver.type == .offRamp || maneuver.type == .onRamp {
            return banner(maneuver, (road.name.isEmpty ? [] : [.text(road.name)]) + shields(road.references))
        }
        let places = list(road.destinations.prefix(2).map { .text($0) })
        let phrase = options.text.phrases.phrase(["banner.towards"])
        let text = Sentence(phrase, ["destination": Sentence(name: places.map(\.text).joined())]).text
        return banner(maneuver, [.text(text)])
    }

    private func shields(_ references: [String]) -> [BannerComponent] { list(references.prefix(3).map { .shield($0) }) }

    private func list(_ components: [BannerComponent]) -> [BannerComponent] {
        Array(components.map { [$0] }.joined(separator: [.delimiter(" / ")]))
    }

    private func banner(_ maneuver: Maneuver, _ components: [BannerComponent]) -> Banner {
        var text = ""
        for component in components {
            if case .delimiter = component {
            } else if !text.isEmpty, text.last != " " {
                text += " "
            }
            text += component.text
        }
        return Banner(
            text: text, components: components, type: maneuver.type, modifier: maneuver.modifier,
            roundaboutExit: maneuver.roundaboutExit)
    }
}
