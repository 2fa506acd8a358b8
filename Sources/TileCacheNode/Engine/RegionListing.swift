import NavMessages
import NavStorage
import NavTileCache
import NavTileStore

/// Listings of offline regions.
extension TileCacheShell {
    /// The maximum size of an answer with all regions, bytes; it may have to wait in memory for a slow client.
    private static let greatestList = 16 << 20
    /// The size of the regions above which a page ends, bytes; a page has at least one region.
    ///
    /// Even with the largest region, a page stays below 4 MiB, the default message limit of callers.
    private static let greatestPage = 2 << 20

    /// Returns regions by id: all of them, or a page.
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
                "there are too many offline regions for one response; list them in pages (page_size, start_after)"
            )
        }
        return response
    }

    private func regions(after start: String, atMost count: Int, size limit: Int) throws(StoreError)
        -> ListRegionsResponse
    {
        let reader = cache.store.reader
        // Compare bytes, since Swift treats canonically equivalent ids as equal.
        let known = try reader.regionIDs()
        let bytes = Set(known.map { Array($0.utf8) })
        let wanted = cache.requests.keys.filter { !bytes.contains(Array($0.utf8)) }
        let ids = (known + wanted).filter { Self.isBefore(start, $0) }
        var response = ListRegionsResponse()
        var size = 0
        for id in ids.sorted(by: Self.isBefore) {
            let region: Region
            if let stored = try reader.region(id) {
                region = Region(try cache.status(of: stored))
            } else if let request = cache.requests[id] {
                region = Region(.requested(request.definition, .loading))
            } else {
                continue
            }
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
}
