import NavMessages
import Testing

@Suite("JSON and conveniences")
struct TextAndConvenienceTests {
    @Test("JSON has schema names, enum names and 64-bit numbers as strings, without absent fields")
    func json() throws {
        let progress = RouteProgress(
            stampNs: -5, routeId: .max, legIndex: 0, distanceRemainingM: 12.5, deviation: .offRoute,
            roadName: "A \"b\"\n", isSnapped: false, source: PositionSource(rawValue: 99))
        let text = try MessageJSON.text(of: progress)
        #expect(
            text
                == #"{"stamp_ns":"-5","route_id":"18446744073709551615","leg_index":0,"distance_remaining_m":12.5,"#
                + #""deviation":"DEVIATION_STATE_OFF_ROUTE","road_name":"A \"b\"\n","is_snapped":false,"source":99}"#)
    }

    @Test("JSON covers lists, nested messages, oneofs, bytes and non-finite numbers")
    func jsonNested() throws {
        let entry = JournalEntry(event: .tiles(TileArrival(added: [TileKey(zoom: 12, x: 1)])))
        #expect(try MessageJSON.text(of: entry) == #"{"tiles":{"added":[{"zoom":12,"x":1}]}}"#)
        let texts: [([UInt8], String)] = [([], ""), ([1], "AQ=="), ([1, 2], "AQI="), ([1, 2, 3], "AQID")]
        for (bytes, text) in texts {
            #expect(try MessageJSON.text(of: GetTileResponse(data: bytes)) == #"{"data":"\#(text)"}"#)
        }
        #expect(try MessageJSON.text(of: Coordinate(latitude: .nan)) == #"{"latitude":"NaN"}"#)
        #expect(try MessageJSON.text(of: Coordinate(longitude: -.infinity)) == #"{"longitude":"-Infinity"}"#)
        #expect(try MessageJSON.text(of: StopNavigationRequest(), indent: true) == "{}")
        #expect(try MessageJSON.text(of: Coordinate(latitude: 1), indent: true) == "{\n  \"latitude\": 1.0\n}")
    }

    @Test("JSON refuses the same bytes as decoding")
    func jsonHostile() {
        #expect(throws: MessageError.invalidString(field: "navbus.v1.GnssFix.frame_id")) {
            try MessageJSON.text(decoding: [0x3a, 2, 0x41, 0], as: "navbus.v1.GnssFix")
        }
        #expect(throws: MessageError.malformed(type: "navbus.v1.GnssFix", size: 2)) {
            try MessageJSON.text(decoding: [0x3a, 2], as: "navbus.v1.GnssFix")
        }
    }

    @Test("a line keeps its points to 1e-7 degrees, also across the antimeridian")
    func polyline() {
        let points: [(latitude: Double, longitude: Double)] = [
            (60.1, 179.9999999), (-90, -180), (0, 180), (0, 0),
        ]
        let back = Polyline(points).coordinates()
        #expect(back.count == points.count)
        for (a, b) in zip(points, back) {
            #expect(abs(a.latitude - b.latitude) < 1e-7 && abs(a.longitude - b.longitude) < 1e-7)
        }
    }

    @Test("a line clamps invalid coordinates and ignores a surplus delta")
    func polylineHostile() {
        let line = Polyline([(latitude: Double.nan, longitude: 1e300), (latitude: -.infinity, longitude: -1e300)])
        #expect(line.coordinates().map { $0.latitude } == [0, 0])
        #expect(line.coordinates().map { $0.longitude } == [180, -180])
        #expect(Polyline(latDeltasE7: [.max, .max, .max], lonDeltasE7: [.min, .min]).coordinates().count == 2)
    }

    @Test("nanoseconds and timestamps convert both ways", arguments: [0, 1, -1, .max, .min, 1_700_000_000_123_456_789])
    func timestamps(nanoseconds: Int64) {
        let stamp = Timestamp(nanoseconds: nanoseconds)
        #expect((0..<1_000_000_000).contains(stamp.nanos))
        #expect(stamp.nanoseconds == nanoseconds)
        #expect(Timestamp(seconds: .max, nanos: 0).nanoseconds == nil)
        #expect(Timestamp(seconds: .min, nanos: 5).nanoseconds == nil)
        #expect(Timestamp(seconds: 0, nanos: -1).nanoseconds == nil)
    }
}
