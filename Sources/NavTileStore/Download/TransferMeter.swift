/// Counts the bytes that come in, and lets who receives them wait so that they are not more than allowed.
public final class TransferMeter: Sendable {
    /// A meter.
    ///
    /// - Parameter bytesPerSecond: how many may come in; nil for any number.
    public init(bytesPerSecond: Double? = nil, clock: DownloadClock = .system) {}

    /// How many bytes may come in each second; nil for any number. What waits keeps to a new value at once.
    public var bytesPerSecond: Double? {
        get { nil }
        set {}
    }

    /// Bytes that came in so far.
    public var received: Int64 { 0 }

    /// Says that bytes came in, and waits until they may have; returns the seconds waited. Throws `CancellationError`
    /// only.
    public func take(_ bytes: Int) async throws -> Double { 0 }
}
