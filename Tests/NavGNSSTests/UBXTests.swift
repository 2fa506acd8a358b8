import NavGNSS
import NavMessages
import NavSimulation
import Testing

/// The binary protocol of u-blox.
struct UBXTests {
    private func message(_ kind: [UInt8], _ payload: [UInt8]) -> [UInt8] {
        let body = kind + [UInt8(payload.count & 0xff), UInt8(payload.count >> 8)] + payload
        var (a, b): (UInt8, UInt8) = (0, 0)
        for byte in body {
            a &+= byte
            b &+= a
        }
        return [0xb5, 0x62] + body + [a, b]
    }

    /// Returns a NAV-PVT of 250 ms before 2024-07-20 09:52:12, in Helsinki at 10 m/s to the east.
    private func pvt(fixType: UInt8 = 3, flags: UInt8 = 1, flags3: UInt8 = 0) -> [UInt8] {
        var payload = [UInt8](repeating: 0, count: 92)
        func put(_ value: Int32, _ offset: Int) {
            for byte in 0..<4 { payload[offset + byte] = UInt8(truncatingIfNeeded: value >> (8 * Int32(byte))) }
        }
        payload.replaceSubrange(4..<12, with: [0xe8, 0x07, 7, 20, 9, 52, 12, 7])
        put(-250_000_000, 16)
        (payload[20], payload[21], payload[23]) = (fixType, flags, 9)
        put(249_384_000, 24)
        put(601_699_000, 28)
        put(35_000, 32)
        put(17_000, 36)
        put(2_500, 40)
        put(4_000, 44)
        put(10_000, 52)
        put(10_000, 60)
        put(9_000_000, 64)
        put(300, 68)
        put(100_000, 72)
        payload[76] = 150
        payload[78] = flags3
        return message([0x01, 0x07], payload)
    }

    private func read(_ bytes: [UInt8], cutAt cuts: [Int] = []) -> ([GnssFix], RejectionCounts) {
        var parser = UBXParser()
        var fixes: [GnssFix] = []
        var start = 0
        for cut in cuts + [bytes.count] {
            fixes += parser.consume(Array(bytes[start..<cut]))
            start = cut
        }
        return (fixes + parser.finish(), parser.rejections)
    }

    private func moment(_ second: Int) -> ReceptionTime {
        ReceptionTime(monotonicNs: Int64(second) * 1_000_000_000, hostNs: nil)
    }

    @Test func sentencesAreUsedAgainAfterTheBinaryProtocolEnds() {
        func sentence(_ second: Int) -> [UInt8] {
            nmea("GPRMC,0952\(second + 10).00,A,6010.194,N,02456.304,E,19.4,090.0,200724,,,A")
        }
        var parser = SerialParser(NMEAParser(epochEnd: .learned))
        for second in 0..<5 {
            let fixes = parser.consume(sentence(second) + pvt(), at: moment(second))
            #expect(fixes.map(\.horizontalAccuracyM) == [2.5])
        }
        let counts = (5..<15).map { parser.consume(sentence($0), at: moment($0)).count }
        #expect(counts.prefix(3).allSatisfy { $0 == 0 } && counts[3] > 0)
        #expect(counts.suffix(6).allSatisfy { $0 == 1 })
        #expect(parser.consume(sentence(15) + pvt(), at: moment(15)).map(\.horizontalAccuracyM) == [2.5])
        // After a delay of both protocols, the first bytes may contain only sentences.
        #expect(parser.consume(sentence(26) + sentence(27), at: moment(30)).isEmpty)
        #expect(parser.consume(pvt(), at: moment(30)).count == 1)
    }

