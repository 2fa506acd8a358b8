import Glibc
import NavGeo
import NavSimulation
import NavTileCache
import Testing

/// Areas of offline regions and their tiles, checked against points and against a search tile by tile.
@Suite struct RegionAreaTests {
    private static let porto = Coordinate(latitude: 41.15, longitude: -8.61)

    private static func tiles(_ area: RegionArea, _ zoom: UInt8, margin: Double = 0) throws -> Set<TileID> {
        Set(try area.tiles(zoom: zoom, margin: margin, limit: 1_000_000).tiles)
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func areaTilesMatchExhaustiveSearch(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let centre = Coordinate(latitude: random.number(in: -70...70), longitude: random.number(in: -170...170))
        let outer = random.star(around: centre, 8_000...40_000, corners: 3 + Int(seed) * 2)
        let hole = random.star(around: centre, 2_000...6_000, corners: 5)
        let other = random.star(
            around: Geodesy.destination(from: centre, bearing: 1, distance: 30_000), 500...9_000, corners: 7)
        let polygons = [[outer, hole], [other + other.prefix(1)]]
        let area = try RegionArea(polygons: polygons)
        for zoom in [UInt8(4), 9, 12, 14] {
            let expected = BruteForceCover.tiles(polygons, zoom: zoom)
            let rows = try area.tiles(zoom: zoom, limit: 1_000_000)
            let found = rows.tiles
            #expect(Set(found) == expected, "seed \(seed), zoom \(zoom)")
            #expect(found == found.sorted() && rows.count == expected.count)
            #expect(expected.allSatisfy(rows.contains))
            if let outside = TileID(zoom: zoom, x: 0, y: 0), !expected.contains(outside) {
                #expect(!rows.contains(outside))
            }
        }
    }

    @Test func polygonCoversInteriorAndBoundaryButNotHole() throws {
        func square(_ half: Double) -> [Coordinate] {
            [(-half, -half), (-half, half), (half, half), (half, -half)].map {
                Coordinate(latitude: 41.15 + $0.0, longitude: -8.6 + $0.1)
            }
        }
        let tiles = try Self.tiles(RegionArea(polygons: [[square(0.5), square(0.2)]]), 12)
        var expected: Set<TileID> = []
        for row in -520...520 {
            for column in -520...520 {
                let (north, east) = (Double(row) / 1000, Double(column) / 1000)
                let reach = max(abs(north), abs(east))
                guard reach <= 0.5, reach >= 0.2 else { continue }
                expected.insert(
                    TileID(containing: Coordinate(latitude: 41.15 + north, longitude: -8.6 + east), zoom: 12))
            }
        }
        #expect(tiles == expected)
        #expect(!tiles.contains(TileID(containing: Coordinate(latitude: 41.15, longitude: -8.6), zoom: 12)))
    }

    @Test func holeLargerThanATileIsExcludedExceptItsEdge() throws {
        var random = SeededRandom(seed: 7)
        let outer = random.star(around: Self.porto, 40_000...40_000, corners: 32)
        let hole = random.star(around: Self.porto, 20_000...20_000, corners: 32)
        let tiles = try Self.tiles(RegionArea(polygons: [[outer, hole]]), 12)
        #expect(!tiles.contains(TileID(containing: Self.porto, zoom: 12)))
        let edge = Geodesy.destination(from: Self.porto, bearing: 0, distance: 20_100)
        #expect(tiles.contains(TileID(containing: edge, zoom: 12)))
        #expect(try Self.tiles(RegionArea(polygons: [[outer]]), 12).contains(TileID(containing: Self.porto, zoom: 12)))
    }

    @Test func areaAcrossAntimeridianKeepsItsHole() throws {
        func box(_ west: Double, _ east: Double, _ half: Double) -> [Coordinate] {
            [(-half, west), (-half, east), (half, east), (half, west)].map {
                Coordinate(latitude: -17 + $0.0, longitude: $0.1)
            }
        }
        // The hole is entirely beyond the antimeridian, seen from the ring's first corner.
        let area = try RegionArea(polygons: [[box(179, -178, 1), box(-179.6, -178.6, 0.5)]])
        let tiles = try Self.tiles(area, 11)
        let inside = { TileID(containing: Coordinate(latitude: -17, longitude: $0), zoom: 11) }
        #expect(tiles.contains(inside(179.5)) && tiles.contains(inside(-179.9)) && tiles.contains(inside(-178.2)))
        #expect(!tiles.contains(inside(-179.1)) && !tiles.contains(inside(0)) && !tiles.contains(inside(178.7)))
        // Cut at the antimeridian into two polygons, the area has the same tiles.
        let cut = try RegionArea(polygons: [[box(179, 180, 1)], [box(-180, -178, 1), box(-179.6, -178.6, 0.5)]])
        #expect(try Self.tiles(cut, 11).isSuperset(of: tiles))
    }

    @Test func wholeWorldHasEveryTileAndTooManyAreRejectedEarly() throws {
        let longitudes = [-180.0, -90, 0, 90, 180]
        let ring =
            longitudes.map { Coordinate(latitude: -85.05, longitude: $0) }
            + longitudes.reversed().map { Coordinate(latitude: 85.05, longitude: $0) }
        let world = try RegionArea(polygons: [[ring]])
        #expect(try world.tiles(zoom: 6, limit: 4_096).count == 4_096)
        #expect(throws: RegionFault.tooManyTiles(zoom: 6, limit: 4_095)) { try world.tiles(zoom: 6, limit: 4_095) }
        #expect(throws: RegionFault.tooManyTiles(zoom: 22, limit: 1_000)) { try world.tiles(zoom: 22, limit: 1_000) }
        let layers = RegionLayer.maps(0...9)
        #expect(throws: RegionFault.tooManyTiles(zoom: 8, limit: 50_000)) { try world.tiles(of: layers, limit: 50_000) }
        // Counting a large area lists no tiles: the effort grows with the length of the boundary.
        #expect(try world.tiles(zoom: 11, limit: 5_000_000).count == 1 << 22)
    }

    @Test func overlappingPolygonsTakeBoundedWork() throws {
        var random = SeededRandom(seed: 3)
        let polygons = (0..<300).map { _ in [random.star(around: Self.porto, 300_000...400_000, corners: 300)] }
        let area = try RegionArea(polygons: polygons)
        #expect(throws: RegionFault.tooManyTiles(zoom: 16, limit: 10_000)) { try area.tiles(zoom: 16, limit: 10_000) }
        #expect(throws: RegionFault.tooManyTiles(zoom: 22, limit: 10_000)) {
            try area.tiles(zoom: 22, margin: 500_000, limit: 10_000)
        }
    }

