import NavGNSS
import NavMessages
import NavTestKit
import Testing

@Suite(.needs("gnss/wire", "gnss/ingest"))
struct ReceiverLogTests {
    // Known differences from gpsd. bundg_zeus_9: a multiplexer whose RMC is a second older than the GGA of the same
    // time; gpsd uses the last sentence. garmin17n: a binary packet between the sentences corrects gpsd's date. bt451:
    // a GGA before any date. hemi, humminbird-M37: gpsd derives speed from positions and drops the VTG that arrives
    // between two times.
    @Test("positions, speeds and courses agree with gpsd's for the same sentences")
    func agreesWithGPSD() throws {
        var total = Comparison()
        for name in try TestData.names(in: "ingest/gpsd_logs", ending: ".log") {
            let one = try Comparison(name)
            guard !one.nmea.isEmpty else { continue }
            total.add(one)
            if name == "bundg_zeus_9.log" { continue }
            #expect(one.samePosition == one.matched, "\(name)")
            #expect(one.sameTrack == one.withTrack, "\(name)")
            if !["hemi.log", "humminbird-M37.log"].contains(name) {
                #expect(one.sameSpeed == one.withSpeed, "\(name)")
            }
        }
        #expect(total.expected == 2656)
        #expect(total.matched >= 2654, "epochs with the same time")
        #expect(total.samePosition >= 2570)
        #expect(total.sameSpeed >= 2555 && total.withSpeed >= 2585)
        #expect(total.sameTrack >= 1297 && total.withTrack >= 1320)
    }

    @Test("every receiver log is read to its end with the same result for any chunking")
    func everyLog() throws {
        var fixes = 0
        for name in try TestData.names(in: "ingest/gpsd_logs", ending: ".log") {
            let bytes = try TestData.recording("ingest/gpsd_logs/" + name).prefix(20_000)
            var whole = NMEAParser()
            let expected = whole.consume(Array(bytes)) + whole.finish()
            var single = NMEAParser()
            var got: [GnssFix] = []
            for byte in bytes { got += single.consume([byte]) }
            got += single.finish()
            #expect(got == expected && single.rejections == whole.rejections, "\(name)")
            fixes += got.count
        }
        #expect(fixes > 2000)
    }
}

/// One log as read by the NMEA parser, with gpsd's own reports of it.
struct Comparison {
    var nmea: [GnssFix] = []
    var expected = 0
    var matched = 0
    var samePosition = 0
    var sameSpeed = 0
    var withSpeed = 0
    var sameTrack = 0
    var withTrack = 0

    init() {}

    mutating func add(_ other: Comparison) {
        expected += other.expected
        matched += other.matched
        samePosition += other.samePosition
        sameSpeed += other.sameSpeed
        withSpeed += other.withSpeed
        sameTrack += other.sameTrack
        withTrack += other.withTrack
    }

    init(_ name: String) throws {
        let path = "ingest/gpsd_logs/" + name
        var parser = NMEAParser()
        // gpsd interprets dates before its release as a week rollover; the oldest log whose date it accepts is of 2017,
        // which is 512 weeks before this time.
        parser.hostTimeNs = 1_483_228_800_000_000_000 + 512 * 7 * 86_400_000_000_000
        nmea = parser.consume(Self.withChecksums(try TestData.recording(path))) + parser.finish()
        var oracle = GPSDParser()
        let reports = oracle.consume(try TestData.recording(path + ".chk")) + oracle.finish()
        // gpsd repeats an epoch when more of it is known; the last report is used.
        var last: [Int64: GnssFix] = [:]
        for fix in reports { if let stamp = fix.stampNs, fix.latitude != nil { last[stamp] = fix } }
        expected = last.count
        var own: [Int64: GnssFix] = [:]
        for fix in nmea { if let stamp = fix.stampNs, fix.latitude != nil { own[stamp] = fix } }
        for (stamp, want) in last {
            guard let got = own[stamp] else { continue }
            matched += 1
            if let a = want.latitude, let b = want.longitude, let c = got.latitude, let d = got.longitude,
                abs(a - c) < 1e-6, abs(b - d) < 1e-6
            {
                samePosition += 1
            }
            if let a = want.speed, let b = got.speed {
                withSpeed += 1
                if abs(a - b) < 0.01 { sameSpeed += 1 }
            }
            if let a = want.course, let b = got.course {
                withTrack += 1
                let turn = abs(a - b)
                if min(turn, 2 * .pi - turn) < 2e-4 { sameTrack += 1 }
            }
        }
    }

    /// Adds the checksums that some receivers do not send, because gpsd accepts their sentences.
    private static func withChecksums(_ log: [UInt8]) -> [UInt8] {
        Array(
            log.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { line in
                let content = line.dropFirst().prefix { (0x20...0x7e).contains($0) }
                let isBare = line.first == UInt8(ascii: "$") && !content.contains(UInt8(ascii: "*"))
                return isBare && content.count >= line.count - 2
                    ? NavGNSSTests.nmea(String(decoding: content, as: UTF8.self)).dropLast() : line
            }.joined(separator: "\n".utf8))
    }
}
