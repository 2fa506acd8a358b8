import NavGNSS
import NavMessages
import Testing

@Suite("gpsd's JSON")
struct GPSDTests {
    private func parse(_ lines: String...) -> [GnssFix] {
        var parser = GPSDParser()
        return parser.consume(Array(lines.joined(separator: "\r\n").utf8)) + parser.finish()
    }

    @Test("a TPV report becomes a fix with all its fields")
    func tpv() throws {
        let fix = try #require(
            parse(
                #"{"class":"SKY","device":"/dev/gps","hdop":0.9,"vdop":1.1,"pdop":1.4,"satellites":"#
                    + #"[{"PRN":1,"used":true},{"PRN":2,"used":false}]}"#,
                #"{"class":"ATT","device":"/dev/gps","heading":180.0}"#,
                #"{"class":"TPV","device":"/dev/gps","mode":3,"status":3,"time":"2016-12-31T23:59:60.123456789Z","#
                    + #""lat":-1.5,"lon":2.25,"altHAE":50.5,"altMSL":5.5,"geoidSep":45,"eph":3.2,"epv":4.5,"eps":0.5,"#
                    + #""epd":180,"speed":7.5,"track":90,"climb":-0.5,"velN":0,"velE":7.5,"velD":0.25,"jam":42}"#
            ).first)
        #expect(fix.stampNs == 1_483_228_800_123_456_789)
        #expect(fix.latitude == -1.5 && fix.longitude == 2.25 && fix.fixType == .rtkFixed)
        #expect(fix.altitude == 50.5 && fix.altitudeDatum == .ellipsoid && fix.geoidSeparationM == 45)
        #expect(fix.horizontalAccuracyM == 3.2 && fix.verticalAccuracyM == 4.5 && fix.speedAccuracyMps == 0.5)
        #expect(fix.courseAccuracyRad == .pi && fix.course == .pi / 2 && fix.heading == .pi && fix.speed == 7.5)
        #expect(fix.velocityEastMps == 7.5 && fix.velocityUpMps == -0.25)
        #expect(fix.satellitesUsed == 1 && fix.satellitesVisible == 2 && fix.hdop == 0.9)
        #expect(fix.metadata == [KeyValue(key: "gpsd.jam", value: "42")] && fix.source == "/dev/gps")
        #expect(fix.positionCovariance.isEmpty)
    }

    @Test("a report of mode 1 has neither fix nor position; absent fields are unknown")
    func noFix() throws {
        let fixes = parse(
            #"{"class":"TPV","mode":1,"lat":1,"lon":2}"#,
            #"{"class":"TPV","mode":2,"lat":1,"lon":2,"speed":-1,"track":400}"#,
            #"{"class":"TPV","mode":2,"lat":91,"lon":2,"time":"2016-13-31T23:59:60Z"}"#)
        #expect(fixes.map(\.fixType) == [.noFix, .twoD, .twoD])
        #expect(fixes.map(\.latitude) == [nil, 1, nil])
        #expect(fixes.allSatisfy { $0.speed == nil && $0.course == nil && $0.timestamp == nil && $0.altitude == nil })
    }

    @Test("a peer other than gpsd, and an error of gpsd, are detected")
    func foreignPeer() {
        var other = GPSDParser()
        _ = other.consume(Array("SSH-2.0-OpenSSH\r\n".utf8))
        #expect(other.isForeign && other.firstError == nil)
        var server = GPSDParser()
        _ = server.consume(Array(#"{"class":"VERSION"}"#.utf8) + Array("\n".utf8))
        _ = server.consume(Array(#"{"class":"ERROR","message":"no device"}"#.utf8) + Array("\n".utf8))
        #expect(!server.isForeign && server.firstError == "no device")
    }

    @Test("a GST sets the covariance only of the TPV of the same time")
    func noise() {
        let fixes = parse(
            #"{"class":"GST","time":"2020-01-01T00:00:00Z","lat":3,"lon":4,"alt":5}"#,
            #"{"class":"TPV","mode":3,"time":"2020-01-01T00:00:00.000Z","lat":1,"lon":2}"#,
            #"{"class":"GST","time":"2020-01-01T00:00:00Z","lat":3,"lon":4,"alt":5}"#,
            #"{"class":"TPV","mode":3,"time":"2020-01-01T00:00:01.000Z","lat":1,"lon":2}"#)
        #expect(fixes.map(\.positionCovariance) == [[16, 0, 0, 0, 9, 0, 0, 0, 25], []])
    }

    @Test("reports of other classes and invalid lines are counted")
    func others() {
        var parser = GPSDParser()
        let lines = [
            #"{"class":"VERSION","release":"3.22","proto_major":3,"proto_minor":14}"#,
            #"{"class":"DEVICES","devices":[{"class":"DEVICE","path":"/dev/ttyACM0"}]}"#,
            #"{"class":"ERROR","message":"Unrecognized \"request\" \u00e9\ud83d\ude00"}"#,
            #"{"class":"WATCH","enable":true}"#, "$GPRMC,1", #"{"class":"NEW"}"#, "{", #"{"class":"TPV","mode":3"#,
            #"{"a":"# + String(repeating: "[", count: 500) + "}", String(repeating: "x", count: 70_000),
        ]
        #expect(parser.consume(Array(lines.joined(separator: "\n").utf8) + [10]).isEmpty)
        #expect(parser.rejections[.notJSON] == 4 && parser.rejections[.unknownClass] == 1)
        #expect(parser.rejections[.tooLong] == 1 && parser.rejections[.serverError] == 1 && parser.firstBadLine == 5)
        #expect(GPSDParser.handshake == Array("?WATCH={\"enable\":true,\"json\":true};\n".utf8))
    }

    @Test("reports of several devices are kept separate")
    func devices() {
        let fixes = parse(
            #"{"class":"SKY","device":"a","hdop":1,"uSat":4}"#, #"{"class":"TPV","device":"b","mode":3}"#,
            #"{"class":"TPV","device":"a","mode":3}"#)
        #expect(fixes.map(\.hdop) == [nil, 1])
    }
}
