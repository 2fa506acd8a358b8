import NavGeo
import NavMap
import NavRouting
import Testing

/// The invariants that every route must keep.
enum RouteInvariants {
    static func check(_ route: Route, _ graph: RoadGraph, _ comment: Comment) {
        #expect(route.coordinates.count >= 2, comment)
        #expect(route.segments.count == route.coordinates.count - 1, comment)
        #expect(route.legs.count == route.waypoints.dropFirst().filter(\.waypoint.isStop).count, comment)
        #expect(route.duration.isFinite && route.duration >= 0 && (route.length == 0 || route.duration > 0), comment)
        checkPieces(route, graph, comment)
        checkLegs(route, comment)
        for waypoint in route.waypoints {
            #expect(waypoint.routeOffset >= 0 && waypoint.routeOffset <= route.length + 1e-6, comment)
            if let point = route.line.coordinate(at: waypoint.routeOffset) {
                #expect(Geodesy.distance(point, waypoint.snapped) < 0.05, comment)
            }
        }
    }

    private static func checkPieces(_ route: Route, _ graph: RoadGraph, _ comment: Comment) {
        var end = 0
        var previousEnd: Double?
        for (index, piece) in route.edges.enumerated() {
            guard let edge = graph.edge(piece.key) else {
                Issue.record("\(comment): an edge of the route is not in the graph")
                return
            }
            #expect(piece.coordinates.lowerBound == end && piece.coordinates.upperBound > end, comment)
            #expect(piece.endOffset >= piece.startOffset && piece.startOffset >= 0, comment)
            #expect(piece.endOffset <= Double(graph.edgeLengths[edge.index]) + 1e-6, comment)
            #expect(abs(piece.routeOffset - route.line.cumulativeLengths[piece.coordinates.lowerBound]) < 1e-6, comment)
            if let previousEnd { #expect(piece.routeOffset >= previousEnd - 1e-6, comment) }
            previousEnd = piece.routeOffset
            let drawn =
                route.line.cumulativeLengths[piece.coordinates.upperBound]
                - route.line.cumulativeLengths[piece.coordinates.lowerBound]
            // Edge lengths are stored with 24 bits.
            #expect(abs(drawn - piece.length) < max(1e-6 * Double(graph.edgeLengths[edge.index]), 0.002), comment)
            checkSegments(of: piece, index, route, graph.shape(of: edge), comment)
            end = piece.coordinates.upperBound
        }
        #expect(end == route.coordinates.count - 1, comment)
    }

    /// Checks that the nodes of an edge's segments are consecutive on its shape, and that the points lie between them.
    private static func checkSegments(
        of piece: RouteEdge, _ index: Int, _ route: Route, _ shape: EdgeShape, _ comment: Comment
    ) {
        var place: Int?
        for point in piece.coordinates.lowerBound..<piece.coordinates.upperBound {
            let segment = route.segments[point]
            #expect(segment.edge == index, comment)
            let found = (place ?? 0)..<(shape.count - 1)
            guard
                let at = found.first(where: {
                    shape.nodeID($0) == segment.fromNodeID && shape.nodeID($0 + 1) == segment.toNodeID
                })
            else {
                Issue.record("\(comment): a segment's nodes are not neighbours on its edge")
                return
            }
            if let place { #expect(at == place + 1, comment) }
            place = at
            let length = Geodesy.distance(shape[at].coordinate, shape[at + 1].coordinate)
            for end in [route.coordinates[point], route.coordinates[point + 1]] {
                let detour =
                    Geodesy.distance(shape[at].coordinate, end) + Geodesy.distance(end, shape[at + 1].coordinate)
                    - length
                #expect(detour < 0.02, comment)
            }
        }
    }

    private static func checkLegs(_ route: Route, _ comment: Comment) {
        var firstEdge = 0
        var offset = 0.0
        for leg in route.legs {
            #expect(leg.edges.lowerBound == firstEdge, comment)
            #expect(abs(leg.routeOffset - offset) < 1e-6, comment)
            let duration = route.edges[leg.edges].reduce(0) { $0 + $1.duration + $1.turnDuration }
            #expect(abs(leg.duration - duration) < 1e-6, comment)
            #expect(abs(route.waypoints[leg.destination].routeOffset - leg.routeOffset - leg.length) < 1e-6, comment)
            firstEdge = leg.edges.upperBound
            offset += leg.length
        }
        #expect(firstEdge == route.edges.count && abs(offset - route.length) < 1e-6, comment)
    }
}
