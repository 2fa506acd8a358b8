import NavGNSS
import NavMessages
import NavTestKit
import Testing

/// The messages of u-blox receivers that send no NAV-PVT.
struct UBXEpochTests {
    /// The time 2024-07-20 09:52:12 UTC, as seconds of GPS week 2323.
    private static let start = 553_950
    private static let stamp: Int64 = 1_721_469_132_000_000_000

    /// A little-endian field of a payload.
    private typealias Field = (offset: Int, value: Int, size: Int)

    /// Returns a message of class NAV that begins with its time of week.
    private func message(_ id: UInt8, _ second: Int, size: Int, _ fields: [Field]) -> [UInt8] {
        var payload = [UInt8](repeating: 0, count: size)
        for field in [(0, (Self.start + second) * 1_000, 4)] + fields {
            for byte in 0..<field.size {
                payload[field.offset + byte] = UInt8(truncatingIfNeeded: field.value >> (8 * byte))
            }
        }
        let body = [0x01, id, UInt8(size), 0] + payload
        var (a, b): (UInt8, UInt8) = (0, 0)
        for byte in body {
            a &+= byte
            b &+= a
        }
        return [0xb5, 0x62] + body + [a, b]
    }

    /// Returns a NAV-SOL in Helsinki, 35 m above the ellipsoid, at 10 m/s to the east.
    private func solution(_ second: Int, type: Int = 3, flags: Int = 0x0d, x: Int = 288_415_016) -> [UInt8] {
        message(
            0x06, second, size: 52,
            [
                (8, 2323, 2), (10, type, 1), (11, flags, 1), (12, x, 4), (16, 134_112_813, 4), (20, 550_994_777, 4),
                (24, 500, 4), (28, -422, 4), (32, 907, 4), (40, 30, 4), (44, 200, 2), (47, 8, 1),
            ])
    }

    private func dilution(_ second: Int) -> [UInt8] {
        message(0x04, second, size: 18, [(6, 200, 2), (10, 150, 2), (12, 100, 2)])
    }

    private func timeGPS(_ second: Int, valid: Int = 7) -> [UInt8] {
        message(0x20, second, size: 16, [(8, 2323, 2), (10, 18, 1), (11, valid, 1)])
    }

    private func position(_ second: Int, accuracy: Int = 2_500) -> [UInt8] {
        message(
            0x02, second, size: 28,
            [
                (4, 249_384_000, 4), (8, 601_699_000, 4), (12, 35_000, 4), (16, 17_000, 4), (20, accuracy, 4),
                (24, 4_000, 4),
            ])
    }

    private func wholeSolution(_ second: Int) -> [UInt8] {
        message(
            0x07, second, size: 92,
            [
                (20, 3, 1), (21, 1, 1), (24, 249_384_000, 4), (28, 601_699_000, 4), (40, 1_000, 4),
            ])
    }

    private func read(_ bytes: [UInt8]) -> ([GnssFix], RejectionCounts) {
        var parser = UBXParser()
        return (parser.consume(bytes) + parser.finish(), parser.rejections)
    }

    @Test func solutionAndItsDilutionAreAFix() throws {
        let (fixes, rejections) = read((0..<4).flatMap { solution($0) + dilution($0) + timeGPS($0) })
        #expect(rejections.total == 0)
        #expect(fixes.map(\.stampNs) == (0..<4).map { Self.stamp + $0 * 1_000_000_000 })
        let fix = try #require(fixes.first)
        #expect(abs((fix.latitude ?? 0) - 60.1699) < 1e-7 && abs((fix.longitude ?? 0) - 24.9384) < 1e-7)
        #expect(abs((fix.altitude ?? 0) - 35) < 0.02 && fix.altitudeDatum == .ellipsoid)
        #expect(fix.fixType == .threeD && fix.satellitesUsed == 8)
        #expect(fix.hdop == 1 && fix.vdop == 1.5 && fix.pdop == 2)
        #expect(fix.horizontalAccuracyM == 2.5 && fix.verticalAccuracyM == 3.75)
        #expect(abs((fix.speed ?? 0) - 10) < 0.01 && abs((fix.course ?? 0) - .pi / 2) < 1e-3)
        #expect(abs((fix.velocityEastMps ?? 0) - 10) < 0.01 && abs(fix.velocityUpMps ?? 1) < 0.01)
        #expect(abs((fix.speedAccuracyMps ?? 0) - 0.3) < 1e-9)
        // The three-dimensional accuracy bounds that on the ground; the date accounts for leap seconds.
        let alone = try #require(read(solution(0)).0.first)
        #expect(alone.horizontalAccuracyM == 5 && alone.stampNs == Self.stamp && alone.pdop == 2)
        #expect(read(solution(0, flags: 0x0f)).0.first?.fixType == .differential)
    }

