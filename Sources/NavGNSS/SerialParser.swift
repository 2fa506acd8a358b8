public import NavMessages

/// A parser of a serial receiver's output: NMEA 0183, or u-blox's UBX from its first NAV-PVT message on.
///
/// A u-blox receiver may send both. Its NAV-PVT messages then replace the sentences, because each has the whole solution.
public struct SerialParser: Sendable {
    private var nmea: NMEAParser
    private var ubx = UBXParser()
    private var isBinary = false

    /// The rejections of the protocol in use; there is one count for each since the beginning of the stream.
    public var rejections: RejectionCounts { isBinary ? ubx.rejections : nmea.rejections }

    public init(_ nmea: NMEAParser) { self.nmea = nmea }

    /// Takes the next chunk of the stream and returns the fixes that are complete.
    public mutating func consume(_ bytes: [UInt8]) -> [GnssFix] {
        let binary = ubx.consume(bytes)
        if isBinary { return binary }
        let sentences = nmea.consume(bytes)
        guard !binary.isEmpty else { return sentences }
        isBinary = true
        return binary
    }

    /// Ends the stream and returns the fixes that its end completes.
    public mutating func finish() -> [GnssFix] { isBinary ? ubx.finish() : nmea.finish() }
}