    @Test func zigzagOutlineIsRejectedAsTooComplex() throws {
        // The outline crosses the same 40 tiles of zoom level 12 repeatedly.
        let (west, east) = (Self.porto.longitude, Self.porto.longitude + 3.5)
        let ring = (0..<10_000).map { number in
            Coordinate(
                latitude: Self.porto.latitude + Double(number) * 1e-6, longitude: number.isMultiple(of: 2) ? west : east
            )
        }
        let area = try RegionArea(polygons: [[ring]])
        #expect(throws: RegionFault.tooComplicated(zoom: 12)) { try area.tiles(zoom: 12, limit: 1_000) }
        #expect(throws: RegionFault.tooComplicated(zoom: 12)) {
            try area.tiles(of: RegionLayer.maps(12...12), limit: 1_000)
        }
        #expect(RegionFault.tooComplicated(zoom: 12).description.contains("simplify"))
        #expect(throws: RegionFault.tooManyTiles(zoom: 12, limit: 30)) { try area.tiles(zoom: 12, limit: 30) }
    }

    @Test func upperRoadLayersReachFurther() throws {
        #expect(
            RegionLayer.navigation() == [
                RegionLayer(zoom: 6, margin: 50_000), RegionLayer(zoom: 9, margin: 10_000), RegionLayer(zoom: 12),
            ])
        #expect(RegionLayer.navigation(in: 7...12).map(\.zoom) == [9, 12])
        let area = try RegionArea.circle(around: Self.porto, radius: 2_000)
        for layer in RegionLayer.navigation() {
            var disc: Set<TileID> = []
            TileCover.disc(around: Self.porto, radius: 1_990 + layer.margin, zoom: layer.zoom) { tile, _ in
                disc.insert(tile)
            }
            var larger: Set<TileID> = []
            TileCover.disc(around: Self.porto, radius: 2_010 + layer.margin * 1.01, zoom: layer.zoom) { tile, _ in
                larger.insert(tile)
            }
            let tiles = try Self.tiles(area, layer.zoom, margin: layer.margin)
            #expect(tiles.isSuperset(of: disc) && tiles.isSubset(of: larger), "zoom \(layer.zoom)")
        }
    }

    @Test func corridorCoversTilesNearTheLineAndFewOthers() throws {
        var random = SeededRandom(seed: 11)
        var place = Self.porto
        var course = 0.5
        var line = [place]
        for _ in 0..<2_000 {
            course += random.number(in: -0.3...0.3)
            place = Geodesy.destination(from: place, bearing: course, distance: random.number(in: 5...120))
            line.append(place)
        }
        let area = try RegionArea.corridor(along: line, buffer: 500)
        #expect(area.polygons.count < 1_000)
        let projected = ProjectedLine(Polyline(line))
        for zoom in [UInt8(12), 15] {
            var least: Set<TileID> = []
            var most: Set<TileID> = []
            TileCover.corridor(along: projected, buffer: 499, zoom: zoom) { tile, _ in least.insert(tile) }
            TileCover.corridor(along: projected, buffer: 670, zoom: zoom) { tile, _ in most.insert(tile) }
            let tiles = try Self.tiles(area, zoom)
            #expect(tiles.isSuperset(of: least) && tiles.isSubset(of: most), "zoom \(zoom)")
        }
        #expect(try RegionArea.corridor(along: [Self.porto], buffer: 500).polygons.count == 1)
        #expect(try RegionArea.corridor(along: [Self.porto, Self.porto], buffer: 500).polygons.count == 1)
    }

    @Test func invalidAreaIsRejectedWithItsPlace() {
        func fault(_ polygons: [[[(Double, Double)]]]) -> RegionFault? {
            do throws(RegionFault) {
                _ = try RegionArea(
                    polygons: polygons.map { rings in
                        rings.map { ring in ring.map { Coordinate(latitude: $0.0, longitude: $0.1) } }
                    })
                return nil
            } catch {
                return error
            }
        }
        let fine = [(0.0, 0.0), (0, 1), (1, 1), (0, 0)]
        #expect(fault([]) == .empty)
        #expect(fault([[]]) == .degenerateRing(polygon: 0, ring: 0))
        #expect(fault([[fine], [fine, []]]) == .degenerateRing(polygon: 1, ring: 1))
        #expect(fault([[[(0, 0), (1, 1), (0, 0)]]]) == .degenerateRing(polygon: 0, ring: 0))
        #expect(fault([[[(0, 0), (1, 1), (0, 0), (1, 1)]]]) == .degenerateRing(polygon: 0, ring: 0))
        #expect(fault([[[(0, 0), (.nan, 1), (1, 1)]]]) == .badCorner(polygon: 0, ring: 0, corner: 1))
        #expect(fault([[[(0, 0), (0, .infinity), (1, 1)]]]) == .badCorner(polygon: 0, ring: 0, corner: 1))
        #expect(fault([[fine], [[(0, 0), (0, 1), (86, 1)]]]) == .badCorner(polygon: 1, ring: 0, corner: 2))
        #expect(fault([[[(0, 0), (0, 180.1), (1, 1)]]]) == .badCorner(polygon: 0, ring: 0, corner: 1))
        #expect(
            fault([[[(0, -180), (0, 180), (5, 180), (5, -180)]]]) == .edgeWithoutWidth(polygon: 0, ring: 0, corner: 1))
        #expect(fault([[[(80, -120), (80, 0), (80, 120)]]]) == .aroundPole(polygon: 0, ring: 0))
        let long = (0...RegionArea.greatestCornerCount).map { (Double($0 % 80), Double($0 % 170)) }
        #expect(fault([[long]]) == .tooManyCorners(RegionArea.greatestCornerCount))
        #expect(RegionFault.badReach(0).description.contains("above 0"))
        for reach in [0, -1, 600_000, Double.nan] {
            #expect(throws: RegionFault.self) { try RegionArea.circle(around: Self.porto, radius: reach) }
            #expect(throws: RegionFault.self) { try RegionArea.corridor(along: [Self.porto], buffer: reach) }
        }
        #expect(throws: RegionFault.self) {
            try RegionArea.circle(around: Coordinate(latitude: 84, longitude: 0), radius: 400_000)
        }
        #expect(throws: RegionFault.self) { try RegionArea.corridor(along: [], buffer: 10) }
        #expect(throws: RegionFault.badReach(600_000)) {
            try RegionArea.circle(around: Self.porto, radius: 10).tiles(zoom: 3, margin: 600_000, limit: 10)
        }
    }
}

