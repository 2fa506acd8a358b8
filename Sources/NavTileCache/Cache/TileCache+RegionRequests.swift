import NavStorage

/// A request for a region whose size is being estimated.
package struct RegionRequest: Sendable {
    package var definition: StoredRegionDefinition
    /// The calls that wait for it.
    var tokens: [UInt64]
    /// The number of the request; answers to earlier requests are ignored.
    let number: UInt64
}

/// Requested regions; they can be listed, cancelled and removed from the moment they are requested.
extension TileCache {
    /// The maximum number of pending requests for regions.
    private static var greatestRequestCount: Int { 1_000 }

    /// Takes a request; the load begins once the editions of its tilesets and an estimate of its size are known.
    func take(_ definition: StoredRegionDefinition, token: UInt64) {
        let id = definition.id
        do throws(TileFailure) {
            guard try !isMistakable(id) else {
                throw TileFailure(
                    .invalidRequest,
                    "region_id '\(id)' equals that of another region except for the encoding of its Unicode characters; "
                        + "use that region's id as it is, or another id")
            }
        } catch {
            add(.refused(token: token, error))
            return
        }
        let definition = withKnownDescription(definition)
        if var same = requests[id], same.definition.wantsTiles(of: definition) {
            // The pending estimate applies to this request too, so repeated requests cause no delay.
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
        // The callers of the earlier request are attached to the new one.
        requests[id] = RegionRequest(
            definition: definition, tokens: (before?.tokens ?? []) + [token], number: lastRequest)
        add(.sample(definition, number: lastRequest))
    }

    /// Whether an unknown id equals that of a region except for the encoding of its Unicode characters: the store distinguishes the two,
    /// and the keys of the loads do not.
    func isMistakable(_ id: String) throws(TileFailure) -> Bool {
        let ids = try checked { () throws(StoreError) in try store.reader.regionIDs() }
        let equal = (ids + requests.keys).filter { $0 == id }
        return !equal.isEmpty && !equal.contains { $0.utf8.elementsEqual(id.utf8) }
    }

    /// Returns a definition with its missing name and metadata taken from the region that it updates.
    private func withKnownDescription(_ definition: StoredRegionDefinition) -> StoredRegionDefinition {
        var definition = definition
        guard definition.name.isEmpty || definition.metadata.isEmpty else { return definition }
        var before = requests[definition.id]?.definition
        if before == nil {
            attempt("region '\(definition.id)'") { () throws(StoreError) in
                before = try store.reader.region(definition.id)?.newest
            }
        }
        guard let before else { return definition }
        if definition.name.isEmpty { definition.name = before.name }
        if definition.metadata.isEmpty { definition.metadata = before.metadata }
        return definition
    }

    /// Begins to load a region whose size is now estimated.
    func begin(_ id: String, _ number: UInt64, _ estimates: [String: Int64]) {
        guard let request = requests[id], request.number == number else { return }
        requests[id] = nil
        // From now on, the callers are informed of every event of the region.
        for token in request.tokens { add(.accepted(token: token, region: id)) }
        do throws(TileFailure) {
            try load(request.definition, estimates: estimates)
        } catch {
            for token in request.tokens { add(.refused(token: token, error)) }
        }
    }

    /// Drops and returns a request; nil when there was none.
    func withdraw(_ id: String, _ failure: TileFailure) -> RegionRequest? {
        guard let request = requests.removeValue(forKey: id) else { return nil }
        add(.stopSample(number: request.number))
        for token in request.tokens { add(.refused(token: token, failure)) }
        return request
    }

    /// Drops all requests without informing their callers.
    func withdrawAll() {
        for number in requests.values.map(\.number).sorted() { add(.stopSample(number: number)) }
        requests = [:]
    }
}

extension TileFailure {
    package static let overloaded = TileFailure(
        .resourceExhausted, "the tile cache has too many pending requests; retry later", isRetryable: true)
}

extension StoredRegionDefinition {
    /// Whether it needs the same tiles as another definition.
    fileprivate func wantsTiles(of other: StoredRegionDefinition) -> Bool {
        geometry == other.geometry && descriptors == other.descriptors
    }
}
