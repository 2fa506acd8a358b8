import NavBus
import NavDigest
import NavGeo
package import NavKit
package import NavMessages
import NavStorage
import NavTileCache
import NavTileStore
import NavWire

/// The TileCache service: mutating calls run on the cache's thread, in order; read-only calls run outside it.
extension TileCacheNode: TileCacheServiceProvider {
    /// Returns a tile from the cache or from its source; waits for a download until the call's deadline.
    package func getTile(_ request: GetTileRequest, _ call: UnaryCall<GetTileResponse>) throws {
        let key = request.key ?? TileKey()
        let tile: TileID
        do throws(TileFailure) {
            tile = try TileID(key, field: "key")
        } catch {
            call.finish(GetTileResponse(error: ErrorInfo(error)))
            return
        }
        let domain = key.domain.flatMap { TileDomain($0) }
        guard let view = engine.lookup.view(key.tileset, domain) else {
            let known = engine.lookup.views.map(\.keys.name).joined(separator: ", ")
            let configured = "configured: \(known.isEmpty ? "none" : known)"
            if let name = key.tileset, !name.isEmpty {
                call.finish(GetTileResponse(.notFound, "key.tileset: there is no tileset '\(name)'; \(configured)"))
            } else if let domain {
                call.finish(
                    GetTileResponse(.notFound, "key.domain: no tileset has \(domain.rawValue) tiles; \(configured)"))
            } else {
                call.finish(GetTileResponse(.invalidRequest, "key.tileset is missing, or a domain; \(configured)"))
            }
            return
        }
        let keys = view.keys
        if let domain, domain != keys.domain {
            call.finish(
                GetTileResponse(
                    .invalidRequest, "key.domain: tileset '\(keys.name)' only has \(keys.domain.rawValue) tiles"))
            return
        }
        let deadline = call.deadlineNanoseconds
        let responder = call.makeResponder()
        let acceptsPath = request.acceptPath ?? false
        let task = Task { [lookup = engine.lookup] in
            do throws(TileFailure) {
                let tile = try await lookup.find(
                    TileAddress(keys.name, tile), cacheOnly: request.cacheOnly ?? false,
                    acceptsExpired: request.acceptExpired ?? true, acceptsPath: acceptsPath, deadline: deadline)
                responder.finish(GetTileResponse(tile, acceptsPath: acceptsPath))
            } catch {
                responder.finish(GetTileResponse(error: ErrorInfo(error)))
            }
        }
        // Otherwise a tile that callers no longer await would still be fetched before all others.
        call.onCancel = { task.cancel() }
    }

    /// Creates or updates an offline region and loads it; sends progress first, then the region.
    ///
    /// The load belongs to the node, not to the call: a call that ends early only stops its own progress messages.
    /// CancelLoad ends the load.
    package func loadRegion(_ request: LoadRegionRequest, _ call: StreamCall<LoadRegionResponse>) throws {
        let order: RegionOrder
        do throws(TileFailure) {
            order = try RegionOrder(request.definition, tilesets: engine.lookup.views.map(\.keys))
        } catch {
            call.finish(LoadRegionResponse(error: ErrorInfo(error)))
            return
        }
        lastToken += 1
        let token = lastToken
        // Submissions keep the order of the calls, so that a later cancel or remove applies to the region.
        guard engine.submit({ $0.handle(.load(order.definition, token: token)) }) else {
            call.finish(LoadRegionResponse(error: ErrorInfo(TileFailure.overloaded)))
            return
        }
        askers[token] = call
        call.onCancel = { [weak self] in self?.forget(token, order.definition.id) }
    }

    /// Lists all offline regions, or a page of them.
    package func listRegions(_ request: ListRegionsRequest, _ call: UnaryCall<ListRegionsResponse>) throws {
        let responder = call.makeResponder()
        let isTaken = engine.submit { shell in
            do throws(TileFailure) {
                responder.finish(try shell.regions(request))
            } catch {
                let isTooMuch = error.code == .resourceExhausted
                responder.fail(CallStatus(isTooMuch ? .resourceExhausted : .internal, error.message))
            }
        }
        if !isTaken { responder.fail(TileCacheNode.overloaded) }
    }

