import NavWire
import NavBus
import NavKit
import NavMap
import NavMessages

/// A requester of road tiles that a route needs from the tile cache; the tiles arrive in the node's directory.
///
/// It does not block: a route that lacks tiles fails, and is searched for again once they have arrived.
final class TileRequester {
    /// The most requests at once; a route that needs more tiles requests them at its next attempt.
    static let most = 64

    private let context: NodeContext
    private let log: NodeLog
    private let keys: TileCacheKeys
    private let arrived: () -> Void
    private var open: Set<RoadTileID> = []
    private var isFailing = false
    private let failures: NodeCounter

    /// A requester; `arrived` is called when a requested tile is available.
    init(_ context: NodeContext, keys: TileCacheKeys, arrived: @escaping () -> Void) {
        self.context = context
        log = context.log.part("tiles")
        self.keys = keys
        self.arrived = arrived
        failures = context.counter("tile_request_failures")
    }

    /// The advice for a caller whose request lacks tiles, which are requested if a tile cache runs.
    var advice: String {
        guard keys.isAsked else { return "give 'tiles' a map that has them, or set tile_cache.ask to fetch them" }
        let isRunning = try? context.bus.isServed(TileCacheService.name, by: keys.node.isEmpty ? nil : keys.node)
        return isRunning == true
            ? "they are being requested from the tile cache, and more may turn out to be needed: call again"
            : "no tile cache runs to fetch them: start one, or give 'tiles' a map that has them"
    }

    func ask(_ tiles: [RoadTileID]) {
        guard keys.isAsked else { return }
        for tile in tiles where !open.contains(tile) {
            guard open.count < Self.most else { return }
            var key = TileKey(tile)
            if !keys.tileset.isEmpty { key.tileset = keys.tileset }
            var options = CallOptions(timeout: .milliseconds(Int64(keys.deadline * 1_000)))
            options.node = keys.node.isEmpty ? nil : keys.node
            do throws(BusError) {
                open.insert(tile)
                try context.bus.call(
                    TileCacheService.getTile, GetTileRequest(key: key, acceptExpired: true, acceptPath: true),
                    options: options
                ) { [weak self] in self?.finish(tile, $0) }
            } catch {
                finish(tile, .failure(CallStatus(.unavailable, error.description)))
            }
        }
    }

    private func finish(_ tile: RoadTileID, _ result: Result<GetTileResponse, CallStatus>) {
        open.remove(tile)
        switch result {
        case .success(let answer) where answer.error == nil:
            if isFailing { log.info("the tile cache delivers tiles again") }
            isFailing = false
            arrived()
        case .success(let answer): fail(tile, answer.error?.message ?? "")
        case .failure(let status): fail(tile, status.description)
        }
    }

    private func fail(_ tile: RoadTileID, _ reason: String) {
        failures.add()
        if !isFailing { log.warning("the tile cache did not deliver tile \(tile): \(reason)") }
        isFailing = true
    }
}
