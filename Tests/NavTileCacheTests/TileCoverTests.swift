import NavGeo
import NavTileCache
import Testing

/// Tiles that areas touch, checked against a search by points.
@Suite struct TileCoverTests {
    private static let porto = Coordinate(latitude: 41.15, longitude: -8.61)

    @Test(arguments: [(UInt8(9), 10_000.0), (12, 2_000), (12, 5_000), (14, 700), (16, 300)])
    func discCoversExactlyTheTilesWithAPointInside(zoom: UInt8, radius: Double) {
        var tiles: Set<TileID> = []
        TileCover.disc(around: Self.porto, radius: radius, zoom: zoom) { tile, distance in
            #expect(distance <= radius)
            tiles.insert(tile)
        }
        var sampled: Set<TileID> = []
        for ring in 0...60 {
            for turn in 0..<360 {
                let place = Geodesy.destination(
                    from: Self.porto, bearing: Angle.radians(Double(turn)),
                    distance: radius * 0.998 * Double(ring) / 60)
                sampled.insert(TileID(containing: place, zoom: zoom))
            }
        }
        #expect(sampled.isSubset(of: tiles))
        // No tile is listed that a slightly larger circle does not touch.
        var larger: Set<TileID> = []
        for turn in 0..<3600 {
            for share in [0.25, 0.5, 0.75, 1.003] {
                let place = Geodesy.destination(
                    from: Self.porto, bearing: Angle.radians(Double(turn) / 10), distance: radius * share)
                larger.insert(TileID(containing: place, zoom: zoom))
            }
        }
        #expect(tiles.isSubset(of: larger.union(sampled)))
    }

    @Test func corridorListsNearbyTilesWithTheirPlaceOnTheLine() {
        let line = Polyline([
            Self.porto, Coordinate(latitude: 41.4, longitude: -8.3), Coordinate(latitude: 41.3, longitude: -7.7),
        ])
        var offsets: [TileID: Double] = [:]
        TileCover.corridor(along: ProjectedLine(line), buffer: 500, zoom: 12) {
            offsets[$0] = min(offsets[$0] ?? .infinity, $1)
        }
        for step in stride(from: 0.0, through: line.length, by: 50) {
            guard let place = line.coordinate(at: step), let bearing = line.bearing(at: step) else { continue }
            for side in [-0.49, -0.2, 0, 0.2, 0.49] {
                let beside = Geodesy.destination(
                    from: place, bearing: bearing + .pi / 2, distance: side * 1000)
                let offset = offsets[TileID(containing: beside, zoom: 12)]
                #expect(offset.map { $0 <= step + 1 } == true, "\(beside)")
            }
        }
        for (tile, offset) in offsets {
            let box = tile.bounds
            let centre = Coordinate(latitude: (box.south + box.north) / 2, longitude: (box.west + box.east) / 2)
            let half = Geodesy.distance(centre, tile.northWest)
            let place = line.project(centre)
            #expect(place.map { $0.distance <= 500 + half * 1.02 } == true)
            // The offset is that of a segment of at most four tiles.
            #expect(place.map { offset <= $0.offset + 1 } == true)
        }
    }

    @Test func lineAcrossAntimeridianTakesTheShorterWay() {
        let line = Polyline([
            Coordinate(latitude: -17, longitude: 179.9), Coordinate(latitude: -17, longitude: -179.9),
        ])
        var tiles: Set<TileID> = []
        TileCover.corridor(along: ProjectedLine(line), buffer: 100, zoom: 10) { tile, _ in
            tiles.insert(tile)
        }
        #expect(Set(tiles.map(\.x)) == [1023, 0])
    }

    @Test func invalidCoordinatesGiveNoTiles() {
        let nowhere = Coordinate(latitude: .nan, longitude: .infinity)
        TileCover.disc(around: nowhere, radius: 10, zoom: 12) { _, _ in Issue.record("a tile") }
        TileCover.disc(around: Self.porto, radius: .nan, zoom: 12) { _, _ in Issue.record("a tile") }
        TileCover.disc(around: Self.porto, radius: -1, zoom: 12) { _, _ in Issue.record("a tile") }
        TileCover.corridor(along: ProjectedLine(Polyline([])), buffer: 10, zoom: 12) { _, _ in Issue.record("a tile") }
        var count = 0
        TileCover.corridor(along: ProjectedLine(Polyline([nowhere, Self.porto, nowhere])), buffer: 1_000, zoom: 12) {
            _, _ in count += 1
        }
        #expect(count <= 4)
    }

    @Test func polesMapToTheOutermostRow() {
        var tiles: Set<TileID> = []
        TileCover.disc(around: Coordinate(latitude: 89.9, longitude: 0), radius: 5_000, zoom: 6) { tile, _ in
            tiles.insert(tile)
        }
        #expect(tiles.allSatisfy { $0.y == 0 } && !tiles.isEmpty)
    }
}
