import NavTileCache

/// The queue of received tiles waiting to be checked, and the number of threads that check them.
///
/// Unpacking a map tile may take longer than receiving two. This struct only decides; its owner starts the threads.
struct CheckLine: Sendable {
    struct Arrival: Sendable {
        var key: DownloadKey
        var tile: UncheckedTile
    }

    private var arrivals: [Arrival] = []
    private var checkers = 0

    private static let mostCheckers = 2
    /// The number of tiles that a thread checks before it takes the lock again, and the queue length at which a second
    /// thread starts.
    private static let batch = 32

    /// The number of waiting tiles.
    var count: Int { arrivals.count }
    /// Whether no thread checks tiles.
    var isIdle: Bool { checkers == 0 }

    mutating func add(_ arrival: Arrival) { arrivals.append(arrival) }

    mutating func removeAll() { arrivals = [] }

    /// Whether another thread is needed: a first one when a tile waits, a second one when many do.
    var needsChecker: Bool {
        checkers == 0 ? !arrivals.isEmpty : checkers < Self.mostCheckers && arrivals.count >= Self.batch
    }

    /// Counts a thread that starts.
    mutating func begin() { checkers += 1 }

    /// Takes the next tiles for a thread to check; when there are none, the thread ends and is no longer counted.
    mutating func take() -> [Arrival] {
        let taken = Array(arrivals.prefix(Self.batch))
        arrivals.removeFirst(taken.count)
        if taken.isEmpty { checkers -= 1 }
        return taken
    }
}