/// Returns the tiles that polygons touch, by checking each tile: an edge crosses it, or its middle is inside.
private enum BruteForceCover {
    private typealias Point = (x: Double, y: Double)

    /// - Parameter polygons: polygons that do not cross the antimeridian.
    static func tiles(_ polygons: [[[Coordinate]]], zoom: UInt8) -> Set<TileID> {
        let count = Double(1 << Int(zoom))
        func point(_ place: Coordinate) -> Point {
            let latitude = Angle.radians(place.latitude)
            return ((place.longitude + 180) / 360 * count, (1 - asinh(tan(latitude)) / .pi) / 2 * count)
        }
        var tiles: Set<TileID> = []
        for rings in polygons {
            let edges = rings.flatMap { ring in
                zip(ring, ring.dropFirst() + ring.prefix(1)).map { (point($0), point($1)) }
            }
            let (xs, ys) = (edges.map(\.0.x), edges.map(\.0.y))
            guard let west = xs.min(), let east = xs.max(), let north = ys.min(), let south = ys.max() else { continue }
            for y in Int(north)...Int(south) {
                for x in Int(west)...Int(east) where isTouched(Double(x), Double(y), edges) {
                    if let tile = TileID(zoom: zoom, x: UInt32(x), y: UInt32(y)) { tiles.insert(tile) }
                }
            }
        }
        return tiles
    }

