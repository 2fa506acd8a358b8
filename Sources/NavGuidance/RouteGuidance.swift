internal import NavGeo
public import NavMap
public import NavRouting

/// A part of a route from one maneuver to the next.
public struct RouteStep: Sendable, Equatable {
    public var leg: Int
    /// The index within the leg.
    public var index: Int
    /// Metres from the route's start.
    public var routeOffset: Double
    /// Length in metres; 0 for the last step of a leg, the arrival.
    public var length: Double
    /// Duration in seconds, including turns.
    public var duration: Double
    /// The road's name, or its first number when it has no name; empty when it has neither.
    public var name: String
    /// The maneuver at its start.
    public var maneuver: Maneuver
    /// The junctions on it, the maneuver's own first.
    public var junctions: [RouteJunction] = []
}

/// The language and distance units of instructions, and the options for announcements other than turns.
public struct Wording: Sendable, Hashable {
    /// The language, as a BCP 47 tag; English when it is not in ``PhraseTable/all``.
    public var language: String
    /// The units of distances.
    public var units: DistanceUnits
    /// Whether a mere change of a road's name and number is a maneuver.
    public var announcesNameChanges = false
    /// The topics of notices.
    public var notices = RouteNotice.Topics.all

    /// Wording in English and the country's units by default.
    public init(language: String = "en", units: DistanceUnits = .ofCountry) {
        self.language = language
        self.units = units
    }
}

/// The options of a route's announcements.
public struct GuidanceOptions: Sendable, Hashable {
    /// The words of the language, and the units of roads in an unknown country.
    public let text: InstructionText
    /// The units of distances.
    public let units: DistanceUnits
    /// The timing of announcements.
    public var timing = InstructionTiming()
    /// Whether a mere change of a road's name and number is a maneuver.
    public let announcesNameChanges: Bool
    /// The topics of notices.
    public let notices: RouteNotice.Topics

    /// Creates options that announce name changes if the wording or the caller requests it.
    public init(_ wording: Wording = Wording(), announcesNameChanges: Bool = false) {
        text = InstructionText(phrases: PhraseTable.named(wording.language) ?? .english)
        units = wording.units
        self.announcesNameChanges = announcesNameChanges || wording.announcesNameChanges
        notices = wording.notices
    }
}

/// The guidance of a route: its steps, each beginning with a maneuver, and its banners. The graph is needed only to create it.
///
/// Equal routes on equal maps give equal guidance. Spoken instructions depend on the drive; an ``InstructionTrigger`` emits them.
public struct RouteGuidance: Sendable, Equatable {
    /// The options used to create it.
    public let options: GuidanceOptions
    /// The steps of all legs in travel order; each leg's last step is its arrival.
    public let steps: [RouteStep]
    /// The indices of each leg's steps.
    public let legs: [Range<Int>]
    /// A banner for each step, showing the maneuver at its end; an arrival's banner shows that the waypoint is reached.
    public let visuals: [VisualInstruction]
    /// The places on the way that are announced without a maneuver, in travel order.
    public let notices: [RouteNotice]
    /// The announcements of each step.
    let announcements: [StepAnnouncements]
    /// The junctions whose lanes are known, in travel order.
    private let approaches: [LaneApproach]

    private struct LaneApproach: Sendable, Equatable {
        /// Metres from the route's start.
        var routeOffset: Double
        var lanes: [Lane]
    }

    /// Creates the guidance of a route.
    ///
    /// - Parameter graph: The roads of the same map version. Where tiles are missing, the guidance is derived from the route alone.
    public init(route: Route, graph: RoadGraph, options: GuidanceOptions = GuidanceOptions()) {
        self.init(route: route, junctions: JunctionModel(graph, for: route.vehicle.access), options: options)
    }

    /// Creates the guidance of a route.
    ///
    /// - Parameter junctions: The junctions of the same map version for the route's vehicle.
    package init(route: Route, junctions: JunctionModel, options: GuidanceOptions) {
        let built = ManeuverBuilder.build(route, junctions, announcesNameChanges: options.announcesNameChanges)
        var steps: [RouteStep] = []
        var legs: [Range<Int>] = []
        let text = options.text
        for (leg, list) in built.maneuvers.enumerated() {
            let first = steps.count
            for (index, maneuver) in list.enumerated() {
                steps.append(
                    RouteStep(
                        leg: leg, index: index, routeOffset: maneuver.routeOffset, length: maneuver.distance,
                        duration: maneuver.duration, name: text.name(maneuver.road), maneuver: maneuver))
            }
            legs.append(first..<steps.count)
        }
        let finder = JunctionFinder(built.roads, lanes: built.lanes)
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
        notices = options.notices.isEmpty ? [] : NoticeFinder(built.roads).notices(options.notices)
        announcements = steps.indices.map { planner.announcements($0) }
        approaches = steps.flatMap { step in
            step.junctions.filter { !$0.lanes.isEmpty }.map {
                LaneApproach(routeOffset: route.line.cumulativeLengths[$0.point], lanes: $0.lanes)
            }
        }
    }

    /// Creates guidance without steps, for a route that is only measured.
    package init(withoutSteps options: GuidanceOptions) {
        self.options = options
        (steps, legs, visuals, notices, announcements, approaches) = ([], [], [], [], [], [])
    }

    /// Returns the first known lanes in a part of the route, with their junction's distance from the route's start.
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

    /// Returns the words of a notice as a complete sentence, such as "Tunnel of 2.5 kilometres".
    public func instruction(_ notice: RouteNotice) -> String {
        guard let step = step(at: notice.routeOffset, leg: notice.leg) else { return "" }
        let text = text(step)
        return text.finished(text.body(notice)).text
    }

    /// Returns the length of a step for a display, in the requested units or those of its country.
    public func displayedLength(ofStep step: Int) -> String { text(step).displayed(metres: steps[step].length) }

    /// The units of all announcements; nil when they change along the route.
    public var units: DistanceUnits? {
        let isMetric = announcements.map { $0.scale == .metric }
        if !isMetric.contains(false) { return .metric }
        return isMetric.contains(true) ? nil : .imperial
    }

    /// Returns the step at a distance from the route's start, as an index in ``steps``; nil for a route without steps.
    ///
    /// - Parameter leg: The vehicle's leg, which decides between the end of one leg and the start of the next; nil to use the distance
    ///   alone, so that a stop belongs to the leg that starts there.
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

    /// Returns the banner to show at a distance from the route's start; nil for a route without steps.
    public func visual(at routeOffset: Double, leg: Int? = nil) -> VisualInstruction? {
        guard let step = step(at: routeOffset, leg: leg) else { return nil }
        return visuals[bannerStep(step, at: routeOffset)]
    }

    /// Returns the step whose banner is shown: the previous one while its maneuver, such as a roundabout, is still being driven.
    func bannerStep(_ step: Int, at routeOffset: Double) -> Int {
        steps[step].index > 0 && steps[step].maneuver.type != .arrive && routeOffset < steps[step].maneuver.endOffset
            ? step - 1 : step
    }
}
