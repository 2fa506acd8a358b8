import NavKit
package import NavGeo
package import NavMessages
package import NavStorage
package import NavTileCache
package import NavTileStore

/// What can be asked of offline regions.
extension TileCacheCore {
    /// Creates or updates a region and begins to load it.
    ///
    /// - Parameter estimates: Bytes of its tiles by tileset, where the source does not list them.
    func load(_ order: RegionOrder, estimates: [String: Int64]) throws(TileFailure) {
        let id = order.definition.id
        let before: StoredRegion?
        do throws(StoreError) {
            before = try store.reader.region(id)
        } catch {
            throw TileFailure(error)
        }
        try put(order.definition, estimates: estimates, now: now)
        guard let before, let load = loads[id] else { return }
        let changesGeometry = before.definition.geometry != order.definition.geometry
        let changesMetadata = order.definition.isDescribedOtherwise(than: before.definition)
        if load.isUpdate {
            loads[id]?.changesGeometry = changesGeometry
            loads[id]?.changesMetadata = changesMetadata
            return
        }
        // It was never complete: it is another one at once.
        if changesGeometry { tell(.geometryChanged, id) }
        if changesMetadata { tell(.metadataChanged, id) }
    }

    /// Pins the tiles of a region and begins to load those that are missing.
    func put(
        _ definition: StoredRegionDefinition, estimates: [String: Int64] = [:], now: NavGeo.Timestamp
    ) throws(TileFailure) {
        let (tiles, editions) = try tiles(of: definition)
        let id = definition.id
        try expectRoom(id, tiles, editions, estimates)
        do throws(StoreError) {
            // Until that has succeeded the region is what it was, and is loaded or waits as it did.
            let region = try store.putRegion(definition, tiles: tiles, editions: editions, now: now)
            if let old = loads.removeValue(forKey: id) { queue.forget(old.owner) }
            waiting[id] = nil
            toldEnds[id] = nil
            waits.add(id, until: nextTry)
            try resume(region)
        } catch {
            throw TileFailure(error)
        }
    }

    /// All tiles that a region needs, of the newest editions.
    private func tiles(
        of definition: StoredRegionDefinition
    ) throws(TileFailure) -> (tiles: [TileAddress], editions: [String: String]) {
        guard let area = definition.area else {
            throw TileFailure(.corruptData, "the stored area of region '\(definition.id)' cannot be read: load it anew")
        }
        var found = AreaTiles(limit: configuration.regionGreatestCount)
        var tiles: [TileAddress] = []
        var editions: [String: String] = [:]
        for descriptor in definition.descriptors {
            guard let desk = desk(descriptor.tileset), desk.keys.isCacheable else {
                throw TileFailure(.notFound, "there is no tileset '\(descriptor.tileset)' any more")
            }
            guard let newest = desk.newest else {
                desk.inquiry.hurry()
                throw TileFailure(
                    .providerUnavailable,
                    "it is not known yet what tileset '\(desk.keys.name)' has: "
                        + (desk.problem ?? "its source is being asked"), isRetryable: true,
                    obstacle: desk.isRemote && configuration.network.mode == .offline ? .network : nil)
            }
            tiles += try found.tiles(of: area, descriptor, newest).map { TileAddress(descriptor.tileset, $0) }
            editions[descriptor.tileset] = newest.key.version
        }
        guard !tiles.isEmpty else {
            throw TileFailure(
                .notFound, "none of the tilesets of region '\(definition.id)' has a tile in its area and zoom levels")
        }
        return (tiles, editions)
    }

    /// Loads the newest edition of a tileset beside the old one, for every region that has tiles of it.
    func restageRegions(of desk: TilesetDesk) {
        attempt("the offline regions") { () throws(StoreError) in
            for region in try store.reader.regions() where region.uses(anyOf: [desk.keys.name]) {
                guard region.state != .cancelled || region.staged != nil else { continue }
                let version = (region.staged?.editions ?? region.editions)[desk.keys.name]
                guard version != desk.newest?.key.version else { continue }
                do throws(TileFailure) {
                    try put(region.newest, now: now)
                } catch {
                    log.warning("region '\(region.definition.id)' cannot have the newer edition: \(error.message)")
                    if !error.isRetryable { waiting[region.definition.id] = error }
                    waits.add(region.definition.id, until: nextTry, for: error.obstacle)
                }
            }
        }
    }

    /// Most bytes of regions in an answer that is to have all of them: what may wait for a slow client.
    private static let greatestList = 16 << 20
    /// Most bytes of regions of a page, one region at least: with the largest one it is within the 4 MiB that a caller
    /// takes who says nothing else.
    private static let greatestPage = 2 << 20

    /// Regions by id: all of them, or a page.
    func regions(_ request: ListRegionsRequest) throws(TileFailure) -> ListRegionsResponse {
        let isPage = request.pageSize != nil
        let response: ListRegionsResponse
        do throws(StoreError) {
            response = try regions(
                after: request.startAfter ?? "", atMost: request.pageSize.map { max(Int($0), 1) } ?? .max,
                size: isPage ? Self.greatestPage : Self.greatestList)
        } catch {
            throw TileFailure(error)
        }
        guard isPage || response.nextStartAfter == nil else {
            throw TileFailure(
                .resourceExhausted,
                "there are more offline regions than one answer holds: ask for them page by page (page_size, start_after)"
            )
        }
        return response
    }

