import NavGeo
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
}