    @Test func positionVelocityAndTimeAreAFix() throws {
        let status = message(0x03, 0, size: 16, [(4, 3, 1), (5, 0x0d, 1)])
        let velocity = message(
            0x12, 0, size: 36,
            [
                (4, 0, 4), (8, 1_000, 4), (12, 50, 4), (16, 1_001, 4), (20, 1_000, 4), (24, 9_000_000, 4), (28, 30, 4),
                (32, 100_000, 4),
            ]
        )
        let time = message(
            0x21, 0, size: 20,
            [
                (8, -250_000_000, 4), (12, 2024, 2), (14, 7, 1), (15, 20, 1), (16, 9, 1), (17, 52, 1), (18, 12, 1),
                (19, 7, 1),
            ])
        let (fixes, rejections) = read(position(0) + status + velocity + time)
        let fix = try #require(fixes.first)
        #expect(fixes.count == 1 && rejections.total == 0)
        #expect(fix.stampNs == Self.stamp - 250_000_000 && fix.fixType == .threeD)
        #expect(abs((fix.latitude ?? 0) - 60.1699) < 1e-9 && abs((fix.longitude ?? 0) - 24.9384) < 1e-9)
        #expect(fix.altitude == 35 && fix.geoidSeparationM == 18)
        #expect(fix.horizontalAccuracyM == 2.5 && fix.verticalAccuracyM == 4)
        #expect(fix.speed == 10 && abs((fix.course ?? 0) - .pi / 2) < 1e-9 && fix.velocityEastMps == 10)
        #expect(fix.velocityUpMps == -0.5)
        // Without a status, the accuracy indicates whether there is a solution.
        #expect(read(position(0)).0.first?.latitude != nil)
        #expect(read(position(0, accuracy: 0xffff_ffff)).0.first?.fixType == .noFix)
    }

    @Test func timeIsUnknownWithoutAWeek() {
        let (fixes, rejections) = read(solution(0, flags: 0x01))
        #expect(fixes.map(\.stampNs) == [nil] && rejections[.unknownDate] == 1)
        #expect(read(solution(0, flags: 0x01) + timeGPS(0)).0.map(\.stampNs) == [Self.stamp])
        #expect(read(solution(0, flags: 0x01) + timeGPS(0, valid: 1)).0.map(\.stampNs) == [nil])
    }

    @Test func epochsWithoutASolutionAreNoPositions() {
        #expect(read(solution(0, type: 0, flags: 0x0c)).0.map(\.fixType) == [.noFix])
        // A position far below the ground, an epoch without a fix, and a dilution alone.
        let nowhere = read(solution(0, x: 0) + solution(1, type: 0) + dilution(2))
        #expect(nowhere.0.map(\.latitude) == [nil])
        #expect(nowhere.1[.outOfRange] == 1 && nowhere.1[.noSolution] == 1)
    }

    @Test func timeOnlyFixHasATimeEvenWithoutAPosition() {
        let (fixes, rejections) = read(solution(0, type: 5) + dilution(0) + solution(1, type: 5, x: 0) + dilution(1))
        #expect(rejections.total == 0)
        #expect(fixes.map(\.fixType) == [.timeOnly, .timeOnly])
        #expect(fixes.map(\.stampNs) == [Self.stamp, Self.stamp + 1_000_000_000])
        #expect(fixes.map { $0.latitude == nil } == [false, true] && fixes.last?.hdop == nil)
    }

