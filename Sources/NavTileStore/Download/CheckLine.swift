import NavTileCache

/// Tiles that came in and wait for their check, and how many threads do that.
///
/// To unpack a tile of a map may take longer than to receive two. A struct that is asked: its owner starts the threads.
struct CheckLine: Sendable {
    struct Arrival: Sendable {
        var key: DownloadKey
        var tile: UncheckedTile
    }

    private var arrivals: [Arrival] = []
    private var checkers = 0

    private static let mostCheckers = 2
    /// So many are checked between two locks, and so many wait when a second thread begins.
    private static let batch = 32

    /// Tiles that wait.
    var count: Int { arrivals.count }
    /// Whether nobody checks.
    var isAtRest: Bool { checkers == 0 }

    mutating func add(_ arrival: Arrival) { arrivals.append(arrival) }

    mutating func removeAll() { arrivals = [] }

    /// Whether another thread is of use: the first when a tile waits, a second when many do.
    var needsChecker: Bool {
        checkers == 0 ? !arrivals.isEmpty : checkers < Self.mostCheckers && arrivals.count >= Self.batch
    }

    /// Counts a thread that begins.
    mutating func begin() { checkers += 1 }

    /// Takes what a thread checks next; nothing when it is done, and not counted any more.
    mutating func take() -> [Arrival] {
        let taken = Array(arrivals.prefix(Self.batch))
        arrivals.removeFirst(taken.count)
        if taken.isEmpty { checkers -= 1 }
        return taken
    }
}
