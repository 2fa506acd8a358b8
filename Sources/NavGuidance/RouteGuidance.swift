internal import NavGeo
public import NavMap
public import NavRouting

/// A part of a route from one maneuver to the next.
public struct RouteStep: Sendable, Equatable {
    /// The leg.
    public var leg: Int
    /// The index within the leg.
    public var index: Int
    /// Metres from the route's start.
    public var routeOffset: Double
    /// Metres; 0 for the last of a leg, the arrival.
    public var length: Double
    /// Seconds, turns included.
    public var duration: Double
    /// The road's name, or its first number when it has no name; empty when it has neither.
    public var name: String
    /// The maneuver at its start.
    public var maneuver: Maneuver
    /// The junctions on it, the maneuver's own first.
    public var junctions: [RouteJunction] = []
}

/// The language and the distance units of instructions.
public struct Wording: Sendable, Hashable {
    /// The language, as a BCP 47 tag; English where it is none of ``PhraseTable/all``.
    public var language: String
    /// The units of distances.
    public var units: DistanceUnits

    /// English and the units of the country unless told otherwise.
    public init(language: String = "en", units: DistanceUnits = .ofCountry) {
        self.language = language
        self.units = units
    }
}

/// The options of a route's announcements.
public struct GuidanceOptions: Sendable, Hashable {
    /// The words of the language, and the units of roads whose country is not known.
    public let text: InstructionText
    /// The units in which distances are given.
    public let units: DistanceUnits
    /// When announcements are due.
    public var timing = InstructionTiming()
    /// Whether a road that merely goes on under another name and number is a maneuver.
    public let announcesNameChanges: Bool

    /// Quiet about changing names unless told otherwise.
    public init(_ wording: Wording = Wording(), announcesNameChanges: Bool = false) {
        text = InstructionText(phrases: PhraseTable.named(wording.language) ?? .english)
        units = wording.units
        self.announcesNameChanges = announcesNameChanges
    }
}

/// All that is told on a route: its steps, each beginning with a maneuver, and its banners. It needs the graph to be made and not to be used.
///
/// Equal routes on equal maps give equal guidance. Spoken instructions depend on the drive; an ``InstructionTrigger`` gives them.
public struct RouteGuidance: Sendable, Equatable {
    /// The options that it was made with.
    public let options: GuidanceOptions
    /// The steps of all legs in travel order; each leg's last is its arrival.
    public let steps: [RouteStep]
    /// The steps of each leg.
    public let legs: [Range<Int>]
    /// A banner for each step, of the maneuver at its end; an arrival's own says that one is there.
    public let visuals: [VisualInstruction]
    /// The announcements of each step.
    let announcements: [StepAnnouncements]
    /// The junctions whose lanes are known, in travel order.
    private let approaches: [LaneApproach]

    private struct LaneApproach: Sendable, Equatable {
        /// Metres from the route's start.
        var routeOffset: Double
        var lanes: [Lane]
    }

    /// The guidance of a route.
    ///
    /// - Parameter graph: the roads of the same map version. Where its tiles are missing, only what the route itself shows is told.
    public init(route: Route, graph: RoadGraph, options: GuidanceOptions = GuidanceOptions()) {
        let built = ManeuverBuilder.build(route, in: graph, announcesNameChanges: options.announcesNameChanges)
        var steps: [RouteStep] = []
        var legs: [Range<Int>] = []
        for (leg, list) in built.maneuvers.enumerated() {
            let first = steps.count
            for (index, maneuver) in list.enumerated() {
                steps.append(
                    RouteStep(
                        leg: leg, index: index, routeOffset: maneuver.routeOffset, length: maneuver.distance,
                        duration: maneuver.duration, name: options.text.name(maneuver.road), maneuver: maneuver))
            }
            legs.append(first..<steps.count)
        }
        let finder = JunctionFinder(route, graph, lanes: built.lanes)
        for index in steps.indices {
            let leg = route.legs[steps[index].leg].edges
            let isLast = index + 1 == legs[steps[index].leg].upperBound
            let first = min(steps[index].maneuver.edge, leg.upperBound)
            let end = isLast ? leg.upperBound : steps[index + 1].maneuver.edge
            steps[index].junctions = finder.junctions(first..<max(first, min(end, leg.upperBound)), of: leg)
        }
        let planner = InstructionPlanner(route: route, steps: steps, legs: legs, options: options)
        self.options = options
        self.steps = steps
        self.legs = legs
        visuals = steps.indices.map { planner.visual($0) }
        announcements = steps.indices.map { planner.announcements($0) }
        approaches = steps.flatMap { step in
            step.junctions.filter { !$0.lanes.isEmpty }.map {
                LaneApproach(routeOffset: route.line.cumulativeLengths[$0.point], lanes: $0.lanes)
            }
        }
    }

    /// Returns the lanes before the first junction that has any in a part of the route, with its distance from the route's start.
    public func lanes(in part: ClosedRange<Double>) -> (routeOffset: Double, lanes: [Lane])? {
        var (low, high) = (0, approaches.count)
        while low < high {
            let middle = (low + high) / 2
            if approaches[middle].routeOffset < part.lowerBound { low = middle + 1 } else { high = middle }
        }
        guard low < approaches.count, approaches[low].routeOffset <= part.upperBound else { return nil }
        return (approaches[low].routeOffset, approaches[low].lanes)
    }

    /// Returns the phrases and the distance scale of a step's announcements.
    func text(_ step: Int) -> InstructionText {
        InstructionText(phrases: options.text.phrases, scale: announcements[step].scale)
    }

    /// Returns the length of a step for a display, in the units of its country or those that were asked for.
    public func displayedLength(ofStep step: Int) -> String { text(step).displayed(metres: steps[step].length) }

    /// The units of all announcements; nil where they change on the way.
    public var units: DistanceUnits? {
        let isMetric = announcements.map { $0.scale == .metric }
        if !isMetric.contains(false) { return .metric }
        return isMetric.contains(true) ? nil : .imperial
    }

    /// The maneuvers of all legs in travel order, one per step.
    public var maneuvers: [Maneuver] { steps.map(\.maneuver) }

    /// The step at a distance from the route's start, as an index in ``steps``; nil for a route without steps.
    ///
    /// - Parameter leg: the leg that the vehicle is on, which settles where one ends and the next begins; nil goes by distance alone, and
    ///   then a stop belongs to the leg that starts there.
    public func step(at routeOffset: Double, leg: Int? = nil) -> Int? {
        let range = leg.flatMap { legs.indices.contains($0) ? legs[$0] : nil } ?? steps.indices
        guard !range.isEmpty else { return nil }
        var low = range.lowerBound
        var high = range.upperBound - 1
        while low < high {
            let middle = (low + high + 1) / 2
            if steps[middle].routeOffset <= routeOffset { low = middle } else { high = middle - 1 }
        }
        return low
    }

    /// The banner to show at a distance from the route's start; nil for a route without steps.
    public func visual(at routeOffset: Double, leg: Int? = nil) -> VisualInstruction? {
        guard let step = step(at: routeOffset, leg: leg) else { return nil }
        return visuals[bannerStep(step, at: routeOffset)]
    }

    /// The step whose banner is shown: that of the step before while its maneuver, such as a roundabout, is still being driven.
    func bannerStep(_ step: Int, at routeOffset: Double) -> Int {
        steps[step].index > 0 && steps[step].maneuver.type != .arrive && routeOffset < steps[step].maneuver.endOffset
            ? step - 1 : step
    }
}
