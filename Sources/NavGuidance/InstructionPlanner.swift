internal import NavMap
internal import NavRouting

/// The announcements of a step, with their distances.
struct StepAnnouncements: Sendable, Equatable {
    /// Metres from the route's start to the maneuver at the step's end.
    var maneuverOffset: Double
    /// Metres from the route's start to the end of the maneuver at the step's beginning.
    var start: Double
    /// The speed expected before the maneuver, m/s.
    var expectedSpeed: Double
    /// The first announcement; nil for none.
    var far: InstructionTiming.Lead?
    /// The announcement in time to change lanes; nil for a maneuver that is only announced when reached.
    var prepare: InstructionTiming.Lead?
    /// The announcement shortly before the maneuver; nil for a maneuver that is only announced when reached.
    var near: InstructionTiming.Lead?
    /// The announcement at the maneuver; nil for none.
    var now: InstructionTiming.Lead?
    /// The earliest point for the announcement at the maneuver, metres before it: past the last road that could be mistaken for it.
    var unambiguousDistance: Double
    /// Whether the maneuver after the next follows so closely that both are announced together.
    var isChained: Bool
    /// Seconds from the end of the maneuver at the step's beginning to the maneuver at the step's end.
    var seconds: Double
    /// Whether the step begins aboard a ferry.
    var isAboard = false
    /// Units and rounding, by the options and by the country where the step begins.
    var scale: DistanceScale
}

/// A planner of the announcements and banners of a route's steps.
struct InstructionPlanner {
    let route: Route
    let steps: [RouteStep]
    let legs: [Range<Int>]
    let options: GuidanceOptions

    /// Whether a step ends with the next step's maneuver: nothing follows an arrival.
    private func hasNext(_ step: Int) -> Bool { step + 1 < legs[steps[step].leg].upperBound }

    // MARK: Speech

    func announcements(_ step: Int) -> StepAnnouncements {
        let start = steps[step].maneuver.routeOffset
        let scale = scale(step)
        guard hasNext(step) else {
            return StepAnnouncements(
                maneuverOffset: start, start: start, expectedSpeed: 0, far: nil, prepare: nil,
                near: nil, now: nil, unambiguousDistance: 0, isChained: false, seconds: 0, scale: scale)
        }
        let timing = options.timing
        let next = step + 1
        let offset = steps[next].maneuver.routeOffset
        let end = steps[step].maneuver.endOffset
        let speed = expectedSpeed(before: steps[next].maneuver.edge)
        let leads = speed >= timing.fastSpeed ? timing.fast : timing.ordinary
        let type = steps[next].maneuver.type
        let isQuiet = type == .newName || type == .notification || type == .merge
        let isArrival = type == .arrive
        let clear = max(offset - max(steps[next].maneuver.unambiguousOffset, end), 12)
        return StepAnnouncements(
            maneuverOffset: offset, start: min(end, offset), expectedSpeed: speed,
            far: isQuiet || isArrival ? nil : leads.far, prepare: isQuiet ? nil : leads.prepare,
            near: isQuiet ? nil : leads.near, now: isArrival ? timing.arrival : leads.now,
            unambiguousDistance: isArrival ? .infinity : clear, isChained: isChained(next, timing.chainSeconds),
            seconds: seconds(step), isAboard: isAboard(step), scale: scale)
    }

    private func scale(_ step: Int) -> DistanceScale {
        let edge = min(steps[step].maneuver.edge, route.edges.count - 1)
        let local = edge < 0 ? nil : DistanceScale.ofRoads(in: route.edges[edge].country)
        switch options.units {
        case .ofCountry: return local ?? options.text.scale
        case .metric: return .metric
        case .imperial: return local == .milesAndYards ? .milesAndYards : .milesAndFeet
        }
    }

    private func isAboard(_ step: Int) -> Bool {
        let edge = steps[step].maneuver.edge
        return steps[step].maneuver.notes.contains(.boardsFerry)
            || route.edges.indices.contains(edge) && route.edges[edge].roadClass == .ferry
    }

    private func expectedSpeed(before edge: Int) -> Double {
        let index = edge - 1
        guard route.edges.indices.contains(index), route.edges[index].duration > 0 else { return 10 }
        return min(max(route.edges[index].length / route.edges[index].duration, 3), 50)
    }

    /// Whether the maneuver at the end of `step` follows the one at its beginning within `seconds`.
    private func isChained(_ step: Int, _ seconds: Double) -> Bool {
        guard hasNext(step) else { return false }
        let following = steps[step + 1].maneuver.type
        guard following != .newName, following != .notification, steps[step].maneuver.type != .notification else {
            return false
        }
        return self.seconds(step) <= seconds
    }

    /// Returns the time from the end of the maneuver at the beginning of `step` to the maneuver at its end, in proportion to the distance.
    ///
    /// The time for the turn itself is excluded: it has passed once the driver has turned.
    private func seconds(_ step: Int) -> Double {
        let maneuver = steps[step].maneuver
        let length = max(steps[step + 1].maneuver.routeOffset - maneuver.endOffset, 0)
        let turn = route.edges.indices.contains(maneuver.edge) ? route.edges[maneuver.edge].turnDuration : 0
        return steps[step].length > 0 ? max(steps[step].duration - turn, 0) * length / steps[step].length : 0
    }

