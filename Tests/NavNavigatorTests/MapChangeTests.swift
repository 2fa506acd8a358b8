import NavGeo
import NavMap
import NavMatching
import NavNavigator
import NavPositioning
import NavRouting
import NavSimulation
import NavTestSupport
import Testing

/// Predictions and positions while the map changes.
@Suite struct MapChangeTests {
    private static let drawing = """
        K---L---M---N---O
        |   |   |   |   |
        A---B---C---D---E
        |   |   |   |   |
        P---Q---R---S---T
        """

    /// Returns the predictions of an outage between B and C; the map changes at its start or during it.
    private static func predictions(
        _ town: Town, change: MapSnapshot? = nil, after seconds: Double = 0
    ) throws -> [VehiclePosition] {
        let fixes = try town.fixes("ABCDE", .open).prefix(30)
        let last = try #require(fixes.last).stamp
        var ride = Ride(town.snapshot)
        ride.drive(fixes)
        ride.fireTimers(until: last.advanced(bySeconds: seconds))
        if let change { ride.send(.mapChanged(change)) }
        ride.fireTimers(until: last.advanced(bySeconds: 25))
        return ride.vehiclePositions.filter { $0.prediction != nil }
    }

    @Test(arguments: [0.0, 8]) func trafficAndTilesDoNotDisturbAPrediction(seconds: Double) throws {
        let town = try Town(
            Self.drawing,
            ways: ["ABCDE": Town.road("Main Street"), "BLM": Town.road("Side Street"), "CR": Town.road("Lane")])
        let graph = town.map.graph
        let undisturbed = try Self.predictions(town)
        #expect(undisturbed.count > 15 && undisturbed.allSatisfy { $0.prediction == .alongRoad })
        let traffic = MapSnapshot(town.snapshot, router: town.snapshot.router.live(TrafficOverlay()))
        #expect(try Self.predictions(town, change: traffic, after: seconds) == undisturbed)
        let tiles = MapSnapshot(graph: RoadGraph(tiles: graph.tiles, mapVersion: graph.mapVersion))
        #expect(try Self.predictions(town, change: tiles, after: seconds) == undisturbed)
    }

    /// The new version divides the street into different edges, and has more of them.
    @Test(arguments: [0.0, 8]) func predictionContinuesOnItsRoadInAnotherMapVersion(seconds: Double) throws {
        let town = try Town(Self.drawing, ways: ["ABCDE": Town.road("Main Street")])
        let other = try Town(
            Self.drawing,
            ways: [
                "ABCDE": Town.road("Main Street"), "KLMNO": Town.road("North Street"),
                "PQRST": Town.road("South Street"),
                "KAP": Town.road("First Avenue"), "LBQ": Town.road("Second Avenue"), "MCR": Town.road("Third Avenue"),
                "NDS": Town.road("Fourth Avenue"), "OET": Town.road("Fifth Avenue"),
            ])
        #expect(other.map.graph.mapVersion != town.map.graph.mapVersion)
        let way = try town.map.wayID("ABCDE")
        let undisturbed = try Self.predictions(town)
        let predicted = try Self.predictions(town, change: other.snapshot, after: seconds)
        #expect(predicted.count == undisturbed.count)
        for (one, expected) in zip(predicted, undisturbed) {
            let road = try #require(one.road, "\(one.age) s after the last fix")
            #expect(road.wayID == way && Angle.separation(road.bearing, .pi / 2) < 0.1)
            let known = try #require(expected.road)
            #expect(Geodesy.distance(road.coordinate, known.coordinate) < 60, "\(one.age) s after the last fix")
        }
    }

    @Test func roadBehindTheVehicleMissingFromTheNewMapDoesNotEndRefreshes() throws {
        let drawing = "A---B---C---D"
        let town = try Town(
            drawing,
            ways: ["BC": Town.road("Main Street"), "CD": Town.road("High Street"), "AB": Town.road("Side Street")])
        let other = try Town(drawing, ways: ["BC": Town.road("Main Street"), "CD": Town.road("High Street")])
        var ride = Ride(town.snapshot)
        ride.command(.navigate([try town.waypoint("CD", 0.9)]))
        // The drive ends halfway along BC.
        for fix in try town.fixes("ABCD", .open) where ride.progress.last?.offset ?? 0 < 400 { ride.drive(fix) }
        ride.send(.mapChanged(other.snapshot))
        let reply = ride.command(.refreshRoute, call: 1)
        guard case .refreshed? = reply else {
            Issue.record("not refreshed: \(String(describing: reply))")
            return
        }
    }

    @Test func trafficDoesNotDisturbMeasuredPositions() throws {
        let town = try Town.grid()
        let traffic = MapSnapshot(town.snapshot, router: town.snapshot.router.live(TrafficOverlay()))
        var (ride, undisturbed) = (Ride(town.snapshot), Ride(town.snapshot))
        for (index, fix) in try town.fixes("FGHMN", .urban).enumerated() {
            undisturbed.drive(fix)
            ride.drive(fix)
            if index.isMultiple(of: 2) { ride.send(.mapChanged(traffic)) }
        }
        #expect(undisturbed.positions > 50)
        #expect(ride.vehiclePositions == undisturbed.vehiclePositions)
    }
}