    package func getRegion(_ request: GetRegionRequest, _ call: UnaryCall<GetRegionResponse>) throws {
        let id = request.regionId ?? ""
        try ask(call, naming: "region_id", { GetRegionResponse(error: $0) }) { cache throws(TileFailure) in
            GetRegionResponse(region: Region(try cache.region(id)))
        }
    }

    /// Removes an offline region; its tiles may then be evicted.
    package func removeRegion(_ request: RemoveRegionRequest, _ call: UnaryCall<RemoveRegionResponse>) throws {
        let id = request.regionId ?? ""
        try ask(call, naming: "region_id", { RemoveRegionResponse(error: $0) }) { cache throws(TileFailure) in
            try cache.remove(id)
            return RemoveRegionResponse()
        }
    }

    /// Changes the name and metadata of an offline region, or revalidates its tiles.
    package func updateRegion(_ request: UpdateRegionRequest, _ call: UnaryCall<UpdateRegionResponse>) throws {
        let id = request.regionId ?? ""
        try ask(call, naming: "region_id", { UpdateRegionResponse(error: $0) }) { cache throws(TileFailure) in
            let metadata =
                request.metadata.isEmpty ? nil : try RegionOrder.metadata(request.metadata, field: "metadata")
            let region = try cache.update(
                id, name: try RegionOrder.name(request.name, field: "name"), metadata: metadata,
                isToRevalidate: request.revalidate ?? false)
            return UpdateRegionResponse(region: Region(region))
        }
    }

    /// Stops loading an offline region; its loaded tiles are kept.
    package func cancelLoad(_ request: CancelLoadRequest, _ call: UnaryCall<CancelLoadResponse>) throws {
        let id = request.regionId ?? ""
        try ask(call, naming: "region_id", { CancelLoadResponse(error: $0) }) { cache throws(TileFailure) in
            CancelLoadResponse(region: Region(try cache.cancel(id)))
        }
    }

    /// Estimates the number of tiles and bytes of an offline region.
    package func estimateRegion(_ request: EstimateRegionRequest, _ call: UnaryCall<EstimateRegionResponse>) throws {
        let responder = call.makeResponder()
        let deadline = call.deadlineNanoseconds
        let names = request.definition?.descriptors.compactMap(\.tileset) ?? []
        let task = Task { [lookup = engine.lookup] in
            do throws(TileFailure) {
                responder.finish(
                    try await lookup.answer("the estimate", of: names, before: deadline) { () throws(TileFailure) in
                        try await lookup.estimate(request)
                    })
            } catch {
                responder.finish(EstimateRegionResponse(error: ErrorInfo(error)))
            }
        }
        call.onCancel = { task.cancel() }
    }

    /// Reports which tiles of an area are on board.
    package func coverage(_ request: TileCoverageRequest, _ call: UnaryCall<TileCoverageResponse>) throws {
        let responder = call.makeResponder()
        let isTaken = engine.lookup.run { [lookup = engine.lookup] in
            do throws(TileFailure) {
                responder.finish(try lookup.coverage(request))
            } catch {
                responder.finish(TileCoverageResponse(error: ErrorInfo(error)))
            }
        }
        guard isTaken else { return responder.fail(TileCacheNode.overloaded) }
    }

    package func statistics(_ request: StatisticsRequest, _ call: UnaryCall<StatisticsResponse>) throws {
        let stamp = context.stamp.nanoseconds
        let counts = engine.lookup.counts
        let responder = call.makeResponder()
        let isTaken = engine.submit { shell in
            do throws(StoreError) {
                var state = try shell.state()
                state.stampNs = stamp
                let statistics = shell.queue.statistics
                let corrupt = try shell.lookup.store.reader.statistics(now: shell.lookup.now).corruptCount
                responder.finish(
                    StatisticsResponse(
                        state: state, hitCount: counts.hits, missCount: counts.misses,
                        downloadedBytes: UInt64(clamping: statistics.receivedBytes),
                        evictedCount: UInt64(clamping: shell.cache.evictedCount),
                        failedCount: UInt64(clamping: statistics.failedAttempts),
                        corruptCount: UInt64(clamping: corrupt + Int64(statistics.corruptCount))))
            } catch {
                responder.fail(CallStatus(.internal, error.description))
            }
        }
        guard isTaken else { return responder.fail(TileCacheNode.overloaded) }
    }

