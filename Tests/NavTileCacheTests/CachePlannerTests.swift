import NavGeo
import NavTileCache
import Testing

/// The tiles kept ahead of a vehicle.
@Suite struct CachePlannerTests {
    private static let start = Coordinate(latitude: 41.15, longitude: -8.61)

    private static func line(_ kilometres: Double, bearing: Double = 1.2) -> Polyline {
        Polyline(
            stride(from: 0, through: kilometres, by: 0.5).map {
                Geodesy.destination(from: start, bearing: bearing, distance: $0 * 1_000)
            })
    }

    private static let local = CacheProfile(levels: [.init(zoom: 12, reach: CacheReach())])

    @Test func nearestTilesAroundVehicleComeFirst() {
        var planner = CachePlanner(Self.local)
        let added = planner.move(to: Self.start).added
        #expect(added.count > 1 && added.map(\.need) == added.map(\.need).sorted())
        #expect(added.first?.tile == TileID(containing: Self.start, zoom: 12) && added.first?.need == 0)
        #expect(added.dropFirst().allSatisfy { $0.need > 0 && $0.need < 2_600 })
        // Along a route, the vehicle's distance along the route is added.
        _ = planner.follow(PlannedLine(Self.line(80)))
        let later = Geodesy.destination(from: Self.start, bearing: 1.2, distance: 20_000)
        _ = planner.move(to: later, cursor: 20_000)
        let here = TileID(containing: later, zoom: 12)
        #expect(planner.wanted.first { $0.tile == here }?.need == 20_000 && planner.cursor == 20_000)
    }

    @Test func soonerNeededTilesComeFirst() {
        var planner = CachePlanner(.navigation())
        let around = planner.move(to: Self.start).added.map(\.tile)
        let changes = planner.follow(PlannedLine(Self.line(80)))
        #expect(!around.isEmpty && changes.removed.isEmpty)
        #expect(changes.added.map(\.need) == changes.added.map(\.need).sorted())
        #expect(Set(changes.added.map(\.tile)).isDisjoint(with: around))
        #expect(planner.wanted.map(\.need) == planner.wanted.map(\.need).sorted())
        #expect(Set(planner.wanted.map(\.tile)).count == planner.wanted.count)
        // The circle around the destination is wider than the corridor.
        let end = Self.line(80).coordinates[160]
        let beside = Geodesy.destination(from: end, bearing: 1.2 + .pi / 2, distance: 4_900)
        #expect(planner.isWanted(TileID(containing: beside, zoom: 12)))
        // Detours stay routable on the layers above.
        let aside = Geodesy.destination(from: Self.line(80).coordinates[80], bearing: 1.2 + .pi / 2, distance: 9_500)
        #expect(planner.isWanted(TileID(containing: aside, zoom: 9)))
        #expect(!planner.isWanted(TileID(containing: aside, zoom: 12)))
    }

    @Test func stationaryVehicleRequestsNothing() {
        var planner = CachePlanner(Self.local)
        #expect(!planner.move(to: Self.start).isEmpty)
        for turn in 0..<500 {
            let noise = Geodesy.destination(
                from: Self.start, bearing: Double(turn), distance: Double(turn % 50))
            #expect(planner.move(to: noise).isEmpty)
        }
    }

