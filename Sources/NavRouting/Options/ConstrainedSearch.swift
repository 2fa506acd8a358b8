import NavGeo
import NavMap

/// A search that respects the options of a request.
struct ConstrainedSearch {
    private let search: any LegSearch
    private let metric: Metric
    private let options: RouteOptions
    private let start: Coordinate

    init(_ search: any LegSearch, _ metric: Metric, _ options: RouteOptions, start: Coordinate) {
        self.search = search
        self.metric = metric
        self.options = options
        self.start = start
    }

    /// - Parameter isFirst: Whether the leg begins at the start of the route.
    func run(from origins: [EdgePosition], to destinations: [EdgePosition], isFirst: Bool) -> LegResult {
        var places = destinations
        var joinings: [ChosenRoute.Joining] = []
        if !options.chosenRoute.isEmpty {
            for place in destinations { joinings += ChosenRoute(options, to: place, metric).joinings }
            places += joinings.map(\.place)
        }
        let result: LegResult
        if isFirst, options.initialManeuverAvoidance > 0 {
            var stretch = InitialStretch(metric, start: start, radius: options.initialManeuverAvoidance)
            result = stretch.run(from: origins, to: places, search)
        } else {
            result = search.run(from: origins, to: places)
        }
        guard case .path(let edges, let cost, let origin, let end) = result,
            let joining = joinings.first(where: { $0.place == end })
        else { return result }
        return .path(edges + joining.onward, cost: cost, origin: origin, destination: joining.destination)
    }
}

/// A route before its geometry and times are built.
struct Solution {
    /// The costs that it was found with.
    var metric: Metric
    /// One leg for each waypoint after the first.
    var legs: [LegPath]
    /// The candidate places of each waypoint.
    var places: [[EdgePosition]]
}

/// The result of a search through waypoints.
enum SolveOutcome {
    case found(Solution)
    /// Never `found`.
    case failed(RouteOutcome)
}

/// A path between two waypoints.
struct LegPath {
    var edges: [EdgeIndex]
    var start: EdgePosition
    var end: EdgePosition
    /// The cost on the road, ms, without the penalties for choosing its ends.
    var cost: UInt64
    /// Whether the vehicle makes a U-turn before it starts.
    var turnsRound = false
}

extension LegPath {
    /// Creates a leg from a search result whose cost includes the penalties of both ends.
    init(edges: [EdgeIndex], start: EdgePosition, end: EdgePosition, searched: UInt64, turnsRound: Bool = false) {
        let choice = UInt64(start.penalty) + UInt64(end.penalty)
        self.init(edges: edges, start: start, end: end, cost: searched - min(choice, searched), turnsRound: turnsRound)
    }
}
