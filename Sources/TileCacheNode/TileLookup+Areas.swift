import NavGeo
import NavMessages
import NavStorage
import NavTileCache
import NavTileStore

extension TileLookup {
    /// The maximum number of missing tiles listed in an answer.
    static let greatestMissingCount = 10_000
    /// The maximum number of descriptors of a coverage request, since each requires a separate cover of the area.
    private static let greatestDescriptorCount = 64

    /// The tiles of an area in one tileset.
    private struct Part: Sendable {
        var view: TilesetView
        var index: EditionIndex
        var tiles: [TileID]
    }

    /// Returns the number of tiles of an area, and those that are not on board.
    func coverage(_ request: TileCoverageRequest) throws(TileFailure) -> TileCoverageResponse {
        guard let geometry = request.geometry else {
            throw TileFailure(.invalidRequest, "geometry is missing: the area")
        }
        guard !request.descriptors.isEmpty else {
            throw TileFailure(.invalidRequest, "descriptors is empty; name at least one tileset")
        }
        guard request.descriptors.count <= Self.greatestDescriptorCount else {
            throw TileFailure(
                .invalidRequest,
                "descriptors has \(request.descriptors.count) entries, more than \(Self.greatestDescriptorCount)")
        }
        let area = try RegionArea(geometry)
        let keys = views.map(\.keys)
        let descriptors = try NavTileCache.RegionDescriptor.all(request.descriptors, in: keys, field: "descriptors")
        var response = TileCoverageResponse(wantedCount: 0, presentCount: 0)
        var (wanted, present) = (0, 0)
        var counted: [String: Set<TileID>] = [:]
        for var part in try parts(of: area, descriptors, \.current) {
            let name = part.view.keys.name
            if descriptors.count(where: { $0.tileset == name }) > 1 {
                part.tiles = part.tiles.filter { counted[name, default: []].insert($0).inserted }
            }
            let missing: [TileID]
            do throws(StoreError) {
                missing = try store.reader.absent(part.tiles, in: part.index.key)
            } catch {
                throw TileFailure(error)
            }
            wanted += part.tiles.count
            present += part.tiles.count - missing.count
            let room = Self.greatestMissingCount - response.missing.count
            response.missing += missing.prefix(room).map {
                TileKey(TileAddress(name, $0), part.view.keys.domain)
            }
        }
        (response.wantedCount, response.presentCount) = (UInt64(wanted), UInt64(present))
        return response
    }

    /// Returns the number of tiles and bytes of a region, exact where the sources list their tiles, and otherwise based
    /// on samples.
    ///
    /// It also returns the bytes still to be downloaded.
    func estimate(_ request: EstimateRegionRequest) async throws(TileFailure) -> EstimateRegionResponse {
        let order = try RegionOrder(request.definition, tilesets: views.map(\.keys), needsID: false)
        await waitUntilKnown(order.definition.descriptors.map(\.tileset))
        let budget = store.budgetBytes
        let found = try await read {
            [self] () -> Result<(parts: [Part], missing: [[TileID]], kept: Int64), TileFailure> in
            Result { () throws(TileFailure) in
                let parts = try parts(of: order.area, order.definition.descriptors, \.newest)
                do throws(StoreError) {
                    var missing: [[TileID]] = []
                    for part in parts { missing.append(try store.reader.absent(part.tiles, in: part.index.key)) }
                    let tiles = parts.flatMap { part in part.tiles.map { TileAddress(part.view.keys.name, $0) } }
                    let editions = parts.map { ($0.view.keys.name, $0.index.key.version) }
                    let kept = try store.keptBytes(
                        besideRegion: order.definition.id, tiles, editions: Dictionary(editions) { $1 })
                    return (parts, missing, kept)
                } catch {
                    throw TileFailure(error)
                }
            }
        }.get()
        var (count, bytes, toDownload) = (0, Int64(0), Int64(0))
        for (part, missing) in zip(found.parts, found.missing) {
            if let size = part.index.size(of: part.tiles) {
                count += part.tiles.count
                bytes += size
                toDownload += part.index.size(of: missing) ?? 0
                continue
            }
            let estimate: DownloadEstimate
            do throws(TileSourceError) {
                estimate = try await queue.estimate(part.tiles, of: part.view.keys.name)
            } catch {
                throw TileFailure(error)
            }
            count += estimate.tileCount
            bytes += estimate.bytes
            guard !part.tiles.isEmpty else { continue }
            let share = Double(missing.count) / Double(part.tiles.count)
            toDownload += Int64((Double(estimate.bytes) * share).rounded())
        }
        return EstimateRegionResponse(
            tileCount: UInt64(clamping: count), sizeBytes: UInt64(clamping: bytes),
            downloadBytes: UInt64(clamping: toDownload), freeBytes: UInt64(clamping: max(budget - found.kept, 0)))
    }

    /// The assumed maximum size of a tile of an unlisted tileset, for comparing its total with the budget, bytes.
    private static let greatTile: Int64 = 500_000

    /// Returns the lower estimate of the bytes of a region's tiles, by tileset, for sources that do not list them.
    ///
    /// Samples are taken only for tilesets that might not fit into the budget, only over an unmetered network, and for
    /// a few seconds at most.
    func estimates(for definition: StoredRegionDefinition) async -> [String: Int64] {
        guard queue.network == .unmetered else { return [:] }
        return await withTaskGroup(of: [String: Int64].self) { group in
            group.addTask { [self] in await samples(for: definition) }
            group.addTask { [limit = configuration.samplingTime] in
                try? await Task.sleep(for: limit)
                return [:]
            }
            let first = await group.next() ?? [:]
            group.cancelAll()
            return first
        }
    }

    private func samples(for definition: StoredRegionDefinition) async -> [String: Int64] {
        guard let area = definition.area else { return [:] }
        let found = try? await read { [self] () -> [Part] in
            (try? parts(of: area, definition.descriptors, \.newest)) ?? []
        }
        var estimates: [String: Int64] = [:]
        for part in found ?? [] where part.index.sizes == nil {
            guard Int64(part.tiles.count) * Self.greatTile > store.budgetBytes else { continue }
            let name = part.view.keys.name
            let estimate = try? await queue.estimate(part.tiles, of: name)
            if let estimate { estimates[name] = max(estimate.bytes - estimate.uncertainty, 0) }
        }
        return estimates
    }

    private func parts(
        of area: RegionArea, _ descriptors: [NavTileCache.RegionDescriptor],
        _ edition: KeyPath<TilesetView, EditionIndex?>
    ) throws(TileFailure) -> [Part] {
        var found = AreaTiles(limit: configuration.cache.greatestRegionCount)
        var parts: [Part] = []
        for descriptor in descriptors {
            guard let view = view(descriptor.tileset, nil), let index = view[keyPath: edition] else {
                throw TileFailure(
                    .providerUnavailable,
                    "the edition of tileset '\(descriptor.tileset)' is not known yet"
                        + (self.view(descriptor.tileset, nil)?.problem.map { ": its source reports: \($0)" }
                            ?? ": its source has not answered"),
                    isRetryable: true)
            }
            parts.append(Part(view: view, index: index, tiles: try found.tiles(of: area, descriptor, index)))
        }
        return parts
    }
}
