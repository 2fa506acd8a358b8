import NavGeo
import NavKit
import NavNavigator
import NavRouting
import NavigationNode
import Testing

/// The failures of route requests, worded for people.
struct RouteFailureTests {
    private let request = RouteRequest(waypoints: [Helsinki.from, Helsinki.to].map { Waypoint($0) })

    private func failure(_ outcome: RouteOutcome, of request: RouteRequest) -> RouteFailure? {
        do throws(RouteFailure) {
            _ = try outcome.route(of: request)
            return nil
        } catch {
            return error
        }
    }

    @Test func onlyTheVehiclesOwnPlaceMayReachARoadLater() {
        func isRetryable(_ waypoint: Int, of request: RouteRequest) -> Bool? {
            failure(.offRoad(waypoint: waypoint), of: request)?.isRetryable
        }
        #expect(isRetryable(0, of: request) == false && isRetryable(1, of: request) == false)
        var here = request
        here.positionSnapRadius = 500
        #expect(isRetryable(0, of: here) == true && isRetryable(1, of: here) == false)
    }

    @Test func excludedAreaOverAPlaceIsNamed() {
        func box(around place: Coordinate) -> ExcludedArea {
            ExcludedArea(
                corners: [(-1.0, -1.0), (-1, 1), (1, 1), (1, -1)].map {
                    Coordinate(latitude: place.latitude + $0.0 * 0.001, longitude: place.longitude + $0.1 * 0.001)
                })
        }
        let far = Coordinate(latitude: Helsinki.to.latitude + 0.01, longitude: Helsinki.to.longitude)
        var request = request
        request.options.excludedAreas = [box(around: far), box(around: Helsinki.to)]
        for outcome in [RouteOutcome.offRoad(waypoint: 1, nearest: 900), .unreachable(waypoint: 1)] {
            let text = failure(outcome, of: request)?.message ?? ""
            #expect(text.contains("options.exclude_areas[1] covers \(Helsinki.to.text) (destination)"), "\(text)")
        }
        #expect(failure(.offRoad(waypoint: 0), of: request)?.message.contains("navbus map info") == true)
    }
}
