import NavGeo
import Testing

@Suite("Geodesy")
struct GeodesyTests {
    struct Geodesic: Sendable {
        var from: Coordinate
        var to: Coordinate
        /// The length of the geodesic from GeographicLib, metres.
        var distance: Double
        /// The bearing at the middle of the geodesic from GeographicLib, degrees.
        var middleAzimuth: Double
    }

    // Computed with GeographicLib 2.1 (Karney, 2013): Geodesic.WGS84.Inverse, and the azimuth at half of its length.
    static let geodesics: [Geodesic] = [
        Geodesic(
            from: Coordinate(latitude: 60.1703, longitude: 24.9521),
            to: Coordinate(latitude: 60.171, longitude: 24.9555),
            distance: 204.220743, middleAzimuth: 67.548964),
        Geodesic(
            from: Coordinate(latitude: 41.1496, longitude: -8.611),
            to: Coordinate(latitude: 41.1497, longitude: -8.611),
            distance: 11.105680, middleAzimuth: 0.000000),
        Geodesic(
            from: Coordinate(latitude: 0, longitude: 0), to: Coordinate(latitude: 0, longitude: 0.01),
            distance: 1113.194908, middleAzimuth: 90.000000),
        Geodesic(
            from: Coordinate(latitude: 0.0, longitude: 10.0), to: Coordinate(latitude: 0.01, longitude: 10.0),
            distance: 1105.742758, middleAzimuth: 0.000000),
        Geodesic(
            from: Coordinate(latitude: 42.5063, longitude: 1.5218),
            to: Coordinate(latitude: 42.4602, longitude: 1.4892),
            distance: 5779.990603, middleAzimuth: 207.628590),
        Geodesic(
            from: Coordinate(latitude: 47.166, longitude: 9.5554), to: Coordinate(latitude: 47.2692, longitude: 9.6),
            distance: 11960.301026, middleAzimuth: 16.407032),
        Geodesic(
            from: Coordinate(latitude: 48.1372, longitude: 11.5756),
            to: Coordinate(latitude: 47.8095, longitude: 13.055),
            distance: 116309.920090, middleAzimuth: 108.257766),
        Geodesic(
            from: Coordinate(latitude: -33.8688, longitude: 151.2093),
            to: Coordinate(latitude: -34.4278, longitude: 150.8931),
            distance: 68521.832236, middleAzimuth: 205.186573),
        Geodesic(
            from: Coordinate(latitude: 69.6492, longitude: 18.9553), to: Coordinate(latitude: 69.3, longitude: 16.1),
            distance: 118354.710926, middleAzimuth: 250.777802),
        Geodesic(
            from: Coordinate(latitude: 80.0, longitude: 20.0), to: Coordinate(latitude: 80.05, longitude: 20.5),
            distance: 11168.299477, middleAzimuth: 60.006470),
        Geodesic(
            from: Coordinate(latitude: 60.1699, longitude: 24.9384),
            to: Coordinate(latitude: 59.437, longitude: 24.7536),
            distance: 82307.766198, middleAzimuth: 187.239049),
        Geodesic(
            from: Coordinate(latitude: 52.52, longitude: 13.405), to: Coordinate(latitude: 50.1109, longitude: 11.0),
            distance: 316110.750132, middleAzimuth: 212.003691),
        Geodesic(
            from: Coordinate(latitude: -17.0, longitude: 179.999), to: Coordinate(latitude: -17.0, longitude: -179.999),
            distance: 212.971662, middleAzimuth: 90.000000),
    ]