    private func regions(after start: String, atMost count: Int, size limit: Int) throws(StoreError)
        -> ListRegionsResponse
    {
        // By bytes: what looks alike may be two regions.
        let known = try store.reader.regionIDs()
        let bytes = Set(known.map { Array($0.utf8) })
        let ids = (known + requests.keys.filter { !bytes.contains(Array($0.utf8)) }).filter { Self.isBefore(start, $0) }
        var response = ListRegionsResponse()
        var size = 0
        for id in ids.sorted(by: Self.isBefore) {
            let stored = try store.reader.region(id)
            guard let region = try stored.map(message) ?? requests[id].map({ Region($0, .loading) }) else { continue }
            size += region.encoded().count
            guard response.regions.isEmpty || (response.regions.count < count && size <= limit) else {
                response.nextStartAfter = response.regions.last?.definition?.regionId
                break
            }
            response.regions.append(region)
        }
        return response
    }

    private static func isBefore(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }

    /// One region.
    func region(_ id: String) throws(TileFailure) -> Region {
        do throws(StoreError) {
            if let region = try store.reader.region(id) { return try message(of: region) }
        } catch {
            throw TileFailure(error)
        }
        guard let request = requests[id] else { throw Self.unknown(id) }
        return Region(request, .loading)
    }

    /// Removes a region; its tiles stay until room is needed.
    func remove(_ id: String) throws(TileFailure) {
        let isKnown: Bool
        do throws(StoreError) {
            isKnown = try store.removeRegion(id)
        } catch {
            throw TileFailure(error)
        }
        let failure = TileFailure(.cancelled, "region '\(id)' was removed")
        let request = withdraw(id, failure)
        guard isKnown else {
            // Nobody has heard of it but who wanted it.
            guard request != nil else { throw Self.unknown(id) }
            return
        }
        if let load = loads.removeValue(forKey: id) {
            queue.forget(load.owner)
            tell(.loadFinished, id, load.progress, success: false, failure)
        }
        waits.remove(id)
        waiting[id] = nil
        toldEnds[id] = nil
        isChanged = true
        outbox.tell(RegionEvent(kind: .removed, regionId: id))
        noteRoom()
    }

    /// Stops loading a region: what was loaded stays, and an update leaves it as it was.
    func cancel(_ id: String) throws(TileFailure) -> Region {
        let failure = TileFailure(.cancelled, "loading was cancelled")
        let request = withdraw(id, failure)
        guard let load = loads[id] else {
            guard waits.remove(id) else {
                if let request { return try isStored(id) ? region(id) : Region(request, .cancelled) }
                _ = try region(id)
                throw TileFailure(.wrongState, "region '\(id)' is not being loaded")
            }
            waiting[id] = nil
            isChanged = true
            do throws(StoreError) {
                let stored = try store.reader.region(id)
                if stored?.staged != nil {
                    try store.discardStaged(ofRegion: id, now: now)
                    noteRoom()
                } else if let stored, stored.state != .complete {
                    try store.setRegion(
                        id, state: .cancelled, progress: stored.progress,
                        failure: failure.stored, now: now)
                }
            } catch {
                throw TileFailure(error)
            }
            return try region(id)
        }
        if load.isUpdate {
            do throws(StoreError) {
                try store.discardStaged(ofRegion: id, now: now)
            } catch {
                throw TileFailure(error)
            }
            queue.forget(load.owner)
            loads[id] = nil
            waiting[id] = nil
            isChanged = true
            tell(.loadFinished, id, load.progress, success: false, failure)
            noteRoom()
        } else {
            end(id, .cancelled, failure)
        }
        return try region(id)
    }

    /// Changes name and metadata, and asks for its tiles again when that is wanted.
    func update(
        _ id: String, name: String?, metadata: [String: String]?, isToRevalidate: Bool
    ) throws(TileFailure) -> Region {
        if var request = requests[id] {
            request.order.definition.name = name ?? request.order.definition.name
            request.order.definition.metadata = metadata ?? request.order.definition.metadata
            requests[id] = request
            guard try isStored(id) else { return Region(request, .loading) }
        }
        let before = try stored(id).definition
        if name != nil || metadata != nil {
            do throws(StoreError) {
                try store.describeRegion(id, name: name, metadata: metadata, now: now)
            } catch {
                throw TileFailure(error)
            }
            let isOther =
                (name != nil && name != before.name) || (metadata != nil && metadata != before.metadata)
            if isOther { tell(.metadataChanged, id) }
        }
        if isToRevalidate { try revalidate(id) }
        return try region(id)
    }

    /// Asks the sources of a region for a newer edition at once, and for its tiles where they have no editions.
    private func revalidate(_ id: String) throws(TileFailure) {
        let stored = try stored(id)
        for descriptor in stored.newest.descriptors {
            guard let desk = desk(descriptor.tileset) else { continue }
            desk.inquiry.restart(isUrgent: true)
        }
        guard loads[id] == nil else { return }
        try put(stored.newest, now: now)
        let (tiles, editions) = try tiles(of: stored.newest)
        // What belongs to an edition with a name does not change.
        loads[id]?.toRevalidate = tiles.reversed().compactMap { address in
            editions[address.tileset] == "" ? RegionTile(address, edition: "") : nil
        }
    }

    private func isStored(_ id: String) throws(TileFailure) -> Bool {
        do throws(StoreError) {
            return try store.reader.region(id) != nil
        } catch {
            throw TileFailure(error)
        }
    }

    /// A region as it is stored.
    private func stored(_ id: String) throws(TileFailure) -> StoredRegion {
        do throws(StoreError) {
            if let region = try store.reader.region(id) { return region }
        } catch {
            throw TileFailure(error)
        }
        throw Self.unknown(id)
    }

    private static func unknown(_ id: String) -> TileFailure {
        TileFailure(.notFound, "there is no region '\(id)': navbus region list shows them")
    }
}
