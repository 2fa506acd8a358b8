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
    private var beat = BatchTimer()

    private static let mostCheckers = 2
    /// So many are checked between two locks, and so many wait when a second thread begins.
    private static let batch = 32

    /// Tiles that wait.
    var count: Int { arrivals.count }
    /// Whether nobody checks.
    var isAtRest: Bool { checkers == 0 }

    mutating func add(_ arrival: Arrival) { arrivals.append(arrival) }

    mutating func removeAll() { arrivals = [] }

    /// When another thread is to begin; one that is to begin now is counted.
    ///
    /// - Parameters:
    ///   - isUrgent: whether nothing is won by waiting for more.
    ///   - now: the machine's time.
    mutating func step(isUrgent: Bool, at now: Duration) -> BatchTimer.Step {
        let isEnough = checkers == 0 ? !arrivals.isEmpty : checkers < Self.mostCheckers && arrivals.count >= Self.batch
        guard isEnough else { return .pending }
        let step = checkers == 0 ? beat.step(isUrgent: isUrgent, at: now) : .now
        if case .now = step { checkers += 1 }
        return step
    }

    /// The moment has come that ``step(isUrgent:at:)`` named.
    mutating func wake() { beat.wake() }

    /// Takes what a thread checks next; nothing when it is done, and not counted any more.
    mutating func take() -> [Arrival] {
        let taken = Array(arrivals.prefix(Self.batch))
        arrivals.removeFirst(taken.count)
        if taken.isEmpty { checkers -= 1 }
        return taken
    }
}