    @Test func serialReceiverMaySendEitherProtocol() throws {
        let sentence = nmea("GPRMC,095212.00,A,6010.194,N,02456.304,E,19.4,090.0,200724,,,A")
        var parser = SerialParser(NMEAParser(epochEnd: .learned))
        let first = parser.consume(sentence + sentence, at: moment(0)) + parser.consume(sentence, at: moment(0))
        #expect(first.allSatisfy { $0.horizontalAccuracyM == nil })
        // From its first solution on, the binary protocol replaces the sentences.
        let second = parser.consume(sentence + pvt() + sentence + pvt(), at: moment(0))
        #expect(second.count == 2 && second.allSatisfy { $0.horizontalAccuracyM == 2.5 })
        for size in [1, 7, 64] {
            var parser = SerialParser(NMEAParser(epochEnd: .learned))
            let bytes = pvt() + pvt()
            var fixes: [GnssFix] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                fixes += parser.consume(Array(bytes[start..<min(start + size, bytes.count)]), at: moment(0))
            }
            #expect(fixes.count == 2 && parser.rejections.total == 0)
        }
    }

    @Test func positionVelocityTimeMessageIsAFix() throws {
        let (fixes, rejections) = read(pvt())
        let fix = try #require(fixes.first)
        #expect(fixes.count == 1 && rejections.total == 0)
        #expect(fix.stampNs == 1_721_469_131_750_000_000 && fix.fixType == .threeD && fix.satellitesUsed == 9)
        #expect(abs((fix.latitude ?? 0) - 60.1699) < 1e-9 && abs((fix.longitude ?? 0) - 24.9384) < 1e-9)
        #expect(fix.altitude == 35 && fix.altitudeDatum == .ellipsoid && fix.geoidSeparationM == 18)
        #expect(fix.speed == 10 && abs((fix.course ?? 0) - .pi / 2) < 1e-9 && fix.velocityEastMps == 10)
        #expect(fix.horizontalAccuracyM == 2.5 && fix.verticalAccuracyM == 4 && fix.pdop == 1.5)
        let none = try #require(read(pvt(fixType: 0, flags: 0)).0.first)
        #expect(none.fixType == .noFix && none.latitude == nil)
        #expect(read(pvt(flags: 0b1000_0011)).0.first?.fixType == .rtkFixed)
        #expect(try TraceReader.read(pvt()).format == .ubx)
    }

    @Test func invalidPositionIsNoFix() throws {
        let invalid = try #require(read(pvt(flags3: 1)).0.first)
        #expect(invalid.fixType == .noFix && invalid.latitude == nil && invalid.longitude == nil)
        #expect(invalid.stampNs == 1_721_469_131_750_000_000 && invalid.satellitesUsed == 9)
        // The other bits contain the age of the last correction.
        #expect(read(pvt(flags3: 0b0001_1110)).0.first?.fixType == .threeD)
    }

    @Test func cuttingTheStreamAnywhereChangesNothing() {
        let stream = Array("$GPRMC,x\r\n".utf8) + pvt() + message([0x01, 0x35], [1, 2, 3]) + [0xb5] + pvt()
        let whole = read(stream)
        #expect(whole.0.count == 2 && whole.1[.unusedKind] == 1)
        for cut in 0...stream.count { #expect(read(stream, cutAt: [cut]) == whole, "cut at \(cut)") }
        #expect(read(stream, cutAt: Array(1..<stream.count)) == whole)
    }

    @Test func damagedLengthDelaysNoFix() {
        for place in [4, 5] {
            var damaged = pvt()
            damaged[place] = 0x1f | 0x80
            var parser = UBXParser()
            #expect(parser.consume(damaged + pvt()).count == 1, "byte \(place)")
            #expect(parser.rejections[.tooLong] == 1)
        }
    }

    @Test func longMessageIsSkippedAsAWhole() {
        // A message as long as an RXM-RAWX with 255 signals; a message within its payload is ignored.
        let signals = message([0x02, 0x15], pvt() + [UInt8](repeating: 0, count: 16 + 32 * 255 - 100))
        let (fixes, rejections) = read(pvt() + signals + pvt())
        #expect(fixes.count == 2 && rejections.total == 1 && rejections[.unusedKind] == 1)
    }

    @Test func damagedStreamYieldsOnlyValidPositions() {
        let stream = pvt() + pvt()
        var random = SeededRandom(seed: 11)
        for place in stream.indices {
            for _ in 0..<8 {
                var bytes = stream
                bytes[place] = UInt8.random(in: 0...255, using: &random)
                let (fixes, _) = read(bytes)
                // The checksum detects each changed byte; the other message is still read.
                #expect(bytes == stream ? fixes.count == 2 : fixes.count == 1, "byte \(place)")
            }
        }
        for length in 0..<stream.count { #expect(read(Array(stream.prefix(length))).0.count == length / 100) }
    }
}