    private static func isTouched(_ x: Double, _ y: Double, _ edges: [(Point, Point)]) -> Bool {
        if edges.contains(where: { crosses(x, y, $0, $1) }) { return true }
        let crossed = edges.filter { start, end in
            (start.y <= y + 0.5) != (end.y <= y + 0.5)
                && start.x + (y + 0.5 - start.y) / (end.y - start.y) * (end.x - start.x) > x + 0.5
        }
        return crossed.count % 2 == 1
    }

    /// Returns whether a segment and the square of a place intersect: neither a side of the square nor the segment
    /// separates them.
    private static func crosses(_ x: Double, _ y: Double, _ start: Point, _ end: Point) -> Bool {
        guard max(start.x, end.x) >= x, min(start.x, end.x) <= x + 1, max(start.y, end.y) >= y,
            min(start.y, end.y) <= y + 1
        else { return false }
        let sides = [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)].map {
            (end.x - start.x) * ($0.1 - start.y) - (end.y - start.y) * ($0.0 - start.x)
        }
        return sides.contains { $0 <= 0 } && sides.contains { $0 >= 0 }
    }
}

extension SeededRandom {
    /// Draws a number from a range.
    fileprivate mutating func number(in range: ClosedRange<Double>) -> Double {
        range.lowerBound + uniform() * (range.upperBound - range.lowerBound)
    }

    /// Draws a star around a place: of any shape, but without self-intersections.
    fileprivate mutating func star(around centre: Coordinate, _ radii: ClosedRange<Double>, corners: Int)
        -> [Coordinate]
    {
        (0..<corners).map { corner in
            Geodesy.destination(
                from: centre, bearing: 2 * .pi * Double(corner) / Double(corners), distance: number(in: radii))
        }
    }
}
