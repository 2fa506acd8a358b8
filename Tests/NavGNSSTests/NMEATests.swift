import NavGNSS
import NavMessages
import Testing

private let knot = 1852.0 / 3600

@Suite("NMEA 0183")
struct NMEATests {
    @Test("sentences of the same time form one fix")
    func oneEpoch() throws {
        let fixes = parse(
            "GPRMC,092751.250,A,5321.6802,N,00630.3372,W,10.0,270.0,280511,,,A",
            "GPGGA,092751.250,5321.6802,N,00630.3372,W,1,8,1.03,61.7,M,55.2,M,,",
            "GPGSA,A,3,10,07,05,02,29,04,08,13,,,,,1.72,1.03,1.38",
            "GPGST,092751.250,,,,,3.0,4.0,5.0", "GPGSV,3,1,11,10,63,137,17")
        #expect(fixes.count == 1)
        let fix = try #require(fixes.first)
        #expect(fix.stampNs == 1_306_574_871_250_000_000)
        #expect(abs((fix.latitude ?? 0) - (53 + 21.6802 / 60)) < 1e-12)
        #expect(abs((fix.longitude ?? 0) + (6 + 30.3372 / 60)) < 1e-12)
        #expect(abs((fix.speed ?? 0) - 10 * knot) < 1e-12)
        #expect(abs((fix.course ?? 0) - 1.5 * .pi) < 1e-12)
        #expect(fix.altitude == 61.7 && fix.altitudeDatum == .meanSeaLevel && fix.geoidSeparationM == 55.2)
        #expect(fix.satellitesUsed == 8 && fix.satellitesVisible == 11)
        #expect(fix.hdop == 1.03 && fix.vdop == 1.38 && fix.pdop == 1.72)
        #expect(fix.fixType == .threeD)
        #expect(fix.positionCovariance == [16, 0, 0, 0, 9, 0, 0, 0, 25])
        #expect(fix.positionCovarianceType == .diagonalKnown && fix.verticalAccuracyM == 5)
        #expect(abs((fix.horizontalAccuracyM ?? 0) - 5 * 1.067431) < 1e-4)
    }

