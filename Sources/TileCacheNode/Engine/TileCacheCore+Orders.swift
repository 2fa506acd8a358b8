package import NavMessages
package import NavTileStore

/// A region that somebody wants to have, while it is being found out how large it is.
struct RegionRequest {
    /// What it is to be.
    var order: RegionOrder
    /// Who waits for it.
    var tokens: [UInt64]
    /// Which one it is, counted: answers to earlier ones are none to this.
    let number: UInt64
    /// What finds out how large it is.
    let sampling: Task<Void, Never>
}

/// Regions that are wanted, from the moment they are asked for: whoever lists, cancels or removes one knows of it.
extension TileCacheCore {
    /// Takes an order: it is loaded once it is known what its tilesets have, and whether it may fit.
    func take(_ order: RegionOrder, token: UInt64) {
        let id = order.definition.id
        if var same = requests[id], same.order.definition.wantsTiles(of: order.definition) {
            // What is being found out holds for this one: whoever asks again and again delays nothing.
            same.order = order
            same.tokens.append(token)
            requests[id] = same
            return
        }
        let before = requests.removeValue(forKey: id)
        before?.sampling.cancel()
        guard requests.count < TileCacheEngine.greatestBacklog else {
            outbox.add(.refused(token: token, TileLookup.overloaded))
            return
        }
        lastRequest += 1
        let number = lastRequest
        let sampling = Task { [lookup, post] in
            await lookup.waitUntilKnown(order.definition.descriptors.map(\.tileset))
            let estimates = await lookup.estimates(for: order)
            post { $0.begin(id, number, estimates) }
        }
        // Whoever wanted it as it was before sees what becomes of it.
        requests[id] = RegionRequest(
            order: order, tokens: (before?.tokens ?? []) + [token], number: number, sampling: sampling)
    }

    private func begin(_ id: String, _ number: UInt64, _ estimates: [String: Int64]) {
        guard let request = requests[id], request.number == number else { return }
        requests[id] = nil
        // Who asked hears of all that happens to the region from now on.
        for token in request.tokens { outbox.add(.accepted(token: token, region: id)) }
        do throws(TileFailure) {
            try load(request.order, estimates: estimates)
        } catch {
            for token in request.tokens { outbox.add(.refused(token: token, error)) }
        }
    }

    /// A region that was asked for is not loaded; what it would have been, nil when nobody had asked.
    func withdraw(_ id: String, _ failure: TileFailure) -> RegionRequest? {
        guard let request = requests.removeValue(forKey: id) else { return nil }
        request.sampling.cancel()
        for token in request.tokens { outbox.add(.refused(token: token, failure)) }
        return request
    }

    /// Ends all of them, without a word.
    func withdrawAll() {
        for request in requests.values { request.sampling.cancel() }
        requests = [:]
    }
}

extension StoredRegionDefinition {
    /// Whether it has the same tiles as another one.
    fileprivate func wantsTiles(of other: StoredRegionDefinition) -> Bool {
        geometry == other.geometry && descriptors == other.descriptors
    }
}

extension Region {
    /// The message of a region of which nothing is stored yet.
    init(_ request: RegionRequest, _ state: RegionState) {
        self.init(
            definition: request.order.definition.message, progress: RegionProgress(StoredRegionProgress()),
            state: state)
    }
}
