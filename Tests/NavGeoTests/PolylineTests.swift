import NavGeo
import Testing

@Suite("Polyline")
struct PolylineTests {
    static let origin = Coordinate(latitude: 60, longitude: 24)

    static func line(_ points: [(Double, Double)]) -> Polyline {
        let frame = LocalFrame(origin: origin)
        return Polyline(points.map { frame.coordinate(of: LocalPoint(east: $0.0, north: $0.1)) })
    }

    static func place(_ east: Double, _ north: Double) -> Coordinate {
        LocalFrame(origin: origin).coordinate(of: LocalPoint(east: east, north: north))
    }

    let bent = line([(0, 0), (100, 0), (100, 100)])

    @Test("lengths are cumulative and never decrease")
    func lengths() {
        #expect(abs(bent.length - 200) < 0.01)
        #expect(bent.cumulativeLengths.first == 0)
        #expect(bent.cumulativeLengths == bent.cumulativeLengths.sorted())
        #expect(Polyline([]).length == 0 && Polyline([Self.origin]).length == 0)
    }

    @Test("at a corner the bearing of arrival is that of the segment before it")
    func arrivalBearings() throws {
        let (east, north) = (Double.pi / 2, 0.0)
        let expected = [
            (0, east, east), (99, east, east), (bent.cumulativeLengths[1], east, north), (150, north, north),
        ]
        for (distance, arriving, leaving) in expected {
            let found = try #require(bent.bearing(arrivingAt: distance))
            #expect(Angle.separation(found, arriving) < 0.001, "\(distance)")
            #expect(Angle.separation(try #require(bent.bearing(at: distance)), leaving) < 0.001, "\(distance)")
        }
        #expect(Polyline([Self.origin, Self.origin]).bearing(arrivingAt: 0) == nil)
    }

    @Test("offsets map to positions and clamp to the exact ends")
    func positions() throws {
        let quarter = try #require(bent.coordinate(at: 50))
        #expect(Geodesy.distance(quarter, Self.place(50, 0)) < 0.01)
        #expect(bent.coordinate(at: -5) == bent.coordinates[0])
        #expect(bent.coordinate(at: 1e9) == bent.coordinates[2])
        for seed in 0..<500 {
            // Offsets whose difference is not exact in floating point.
            let end = Coordinate(latitude: 60 + Double(seed) / 997, longitude: 24 + Double(seed) / 991)
            #expect(Polyline([Self.origin, end]).coordinate(at: .infinity) == end)
        }
        #expect(Polyline([]).coordinate(at: 0) == nil)
    }

    @Test("bearings skip segments of length zero")
    func bearings() throws {
        #expect(abs(try #require(bent.bearing(at: 10)) - .pi / 2) < 1e-3)
        #expect(abs(try #require(bent.bearing(at: 150))) < 1e-3)
        let doubled = Self.line([(0, 0), (0, 0), (0, 50), (0, 50), (50, 50), (50, 50)])
        #expect(abs(try #require(doubled.bearing(at: 0))) < 1e-3)
        #expect(abs(try #require(doubled.bearing(at: 50.5)) - .pi / 2) < 1e-3)
        #expect(abs(try #require(doubled.bearing(at: 1_000)) - .pi / 2) < 1e-3)
        #expect(Self.line([(0, 0), (0, 0)]).bearing(at: 0) == nil)
    }

    @Test("a projection is the nearest point, or the earliest of equally near ones")
    func projections() throws {
        let hit = try #require(bent.project(Self.place(40, 7)))
        #expect(abs(hit.offset - 40) < 0.01 && abs(hit.distance - 7) < 0.01 && hit.segment == 0)
        let corner = try #require(bent.project(Self.place(120, -20)))
        #expect(abs(corner.offset - 100) < 0.01 && corner.segment == 0)
        let there = Self.line([(0, 0), (100, 0), (0, 0)])
        #expect(try #require(there.project(Self.origin)).segment == 0)
        #expect(Polyline([Self.origin]).project(Self.origin) == nil)
    }

    @Test("a window limits the projection")
    func windows() throws {
        let there = Self.line([(0, 0), (100, 0), (0, 0)])
        let back = try #require(there.project(Self.place(30, 0), within: 100...200))
        #expect(abs(back.offset - 170) < 0.01 && back.segment == 1)
        let clamped = try #require(there.project(Self.place(30, 0), within: 40...60))
        #expect(abs(clamped.offset - 40) < 0.01 && abs(clamped.distance - 10) < 0.01)
        let tail = try #require(bent.project(Self.place(0, 0), within: 190...1e9))
        #expect(abs(tail.offset - 190) < 0.01)
    }

    @Test("a window beyond the line has no projection")
    func windowsOutside() {
        #expect(bent.project(Self.place(0, 0), within: 500...600) == nil)
        #expect(bent.project(Self.place(0, 0), within: -20 ... -10) == nil)
    }

    @Test("slices have interpolated ends and keep the points between")
    func slices() {
        let slice = bent.slice(from: 50, to: 150)
        #expect(slice.count == 3 && slice[1] == bent.coordinates[1])
        #expect(abs(Polyline(slice).length - 100) < 0.01)
        #expect(bent.slice(from: -10, to: .infinity) == bent.coordinates)
        #expect(bent.slice(from: 100, to: 100).isEmpty)
        #expect(bent.slice(from: 300, to: 400).isEmpty)
    }

    @Test("joined slices equal the line", arguments: 1...40)
    func cutAndJoined(pieces: Int) {
        let step = bent.length / Double(pieces)
        let total = (0..<pieces).reduce(0.0) {
            $0 + Polyline(bent.slice(from: Double($1) * step, to: Double($1 + 1) * step)).length
        }
        #expect(abs(total - bent.length) < 1e-3)
    }

    @Test("a line across the antimeridian has the correct length")
    func antimeridian() throws {
        let line = Polyline([
            Coordinate(latitude: 0, longitude: 179.9), Coordinate(latitude: 0, longitude: -179.9),
        ])
        #expect(abs(line.length - 22_263.9) < 1)
        let middle = try #require(line.coordinate(at: line.length / 2))
        #expect(abs(abs(middle.longitude) - 180) < 1e-6)
        let hit = try #require(line.project(Coordinate(latitude: 0.01, longitude: -179.95)))
        #expect(abs(hit.offset - line.length * 0.75) < 1)
    }
}
