/// A clock that never runs backwards, and a way to wait for it.
public struct DownloadClock: Sendable {
    /// Time since any fixed moment.
    public var now: @Sendable () -> Duration
    /// Returns when ``now`` has reached a moment, or throws when the task is cancelled.
    public var sleep: @Sendable (_ until: Duration) async throws -> Void

    /// A clock.
    public init(
        now: @escaping @Sendable () -> Duration, sleep: @escaping @Sendable (_ until: Duration) async throws -> Void
    ) {
        self.now = now
        self.sleep = sleep
    }

    /// The machine's.
    public static let system: DownloadClock = {
        let clock = ContinuousClock()
        let start = clock.now
        return DownloadClock(
            now: { start.duration(to: clock.now) },
            sleep: { try await clock.sleep(until: start.advanced(by: $0), tolerance: .milliseconds(1)) })
    }()
}