    @Test func tilesOfADriveStayWantedUntilPassed() {
        var planner = CachePlanner(Self.local)
        let line = Self.line(60)
        _ = planner.follow(PlannedLine(line))
        var wanted = Set(planner.wanted.map(\.tile))
        for offset in stride(from: 0.0, through: line.length, by: 36) {
            guard let place = line.coordinate(at: offset) else { continue }
            let changes = planner.move(to: place, cursor: offset)
            #expect(wanted.isDisjoint(with: changes.added.map(\.tile)))
            #expect(wanted.isSuperset(of: changes.removed))
            wanted.formUnion(changes.added.map(\.tile))
            wanted.subtract(changes.removed)
            #expect(planner.isWanted(TileID(containing: place, zoom: 12)))
            TileCover.disc(around: place, radius: 2_000, zoom: 12) { tile, _ in #expect(planner.isWanted(tile)) }
        }
        // The reported changes add up to the wanted tiles.
        #expect(wanted == Set(planner.wanted.map(\.tile)))
        #expect(!planner.isWanted(TileID(containing: Self.start, zoom: 12)))
    }

    @Test func newRouteIsReportedAsDifference() {
        var planner = CachePlanner(Self.local)
        var wanted = Set(planner.move(to: Self.start).added.map(\.tile))
        for bearing in [0.2, 1.2, 1.25, 4] {
            let changes = planner.follow(PlannedLine(Self.line(40, bearing: bearing)))
            #expect(wanted.isDisjoint(with: changes.added.map(\.tile)))
            #expect(wanted.isSuperset(of: changes.removed))
            wanted.formUnion(changes.added.map(\.tile))
            wanted.subtract(changes.removed)
            #expect(wanted == Set(planner.wanted.map(\.tile)))
        }
        let changes = planner.follow(nil)
        wanted.subtract(changes.removed)
        #expect(changes.added.isEmpty && wanted == Set(planner.wanted.map(\.tile)))
    }

    @Test func alternativesAreWantedFromTheirForksAndLaterThanTheRoute() {
        var planner = CachePlanner(Self.local)
        let route = Self.line(60)
        let common = Array(route.coordinates[...40])
        let aside = (1...80).map {
            Geodesy.destination(from: common[40], bearing: 2.6, distance: Double($0) * 500)
        }
        let other = Polyline(common + aside)
        let fork = route.cumulativeLengths[40]
        _ = planner.follow(
            PlannedLine(route), alternatives: [PlannedLine(other, fork: fork, ownFork: other.cumulativeLengths[40])])
        let needs = Dictionary(uniqueKeysWithValues: planner.wanted.map { ($0.tile, $0.need) })
        let far = TileID(containing: aside[60], zoom: 12)
        #expect(needs[far].map { $0 > fork + 15_000 && $0 < fork + 40_000 } == true)
        _ = planner.follow(PlannedLine(route))
        #expect(!planner.isWanted(far))
    }

    @Test func latestNeededTilesAreDroppedBeyondTheLimit() {
        var profile = Self.local
        profile.greatestCount = 20
        var planner = CachePlanner(profile)
        let changes = planner.follow(PlannedLine(Self.line(300)))
        #expect(changes.added.count == 20)
        #expect(changes.added.allSatisfy { $0.need < 100_000 })
    }

    @Test(arguments: [1, 20, 45]) func limitKeepsTheSoonestNeededTilesOfAllLines(count: Int) {
        let route = Self.line(300)
        let aside = (1...400).map {
            Geodesy.destination(from: route.coordinates[40], bearing: 2.6, distance: Double($0) * 500)
        }
        let other = Polyline(Array(route.coordinates[...40]) + aside)
        let alternative = PlannedLine(other, fork: route.cumulativeLengths[40], ownFork: other.cumulativeLengths[40])
        var planners: [CachePlanner] = []
        for limit in [200_000, count] {
            var profile = CacheProfile.navigation()
            profile.greatestCount = limit
            var planner = CachePlanner(profile)
            _ = planner.follow(PlannedLine(route), alternatives: [alternative])
            planners.append(planner)
        }
        #expect(planners[0].wanted.count > 2 * count)
        #expect(planners[1].wanted == Array(planners[0].wanted.prefix(count)))
    }

    @Test func lineThatRepeatsItsTilesIsCutAtTheLimit() {
        let places = [41.0, 47, 53].map { Coordinate(latitude: $0, longitude: -8.04) }
        let line = (0..<10).flatMap { _ in places[..<2] } + [places[2]]
        var profile = Self.local
        profile.greatestCount = 400
        var planner = CachePlanner(profile)
        _ = planner.follow(PlannedLine(Polyline(line)))
        func wants(_ latitude: Double) -> Bool {
            planner.isWanted(TileID(containing: Coordinate(latitude: latitude, longitude: -8.04), zoom: 12))
        }
        #expect(wants(44) && wants(47) && !wants(50))
        // Each part alone is within the limit.
        _ = planner.follow(PlannedLine(Polyline(places)))
        #expect(wants(44) && wants(47) && wants(50))
    }

    @Test func invalidProfilesAreRejectedWithReason() {
        #expect(CacheProfile.navigation().fault == nil)
        #expect(CacheProfile.maps(zooms: 5...14).fault == nil)
        #expect(CacheProfile.navigation(CacheReach(position: -1)).fault?.contains("position") == true)
        #expect(CacheProfile.navigation(CacheReach(route: .nan)).fault?.contains("route") == true)
        #expect(CacheProfile.maps(zooms: 22...22).fault?.contains("zoom level 22") == true)
        #expect(CacheProfile.maps(zooms: 5...40).fault != nil)
    }
}
