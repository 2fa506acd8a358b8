/// A disk that was found full: nothing more is fetched for it until there is room.
///
/// Room is looked for every second, which costs nothing. Where the system says that there is some and writing fails all
/// the same (a quota, a limit of the process) it is tried ever more seldom, so that not everything is fetched again in
/// vain.
package struct FullDisk {
    /// The interval of looking for room, ns.
    static let interval: Int64 = 1_000_000_000
    /// Room that there must be beside what is to be written: the index grows as well.
    private static let margin: Int64 = 1 << 20
    /// The longest pause, ns.
    private static let longestPause: Int64 = 600_000_000_000

    /// Bytes that must be free.
    let needed: Int64
    /// Bytes that were free.
    let free: Int64?
    private let triesAt: Int64

    /// - Parameters:
    ///   - bytes: How much was to be written.
    ///   - failures: How often it was full just before.
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

    /// Describes the fault and what to do.
    package func text(_ folder: String) -> String {
        let left = free.map { "\($0 / 1_000) kB are free" } ?? "no room is left"
        return
            "the disk of '\(folder)' is full, \(left) and \(needed / 1_000) kB are needed: make room, and loading goes "
            + "on by itself"
    }

    /// Returns the failure of a region that cannot be loaded now.
    func failure(_ folder: String) -> TileFailure {
        TileFailure(.resourceExhausted, text(folder), isRetryable: true, obstacle: .disk)
    }
}