    @Test("empty fields are unknown, and a dilution alone gives no accuracy")
    func unknown() throws {
        let fix = try #require(
            parse("GNRMC,083324.00,A,5018.113280,N,01155.548960,E,,,110319,,,A").first)
        #expect(fix.speed == nil && fix.course == nil && fix.altitude == nil && fix.altitudeDatum == nil)
        let diluted = try #require(parse("GPGGA,083324.00,5018.1,N,01155.5,E,1,09,0.9,,M,,M,,").first)
        #expect(diluted.hdop == 0.9 && diluted.horizontalAccuracyM == nil && diluted.positionCovariance.isEmpty)
        #expect(diluted.timestamp == nil, "no date was received")
    }

    @Test("a void epoch is published without a position, even if sentences disagree")
    func void() throws {
        let fixes = parse(
            "GPRMC,120000,V,5321.6802,N,00630.3372,W,1,2,280511,,,N",
            "GPGGA,120001,5321.6802,N,00630.3372,W,1,8,1.0,61.7,M,,,,",
            "GPRMC,120001,V,,,,,,,280511,,,N")
        #expect(fixes.map(\.fixType) == [.noFix, .noFix])
        #expect(fixes.allSatisfy { $0.latitude == nil && $0.longitude == nil && $0.speed == nil && $0.altitude == nil })
        #expect(fixes.first?.stampNs == 1_306_584_000_000_000_000)
    }

    @Test("a receiver without a time gives one report without a fix per cycle")
    func coldStart() {
        let fixes = parse(
            "GPRMC,,V,,,,,,,,,,N", "GPGGA,,,,,,0,00,99.99,,,,,,", "GPRMC,,V,,,,,,,,,,N", "GPGGA,,,,,,0,00,99.99,,,,,,")
        #expect(fixes.map(\.fixType) == [.noFix, .noFix])
        #expect(fixes.allSatisfy { $0.timestamp == nil && $0.hdop == nil })
    }

    @Test("wrong and missing checksums are rejected, and lower case is accepted")
    func checksums() {
        let line = "GPRMC,092751,A,5321.6802,N,00630.3372,W,10.0,270.0,280511,,,A"
        var wrong = nmea(line)
        wrong[20] ^= 1
        var strict = NMEAParser()
        #expect((strict.consume(wrong) + strict.finish()).isEmpty && strict.rejections[.checksum] == 1)
        let bare = Array("$\(line)\r\n".utf8)
        #expect((strict.consume(bare) + strict.finish()).isEmpty && strict.rejections[.missingChecksum] == 1)
        let lower = String(decoding: nmea(line), as: UTF8.self).split(separator: "*")
        #expect((strict.consume(Array("\(lower[0])*\(lower[1].lowercased())".utf8)) + strict.finish()).count == 1)
    }

    @Test("proprietary, encapsulated, unused and query sentences are counted by kind, and noise once per run")
    func counting() {
        var parser = NMEAParser()
        var stream = [UInt8](repeating: 0xb5, count: 40)
        for content in ["PUBX,00,1", "CCGPQ,RMC", "GPXDR,1", "GP,1", "GPGGA,1"] { stream += nmea(content) }
        stream += Array("!AIVDM,1,1,,A,x,0*".utf8) + Array("\n$GPRMC,tooshort$".utf8) + nmea("X").dropFirst()
        stream += [0x24] + [UInt8](repeating: 0x41, count: 2000)
        _ = parser.consume(stream) + parser.finish()
        let rejections = parser.rejections
        #expect(rejections[.garbage] == 1 && rejections[.proprietary] == 1 && rejections[.query] == 1)
        #expect(rejections[.unusedKind] == 3 && rejections[.truncated] == 2 && rejections[.tooLong] == 1)
        #expect(rejections[.badTime] == 1 && rejections[.noSolution] == 1)
    }

    @Test("a sentence interrupted by binary data is accepted if its checksum is correct")
    func mixedStream() {
        var parser = NMEAParser()
        let sentence = nmea("GPRMC,092751,A,5321.6802,N,00630.3372,W,10.0,270.0,280511,,,A").dropLast(2)
        #expect((parser.consume(sentence + [0xb5, 0x62, 0x01, 0x07]) + parser.finish()).count == 1)
    }

    @Test("two-digit years from 80 on are in the 20th century; ZDA has four digits")
    func centuries() {
        let old = parse("GPRMC,000000,A,5321.6802,N,00630.3372,W,,,311299,,,A")
        #expect(old.first?.stampNs == 946_598_400_000_000_000)
        let new = parse("GPZDA,000001,01,01,2000,00,00", "GPGGA,000001,5321.6802,N,00630.3372,W,1,8,1.0,6,M,,,,")
        #expect(new.first?.stampNs == 946_684_801_000_000_000)
        let none = parse("GPRMC,000000,A,5321.6802,N,00630.3372,W,,,310299,,,A")
        #expect(none.first?.latitude != nil && none.first?.timestamp == nil, "31 February does not exist")
    }

    @Test("a week rollover is corrected only if that brings the date nearer to the host's clock")
    func rolloverByTheHostsClock() {
        func read(_ date: String, host: Int64?) -> (stampNs: Int64?, moved: MovedDate?) {
            var parser = NMEAParser()
            parser.hostTimeNs = host
            let fixes = parser.consume(nmea("GPRMC,120000,A,5321.6802,N,00630.3372,W,,,\(date),,,A")) + parser.finish()
            return (fixes.first?.stampNs, parser.movedDate)
        }
        // 2026-11-27
        let host: Int64 = 1_795_737_600_000_000_000
        let near = read("200724", host: host)
        #expect(near.stampNs == 1_721_476_800_000_000_000 && near.moved == nil)
        #expect(read("180506", host: nil).moved == nil)
        let moved = read("180506", host: host)
        #expect(moved.stampNs == 1_767_268_800_000_000_000, "2006-05-18 and 1024 weeks")
        #expect(moved.moved == MovedDate(sentNs: 1_147_910_400_000_000_000, usedNs: 1_767_225_600_000_000_000))
        // A date after that of the host is not changed.
        #expect(read("010140", host: host).moved == nil)
    }

    @Test("a date outside the range of stamps is rejected", arguments: ["0100", "1677", "2263", "9999"])
    func dateOutOfRange(year: String) {
        for host in [nil, 1_795_737_600_000_000_000] as [Int64?] {
            var parser = NMEAParser()
            parser.hostTimeNs = host
            let sentences =
                nmea("GPZDA,120000.00,01,01,\(year),00,00")
                + nmea("GPRMC,120000.00,A,5321.6802,N,00630.3372,W,,,0101\(year),,,A")
            let fixes = parser.consume(sentences) + parser.finish()
            #expect(fixes.count == 1 && fixes.first?.latitude != nil && fixes.first?.timestamp == nil)
            #expect(parser.rejections[.badTime] == 2 && parser.movedDate == nil)
        }
    }

    @Test("without a date, the day changes at midnight in both directions")
    func midnight() {
        let fixes = parse(
            "GPRMC,235959.5,A,5321.6802,N,00630.3372,W,,,280511,,,A",
            "GPGGA,000000.0,5321.6802,N,00630.3372,W,1,8,1.0,6,M,,,,",
            "GPGGA,235959.8,5321.6802,N,00630.3372,W,1,8,1.0,6,M,,,,",
            "GPGLL,5321.6802,N,00630.3372,W,000000.5,A,A")
        let midnight: Int64 = 1_306_627_200_000_000_000
        #expect(fixes.map(\.stampNs) == [-500_000_000, 0, -200_000_000, 500_000_000].map { midnight + $0 })
    }

    @Test("a leap second is a separate fix with the stamp of the next midnight")
    func leapSecond() {
        let fixes = parse(
            "GPRMC,235959,A,5321.6802,N,00630.3372,W,,,311216,,,A",
            "GPRMC,235960,A,5321.6802,N,00630.3372,W,,,311216,,,A",
            "GPRMC,000000,A,5321.6802,N,00630.3372,W,,,010117,,,A")
        #expect(fixes.map(\.stampNs) == [-1, 0, 0].map { 1_483_228_800_000_000_000 + $0 * 1_000_000_000 })
        #expect(parse("GPRMC,235961,A,5321.6802,N,00630.3372,W,,,311216,,,A").first?.timestamp == nil)
    }

    @Test("the fix type derives from the quality of GGA, or else from the mode indicators")
    func fixTypes() {
        let byQuality: [(Int, FixType)] = [
            (0, .noFix), (1, .threeD), (2, .differential), (3, .threeD), (4, .rtkFixed), (5, .rtkFloat),
            (6, .deadReckoning), (7, .manual), (8, .simulated),
        ]
        for (quality, type) in byQuality {
            #expect(parse("GPGGA,120000,5321.6,N,00630.3,W,\(quality),8,1.0,6,M,,,,").first?.fixType == type)
        }
        let byMode: [(String, FixType)] = [
            ("A", .twoD), ("D", .differential), ("E", .deadReckoning), ("F", .rtkFloat), ("R", .rtkFixed),
            ("N", .noFix),
            ("S", .simulated), ("M", .manual),
        ]
        for (mode, type) in byMode {
            #expect(parse("GPRMC,120000,A,5321.6,N,00630.3,W,,,280511,,,\(mode)").first?.fixType == type)
        }
        #expect(parse("GNGNS,120000,5321.6,N,00630.3,W,NRA,8,1.0,6,47,,").first?.fixType == .rtkFixed)
        #expect(parse("GNGNS,120000,,,,,NNN,0,,,,,").first?.fixType == .noFix)
    }

    @Test("VTG sets speed and course; heading is separate from the course")
    func motion() throws {
        let fix = try #require(
            parse(
                "GPGGA,120000,5321.6802,S,00630.3372,E,1,8,1.0,6,M,,,,", "GPVTG,360.0,T,,M,,N,36.0,K,A",
                "HEHDT,90.0,T"
            ).first)
        #expect(fix.course == 0 && fix.heading == .pi / 2)
        #expect(abs((fix.speed ?? 0) - 10) < 1e-12)
        #expect((fix.latitude ?? 0) < 0 && (fix.longitude ?? 0) > 0)
        #expect(parse("GPGGA,120000,5321.6,S,00630.3,E,1,8,1,6,M,,,,", "INTHS,90.0,V").first?.heading == nil)
    }

    @Test("the receiver's integrity monitoring is reported")
    func integrity() {
        let fix = "GPGGA,120000,5321.6802,S,00630.3372,E,1,8,1.0,6,M,,,,"
        #expect(parse(fix, "GPGBS,120000,2.3,3.5,4.0,,,,,,").first?.integrity == .ok)
        #expect(parse(fix, "GPGBS,120000,2.3,3.5,4.0,17,0.1,5,1").first?.integrity == .warning)
        #expect(parse(fix, "GPGBS,120000,,,,,,,").first?.integrity == nil)
    }

    @Test(
        "an invalid position is rejected, and the rest of its sentence is used",
        arguments: [
            "9021.6,N,00630.3,W", "5360.0,N,00630.3,W", "5321.6,X,00630.3,W", "53x1.6,N,00630.3,W",
            "5321.6,N,18100.0,E",
        ])
    func badPositions(place: String) {
        let fix = parse("GPRMC,120000,A,\(place),10,,280511,,,A").first
        #expect(fix != nil && fix?.latitude == nil && fix?.longitude == nil && fix?.speed != nil)
    }

    @Test("a live receiver's epoch is emitted with its last sentence once the cycle is learned")
    func learnedCycle() {
        var parser = NMEAParser(epochEnd: .learned)
        func cycle(_ second: Int) -> [[UInt8]] {
            [
                nmea("GPRMC,12000\(second),A,5321.6802,N,00630.3372,W,,,280511,,,A"),
                nmea("GPGGA,12000\(second),5321.6802,N,00630.3372,W,1,8,1.0,6,M,,,,"),
                nmea("GPGSA,A,3,10,07,,,,,,,,,,,1.7,1.0,1.3"), nmea("GPGSA,A,3,60,61,,,,,,,,,,,1.7,1.0,1.3"),
            ]
        }
        var atEnd: [Int] = []
        for second in 0..<6 {
            var counts = 0
            for (index, sentence) in cycle(second).enumerated() {
                let fixes = parser.consume(sentence)
                counts += fixes.count
                if index == 3 { atEnd.append(fixes.count) }
            }
            #expect(counts <= 2)
        }
        #expect(atEnd == [0, 0, 0, 1, 1, 1])
        #expect(parser.consume(nmea("GPGST,120005,,,,,3.0,4.0,5.0")).isEmpty)
        #expect(parser.rejections[.late] == 1)
        #expect(parser.finish().isEmpty)
    }

    @Test("a live receiver's epochs with the same time are separate fixes", arguments: [1, 5, 30])
    func repeatedTime(repetitions: Int) {
        var live = NMEAParser(epochEnd: .learned)
        var recorded = NMEAParser()
        var (fixes, expected): ([GnssFix], [GnssFix]) = ([], [])
        for epoch in 0..<30 {
            let second = 10 + epoch / repetitions
            let sentences =
                nmea("GPRMC,1200\(second),V,,,,,,,280511,,,N") + nmea("GPGGA,1200\(second),,,,,0,00,99.99,,,,,,")
            fixes += live.consume(sentences)
            expected += recorded.consume(sentences)
        }
        fixes += live.finish()
        expected += recorded.finish()
        #expect(fixes.count == 30 && fixes == expected && live.rejections[.late] == 0)
    }
}
