/// A region that somebody wants to have, while it is being found out how large it is.
package struct RegionRequest: Sendable {
    package var definition: StoredRegionDefinition
    /// The calls that wait for it.
    var tokens: [UInt64]
    /// The number of the request: answers to earlier ones are ignored.
    let number: UInt64
}

/// Regions that are wanted, from the moment they are asked for: whoever lists, cancels or removes one knows of it.
extension TileCache {
    /// Most regions that may be wanted at a time.
    private static var greatestRequestCount: Int { 1_000 }

    /// Takes a request: it is loaded once it is known what its tilesets have, and whether it may fit.
    func take(_ definition: StoredRegionDefinition, token: UInt64) {
        let id = definition.id
        if var same = requests[id], same.definition.wantsTiles(of: definition) {
            // What is being found out holds for this one: whoever asks again and again delays nothing.
            same.definition = definition
            same.tokens.append(token)
            requests[id] = same
            return
        }
        let before = requests.removeValue(forKey: id)
        if let before { add(.stopSample(number: before.number)) }
        guard requests.count < Self.greatestRequestCount else {
            add(.refused(token: token, .overloaded))
            return
        }
        lastRequest += 1
        // Whoever wanted it as it was before sees how it goes on.
        requests[id] = RegionRequest(
            definition: definition, tokens: (before?.tokens ?? []) + [token], number: lastRequest)
        add(.sample(definition, number: lastRequest))
    }

    /// Begins to load a region of which is known how much it may take.
    func begin(_ id: String, _ number: UInt64, _ estimates: [String: Int64]) {
        guard let request = requests[id], request.number == number else { return }
        requests[id] = nil
        // Who asked hears of all that happens to the region from now on.
        for token in request.tokens { add(.accepted(token: token, region: id)) }
        do throws(TileFailure) {
            try load(request.definition, estimates: estimates)
        } catch {
            for token in request.tokens { add(.refused(token: token, error)) }
        }
    }

    /// Drops a request; nil when there was none.
    func withdraw(_ id: String, _ failure: TileFailure) -> RegionRequest? {
        guard let request = requests.removeValue(forKey: id) else { return nil }
        add(.stopSample(number: request.number))
        for token in request.tokens { add(.refused(token: token, failure)) }
        return request
    }

    /// Drops all requests without telling anybody.
    func withdrawAll() {
        for number in requests.values.map(\.number).sorted() { add(.stopSample(number: number)) }
        requests = [:]
    }
}

extension TileFailure {
    package static let overloaded = TileFailure(
        .resourceExhausted, "too many requests wait for the tile cache: ask again later", isRetryable: true)
}

extension StoredRegionDefinition {
    /// Whether it has the same tiles as another one.
    fileprivate func wantsTiles(of other: StoredRegionDefinition) -> Bool {
        geometry == other.geometry && descriptors == other.descriptors
    }
}
