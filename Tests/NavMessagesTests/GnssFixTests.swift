import NavMessages
import Testing

@Suite("GnssFix on the wire")
struct GnssFixTests {
    static let full = GnssFix(
        latitude: 60.1699, longitude: 24.9384, altitude: 25.5,
        positionCovariance: [4, 0, 0, 0, 4, 0, 0, 0, 9], positionCovarianceType: .diagonalKnown,
        timestamp: Timestamp(seconds: 1_700_000_000, nanos: 123_456_789), frameId: "gnss",
        speed: 13.9, course: 1.57, velocityEastMps: 13.9, velocityNorthMps: 0.1, fixType: .rtkFixed,
        satellitesUsed: 17, hdop: 0.7, horizontalAccuracyM: 1.5, integrity: .ok, spoofing: .notDetected)

    @Test("a full fix survives a round trip")
    func roundTrip() throws {
        let bytes = Self.full.encoded()
        #expect(try GnssFix(decoding: bytes) == Self.full)
    }

    @Test("absent fields stay absent")
    func empty() throws {
        #expect(GnssFix().encoded() == [])
        #expect(try GnssFix(decoding: []) == GnssFix())
    }

    @Test("an enum value of a newer sender survives")
    func unknownEnum() throws {
        let fix = GnssFix(fixType: FixType(rawValue: 4711))
        let back = try GnssFix(decoding: fix.encoded())
        #expect(back.fixType?.rawValue == 4711)
        #expect(back.fixType?.isKnown == false)
    }
}
