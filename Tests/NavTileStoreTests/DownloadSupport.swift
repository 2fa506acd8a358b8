import NavDigest
import NavGeo
import NavHTTP
import NavTileCache
import NavTileStore
import Synchronization

/// A clock that is advanced by hand.
final class DownloadTestClock: Sendable {
    private struct Sleeper {
        var until: Duration
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Duration.zero
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        var last = 0
    }

    private let state = Mutex(State())

    var clock: DownloadClock {
        DownloadClock(now: { [self] in state.withLock { $0.now } }, sleep: { [self] in try await sleep($0) })
    }

    var sleeperCount: Int { state.withLock { $0.sleepers.count } }
    var now: Duration { state.withLock { $0.now } }

    func advance(by seconds: Double) {
        let due = state.withLock { state in
            state.now += .seconds(seconds)
            let due = state.sleepers.filter { $0.value.until <= state.now }
            for key in due.keys { state.sleepers[key] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
    }

    private func sleep(_ until: Duration) async throws {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let (isDue, isCancelled) = state.withLock { state in
                    if state.cancelled.remove(number) != nil { return (false, true) }
                    if until <= state.now { return (true, false) }
                    state.sleepers[number] = Sleeper(until: until, continuation: continuation)
                    return (false, false)
                }
                if isCancelled { continuation.resume(throwing: CancellationError()) }
                if isDue { continuation.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: number)
                if sleeper == nil { state.cancelled.insert(number) }
                return sleeper
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }
}

/// A source whose answers are given one by one, or by a rule.
final class DownloadTestSource: TileSource {
    typealias Answer = Result<TileAnswer, TileSourceError>

    private struct State {
        var asked: [TileID] = []
        var waiting: [TileID: CheckedContinuation<Answer, Never>] = [:]
        var greatest = 0
    }

    let tileset: String
    let place = "a test"
    let isRemote: Bool
    let knowsSizes: Bool
    private let rule: (@Sendable (TileID, Int) -> Answer)?
    private let sizeRule: @Sendable (TileID) -> TileSize
    private let state = Mutex(State())

    init(
        _ tileset: String = "map", isRemote: Bool = true, knowsSizes: Bool = false,
        size: @escaping @Sendable (TileID) -> TileSize = { _ in .unknown },
        rule: (@Sendable (TileID, Int) -> Answer)? = nil
    ) {
        self.tileset = tileset
        self.isRemote = isRemote
        self.knowsSizes = knowsSizes
        self.rule = rule
        sizeRule = size
    }

    var asked: [TileID] { state.withLock { $0.asked } }
    /// The greatest number of simultaneous requests.
    var greatest: Int { state.withLock { $0.greatest } }
    var waitingTiles: [TileID] { state.withLock { $0.waiting.keys.sorted() } }

    static func tile(_ tileset: String, _ tile: TileID, bytes: Int = 10) -> TileAnswer {
        let data = [UInt8](repeating: 1, count: bytes)
        let parts = ContentHash(of: data).map { [FetchedPart(.body, data: data, hash: $0)] } ?? []
        return .fetched(
            FetchedTile(TileAddress(tileset, tile), edition: "", parts: parts, validators: Validators()))
    }

    func answer(_ tile: TileID, _ answer: Answer) {
        state.withLock { $0.waiting.removeValue(forKey: tile) }?.resume(returning: answer)
    }

    func edition(known: Validators?) async throws(TileSourceError) -> EditionAnswer {
        .edition(TilesetEdition(tileset: tileset, domain: .maps, version: "", zooms: 0...14), Validators())
    }

    func receive(
        _ tile: TileID, edition: String?, known: Validators?, meter: TransferMeter?
    ) async throws(TileSourceError) -> TileArrival {
        let count = state.withLock { state in
            state.asked.append(tile)
            return state.asked.count { $0 == tile }
        }
        if let rule { return .answer(try rule(tile, count).get()) }
        let answer: Answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.withLock { state in
                    state.waiting[tile] = continuation
                    state.greatest = max(state.greatest, state.waiting.count)
                }
                if Task.isCancelled { self.answer(tile, .failure(TileSourceError(.cancelled, "taken back"))) }
            }
        } onCancel: {
            self.answer(tile, .failure(TileSourceError(.cancelled, "taken back")))
        }
        return .answer(try answer.get())
    }

    func size(of tile: TileID) async throws(TileSourceError) -> TileSize { sizeRule(tile) }

    func close() async {}
}
