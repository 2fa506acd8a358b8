import NavGeo
import NavStorage

/// Commands on offline regions.
extension TileCache {
    /// Creates or updates a region and begins to load it.
    ///
    /// - Parameter estimates: The estimated bytes of its tiles by tileset, for sources that do not list them.
    func load(_ definition: StoredRegionDefinition, estimates: [String: Int64]) throws(TileFailure) {
        let id = definition.id
        let before = try checked { () throws(StoreError) in try store.reader.region(id) }
        add(.forgetFailures(definition.descriptors.map(\.tileset)))
        try put(definition, estimates: estimates)
        guard let before, let load = loads[id] else { return }
        let changesGeometry = before.definition.geometry != definition.geometry
        let changesMetadata = definition.isDescribedOtherwise(than: before.definition)
        if load.isUpdate {
            loads[id]?.changesGeometry = changesGeometry
            loads[id]?.changesMetadata = changesMetadata
            return
        }
        // A region that was never complete changes at once.
        if changesGeometry { report(.geometryChanged, id) }
        if changesMetadata { report(.metadataChanged, id) }
    }

    /// Pins the tiles of a region and begins to load those that are missing.
    func put(_ definition: StoredRegionDefinition, estimates: [String: Int64] = [:]) throws(TileFailure) {
        // The index of a removed disk may still be readable, and lists tiles that are no longer accessible.
        do throws(StoreError) { try store.requireFolder() } catch {
            throw TileFailure(.internal, error.description, isRetryable: true)
        }
        let (tiles, editions) = try tiles(of: definition)
        let id = definition.id
        try expectRoom(id, tiles, editions, estimates)
        try checked { () throws(StoreError) in
            // Until this succeeds, the region is unchanged, and its load or its scheduled retry continues.
            let region = try store.putRegion(definition, tiles: tiles, editions: editions, now: now)
            let old = loads.removeValue(forKey: id)
            if let old { forget(old.owner) }
            (outdatedReasons[id], incompleteReasons[id], loggedEnds[id]) = (nil, nil, nil)
            retries.add(id, until: nextTry)
            try resume(region)
            loads[id]?.awaitedSources = old?.awaitedSources ?? []
            loads[id]?.sourceFailure = old?.sourceFailure
        }
    }