    @Test func epochEndsWithItsUsualLastMessage() {
        var parser = UBXParser()
        let counts = (0..<4).flatMap { second in
            [parser.consume(solution(second)).count, parser.consume(dilution(second)).count]
        }
        #expect(counts == [0, 0, 1, 0, 1, 1, 0, 1])
        // A message after that one is late, and becomes the last one of the following epochs.
        #expect(parser.consume(timeGPS(3)).isEmpty && parser.rejections[.late] == 1)
        let further = (4..<7).map { parser.consume(solution($0) + dilution($0) + timeGPS($0)).count }
        #expect(further == [0, 2, 1] && parser.finish().isEmpty)
    }

    @Test func wholeSolutionsReplaceTheOthers() {
        let mixed = (0..<3).flatMap { solution($0) + wholeSolution($0) + dilution($0) }
        let (fixes, rejections) = read(mixed)
        #expect(fixes.map(\.horizontalAccuracyM) == [1, 1, 1])
        #expect(rejections[.unusedKind] == 6)
        // A receiver that has lost its configuration may send only the other messages.
        let later = read(mixed + (3..<20).flatMap { solution($0) + dilution($0) }).0
        #expect(later.count > 8 && later.last?.horizontalAccuracyM == 2.5)
    }

    @Test func cuttingTheStreamAnywhereChangesNothing() {
        let stream = (0..<4).flatMap { position($0) + solution($0) + dilution($0) + timeGPS($0) }
        let whole = read(stream)
        #expect(whole.0.count == 4)
        for size in [1, 7, 50] {
            var parser = UBXParser()
            var fixes: [GnssFix] = []
            for start in stride(from: 0, to: stream.count, by: size) {
                fixes += parser.consume(Array(stream[start..<min(start + size, stream.count)]))
            }
            #expect(fixes + parser.finish() == whole.0 && parser.rejections == whole.1)
        }
    }

    @Test func serialReceiverUsesEpochsWhereSentencesAreMissing() {
        func moment(_ second: Int) -> ReceptionTime {
            ReceptionTime(monotonicNs: Int64(second) * 1_000_000_000, hostNs: nil)
        }
        var binary = SerialParser(NMEAParser(epochEnd: .learned))
        let counts = (0..<6).map { binary.consume(solution($0) + dilution($0), at: moment($0)).count }
        #expect(counts == [0, 0, 0, 1, 1, 1])
        var both = SerialParser(NMEAParser(epochEnd: .learned))
        let fixes = (0..<8).flatMap { second in
            both.consume(
                nmea("GPRMC,0952\(second + 10).00,A,6010.194,N,02456.304,E,19.4,090.0,200724,,,A") + solution(second)
                    + dilution(second), at: moment(second))
        }
        #expect(fixes.count >= 6 && fixes.allSatisfy { $0.horizontalAccuracyM == nil })
    }

    // Known differences from gpsd. ublox-aek-4t and ublox-lea-4t: gpsd dates the first epoch with today's leap seconds.
    // Some gpsd reports of ublox-8-time and navisys-gr701w repeat the position of the previous epoch.
    @Test(
        .needs("gnss/ingest"),
        arguments: [
            ("navisys-gr701w", 60), ("ublox-8-time", 89), ("ublox-aek-4t", 3), ("ublox-lea-4t", 1),
            ("ublox-neo-m8t", 39), ("ublox-neo-m8t-s", 29),
        ])
    func positionsAgreeWithGPSD(name: String, count: Int) throws {
        let path = "ingest/gpsd_logs/\(name).log"
        let trace = try TraceReader.read(try TestData.recording(path), name: path)
        #expect(trace.format == .ubx)
        var oracle = GPSDParser()
        var last: [Int64: GnssFix] = [:]
        for fix in oracle.consume(try TestData.recording(path + ".chk")) + oracle.finish() {
            if let stamp = fix.stampNs, fix.latitude != nil { last[(stamp + 500_000) / 1_000_000] = fix }
        }
        var matched = 0
        for fix in trace.fixes {
            guard let stamp = fix.stampNs, let want = last[(stamp + 500_000) / 1_000_000] else { continue }
            matched += 1
            #expect(abs((fix.latitude ?? 0) - (want.latitude ?? 1)) < 1e-4, "\(name) \(stamp)")
            #expect(abs((fix.longitude ?? 0) - (want.longitude ?? 1)) < 1e-4, "\(name) \(stamp)")
        }
        #expect(matched == count)
    }
}
