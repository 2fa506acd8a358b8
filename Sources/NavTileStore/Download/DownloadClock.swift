import NavHTTP

/// A clock that never runs backwards, and a function to wait for it.
package struct DownloadClock: Sendable {
    /// Returns the time since an arbitrary fixed moment.
    package var now: @Sendable () -> Duration
    /// Returns when ``now`` has reached a moment, or throws when the task is cancelled.
    package var sleep: @Sendable (_ until: Duration) async throws -> Void

    package init(
        now: @escaping @Sendable () -> Duration, sleep: @escaping @Sendable (_ until: Duration) async throws -> Void
    ) {
        self.now = now
        self.sleep = sleep
    }

    package static let system = DownloadClock(
        now: Monotonic.now,
        sleep: { try await Task.sleep(for: $0 - Monotonic.now(), tolerance: .milliseconds(1)) })
}