    /// Removes tiles that no region pins.
    package func purge(_ request: PurgeRequest, _ call: UnaryCall<PurgeResponse>) throws {
        try ask(call, naming: "tileset", { PurgeResponse(error: $0) }) { cache throws(TileFailure) in
            let report = try cache.purge(request.tileset, expiredOnly: request.expiredOnly ?? false)
            return PurgeResponse(
                removedCount: UInt64(clamping: report.removedCount), freedBytes: UInt64(clamping: report.freedBytes))
        }
    }

    // MARK: Parts

    static let overloaded = CallStatus(.resourceExhausted, TileFailure.overloaded.message)

    /// Answers a call on the cache's thread.
    ///
    /// - Parameter field: The field that names the possibly missing item.
    private func ask<Response: Message>(
        _ call: UnaryCall<Response>, naming field: String, _ failed: @escaping @Sendable (ErrorInfo) -> Response,
        _ body: @escaping @Sendable (TileCache<TileStore>) throws(TileFailure) -> Response
    ) throws {
        let responder = call.makeResponder()
        let isTaken = engine.submit { shell in
            do throws(TileFailure) {
                responder.finish(try shell.run(body))
            } catch {
                responder.finish(failed(ErrorInfo(error.code == .notFound ? error.about(field) : error)))
            }
        }
        if !isTaken { responder.fail(TileCacheNode.overloaded) }
    }

    // MARK: Streams

    func accepted(_ token: UInt64, _ region: String) {
        guard let call = askers.removeValue(forKey: token) else { return }
        watchers[region, default: []].append(Watcher(token: token, call: call))
    }

    func refused(_ token: UInt64, _ failure: TileFailure) {
        for (region, calls) in watchers {
            for watcher in calls where watcher.token == token {
                watcher.call.finish(LoadRegionResponse(error: ErrorInfo(failure)))
                forget(token, region)
            }
        }
        askers.removeValue(forKey: token)?.finish(LoadRegionResponse(error: ErrorInfo(failure)))
    }

    /// Fails all calls that wait for a region.
    func endStreams() {
        let status = CallStatus(
            .unavailable, "the tile cache is shutting down; loaded tiles stay, and loading resumes when it restarts")
        for call in Array(askers.values) + watchers.values.joined().map(\.call) { call.fail(status) }
        (askers, watchers) = ([:], [:])
    }

    private func forget(_ token: UInt64, _ region: String) {
        askers[token] = nil
        watchers[region]?.removeAll { $0.token == token }
        if watchers[region]?.isEmpty == true { watchers[region] = nil }
    }

    /// Sends an event of a region to the calls that wait for it.
    func show(_ event: RegionEvent) {
        guard let id = event.regionId, let calls = watchers[id] else { return }
        if event.kind == .loadProgress {
            // A caller without credit skips this progress message and receives a later one.
            for watcher in calls where watcher.call.credit > 0 {
                watcher.call.send(LoadRegionResponse(progress: event.progress))
            }
        } else if event.kind == .loadFinished {
            watchers[id] = nil
            let last = LoadRegionResponse(progress: event.progress, region: event.region, error: event.error)
            for watcher in calls { watcher.call.finish(last) }
        }
    }
}

extension GetTileResponse {
    fileprivate init(_ code: TileFailure.Code, _ message: String) {
        self.init(error: ErrorInfo(TileFailure(code, message)))
    }

    fileprivate init(_ tile: FoundTile, acceptsPath: Bool) {
        self.init(
            data: tile.data, path: acceptsPath ? tile.path : nil, sha256: tile.hash.bytes,
            expiresNs: tile.expires?.nanoseconds, fromCache: tile.isFromCache, contentEncoding: tile.contentEncoding)
    }
}
