/// A disk that was found to be full; no more tiles are fetched until there is room.
///
/// The free space is checked every second, which costs nothing. If the system reports room and writing still fails (a
/// quota, a limit of the process), retries become less and less frequent, so that tiles are not repeatedly fetched and
/// discarded.
package struct FullDisk {
    /// The interval between checks of the free space, ns.
    static let interval: Int64 = 1_000_000_000
    /// Free bytes required in addition to those to be written, since the index grows as well.
    private static let margin: Int64 = 1 << 20
    /// The longest pause, ns.
    private static let longestPause: Int64 = 600_000_000_000

    /// Bytes that must be free.
    let needed: Int64
    /// Bytes that were free.
    let free: Int64?
    private let triesAt: Int64

    /// - Parameters:
    ///   - bytes: The number of bytes that could not be written.
    ///   - failures: The number of consecutive earlier times that the disk was full.
    ///   - moment: Now, monotonic ns.
    package init(bytes: Int64, failures: Int, free: Int64?, at moment: Int64) {
        needed = bytes + Self.margin
        self.free = free
        triesAt = moment + min(Self.interval << Int64(min(failures, 20)), Self.longestPause)
    }

    /// Whether there may be room now.
    package func mayTry(free: Int64?, at moment: Int64) -> Bool {
        moment >= triesAt && free.map { $0 >= needed } ?? true
    }

    /// Returns a description of the fault and what to do.
    package func text(_ folder: String) -> String {
        let left = free.map { "\($0 / 1_000) kB are free" } ?? "no space is left"
        return
            "the disk of '\(folder)' is full: \(left), \(needed / 1_000) kB are needed; free space, and loading "
            + "resumes automatically"
    }

    /// Returns the failure of a region that cannot be loaded now.
    func failure(_ folder: String) -> TileFailure {
        TileFailure(.resourceExhausted, text(folder), isRetryable: true, obstacle: .disk)
    }
}