    /// Returns all tiles that a region needs, with the newest editions.
    private func tiles(
        of definition: StoredRegionDefinition
    ) throws(TileFailure) -> (tiles: [TileAddress], editions: [String: String]) {
        guard let area = area(definition) else {
            throw TileFailure(
                .corruptData, "the stored area of region '\(definition.id)' is invalid; load the region again")
        }
        var found = AreaTiles(limit: settings.greatestRegionCount)
        var tiles: [TileAddress] = []
        var editions: [String: String] = [:]
        for descriptor in definition.descriptors {
            guard let tileset = tileset(descriptor.tileset), tileset.settings.isCacheable else {
                throw TileFailure(.notFound, "tileset '\(descriptor.tileset)' is no longer configured")
            }
            guard let newest = tileset.newest else {
                tileset.poll.hurry()
                throw TileFailure(
                    .providerUnavailable,
                    "the edition of tileset '\(tileset.name)' is not known yet: "
                        + (tileset.problem ?? "waiting for its source"), isRetryable: true,
                    obstacle: tileset.settings.isRemote && settings.network == .offline ? .network : nil)
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
    func restageRegions(of tileset: TrackedTileset) {
        attempt("the offline regions") { () throws(StoreError) in
            for region in try store.reader.regions() where region.uses(anyOf: [tileset.name]) {
                guard region.state != .cancelled || region.staged != nil else { continue }
                let version = (region.staged?.editions ?? region.editions)[tileset.name]
                guard version != tileset.newest?.key.version else { continue }
                do throws(TileFailure) {
                    try put(region.newest)
                } catch {
                    warn("region '\(region.definition.id)' cannot switch to the newer edition: \(error.message)")
                    if !error.isRetryable { outdatedReasons[region.definition.id] = error }
                    retries.add(region.definition.id, until: nextTry, for: error.obstacle)
                }
            }
        }
    }

    package func region(_ id: String) throws(TileFailure) -> RegionStatus {
        let stored = try checked { () throws(StoreError) -> RegionStatus? in
            guard let region = try store.reader.region(id) else { return nil }
            return try status(of: region)
        }
        if let stored { return stored }
        guard let request = requests[id] else { throw Self.unknown(id) }
        return .requested(request.definition, .loading)
    }

    /// Removes a region; its tiles stay until room is needed.
    package func remove(_ id: String) throws(TileFailure) {
        guard try !isMistakable(id) else { throw Self.unknown(id) }
        let isKnown = try checked { () throws(StoreError) in try store.removeRegion(id) }
        let failure = TileFailure(.cancelled, "region '\(id)' was removed")
        let request = withdraw(id, failure)
        guard isKnown else {
            // Only the callers of the request know of the region.
            guard request != nil else { throw Self.unknown(id) }
            return
        }
        if let load = loads.removeValue(forKey: id) {
            abandon(load.owner)
            report(.loadFinished, id, load.progress, success: false, failure)
        }
        retries.remove(id)
        revalidations.remove(id)
        outdatedReasons[id] = nil
        incompleteReasons[id] = nil
        loggedEnds[id] = nil
        isChanged = true
        add(.region(RegionNotice(kind: .removed, id: id)))
        noteRoom()
    }

    /// Stops loading a region, including its running downloads; loaded tiles stay, and a region under update keeps its
    /// former definition.
    package func cancel(_ id: String) throws(TileFailure) -> RegionStatus {
        guard try !isMistakable(id) else { throw Self.unknown(id) }
        let failure = TileFailure(.cancelled, "loading was cancelled")
        revalidations.remove(id)
        let request = withdraw(id, failure)
        guard let load = loads[id] else {
            guard retries.remove(id) else {
                if let request { return try isStored(id) ? region(id) : .requested(request.definition, .cancelled) }
                _ = try region(id)
                throw TileFailure(.wrongState, "region '\(id)' is not being loaded")
            }
            outdatedReasons[id] = nil
            incompleteReasons[id] = nil
            isChanged = true
            try checked { () throws(StoreError) in
                let stored = try store.reader.region(id)
                if stored?.staged != nil {
                    try store.discardStaged(ofRegion: id, now: now)
                    noteRoom()
                } else if let stored, stored.state != .complete {
                    try store.setRegion(
                        id, state: .cancelled, progress: stored.progress, failure: failure.stored, now: now)
                }
            }
            return try region(id)
        }
        // A retry for a newer edition may be scheduled in addition to the load.
        retries.remove(id)
        if load.isUpdate {
            try checked { () throws(StoreError) in try store.discardStaged(ofRegion: id, now: now) }
            abandon(load.owner)
            loads[id] = nil
            outdatedReasons[id] = nil
            isChanged = true
            report(.loadFinished, id, load.progress, success: false, failure)
            noteRoom()
        } else {
            // Tiles may have arrived for other owners as well.
            try checked { () throws(StoreError) in
                var progress = load.progress
                try store.reader.count(&progress, ofRegion: id)
                loads[id]?.progress = progress
            }
            end(id, .cancelled, failure)
        }
        return try region(id)
    }

    /// Changes the name and metadata of a region, and revalidates its tiles on request.
    package func update(
        _ id: String, name: String?, metadata: [String: String]?, isToRevalidate: Bool
    ) throws(TileFailure) -> RegionStatus {
        guard try !isMistakable(id) else { throw Self.unknown(id) }
        if var request = requests[id] {
            request.definition.name = name ?? request.definition.name
            request.definition.metadata = metadata ?? request.definition.metadata
            requests[id] = request
            guard try isStored(id) else { return .requested(request.definition, .loading) }
        }
        let before = try stored(id).definition
        if name != nil || metadata != nil {
            try checked { () throws(StoreError) in
                try store.describeRegion(id, name: name, metadata: metadata, now: now)
            }
            let isOther =
                (name != nil && name != before.name) || (metadata != nil && metadata != before.metadata)
            if isOther { report(.metadataChanged, id) }
        }
        if isToRevalidate { try revalidate(id) }
        return try region(id)
    }

    /// Polls the sources of a region for a newer edition at once, and revalidates the tiles of sources without editions; the revalidation
    /// is postponed while the network mode forbids it.
    ///
    /// The load ends once all sources have answered, and fails if one of them does not; a load in progress ends by itself.
    ///
    /// - Parameter polls: Whether the tilesets' lists are requested again; false for a repeated revalidation, which would otherwise reset
    ///   their backoff.
    func revalidate(_ id: String, polls: Bool = true) throws(TileFailure) {
        let stored = try stored(id)
        for descriptor in polls ? stored.newest.descriptors : [] {
            let tileset = tileset(descriptor.tileset)
            // An explicit request needs the list itself, not a confirmation that it is unchanged.
            tileset?.known = nil
            tileset?.poll.restart(isUrgent: true)
        }
        if polls { add(.forgetFailures(stored.newest.descriptors.map(\.tileset))) }
        guard loads[id] == nil else { return }
        if let closed = closedNetwork(toRevalidate: stored) { return postponeRevalidation(id, closed) }
        try put(stored.newest)
        revalidations.remove(id)
        let (tiles, editions) = try tiles(of: stored.newest)
        // Tiles of a named edition never change.
        loads[id]?.toRevalidate = tiles.reversed().compactMap { address in
            editions[address.tileset] == "" ? RegionTile(address, edition: "") : nil
        }
        if polls { loads[id]?.awaitedSources = Set(editions.keys) }
    }

    /// Postpones the revalidation of a region until the network allows it.
    func postponeRevalidation(_ id: String, _ closed: TileFailure) {
        revalidations.insert(id)
        outdatedReasons[id] = closed
        retries.add(id, until: nextTry, for: .network)
        isChanged = true
    }

    /// Removes tiles that no region needs.
    package func purge(_ name: String?, expiredOnly: Bool) throws(TileFailure) -> RemovalReport {
        if let name, tileset(name) == nil { throw TileFailure(.notFound, "there is no tileset '\(name)'") }
        let report = try checked { () throws(StoreError) in
            try store.purge(tileset: name, expiredAt: expiredOnly ? now : nil)
        }
        for tileset in tilesets where name == nil || tileset.name == name { planAnew(tileset) }
        noteRoom()
        return report
    }

    private func isStored(_ id: String) throws(TileFailure) -> Bool {
        try checked { () throws(StoreError) in try store.reader.region(id) != nil }
    }

    private func stored(_ id: String) throws(TileFailure) -> StoredRegion {
        guard let region = try checked({ () throws(StoreError) in try store.reader.region(id) }) else {
            throw Self.unknown(id)
        }
        return region
    }

    private static func unknown(_ id: String) -> TileFailure {
        TileFailure(.notFound, "there is no region '\(id)'; 'navbus region list' shows all")
    }
}
