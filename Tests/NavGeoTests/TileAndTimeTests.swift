import NavGeo
import Testing

@Suite("Tiles")
struct TileTests {
    // Longitude and latitude of Helsinki Cathedral and of Quito; tile numbers from mercantile 1.2.1.
    @Test(
        "a position maps to its tile",
        arguments: [
            (60.170_3, 24.952_1, 12, 2331, 1185), (60.170_3, 24.952_1, 6, 36, 18), (-0.220_2, -78.512_3, 9, 144, 256),
            (0, 0, 0, 0, 0), (85.06, 180, 3, 7, 0), (-90, -180, 3, 0, 7),
        ] as [(Double, Double, UInt8, UInt32, UInt32)])
    func containing(latitude: Double, longitude: Double, zoom: UInt8, x: UInt32, y: UInt32) {
        let tile = TileID(containing: Coordinate(latitude: latitude, longitude: longitude), zoom: zoom)
        #expect(tile == TileID(zoom: zoom, x: x, y: y))
    }

    @Test("a tile contains its corner and centre and touches its neighbours", arguments: [1, 6, 9, 12, 22] as [UInt8])
    func bothWays(zoom: UInt8) throws {
        let count = UInt32(1) << zoom
        for (column, row) in [(0, 0), (count - 1, count - 1), (count / 3, count / 2), (count / 2, count / 5)] {
            let tile = try #require(TileID(zoom: zoom, x: column, y: row))
            let bounds = tile.bounds
            let middle = Coordinate(
                latitude: (bounds.south + bounds.north) / 2, longitude: (bounds.west + bounds.east) / 2)
            #expect(TileID(containing: middle, zoom: zoom) == tile)
            #expect(bounds.contains(tile.northWest) && bounds.contains(middle))
            if let east = TileID(zoom: zoom, x: column + 1, y: row) { #expect(east.bounds.west == bounds.east) }
            if let south = TileID(zoom: zoom, x: column, y: row + 1) { #expect(south.bounds.north == bounds.south) }
        }
    }

    @Test("indices outside the pyramid give no tile")
    func outside() {
        #expect(TileID(zoom: 3, x: 8, y: 0) == nil)
        #expect(TileID(zoom: 3, x: 0, y: .max) == nil)
        #expect(TileID(zoom: 23, x: 0, y: 0) == nil)
        #expect(TileID(zoom: 255, x: 0, y: 0) == nil)
    }

    @Test("tiles sort by zoom, row, column")
    func order() throws {
        let tiles = [(1, 1, 0), (1, 0, 1), (0, 0, 0), (1, 0, 0)].compactMap {
            TileID(zoom: UInt8($0.0), x: UInt32($0.1), y: UInt32($0.2))
        }
        #expect(tiles.sorted().map(\.x) == [0, 0, 1, 0])
    }
}

@Suite("Time")
struct TimeTests {
    @Test("differences saturate instead of overflowing")
    func differences() {
        let (first, last) = (Timestamp(nanoseconds: .min), Timestamp(nanoseconds: .max))
        #expect(last.seconds(since: first) == 9.3e9)
        #expect(first.seconds(since: last) == -9.3e9)
        #expect(Timestamp(nanoseconds: 1_500_000_000).seconds(since: Timestamp(nanoseconds: 0)) == 1.5)
        #expect(Timestamp(nanoseconds: 0).seconds(since: Timestamp(nanoseconds: 250_000_000)) == -0.25)
    }

    @Test("advancing a moment saturates, and NaN leaves it unchanged")
    func advancing() {
        let moment = Timestamp(nanoseconds: -5)
        #expect(moment.advanced(bySeconds: 1.5).nanoseconds == 1_499_999_995)
        #expect(moment.advanced(bySeconds: 1e300).nanoseconds == .max)
        #expect(moment.advanced(bySeconds: -1e300).nanoseconds == .min)
        #expect(moment.advanced(bySeconds: .infinity).nanoseconds == .max)
        #expect(moment.advanced(bySeconds: .nan) == moment)
        #expect(Timestamp(nanoseconds: .max).advanced(bySeconds: 1).nanoseconds == .max)
        #expect(Timestamp(nanoseconds: .min).advanced(bySeconds: -1).nanoseconds == .min)
    }

    @Test("seconds out of range give no timestamp")
    func fromSeconds() {
        #expect(Timestamp(seconds: 1.25)?.nanoseconds == 1_250_000_000)
        for odd in [Double.nan, .infinity, -.infinity, 1e300, 9.3e9] { #expect(Timestamp(seconds: odd) == nil) }
    }
}
