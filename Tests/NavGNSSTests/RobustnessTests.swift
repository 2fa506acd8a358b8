import NavGNSS
import NavMessages
import NavSimulation
import Testing

/// Small inputs of each format, including parts that are difficult to split.
private let samples: [(format: TraceFormat, bytes: [UInt8])] = [
    (
        .nmea,
        nmea("GPRMC,092751.250,A,5321.6802,N,00630.3372,W,10.0,270.0,280511,,,A") + [0xb5, 0x62, 0x00, 0x24]
            + nmea("GPGGA,092751.250,5321.6802,N,00630.3372,W,1,8,1.03,61.7,M,55.2,M,,")
            + nmea("GPGSA,A,3,10,07,05,02,29,04,08,13,,,,,1.72,1.03,1.38") + nmea("GPGST,092751.250,,,,,3.0,4.0,5.0")
            + nmea("GPZDA,092752,28,05,2011,00,00") + nmea("GPGLL,5321.6802,N,00630.3372,W,092752,A,A")
            + nmea("GPVTG,1,T,,M,5,N,9,K,A") + nmea("HEHDT,90.0,T") + nmea("GPGBS,092752,2,3,4,,,,")
            + nmea("GNGNS,092753,5321.6802,N,00630.3372,W,AN,8,1.0,6,47,,") + nmea("GPGSV,3,1,11,10,63,137,17")
    ),
    (
        .gpsd,
        Array(
            (#"{"class":"VERSION","release":"3.22","proto_major":3}"# + "\r\n"
                + #"{"class":"SKY","hdop":0.9,"satellites":[{"PRN":1,"used":true},{"PRN":2,"used":false}]}"# + "\n"
                + #"{"class":"GST","lat":3.0e0,"lon":4,"alt":5}"# + "\n{}\n"
                + #"{"class":"TPV","device":"\u00e9\n","mode":3,"time":"2016-12-31T23:59:60.1Z","lat":-1.5,"lon":2.25,"#
                + #""altHAE":50.5,"eph":3.2,"speed":7.5,"track":90,"jam":42}"#).utf8)
    ),
    (
        .csv,
        Array(
            ("\u{feff}t_s,lat,lon,speed_mps,heading_deg,hdop,h_acc_m,label\r\n"
                + "1721469132.2,35.1,136.8,1,2,3,4,\"a,b\"\r\n"
                + "1721469133,35.1,136.8,,,,,\n1721469134.000000001,-35.1,-136.8,0,359,1,1,x").utf8)
    ),
    (
        .gpx,
        Array(
            ("<?xml version='1.0'?><!DOCTYPE gpx []><!-- c --><gpx><trk><trkseg><trkpt lat=\"1\" lon=\"2\"><ele>3</ele>"
                + "<time>2024-07-20T09:52:12Z</time><hdop><![CDATA[1]]></hdop><x:speed>&#49;</x:speed></trkpt>"
                + "<trkpt lat='1' lon='2'/></trkseg></trk></gpx>").utf8)
    ),
]

/// A common interface of both streaming parsers.
private struct Streaming {
    private var nmea = NMEAParser()
    private var gpsd = GPSDParser()
    private var csv = CSVTraceParser()
    let format: TraceFormat

    init(_ format: TraceFormat) { self.format = format }

    mutating func consume(_ bytes: [UInt8]) -> [GnssFix] {
        switch format {
        case .nmea: nmea.consume(bytes)
        case .gpsd: gpsd.consume(bytes)
        default: csv.consume(bytes)
        }
    }

    mutating func finish() -> [GnssFix] {
        switch format {
        case .nmea: nmea.finish()
        case .gpsd: gpsd.finish()
        default: csv.finish()
        }
    }

    var rejections: RejectionCounts {
        switch format {
        case .nmea: nmea.rejections
        case .gpsd: gpsd.rejections
        default: csv.rejections
        }
    }
}

private func stream(_ bytes: [UInt8], _ format: TraceFormat, cutAt cuts: [Int]) -> ([GnssFix], RejectionCounts) {
    var parser = Streaming(format)
    var fixes: [GnssFix] = []
    var start = 0
    for cut in cuts + [bytes.count] {
        fixes += parser.consume(Array(bytes[start..<cut]))
        start = cut
    }
    fixes += parser.finish()
    return (fixes, parser.rejections)
}

private func isClean(_ fix: GnssFix) -> Bool {
    let numbers: [Double?] = [
        fix.latitude, fix.longitude, fix.altitude, fix.heading, fix.speed, fix.course, fix.hdop, fix.vdop, fix.pdop,
        fix.horizontalAccuracyM, fix.verticalAccuracyM, fix.speedAccuracyMps, fix.courseAccuracyRad,
        fix.geoidSeparationM, fix.differentialAgeS, fix.velocityEastMps, fix.velocityNorthMps, fix.velocityUpMps,
    ]
    guard numbers.allSatisfy({ $0?.isFinite ?? true }), fix.positionCovariance.allSatisfy(\.isFinite) else {
        return false
    }
    let angles = [fix.heading, fix.course].compactMap { $0 }
    return (fix.latitude.map { abs($0) <= 90 } ?? true) && (fix.longitude.map { abs($0) <= 180 } ?? true)
        && (fix.latitude == nil) == (fix.longitude == nil) && angles.allSatisfy { $0 >= 0 && $0 < 2 * .pi }
        && (fix.speed ?? 0) >= 0 && (fix.timestamp.map { (0..<1_000_000_000).contains($0.nanos) } ?? true)
}

@Suite("Damaged and hostile input")
struct RobustnessTests {
    @Test(
        "the chunking of a stream does not affect the result",
        arguments: samples.filter { $0.format != .gpx }.map(\.format))
    func cuts(format: TraceFormat) throws {
        let bytes = try #require(samples.first { $0.format == format }).bytes
        let whole = stream(bytes, format, cutAt: [])
        #expect(!whole.0.isEmpty && whole.0.allSatisfy(isClean))
        for cut in 0...bytes.count {
            let cutOnce = stream(bytes, format, cutAt: [cut])
            #expect(cutOnce == whole, "cut at \(cut)")
        }
        #expect(stream(bytes, format, cutAt: Array(1..<bytes.count)) == whole)
        #expect(stream(bytes, format, cutAt: Array(stride(from: 0, to: bytes.count, by: 7))) == whole)
    }

    @Test("50,000 damaged inputs neither trap nor yield an invalid value", arguments: 0..<4)
    func mutations(index: Int) {
        let (format, original) = samples[index]
        for seed in 0..<12_500 {
            var random = SeededRandom(seed: UInt64(seed) << 2 | UInt64(index))
            var bytes = original
            for _ in 0..<Int.random(in: 1...4, using: &random) { damage(&bytes, &random) }
            if format == .gpx {
                #expect(GPXReader(bytes).fixes.allSatisfy(isClean), "seed \(seed)")
                continue
            }
            let cut = Int.random(in: 0...bytes.count, using: &random)
            let result = stream(bytes, format, cutAt: [cut])
            #expect(result.0.allSatisfy(isClean), "seed \(seed)")
        }
    }

    private func damage(_ bytes: inout [UInt8], _ random: inout SeededRandom) {
        guard !bytes.isEmpty else { return }
        let at = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<7, using: &random) {
        case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 2: bytes.remove(at: at)
        case 3: bytes.removeSubrange(at..<min(bytes.count, at + Int.random(in: 1...40, using: &random)))
        case 4: bytes.insert(contentsOf: Array("9".utf8) * Int.random(in: 1...30, using: &random), at: at)
        case 5: bytes.insert(Array(",.*$-+e\n\"{}[]<>&".utf8).randomElement(using: &random) ?? 0, at: at)
        default:
            let end = min(bytes.count, at + Int.random(in: 1...60, using: &random))
            bytes.insert(contentsOf: Array(bytes[at..<end]), at: Int.random(in: 0...bytes.count, using: &random))
        }
    }

    @Test("extreme numbers in a valid sentence are rejected or finite")
    func extremeNumbers() {
        for number in ["1e308", "-1e308", "99999999999999999999", "1e-400", "-0", "9e9", "0.0000000000000000000001"] {
            for content in [
                "GPRMC,120000,A,5321.6,N,00630.3,W,\(number),\(number),280511,,,A",
                "GPGGA,120000,5321.6,N,00630.3,W,\(number),\(number),\(number),\(number),M,\(number),M,\(number),",
                "GPGST,120000,,,,,\(number),\(number),\(number)", "GPGSV,1,1,\(number)",
                "GPZDA,\(number),\(number),1,1",
                "GPRMC,\(number),A,\(number),N,\(number),W,,,\(number),,,A",
            ] {
                let fixes = parse("GPGGA,120000,5321.6,N,00630.3,W,1,8,1.0,6,M,,,,", content)
                #expect(fixes.allSatisfy(isClean), "\(content)")
            }
        }
    }
}

private func * (bytes: [UInt8], count: Int) -> [UInt8] { Array(repeatElement(bytes, count: count).joined()) }
