import NavBus
import NavKit
import NavMessages
import NavTileCache
import Synchronization

/// The queue from the cache's thread to the node: messages to publish, and answers.
final class TileCacheOutbox: Sendable {
    enum Item: Sendable {
        /// An event of a region, to be published with the node's stamp and number, and sent to the callers that wait for the region.
        case event(RegionEvent)
        /// The region is being loaded; from now on its caller receives the region's events.
        case accepted(token: UInt64, region: String)
        /// The region is not loaded.
        case refused(token: UInt64, TileFailure)
    }

    private struct State {
        var items: [Item] = []
        var tilesState: TilesState?
        var findings: [HealthFinding] = []
        var counters: [String: Int] = [:]
    }

    private let state = Mutex(State())
    private let waker: Waker

    init(waker: Waker) { self.waker = waker }

    func add(_ item: Item) {
        state.withLock { $0.items.append(item) }
        waker.wake()
    }

    func publish(_ tilesState: TilesState, findings: [HealthFinding], counters: [String: Int]) {
        state.withLock { state in
            state.tilesState = tilesState
            state.findings = findings
            state.counters = counters
        }
        waker.wake()
    }

    /// Takes all items in the queue, in order.
    func take() -> (items: [Item], state: TilesState?) {
        state.withLock { state in
            defer { (state.items, state.tilesState) = ([], nil) }
            return (state.items, state.tilesState)
        }
    }

    /// The health findings of the cache.
    var findings: [HealthFinding] { state.withLock { $0.findings } }

    var counters: [String: Int] { state.withLock { $0.counters } }

    var isEmpty: Bool { state.withLock { $0.items.isEmpty && $0.tilesState == nil } }
}
