import NavWire
import NavGeo
import NavMap
import NavMessages
import NavNavigator
import NavRouting
import NavTileCache

/// A request for the tiles that a path needs and those of them that are missing.
struct CoverageSurvey: Sendable {
    /// The id that the answer repeats.
    var id: UInt64
    /// The waypoints of a path that is to be found; for a known path, only the vehicle's position.
    var request: RouteRequest
    /// The path, if known; nil when it is to be found.
    var line: NavGeo.Polyline?
    /// The length of the part already driven, metres.
    var cursor = 0.0
    /// The distance around the path within which tiles are needed.
    var reach: CacheReach
}

/// The tiles that a path needs, and those of them that are not loaded.
struct RouteCoverage: Sendable, Equatable {
    /// The number of tiles of the tileset that the path needs.
    var wantedCount = 0
    /// The needed tiles that are not loaded, the soonest needed first.
    var missing: [RoadTileID] = []
    /// The reason why there is no path; nil when there is one, or when missing tiles leave that open.
    var failure: RouteFailure?

    /// Finds the path if it is not known, and checks the tiles around it.
    ///
    /// When missing tiles prevent finding the path, the tiles along straight lines are used instead, as an approximation.
    init(_ survey: CoverageSurvey, on map: MapSnapshot, _ planner: RoutePlanner) {
        let places = survey.request.waypoints.map(\.coordinate)
        var needed: [RoadTileID] = []
        var line = survey.line
        if line == nil {
            do throws(RouteFailure) {
                line = try planner.route(survey.request, on: map).line
            } catch {
                needed = error.missingTiles
                if error.code != .tilesNeeded { failure = error }
            }
        }
        var cache = CachePlanner(.navigation(survey.reach))
        _ = cache.follow(PlannedLine(line ?? NavGeo.Polyline(places)), cursor: survey.cursor)
        if let start = places.first { _ = cache.move(to: start) }
        var isMissing: Set<RoadTileID> = []
        for id in cache.wanted.compactMap({ RoadTileID($0.tile) }) {
            guard let isLoaded = map.graph.hasLoaded(id) else { continue }
            wantedCount += 1
            if !isLoaded, isMissing.insert(id).inserted { missing.append(id) }
        }
        // Missing tiles reported by a search may be off the straight line.
        for id in needed where isMissing.insert(id).inserted {
            wantedCount += 1
            missing.append(id)
        }
    }
}

extension NavigationSession {
    /// Returns the survey for a request.
    ///
    /// A single waypoint is the destination of a path from the last position; of several, the first one is the origin.
    func coverage(_ request: RouteCoverageRequest, id: UInt64, corridor: Double) throws(RouteFailure) -> CoverageSurvey
    {
        let corridor = request.corridorM ?? corridor
        guard (0...100_000).contains(corridor) else {
            throw RouteFailure(code: .invalidRequest, message: "corridor_m is not within 0 ... 100000")
        }
        let reach = CacheReach(route: corridor)
        let position = spoken.position?.matched.flatMap { pose in
            pose.latitude.flatMap { latitude in
                pose.longitude.map { NavGeo.Coordinate(latitude: latitude, longitude: $0) }
            }
        }
        if request.waypoints.isEmpty {
            guard let plan = spoken.plan, let first = plan.route.line.coordinates.first else {
                throw RouteFailure(code: .wrongState, message: "no route is active: give waypoints")
            }
            let travelled = spoken.progress?.distanceRemainingM.map { plan.route.length - $0 } ?? plan.offset
            return CoverageSurvey(
                id: id, request: RouteRequest(waypoints: [NavRouting.Waypoint(position ?? first)]),
                line: plan.route.line, cursor: travelled, reach: reach)
        }
        var places = try [NavRouting.Waypoint](request.waypoints)
        let startsHere = places.count == 1
        if startsHere {
            guard let position else {
                throw RouteFailure(
                    code: .noPosition, message: "no position is known: give two waypoints, the first as the origin")
            }
            places.insert(NavRouting.Waypoint(position), at: 0)
        }
        let limits = configuration.navigator
        let route = RouteRequest(
            waypoints: places, snapRadius: limits.snapRadius,
            positionSnapRadius: startsHere ? limits.positionSnapRadius : nil)
        return CoverageSurvey(id: id, request: route, reach: reach)
    }
}
extension RouteCoverageResponse {
    init(_ coverage: RouteCoverage) {
        self.init(
            wantedCount: UInt32(clamping: coverage.wantedCount),
            presentCount: UInt32(clamping: coverage.wantedCount - coverage.missing.count),
            missing: coverage.missing.map { TileKey($0) }, error: coverage.failure.map { ErrorInfo($0) })
    }
}