    @Test("distances match the geodesic within 0.1 %, or a millimetre on road segments", arguments: geodesics)
    func distance(_ geodesic: Geodesic) {
        let distance = Geodesy.distance(geodesic.from, geodesic.to)
        #expect(abs(distance - geodesic.distance) <= max(geodesic.distance * 0.001, 0.000_001))
        if geodesic.distance < 1_000 { #expect(abs(distance - geodesic.distance) < 0.001) }
        #expect(Geodesy.distance(geodesic.to, geodesic.from) == distance)
    }

    @Test("bearings match the geodesic's at its middle within 0.1°", arguments: geodesics)
    func bearing(_ geodesic: Geodesic) {
        let bearing = Geodesy.bearing(from: geodesic.from, to: geodesic.to)
        #expect(Angle.degrees(Angle.separation(bearing, Angle.radians(geodesic.middleAzimuth))) < 0.1)
        #expect((0..<2 * Double.pi).contains(bearing))
    }

    @Test("a destination has the given distance and bearing", arguments: [-75.0, -33, 0, 12, 48, 60.2, 71])
    func destination(latitude: Double) {
        for longitude in [-180, -77.1, 0, 24.9, 179.9999] {
            let start = Coordinate(latitude: latitude, longitude: longitude)
            for degrees in stride(from: 0.0, to: 360, by: 15) {
                for distance in [0.5, 40, 1_000, 25_000, 100_000] {
                    let bearing = Angle.radians(degrees)
                    let end = Geodesy.destination(from: start, bearing: bearing, distance: distance)
                    #expect(end.isValid)
                    #expect(abs(Geodesy.distance(start, end) - distance) < max(distance * 1e-5, 1e-6))
                    #expect(Angle.separation(Geodesy.bearing(from: start, to: end), bearing) < 1e-4)
                }
            }
        }
    }

    @Test("distances are correct across the antimeridian")
    func antimeridian() {
        let west = Coordinate(latitude: -17, longitude: 179.999)
        let east = Coordinate(latitude: -17, longitude: -179.999)
        // 212.972 m according to Karney.
        #expect(abs(Geodesy.distance(west, east) - 212.972) < 0.01)
        #expect(abs(Geodesy.bearing(from: west, to: east) - .pi / 2) < 1e-9)
        #expect(abs(Geodesy.bearing(from: east, to: west) - 3 * .pi / 2) < 1e-9)
        let there = LocalFrame(origin: west).point(east)
        #expect(abs(there.east - 212.972) < 0.01)
        let back = LocalFrame(origin: west).coordinate(of: there)
        #expect(abs(back.longitude - east.longitude) < 1e-9)
    }

    @Test("a local frame round-trips positions")
    func frame() {
        for latitude in [-80.0, -20, 0, 45, 60, 89] {
            for longitude in [-180, -1, 0, 90, 179.999_99] {
                let frame = LocalFrame(origin: Coordinate(latitude: latitude, longitude: longitude))
                for (east, north) in [(0.0, 0.0), (120, -40), (-9_000, 3_000), (0.01, 0.01)] {
                    let coordinate = frame.coordinate(of: LocalPoint(east: east, north: north))
                    let point = frame.point(coordinate)
                    #expect(abs(point.east - east) < 1e-5 && abs(point.north - north) < 1e-5)
                }
            }
        }
    }

    @Test("coincident positions have distance 0 and bearing 0")
    func coincident() {
        let place = Coordinate(latitude: 60, longitude: 24)
        #expect(Geodesy.distance(place, place) == 0)
        #expect(Geodesy.bearing(from: place, to: place) == 0)
    }

    static let hostile: [Double] = [.nan, .infinity, -.infinity, 1e300, -1e300, .leastNonzeroMagnitude, 0, 90, -180]

    @Test("extreme numbers never trap")
    func hostileNumbers() {
        for first in Self.hostile {
            for second in Self.hostile {
                let odd = Coordinate(latitude: first, longitude: second)
                let place = Coordinate(latitude: 60, longitude: 24)
                let frame = LocalFrame(origin: odd)
                _ = Geodesy.distance(odd, place)
                _ = Geodesy.bearing(from: place, to: odd)
                _ = Geodesy.destination(from: odd, bearing: first, distance: second)
                _ = Geodesy.destination(from: place, bearing: first, distance: second)
                _ = frame.coordinate(of: frame.point(place))
                _ = Angle.separation(first, second)
                let fixed = FixedCoordinate(odd)
                #expect(fixed.coordinate.isValid)
                let projection = SegmentProjection(
                    of: LocalPoint(east: first, north: second), start: LocalPoint(east: second, north: 1),
                    end: LocalPoint(east: 0, north: first))
                #expect(!(projection.fraction < 0) && !(projection.fraction > 1))
                let line = Polyline([odd, place, odd])
                _ = line.project(odd)
                _ = line.project(place)
                _ = line.coordinate(at: first)
                _ = line.bearing(at: second)
                _ = line.slice(from: first, to: second)
                for zoom: UInt8 in [0, 6, 22, 255] {
                    let tile = TileID(containing: odd, zoom: zoom)
                    #expect(TileID(zoom: tile.zoom, x: tile.x, y: tile.y) == tile)
                }
            }
        }
    }

    @Test("only finite positions on Earth are valid")
    func validity() {
        #expect(Coordinate(latitude: 90, longitude: -180).isValid)
        #expect(!Coordinate(latitude: 90.000_1, longitude: 0).isValid)
        #expect(!Coordinate(latitude: 0, longitude: 180.5).isValid)
        #expect(!Coordinate(latitude: .nan, longitude: 0).isValid)
        #expect(!Coordinate(latitude: 0, longitude: .infinity).isValid)
    }

    @Test("fixed-point positions round to the nearest and clamp")
    func fixedPoint() {
        let fixed = FixedCoordinate(Coordinate(latitude: 60.123_456_78, longitude: -24.987_654_34))
        #expect(fixed.latitudeE7 == 601_234_568 && fixed.longitudeE7 == -249_876_543)
        #expect(FixedCoordinate(Coordinate(latitude: 1e300, longitude: -1e300)).latitudeE7 == 900_000_000)
        #expect(FixedCoordinate(Coordinate(latitude: .nan, longitude: 0)).latitudeE7 == 0)
    }
}

@Suite("Angle")
struct AngleTests {
    @Test("normalised angles are in 0 ..< 2π and have the same direction")
    func normalised() {
        for step in -4_000...4_000 {
            let angle = Double(step) * 0.01
            let result = Angle.normalised(angle)
            #expect(result >= 0 && result < 2 * .pi)
            #expect(Angle.separation(angle, result) < 1e-9)
        }
        #expect(Angle.normalised(-1e-300) < 2 * .pi)
        #expect(Angle.normalised(-Double.leastNonzeroMagnitude) == 0)
        for odd in [Double.nan, .infinity, -.infinity] { #expect(Angle.normalised(odd) == 0) }
        #expect((0..<2 * Double.pi).contains(Angle.normalised(1e300)))
    }

    @Test("a turn to the right is positive, also across north")
    func difference() {
        #expect(abs(Angle.difference(from: Angle.radians(350), to: Angle.radians(20)) - Angle.radians(30)) < 1e-12)
        #expect(abs(Angle.difference(from: Angle.radians(20), to: Angle.radians(350)) + Angle.radians(30)) < 1e-12)
        #expect(abs(Angle.separation(0, .pi) - .pi) < 1e-12)
    }
}