    // MARK: Banners

    func visual(_ step: Int) -> VisualInstruction {
        let shown = steps[hasNext(step) ? step + 1 : step].maneuver
        let follows = hasNext(step) && isChained(step + 1, options.timing.subBannerSeconds)
        return VisualInstruction(
            id: InstructionID(leg: steps[step].leg, step: steps[step].index, kind: .visual),
            routeOffset: min(steps[step].maneuver.endOffset, shown.routeOffset), maneuverOffset: shown.routeOffset,
            primary: primary(shown, isThere: !hasNext(step)), secondary: secondary(shown),
            sub: follows && hasNext(step + 1) ? primary(steps[step + 2].maneuver, isThere: false) : nil,
            lanes: shown.lanes,
            drivingSide: shown.drivingSide)
    }

    /// Returns the first line: the exit and places on a sign, the road's name, or the instruction itself if the map has neither.
    private func primary(_ maneuver: Maneuver, isThere: Bool) -> Banner {
        let road = maneuver.road
        let isRamp = maneuver.type == .offRamp || maneuver.type == .onRamp
        // A road without a name is identified by its signs, but boarding or leaving a ferry needs words.
        let hasSignsOnly = road.isUnnamed && maneuver.notes.isEmpty
        var components: [BannerComponent] = []
        if maneuver.type == .arrive {
            components = [.text(text(maneuver, isThere: isThere))]
        } else {
            if !maneuver.exitNumbers.isEmpty {
                components.append(.exitLabel(options.text.phrases.phrase(["banner.exit"])))
                components.append(.exitNumber(options.text.exitNumbers(maneuver)))
            }
            if road.destinations.isEmpty, !maneuver.exitName.isEmpty {
                addPlaces(maneuver.exitPlaces, to: &components)
                let numbers = road.destinationReferences.isEmpty ? road.references : road.destinationReferences
                if !numbers.isEmpty {
                    components.append(.delimiter(" / "))
                    addShields(numbers, to: &components)
                }
            } else if isRamp || hasSignsOnly, !road.signs.isEmpty {
                addShields(road.destinationReferences, to: &components)
                addPlaces(road.destinations, to: &components)
            } else {
                if !road.prefersReference { addName(of: road, to: &components) }
                addShields(road.references, except: road.name, to: &components)
                if road.prefersReference { addName(of: road, to: &components) }
            }
            if components.isEmpty || components.count == 2 && !maneuver.exitNumbers.isEmpty {
                components.append(.text(text(maneuver, isThere: false)))
            }
        }
        return banner(maneuver, components)
    }

    private func text(_ maneuver: Maneuver, isThere: Bool) -> String {
        options.text.finished(options.text.body(maneuver, atHand: isThere || maneuver.type != .arrive)).text
    }

    /// Returns the second line: the destinations of signs below a road's name, or the road's own name or number below a sign.
    private func secondary(_ maneuver: Maneuver) -> Banner? {
        let road = maneuver.road
        guard maneuver.type != .arrive, !road.isUnnamed, !road.signs.isEmpty else { return nil }
        if maneuver.type == .offRamp || maneuver.type == .onRamp {
            if road.destinations.isEmpty, road.isCalledBySignedNumber { return nil }
            var components: [BannerComponent] = []
            addName(of: road, to: &components)
            addShields(road.references, to: &components)
            return banner(maneuver, components)
        }
        var places: [BannerComponent] = []
        addPlaces(road.signs, to: &places)
        let phrase = options.text.phrases.phrase(["banner.towards"])
        let text = Sentence(phrase) { key in
            key == "destination" ? Sentence(name: places.map(\.text).joined()) : Sentence()
        }.text
        return banner(maneuver, [.text(text)])
    }

    /// Adds the road's name in the language, followed by the name on the signs if that differs.
    private func addName(of road: RoadLabel, to line: inout [BannerComponent]) {
        guard !road.name.isEmpty else { return }
        let own = options.text.phrases.name(of: road)
        if own != road.name { line += [.text(own), .delimiter(" / ")] }
        line.append(.text(road.name))
    }

    /// Adds the first three road numbers, without one that is also the road's name.
    private func addShields(_ references: [String], except name: String? = nil, to line: inout [BannerComponent]) {
        var count = 0
        for reference in references where reference != name && count < 3 {
            if count > 0 { line.append(.delimiter(" / ")) }
            line.append(.shield(reference))
            count += 1
        }
    }

    /// Adds the first two places.
    private func addPlaces(_ places: [String], to line: inout [BannerComponent]) {
        for (index, place) in places.prefix(2).enumerated() {
            if index > 0 { line.append(.delimiter(" / ")) }
            line.append(.text(place))
        }
    }

    private func banner(_ maneuver: Maneuver, _ components: [BannerComponent]) -> Banner {
        var text = ""
        for component in components {
            if case .delimiter = component {
            } else if let last = text.utf8.last, last != UInt8(ascii: " ") {
                text += " "
            }
            text += component.text
        }
        return Banner(
            text: text, components: components, type: maneuver.type, modifier: maneuver.modifier,
            roundaboutExit: maneuver.roundaboutExit)
    }
}
