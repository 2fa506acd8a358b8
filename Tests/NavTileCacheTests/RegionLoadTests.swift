import NavGeo
import NavTileCache
import Testing

/// Arriving tiles of a region that is being loaded.
struct RegionLoadTests {
    private static let middle = address(7)

    private static func address(_ x: UInt32) -> TileAddress {
        TileAddress(
            "map",
            TileID(zoom: 20, x: x, y: 0) ?? TileID(containing: Coordinate(latitude: 41.15, longitude: -8.61), zoom: 20))
    }

    private static func tiles(_ range: Range<UInt32>) -> [RegionTile] {
        range.map { RegionTile(address($0), edition: "") }
    }

    private static func load(_ edition: String, isOnBoard: Bool = false) -> RegionLoad {
        var load = RegionLoad(
            StoredRegionDefinition(id: "r"), editions: ["map": edition], isUpdate: true,
            started: Timestamp(nanoseconds: 0), at: 0)
        load.progress.requiredCount = 2
        load.window[middle] = RegionLoad.Asked(edition: edition, isOnBoard: isOnBoard)
        return load
    }

    @Test(arguments: ["one", nil])
    func resultsOfAnotherEditionAreIgnored(late: String?) {
        var load = Self.load("two")
        load.take(RegionTile(Self.middle, edition: late ?? ""), bytes: 5, at: 1)
        load.settle(Self.middle, of: late, at: 1)
        #expect(load.drop(Self.middle, of: late, at: 1) == nil)
        load.fail(Self.middle, of: late, TileFailure(.notFound, "late"), at: 1)
        #expect(load.window.count == 1 && load.settled.isEmpty && load.failed.isEmpty)
        #expect(load.progress.requiredCount == 2 && load.progress.loadedCount == 0)

        load.take(RegionTile(Self.middle, edition: "two"), bytes: 5, at: 2)
        #expect(load.window.isEmpty && load.settled == [Self.middle] && load.progress.loadedBytes == 5)
    }

    @Test func absentTileIsNotNeededAndUnobtainableTileFails() {
        var load = Self.load("two")
        #expect(load.drop(Self.middle, of: "two", at: 1) == RegionTile(Self.middle, edition: "two"))
        #expect(load.progress.requiredCount == 1 && load.window.isEmpty)
        // A tile that was counted once remains counted.
        load = Self.load("two", isOnBoard: true)
        #expect(load.drop(Self.middle, of: "two", at: 1) == nil && load.settled == [Self.middle])
        load = Self.load("two")
        load.fail(Self.middle, of: "two", TileFailure(.notFound, "gone"), at: 1)
        #expect(load.failed == [Self.middle] && load.progress.erroredCount == 1)
    }

    @Test func tilesStillMissingAreRequestedAgain() {
        var load = Self.load("two")
        let tile = RegionTile(Self.middle, edition: "two")
        load.take(tile, bytes: 5, at: 1)
        #expect(load.takeFound([tile]).isEmpty)
        load.reopen([tile])
        #expect(load.takeFound([tile]) == [tile])
    }

    @Test func revalidationSkipsFetchedTilesAndCoversAllOthers() {
        let windowSize = UInt32(RegionLoad.windowSize)
        var load = Self.load("")
        load.window = [:]
        for tile in Self.tiles(0..<windowSize + 10) {
            load.window[tile.address] = RegionLoad.Asked(edition: "", isOnBoard: false)
            load.take(tile, bytes: 1, at: 1)
        }
        // More than one window of the following tiles is already fetched.
        let all = Self.tiles(0..<2 * windowSize + 30)
        load.toRevalidate = all.reversed()
        let first = load.takeToRevalidate()
        #expect(first == Array(all[Int(windowSize) + 10..<2 * Int(windowSize) + 10]))
        let last = load.takeToRevalidate()
        #expect(last == Array(all.suffix(20)))
        #expect(load.takeToRevalidate().isEmpty)

        // Unanswered requests are repeated when the window is rebuilt.
        for tile in last { load.window[tile.address] = RegionLoad.Asked(edition: "", isOnBoard: true) }
        load.settle(last[0].address, of: "", at: 2)
        load.clearWindow()
        #expect(load.window.isEmpty && load.takeToRevalidate() == Array(last.dropFirst()))
    }
}
