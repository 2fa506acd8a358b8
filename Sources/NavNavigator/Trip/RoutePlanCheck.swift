import NavGuidance
import NavRouting

extension RoutePlan {
    /// The reason why the plan cannot be used for guidance; nil when it can.
    ///
    /// The on-board router never creates such a plan, but an external plan may have any defect.
    var defect: String? {
        if route.edges.isEmpty || route.coordinates.isEmpty { return "the route is empty" }
        if !route.length.isFinite || route.length < 0 { return "the route's length is negative or not finite" }
        if let edge = route.edges.firstIndex(where: { !RoutePlan.isSound($0) }) {
            return "edge \(edge) has a negative or non-finite value"
        }
        for index in 1..<max(route.edges.count, 1)
        where route.edges[index].routeOffset < route.edges[index - 1].routeOffset {
            return "edge \(index) lies before its predecessor"
        }
        if route.legs.isEmpty { return "the route has no legs" }
        var waypoint = 0
        var edge = 0
        for (index, leg) in route.legs.enumerated() {
            guard leg.routeOffset.isFinite, leg.length.isFinite, leg.length >= 0 else {
                return "leg \(index) has a negative or non-finite value"
            }
            guard leg.destination > waypoint, leg.destination < route.waypoints.count else {
                return "leg \(index) does not lead to a later waypoint"
            }
            waypoint = leg.destination
            guard leg.edges.lowerBound == edge, leg.edges.upperBound > edge, leg.edges.upperBound <= route.edges.count
            else { return "leg \(index) has no edges, or they do not follow the previous leg's" }
            edge = leg.edges.upperBound
        }
        if edge != route.edges.count { return "edges follow the last leg" }
        if guidance.legs.count != route.legs.count { return "guidance and route have different numbers of legs" }
        if guidance.legs.contains(where: \.isEmpty) { return "the guidance has a leg without steps" }
        return nil
    }

    private static func isSound(_ edge: RouteEdge) -> Bool {
        let numbers = [edge.startOffset, edge.endOffset, edge.routeOffset, edge.duration, edge.turnDuration]
        return numbers.allSatisfy { $0.isFinite && $0 >= 0 }
    }
}
