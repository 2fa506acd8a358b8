package import NavMessages

/// The arrival time of bytes from a live receiver.
package struct ReceptionTime: Sendable {
    /// Nanoseconds of a monotonic clock.
    package var monotonicNs: Int64
    /// The host's time, ns since the Unix epoch; nil when its clock is not plausible.
    package var hostNs: Int64?

    package init(monotonicNs: Int64, hostNs: Int64?) {
        self.monotonicNs = monotonicNs
        self.hostNs = hostNs
    }
}

/// A parser of a serial receiver's output: NMEA 0183, or u-blox's UBX while its NAV-PVT messages arrive.
///
/// A u-blox receiver may send both. Its NAV-PVT messages then replace the sentences, because each has the whole solution.
/// Sentences are used again after a few seconds without such messages, since a receiver that has lost its configuration
/// sends nothing else. Older messages, such as NAV-SOL, are used after a few seconds without fixes from sentences.
package struct SerialParser: Sendable {
    /// The time without NAV-PVT messages after which sentences are used again, ns.
    private static let patience: Int64 = 3_000_000_000
    /// The number of positions in sentences that must also arrive in that time, because both protocols are delayed
    /// together.
    private static let proof = 3

    private var nmea: NMEAParser
    private let unusedNMEA: NMEAParser
    private var ubx = UBXParser()
    private var isBinary = false
    /// The moment of the last NAV-PVT message, monotonic ns.
    private var binaryAt: Int64 = 0
    /// The number of positions in sentences since then.
    private var positions = 0
    /// The moment of the last fix from sentences, or of the first bytes, monotonic ns.
    private var sentenceAt: Int64?

    /// The first date that was moved by missed rollovers; nil when there was none.
    package private(set) var movedDate: MovedDate?

    /// The rejections of the protocol in use; the counts restart when it changes.
    package var rejections: RejectionCounts { isBinary ? ubx.rejections : nmea.rejections }

    package init(_ nmea: NMEAParser) {
        self.nmea = nmea
        unusedNMEA = nmea
    }

    /// Takes the next chunk of the stream and returns the fixes that are complete.
    package mutating func consume(_ bytes: [UInt8], at time: ReceptionTime) -> [GnssFix] {
        let binary = ubx.consume(bytes)
        let quiet = time.monotonicNs - (sentenceAt ?? time.monotonicNs)
        if sentenceAt == nil { sentenceAt = time.monotonicNs }
        guard binary.isEmpty || !(isBinary || ubx.isWhole || quiet >= Self.patience) else {
            (isBinary, binaryAt, positions) = (true, time.monotonicNs, 0)
            nmea = unusedNMEA
            return binary
        }
        nmea.hostTimeNs = time.hostNs
        let sentences = nmea.consume(bytes)
        movedDate = movedDate ?? nmea.movedDate
        if !sentences.isEmpty { sentenceAt = time.monotonicNs }
        guard isBinary else { return sentences }
        positions += sentences.count { $0.latitude != nil }
        guard positions >= Self.proof, time.monotonicNs - binaryAt >= Self.patience else { return [] }
        isBinary = false
        return sentences
    }

    /// Ends the stream and returns the fixes that its end completes.
    package mutating func finish() -> [GnssFix] { isBinary ? ubx.finish() : nmea.finish() }
}
