internal import NavMap

/// The stages of a request, for benchmarks.
extension Router {
    /// Returns the number of edges of the fastest route through all waypoints, before it is built; nil when there is none.
    package func edgeCount(of request: RouteRequest, workspace: SearchWorkspace) -> Int? {
        guard case .found(let solution) = solve(request, workspace) else { return nil }
        return solution.legs.reduce(0) { $0 + $1.edges.count }
    }

    /// Returns the number of candidate places of a waypoint.
    package func placeCount(of waypoint: Waypoint, radius: Double) -> Int {
        Snapper(metric: metric).nearest(waypoint, radius: radius).count
    }

    /// Returns the seeds of the search between two waypoints; nil when one is off all roads or the router has no hierarchy.
    package func seeds(
        from origin: Waypoint, to destination: Waypoint, radius: Double, workspace: SearchWorkspace
    ) -> (origins: [HierarchySeed], destinations: [HierarchySeed])? {
        guard let hierarchy else { return nil }
        let snapper = Snapper(metric: metric)
        let places = [origin, destination].map {
            snapper.nearest($0, radius: radius).map { snapper.place($0, detour: false) }
        }
        let ends = HierarchySearch(hierarchy, workspace).ends(places[0], places[1])
        guard !ends.origins.isEmpty, !ends.destinations.isEmpty else { return nil }
        return (ends.origins, ends.destinations)
    }

    /// The hierarchy with the costs in force; nil for a router without one.
    package var hierarchyMetric: HierarchyMetric? { hierarchy }
}
