import NavGeo
import NavHTTP
import NavTileCache

/// An estimate of the total size of some tiles from the sizes of a sample.
///
/// The tiles of each zoom level form a stratum, ordered along the Hilbert curve. The samples are spread evenly over it
/// by the golden ratio, so they are reproducible. After sixteen of each level, more are taken where the counts and
/// variances are greatest (Neyman allocation) until the 95 % interval is within 8 %.
enum SizeEstimate {
    private struct Stratum {
        var tiles: [TileID]
        /// The number of values of the golden sequence used so far.
        var step = 0
        var seen: Set<Int> = []
        var sum = 0.0
        var squares = 0.0
        var presentCount = 0

        var isExhausted: Bool { seen.count == tiles.count }
        var mean: Double { seen.isEmpty ? 0 : sum / Double(seen.count) }
        var spread: Double {
            let count = Double(seen.count)
            return count < 2 ? mean : max((squares - sum * sum / count) / (count - 1), 0).squareRoot()
        }
        /// The variance of the estimated sum.
        var variance: Double {
            let (all, some) = (Double(tiles.count), Double(seen.count))
            return some == 0 || some == all ? 0 : all * all * (1 - some / all) * spread * spread / some
        }

        mutating func choose(_ count: Int) -> [TileID] {
            var chosen: [TileID] = []
            while chosen.count < count, seen.count < tiles.count {
                let place: Int
                if seen.count * 2 > tiles.count {
                    place = tiles.indices.first { !seen.contains($0) } ?? 0
                } else {
                    let position = (Double(step) + 0.5) * 0.618_033_988_749_894_9
                    place = min(Int((position - position.rounded(.down)) * Double(tiles.count)), tiles.count - 1)
                    step += 1
                }
                if seen.insert(place).inserted { chosen.append(tiles[place]) }
            }
            return chosen
        }

        mutating func note(_ size: Int64?) {
            let size = size.map(Double.init) ?? -1
            if size >= 0 { presentCount += 1 }
            sum += max(size, 0)
            squares += max(size, 0) * max(size, 0)
        }
    }

    private static let pilot = 16
    private static let mostSamples = 2_000
    private static let aim = 0.08

    static func estimate(
        _ wanted: [TileID], _ source: any TileSource, concurrency: Int, meter: TransferMeter?
    ) async throws(TileSourceError) -> DownloadEstimate {
        if source.knowsSizes { return try await all(wanted, source) }
        var strata = Dictionary(grouping: Set(wanted), by: \.zoom).sorted { $0.key < $1.key }.map { _, tiles in
            Stratum(tiles: tiles.sorted { HilbertTileID.number($0) < HilbertTileID.number($1) })
        }
        var requests = 0
        var batch = strata.indices.map { (stratum: $0, count: Self.pilot) }
        while true {
            for (index, count) in batch where count > 0 {
                let chosen = strata[index].choose(count)
                let sizes = try await sizes(chosen, source, concurrency, meter)
                requests += chosen.count
                for size in sizes { strata[index].note(size) }
            }
            let total = strata.reduce(0) { $0 + $1.mean * Double($1.tiles.count) }
            let margin = 1.96 * strata.reduce(0) { $0 + $1.variance }.squareRoot()
            let weights = strata.map { $0.isExhausted ? 0 : $0.spread * Double($0.tiles.count) }
            let weight = weights.reduce(0, +)
            if margin <= aim * total || requests >= mostSamples || weight == 0 {
                let present = strata.reduce(0) { sum, stratum in
                    let some = Double(max(stratum.seen.count, 1))
                    return sum + Double(stratum.presentCount) / some * Double(stratum.tiles.count)
                }
                return DownloadEstimate(
                    tileCount: Int(present.rounded()), bytes: Int64(total.rounded()),
                    uncertainty: Int64(margin.rounded(.up)), requestCount: requests)
            }
            let next = Double(min(max(requests, 64), 256))
            batch = weights.indices.map { ($0, Int((next * weights[$0] / weight).rounded(.up))) }
        }
    }

    /// Returns the exact sum, for a source that states the sizes of its tiles.
    private static func all(
        _ wanted: [TileID], _ source: any TileSource
    ) async throws(TileSourceError) -> DownloadEstimate {
        var estimate = DownloadEstimate(tileCount: 0, bytes: 0, uncertainty: 0, requestCount: 0)
        // Neighbours along the curve are in the same directory.
        let numbered = Set(wanted).map { (number: HilbertTileID.number($0), tile: $0) }
        for (_, tile) in numbered.sorted(by: { $0.number < $1.number }) {
            if Task.isCancelled { throw TileSourceError(.cancelled, "the estimate was cancelled") }
            guard case .bytes(let size) = try await source.size(of: tile) else { continue }
            estimate.tileCount += 1
            estimate.bytes += min(size, EditionIndex.greatestSize)
        }
        return estimate
    }

    /// Returns the sizes of some tiles; nil for tiles that do not exist.
    private static func sizes(
        _ tiles: [TileID], _ source: any TileSource, _ concurrency: Int, _ meter: TransferMeter?
    ) async throws(TileSourceError) -> [Int64?] {
        do {
            return try await withThrowingTaskGroup(of: (Int, Int64?).self) { group in
                var sizes = [Int64?](repeating: nil, count: tiles.count)
                for (index, tile) in tiles.enumerated() {
                    if index >= concurrency, let (done, size) = try await group.next() { sizes[done] = size }
                    group.addTask { (index, try await size(tile, source, meter)) }
                }
                for try await (done, size) in group { sizes[done] = size }
                return sizes
            }
        } catch let error as TileSourceError {
            throw error
        } catch {
            throw TileSourceError(.cancelled, "the estimate was cancelled")
        }
    }

    private static func size(
        _ tile: TileID, _ source: any TileSource, _ meter: TransferMeter?
    ) async throws(TileSourceError) -> Int64? {
        switch try await source.size(of: tile) {
        case .bytes(let size): return size
        case .absent: return nil
        case .unknown:
            // A server that does not state the size has to send the tile.
            return try await source.fetch(tile, edition: nil, known: nil, meter: meter).tile?.size
        }
    }
}
