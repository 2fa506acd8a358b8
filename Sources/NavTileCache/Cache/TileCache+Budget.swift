import NavStorage

/// The check that offline regions fit into the budget.
extension TileCache {
    /// Retries the tiles and regions that did not fit the budget, because there may be room again.
    func noteRoom() {
        isChanged = true
        retries.end(.budget)
        if excessBytes > 0 { shrinkToBudget() }
        noteRoomAhead()
    }

    /// Plans again the tiles ahead that did not fit the budget.
    func noteRoomAhead() {
        mayHaveRoom = false
        guard refusedCount > 0 else { return }
        isChanged = true
        refusedCount = 0
        for tileset in tilesets {
            tileset.noteRoom()
            planAnew(tileset)
        }
    }

    /// The advice to users when the budget is full.
    package var budgetAdvice: String {
        "store.budget_mb (\(settings.budgetMB)), which offline regions and tiles ahead of the vehicle use up; raise "
            + "it, remove offline regions, or keep fewer tiles ahead (predictive.*)"
    }

    /// The state of tiles on board that exceed the budget.
    package var excessText: String {
        "the tiles on board exceed the budget by \(Self.megabytes(excessBytes)), and none may be evicted: "
            + "they need more than \(budgetAdvice)"
    }

    private static func megabytes(_ bytes: Int64) -> String { "\(Double(bytes / 100_000) / 10) MB" }

    /// Rejects a region that cannot fit beside the others, before any of its tiles are fetched.
    ///
    /// - Parameter estimates: The estimated bytes of its tiles by tileset, for sources that do not list them; a tileset
    ///   without an estimate counts as zero.
    func expectRoom(
        _ id: String, _ tiles: [TileAddress], _ editions: [String: String], _ estimates: [String: Int64]
    ) throws(TileFailure) {
        let budget = store.budgetBytes
        let stored = try checked { () throws(StoreError) in try store.reader.storedBytes() }
        guard stored + size(of: tiles, among: tiles, estimates) > budget else { return }
        let (held, others) = try checked { () throws(StoreError) in
            try store.reader.held(besideRegion: id, tiles, editions: editions)
        }
        let needed = size(of: others, among: tiles, estimates)
        guard needed > 0, needed > budget - held else { return }
        throw TileFailure(
            .resourceExhausted,
            "region '\(id)' needs \(Self.megabytes(needed)) more, but only \(Self.megabytes(max(budget - held, 0))) of "
                + "store.budget_mb (\(settings.budgetMB)) are left by the offline regions; raise it, make the region "
                + "smaller, or remove others", obstacle: .budget)
    }

    /// The size of some of a region's tiles, bytes.
    private func size(of some: [TileAddress], among all: [TileAddress], _ estimates: [String: Int64]) -> Int64 {
        var indices: [String: EditionIndex] = [:]
        for tileset in tilesets { indices[tileset.name] = tileset.newest }
        var counts: [String: (some: Int, all: Int)] = [:]
        for tile in all { counts[tile.tileset, default: (0, 0)].all += 1 }
        var bytes: Int64 = 0
        for tile in some {
            counts[tile.tileset, default: (0, 0)].some += 1
            bytes += indices[tile.tileset]?.sizes?[tile.tile] ?? 0
        }
        for (name, estimate) in estimates {
            guard let count = counts[name], count.all > 0 else { continue }
            bytes += Int64((Double(estimate) * Double(count.some) / Double(count.all)).rounded())
        }
        return bytes
    }
}
