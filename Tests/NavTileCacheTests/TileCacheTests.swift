import NavGeo
import NavStorage
import NavTileCache
import Testing

/// The decisions of the cache over time.
@Suite struct TileCacheTests {
    // MARK: Tiles ahead

    @Test func tileThatFailedToStoreIsFetchedAgain() {
        let bench = CacheBench([CacheBench.roads], isPredictive: true)
        bench.run(seconds: 2)
        bench.store.failure = { true }
        bench.drive(to: CacheBench.middle)
        bench.run(seconds: 5)
        let (all, none) = bench.wanted("roads")
        #expect(all.count > 5 && none.isEmpty)
        bench.store.failure = nil
        bench.run(seconds: 310)
        #expect(bench.wanted("roads").present == all)
    }

    @Test func rejectedTilesAreFetchedWhenRoomAppears() {
        let bench = CacheBench([CacheBench.roads], budget: 30_000, isPredictive: true)
        bench.drive(to: CacheBench.middle)
        bench.run(seconds: 60)
        let (all, some) = bench.wanted("roads")
        #expect(some.count < all.count && bench.cache.refusedCount > 0)
        bench.setBudget(50_000_000)
        bench.run(seconds: 5)
        #expect(bench.wanted("roads").present == all && bench.cache.refusedCount == 0)
    }

    @Test func tilesWithoutRoomAreNotFetchedAgainUntilThereMayBeRoom() {
        let bench = CacheBench([CacheBench.roads], budget: 150_000, isPredictive: true)
        bench.drive(to: CacheBench.middle)
        bench.run(seconds: 180)
        let (all, some) = bench.wanted("roads")
        let refused = bench.cache.refusedCount
        // At most one tile is fetched to find that there is no room.
        #expect(some.count > 5 && refused == all.count - some.count)
        #expect(bench.fetched.values.reduce(0, +) <= some.count + 1 && bench.fetched.values.max() == 1)
        // Tiles come within reach at the end of the order, and others leave it.
        for step in 1...120 {
            bench.drive(to: Coordinate(latitude: 41.15, longitude: -8.4 + 0.0024 * Double(step)))
            bench.run(seconds: 1)
        }
        #expect(bench.fetched.values.reduce(0, +) <= some.count + 20)
        #expect((bench.fetched.values.max() ?? 0) <= 3 && bench.store.disk.bytes <= 150_000)
    }

    @Test func tilesWithoutRoomAreMissingInTheCoverageOfTheRoute() throws {
        let bench = CacheBench([CacheBench.roads], budget: 30_000, isPredictive: true)
        bench.beginRoute()
        bench.run(seconds: 60)
        let (all, some) = bench.wanted("roads")
        #expect(bench.cache.refusedCount > 0 && some.count < all.count)
        #expect(try bench.cache.routeCoverage() == Double(some.count) / Double(all.count))
    }

    /// Returns a bench whose vehicle follows a route, with its road tiles stored, when its source publishes another
    /// edition.
    private static func benchOnRoute(
        _ roads: SimServer, beforeNews: (CacheBench) -> Void = { _ in }
    ) -> (bench: CacheBench, all: Set<TileID>) {
        let bench = CacheBench([roads], isPredictive: true)
        bench.beginRoute()
        bench.run(seconds: 60)
        let (all, present) = bench.wanted("roads")
        #expect(all.count > 5 && present == all)
        beforeNews(bench)
        bench.publish("roads")
        bench.tellEdition("roads")
        bench.run(seconds: 100)
        return (bench, all)
    }

    @Test func editionWhoseTilesCouldNotBeWrittenWaitsForThem() throws {
        let (bench, all) = Self.benchOnRoute(CacheBench.roads) { $0.store.isUnwritable = true }
        #expect(bench.version("roads") == "v1" && bench.cache.storeProblem != nil)
        let kept = bench.store.disk.tiles.values.filter { $0.edition == "v1" }.map(\.address.tile)
        #expect(Set(kept).isSuperset(of: all) && bench.wanted("roads").present.isEmpty)
        bench.store.isUnwritable = false
        bench.run(seconds: 310)
        #expect(bench.version("roads") == "v2" && bench.wanted("roads").present == all)
    }

    @Test func tilesThatCouldNotBeWrittenAreMissingInTheCoverageOfTheRoute() throws {
        let bench = CacheBench([CacheBench.roads], isPredictive: true)
        bench.run(seconds: 2)
        bench.store.isUnwritable = true
        bench.beginRoute()
        bench.run(seconds: 60)
        #expect(try bench.cache.routeCoverage() == 0)
        bench.store.isUnwritable = false
        bench.run(seconds: 310)
        #expect(try bench.cache.routeCoverage() == 1)
    }

    @Test func editionWithUnstorableTilesDoesNotComeIntoUse() throws {
        var roads = CacheBench.roads
        roads.publishesUnstorable = true
        let (bench, all) = Self.benchOnRoute(roads)
        let tileset = try #require(bench.cache.tileset("roads"))
        #expect(bench.version("roads") == "v1")
        #expect(tileset.outdatedReason?.contains("does not allow \(tileset.unstorable.count) tiles") == true)
        let kept = bench.store.disk.tiles.values.filter { $0.edition == "v1" }.map(\.address.tile)
        #expect(Set(kept).isSuperset(of: all) && tileset.unstorable.isSubset(of: all))
        bench.publish("roads")
        bench.tellEdition("roads")
        bench.run(seconds: 5)
        #expect(bench.version("roads") == "v3" && tileset.outdatedReason == nil && tileset.storingProblem == nil)
        #expect(bench.wanted("roads").present == all)
    }

    @Test func tilesThatMayNotBeStoredAreReportedAndFetchedOnce() throws {
        var roads = CacheBench.roads
        roads.publishesUnstorable = true
        roads.publish()
        let bench = CacheBench([roads], isPredictive: true)
        bench.beginRoute()
        bench.run(seconds: 60)
        let (all, some) = bench.wanted("roads")
        #expect(some.count < all.count && bench.fetched.count == all.count)
        #expect(try bench.cache.routeCoverage() == Double(some.count) / Double(all.count))
        // The tiles are planned again.
        let reach = CacheReach(position: 19_000, route: 1_500, destination: 4_000)
        bench.settings.navigation = CacheProfile(levels: [.init(zoom: 12, reach: reach)])
        bench.handle(.settings(bench.settings))
        bench.run(seconds: 400)
        #expect(bench.fetched.values.max() == 1)
        #expect(bench.cache.tileset("roads")?.storingProblem?.contains("store_anyway=true") == true)
        #expect(bench.logged.count { $0.contains("does not allow its tiles to be stored") } == 1)
    }

    @Test func tileLostDuringRevalidationIsFetchedInFull() throws {
        let bench = CacheBench([CacheBench.map(expiry: 100)], isPredictive: true)
        bench.drive(to: CacheBench.middle)
        bench.run(seconds: 10)
        let (all, present) = bench.wanted("map")
        #expect(!all.isEmpty && present == all)
        // All tiles have expired and are revalidated.
        bench.run(seconds: 150)
        bench.settings.isPredictive = false
        bench.handle(.settings(bench.settings))
        bench.settings.isPredictive = true
        bench.handle(.settings(bench.settings))
        bench.tick()
        let results = bench.fetch()
        // Tiles that the source lacks are requested as well.
        let held = results.filter { SimServer.has($0.address.tile) }
        #expect(!held.isEmpty)
        #expect(held.allSatisfy { if case .success(.notModified) = $0.outcome { true } else { false } })
        let lost = try #require(bench.store.disk.tiles.keys.min())
        bench.store.damage(lost)
        _ = try bench.store.scrub(from: ScrubPosition(), bytes: .max)
        _ = bench.store.takeLosses()
        #expect(bench.wanted("map").present.count == all.count - 1)
        bench.deliver(results)
        bench.run(seconds: 2)
        #expect(bench.wanted("map").present == all)
    }

    // MARK: Regions

    @Test func regionThatFailedOnDiskIsRetried() {
        let bench = CacheBench([CacheBench.roads])
        bench.run(seconds: 2)
        bench.load("home")
        bench.tick()
        let results = bench.fetch()
        bench.store.failure = { true }
        bench.deliver(results)
        bench.store.failure = nil
        bench.tick()
        #expect(bench.region("home")?.state == .incomplete && bench.finished.map(\.isSuccess) == [false])
        bench.run(seconds: 620)
        #expect(bench.region("home")?.state == .complete && bench.finished.map(\.isSuccess) == [false, true])
    }

    @Test func absentTilesAndConfirmedTilesOfABatchAreOneChangeEach() throws {
        let bench = CacheBench([CacheBench.map(expiry: 1_000)])
        bench.run(seconds: 2)
        bench.load("home", ["map"], radius: 100_000)
        bench.tick()
        func changes(of results: [DownloadResult]) -> Int {
            let before = bench.store.changeCount
            bench.deliver(results)
            return bench.store.changeCount - before
        }
        let results = bench.fetch()
        let absent = results.count { if case .success(.absent) = $0.outcome { true } else { false } }
        #expect(absent > 2 && results.count > 3 * absent)
        // The absent tiles leave the region, and the others are stored.
        #expect(changes(of: results) == 2)
        bench.tick()
        #expect(bench.region("home")?.state == .complete)
        _ = try bench.command { cache throws(TileFailure) in
            try cache.update("home", name: nil, metadata: nil, isToRevalidate: true)
        }
        bench.tick()
        bench.answerQuestions()
        bench.tick()
        #expect(changes(of: bench.fetch()) == 1)
        bench.tick()
        let answers = bench.fetch()
        let confirmed = answers.filter { if case .success(.notModified) = $0.outcome { true } else { false } }
        #expect(confirmed.count == results.count - absent)
        #expect(changes(of: confirmed) == 1)
        bench.deliver(answers.filter { answer in !confirmed.contains { $0.address == answer.address } })
        bench.tick()
        #expect(bench.region("home")?.state == .complete && bench.finished.map(\.isSuccess) == [true, true])
    }

    @Test func missingTileOfARegionIsReportedUntilTheRegionIsComplete() throws {
        let bench = CacheBench([CacheBench.roads])
        bench.run(seconds: 2)
        bench.load("home")
        bench.tick()
        var results = bench.fetch()
        let lost = try #require(results.first).address
        results[0].outcome = .failure(TileSourceError(.mismatch, "not found"))
        bench.deliver(results)
        bench.tick()
        #expect(bench.region("home")?.state == .incomplete)
        let reason = try #require(bench.cache.incompleteReasons["home"])
        #expect(reason == "lacks 1 of \(results.count) tiles: tile \(lost): not found")
        bench.run(seconds: 70)
        #expect(bench.region("home")?.state == .complete && bench.cache.incompleteReasons.isEmpty)
    }

    @Test func regionIsNotLoadedWhileTheFolderOfTheStoreIsMissing() {
        let bench = CacheBench([CacheBench.roads])
        bench.settings.scrubBytesPerSecond = 200_000
        bench.handle(.settings(bench.settings))
        bench.run(seconds: 2)
        bench.load("home")
        bench.run(seconds: 5)
        #expect(bench.region("home")?.state == .complete && bench.cache.scrub.problem == nil)
        // All tiles of the second region belong to the first one too.
        bench.store.isGone = true
        bench.load("again")
        bench.run(seconds: 10)
        #expect(bench.region("again") == nil && bench.finished.count == 1)
        #expect(bench.cache.scrub.problem?.contains("no longer exists") == true)
        bench.store.isGone = false
        bench.load("again")
        bench.run(seconds: 70)
        #expect(bench.region("again")?.state == .complete && bench.cache.scrub.problem == nil)
    }

    @Test func cancelledUpdateLeavesRegionUnchanged() throws {
        let bench = CacheBench([CacheBench.roads])
        bench.run(seconds: 2)
        bench.load("home")
        bench.run(seconds: 5)
        let before = try #require(bench.store.disk.regions["home"])
        #expect(before.stored.state == .complete && before.stored.editions == ["roads": "v1"])
        bench.publish("roads")
        bench.pass(to: 130)
        bench.tick()
        bench.answerQuestions()
        bench.tick()
        // Some tiles of the update are stored, and the others are being fetched.
        let results = bench.fetch()
        bench.deliver(Array(results.prefix(2)))
        #expect(bench.region("home")?.staged?.editions == ["roads": "v2"])
        let status = try bench.command { cache throws(TileFailure) in try cache.cancel("home") }
        guard case .stored(let told, _) = status else {
            Issue.record("a stored region was reported as not stored")
            return
        }
        #expect(told.state == .complete && told.failure == nil)
        bench.deliver(Array(results.dropFirst(2)))
        // Longer than unused editions are retained.
        bench.run(seconds: 100)
        let after = try #require(bench.store.disk.regions["home"])
        #expect(after.pins == before.pins && after.staged == nil && after.stored.state == .complete)
        #expect(after.stored.editions == ["roads": "v1"] && bench.store.disk.isWhole(after.pins))
        #expect(bench.version("roads") == "v1" && bench.finished.map(\.isSuccess) == [true, false])
        // The region may be updated again.
        _ = try bench.command { cache throws(TileFailure) in
            try cache.update("home", name: nil, metadata: nil, isToRevalidate: true)
        }
        bench.run(seconds: 10)
        #expect(bench.region("home")?.editions == ["roads": "v2"] && bench.version("roads") == "v2")
    }

    @Test func budgetBelowTheNeedOfRegionsIsReportedUntilThereIsRoom() throws {
        let bench = CacheBench([CacheBench.roads])
        bench.run(seconds: 2)
        bench.load("home")
        bench.run(seconds: 5)
        #expect(bench.region("home")?.state == .complete && bench.cache.excessBytes == 0)
        bench.setBudget(1_000)
        #expect(bench.cache.excessBytes == bench.store.disk.bytes - 1_000)
        try bench.command { cache throws(TileFailure) in try cache.remove("home") }
        #expect(bench.cache.excessBytes == 0 && bench.store.disk.bytes <= 1_000)
    }

    @Test func repeatedLoadKeepsNameAndMetadata() throws {
        let bench = CacheBench([CacheBench.roads])
        bench.run(seconds: 2)
        bench.load("home")
        bench.run(seconds: 5)
        _ = try bench.command { cache throws(TileFailure) in
            try cache.update("home", name: "Home", metadata: ["a": "b"], isToRevalidate: false)
        }
        bench.load("home", radius: 6_000)
        bench.run(seconds: 5)
        let definition = try #require(bench.region("home")).definition
        #expect(definition.name == "Home" && definition.metadata == ["a": "b"])
        #expect(String(decoding: definition.geometry, as: UTF8.self).hasSuffix(" 6000"))
    }

    @Test func idThatDiffersOnlyInItsUnicodeFormIsRefused() throws {
        let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
        let bench = CacheBench([CacheBench.roads])
        bench.run(seconds: 2)
        bench.load(composed)
        bench.tick()
        bench.load(decomposed)
        #expect(bench.refusals.map(\.code) == [.invalidRequest])
        #expect(throws: TileFailure.self) {
            _ = try bench.command { cache throws(TileFailure) in try cache.cancel(decomposed) }
        }
        #expect(throws: TileFailure.self) {
            try bench.command { cache throws(TileFailure) in try cache.remove(decomposed) }
        }
        #expect(throws: TileFailure.self) {
            _ = try bench.command { cache throws(TileFailure) in
                try cache.update(decomposed, name: "x", metadata: nil, isToRevalidate: false)
            }
        }
        bench.run(seconds: 5)
        let region = try #require(bench.region(composed))
        #expect(region.state == .complete && region.definition.id.utf8.elementsEqual(composed.utf8))
        bench.load(composed, radius: 5_000)
        #expect(bench.refusals.count == 1)
    }

    @Test func revalidationWaitsForTheNetwork() throws {
        let bench = CacheBench([CacheBench.roads])
        bench.run(seconds: 2)
        bench.load("home")
        bench.run(seconds: 5)
        let before = try #require(bench.region("home"))
        bench.settings.network = .offline
        bench.handle(.settings(bench.settings))
        let status = try bench.command { cache throws(TileFailure) in
            try cache.update("home", name: nil, metadata: nil, isToRevalidate: true)
        }
        guard case .stored(let told, _) = status else { throw TileFailure(.notFound, "not stored") }
        #expect(told.state == .complete && told.failure?.message.contains("offline") == true)
        bench.publish("roads")
        bench.run(seconds: 100)
        #expect(bench.region("home")?.updated == before.updated && bench.version("roads") == "v1")
        bench.settings.network = .unmetered
        bench.handle(.settings(bench.settings))
        bench.run(seconds: 10)
        #expect(bench.version("roads") == "v2" && bench.cache.outdatedReasons.isEmpty)
    }

    @Test func revalidationSucceedsOnlyOnceItsSourceHasAnswered() throws {
        let bench = CacheBench([CacheBench.roads])
        bench.run(seconds: 2)
        bench.load("home")
        bench.run(seconds: 5)
        func revalidate() throws {
            _ = try bench.command { cache throws(TileFailure) in
                try cache.update("home", name: nil, metadata: nil, isToRevalidate: true)
            }
            for _ in 0..<3 { bench.tick() }
        }
        try revalidate()
        #expect(bench.finished.map(\.isSuccess) == [true] && bench.questions.count == 1)
        bench.handle(.edition("roads", .failure(TileSourceError(.unreachable, "no route to the host"))))
        bench.tick()
        #expect(bench.finished.map(\.isSuccess) == [true, false] && bench.region("home")?.state == .complete)
        bench.answerQuestions()
        try revalidate()
        #expect(bench.finished.count == 2 && bench.questions.count == 1)
        bench.answerQuestions()
        bench.tick()
        #expect(bench.finished.map(\.isSuccess) == [true, false, true])
        // An offline network does not answer either.
        bench.pass(to: 20)
        try revalidate()
        bench.settings.network = .offline
        bench.handle(.settings(bench.settings))
        bench.handle(.edition("roads", .failure(TileSourceError(.offline, "the network mode is offline"))))
        bench.tick()
        #expect(bench.finished.map(\.isSuccess) == [true, false, true, false])
    }

    @Test func cancelledLoadCancelsItsDownloadsAndCountsLateTiles() throws {
        let bench = CacheBench([CacheBench.roads])
        bench.run(seconds: 2)
        bench.load("home")
        bench.tick()
        // All tiles have arrived, but some are not stored yet when the load is cancelled.
        let results = bench.fetch()
        bench.deliver(Array(results.prefix(2)))
        func progress(_ status: RegionStatus) throws -> StoredRegionProgress {
            guard case .stored(let region, _) = status else { throw TileFailure(.notFound, "not stored") }
            #expect(region.state == .cancelled)
            return region.progress
        }
        let before = try progress(try bench.command { cache throws(TileFailure) in try cache.cancel("home") })
        #expect(before.completedCount == 2 && bench.abandoned == [DownloadOwner(.region, "home")])
        bench.deliver(Array(results.dropFirst(2)))
        let after = try progress(try bench.command { cache throws(TileFailure) in try cache.region("home") })
        let stored = bench.store.disk.tiles.values
        #expect(after.completedCount == Int64(stored.count) && stored.count > 2)
        #expect(after.completedBytes > before.completedBytes)
        bench.run(seconds: 700)
        #expect(bench.finished.map(\.isSuccess) == [false] && bench.region("home")?.state == .cancelled)
    }

    @Test func cancelledUpdateIsNotRetriedForANewerEdition() throws {
        let bench = CacheBench([CacheBench.roads])
        bench.run(seconds: 2)
        bench.load("home")
        bench.run(seconds: 5)
        bench.publish("roads")
        bench.pass(to: 130)
        bench.tick()
        bench.answerQuestions()
        bench.tick()
        bench.deliver(bench.fetch())
        // The third edition finds no room while the second is loaded, and waits for it.
        bench.setBudget(1_000)
        bench.publish("roads")
        bench.tellEdition("roads")
        #expect(bench.region("home")?.staged?.editions == ["roads": "v2"])
        _ = try bench.command { cache throws(TileFailure) in try cache.cancel("home") }
        bench.setBudget(100_000_000)
        bench.run(seconds: 700)
        #expect(bench.version("roads") == "v1" && bench.region("home")?.staged == nil)
    }

    // MARK: Editions

    @Test func implausibleSizesInAListAreSummedWithoutOverflow() throws {
        let bench = CacheBench([CacheBench.roads], isPredictive: true)
        bench.drive(to: CacheBench.middle)
        bench.tick()
        var edition = CacheBench.roads.edition
        edition.tiles = edition.tiles?.map { ListedTile($0.tile, parts: [ListedPart(.body, size: .max, hash: nil)]) }
        bench.handle(.edition("roads", .success(.edition(edition, Validators()))))
        bench.load("home")
        bench.run(seconds: 5)
        // No tile is assumed to fit.
        #expect(bench.region("home") == nil && bench.cache.refusedCount > 0)
        let index = EditionIndex(edition)
        let all = try #require(edition.tiles).map(\.tile)
        #expect(index.size(of: all) == Int64(all.count) * EditionIndex.greatestSize)
    }

    @Test func requestedRevalidationIsUnconditional() throws {
        let bench = CacheBench([CacheBench.roads])
        bench.run(seconds: 2)
        bench.load("home")
        bench.run(seconds: 5)
        bench.pass(to: 130)
        bench.tick()
        #expect(bench.questions.map { $0.known?.etag } == ["v1"])
        bench.answerQuestions()
        _ = try bench.command { cache throws(TileFailure) in
            try cache.update("home", name: nil, metadata: nil, isToRevalidate: true)
        }
        bench.tick()
        #expect(bench.questions.map { $0.known == nil } == [true])
    }

    /// Returns a bench whose vehicle has all its road tiles stored when its source publishes a list of half of them.
    private static func benchWithShortList() -> (bench: CacheBench, all: Set<TileID>) {
        var roads = CacheBench.roads
        roads.publishesShortLists = true
        let bench = CacheBench([roads], isPredictive: true)
        bench.drive(to: CacheBench.middle)
        bench.run(seconds: 10)
        let (all, present) = bench.wanted("roads")
        #expect(all.count > 5 && present == all)
        bench.publish("roads")
        bench.tellEdition("roads")
        bench.run(seconds: 100)
        return (bench, all)
    }

    @Test func editionThatLacksTilesAheadWaitsForACompleteOne() throws {
        let (bench, all) = Self.benchWithShortList()
        let tileset = try #require(bench.cache.tileset("roads"))
        let lacking = all.filter { tileset.newest?.has($0) == false }.sorted()
        let first = try #require(lacking.first)
        #expect(lacking.count < all.count && bench.version("roads") == "v1")
        let reason = try #require(tileset.outdatedReason)
        #expect(reason.contains("lacks \(lacking.count) tiles") && reason.contains("\(TileAddress("roads", first))"))
        let kept = bench.store.disk.tiles.values.filter { $0.edition == "v1" }.map(\.address.tile)
        #expect(Set(kept).isSuperset(of: all))
        bench.publish("roads")
        bench.tellEdition("roads")
        bench.run(seconds: 5)
        #expect(bench.version("roads") == "v3" && tileset.outdatedReason == nil)
        #expect(bench.wanted("roads").present == all)
    }

    @Test func incompleteEditionIsUsedOnceTheVehicleNeedsOtherTilesSooner() throws {
        let (bench, _) = Self.benchWithShortList()
        let tileset = try #require(bench.cache.tileset("roads"))
        // The vehicle leaves the area of the stored tiles; the source no longer has the former edition.
        var place = CacheBench.middle
        while bench.version("roads") == "v1", place.longitude < CacheBench.middle.longitude + 2 {
            place = Coordinate(latitude: place.latitude, longitude: place.longitude + 0.01)
            bench.drive(to: place)
            bench.run(seconds: 5)
        }
        #expect(bench.version("roads") == "v2")
        let wanted = Set(bench.cache.wanted(of: tileset).map(\.tile))
        let former = bench.store.disk.tiles.values.filter { $0.edition == "v1" }.map(\.address.tile)
        #expect(former.contains { wanted.contains($0) && tileset.newest?.has($0) == false })
    }

    @Test func incompleteEditionIsUsedOnceItsMissingTilesAreNotNeeded() throws {
        let (bench, _) = Self.benchWithShortList()
        bench.drive(to: Coordinate(latitude: 48, longitude: 11))
        bench.run(seconds: 5)
        let tileset = try #require(bench.cache.tileset("roads"))
        #expect(bench.version("roads") == "v2" && tileset.outdatedReason == nil)
    }

    @Test func failingSourceAndItsRecoveryAreLoggedOnce() throws {
        let bench = CacheBench([CacheBench.roads])
        bench.run(seconds: 2)
        let tileset = try #require(bench.cache.tileset("roads"))
        for _ in 0..<2 {
            bench.handle(.edition("roads", .failure(TileSourceError(.unreachable, "no route to the host"))))
            bench.tick()
            bench.handle(.edition("roads", .failure(TileSourceError(.paused, "paused after failures"))))
            bench.tick()
        }
        #expect(!bench.logged.contains { $0.contains("paused after failures") })
        #expect(bench.logged.count { $0.contains("no route to the host") } == 1)
        #expect(tileset.complaint(nil) != nil && tileset.isUnreachable(nil))
        for _ in 0..<2 {
            bench.tellEdition("roads")
            bench.tick()
        }
        #expect(bench.logged.count { $0.contains("answers again") } == 1 && tileset.complaint(nil) == nil)
        // A queue that stops because the process ends does not indicate the state of the source.
        bench.handle(.edition("roads", .failure(TileSourceError(.closed, "the queue has stopped"))))
        #expect(tileset.problem == nil && !bench.logged.contains { $0.contains("has stopped") })
    }

    @Test(arguments: ["v1", "v2"]) func emptyListIsRejected(version: String) throws {
        let bench = CacheBench([CacheBench.roads])
        bench.run(seconds: 2)
        let empty = TilesetEdition(
            tileset: "roads", domain: .navigation, version: version, zooms: 0...0, tiles: [], document: [1])
        bench.handle(.edition("roads", .success(.edition(empty, Validators()))))
        bench.tick()
        let tileset = try #require(bench.cache.tileset("roads"))
        #expect(tileset.newest?.edition == CacheBench.roads.edition && tileset.current?.key == tileset.newest?.key)
        #expect(tileset.problem?.contains("lists no tiles") == true)
    }

    @Test func listOfTheSameEditionThatLacksTilesAheadIsRejected() throws {
        let bench = CacheBench([CacheBench.roads], isPredictive: true)
        bench.drive(to: CacheBench.middle)
        bench.run(seconds: 10)
        let (all, present) = bench.wanted("roads")
        #expect(all.count > 5 && present == all)
        var edition = CacheBench.roads.edition
        edition.tiles = edition.tiles?.filter { $0.tile == all.min() }
        bench.handle(.edition("roads", .success(.edition(edition, Validators()))))
        bench.tick()
        let tileset = try #require(bench.cache.tileset("roads"))
        #expect(tileset.current?.edition == CacheBench.roads.edition)
        #expect(tileset.problem?.contains("no longer lists \(all.count - 1) tiles") == true)
    }

    @Test func unrelatedTilesetsSwitchIndependently() throws {
        let bench = CacheBench([CacheBench.roads, CacheBench.local])
        bench.run(seconds: 2)
        bench.load("home")
        bench.run(seconds: 5)
        bench.publish("roads")
        bench.pass(to: 130)
        bench.tick()
        bench.answerQuestions()
        _ = try bench.command { cache throws(TileFailure) in try cache.cancel("home") }
        bench.publish("local")
        bench.run(seconds: 200)
        #expect(bench.version("roads") == "v1" && bench.version("local") == "v2")
    }

    @Test func tilesetsOfOneRegionSwitchTogether() throws {
        let bench = CacheBench([CacheBench.roads, CacheBench.local])
        bench.run(seconds: 2)
        bench.load("both", ["roads", "local"])
        bench.load("home")
        bench.run(seconds: 5)
        bench.publish("roads")
        bench.publish("local")
        bench.pass(to: 130)
        bench.tick()
        bench.answerQuestions()
        // This region holds back the roads, and thereby the local tiles of the other region.
        _ = try bench.command { cache throws(TileFailure) in try cache.cancel("home") }
        bench.run(seconds: 100)
        #expect(bench.version("roads") == "v1" && bench.version("local") == "v1")
        #expect(bench.region("both")?.editions == ["roads": "v1", "local": "v1"])
        try bench.command { cache throws(TileFailure) in try cache.remove("home") }
        bench.run(seconds: 5)
        #expect(bench.version("roads") == "v2" && bench.version("local") == "v2")
        #expect(bench.region("both")?.editions == ["roads": "v2", "local": "v2"])
    }

    @Test func editionWithoutRoomDuringOlderLoadIsUsedLater() {
        let bench = CacheBench([CacheBench.roads])
        bench.run(seconds: 2)
        bench.load("home")
        bench.run(seconds: 5)
        bench.publish("roads")
        bench.pass(to: 130)
        bench.tick()
        bench.answerQuestions()
        bench.tick()
        bench.deliver(bench.fetch())
        // The third edition appears before the completion of the second is noticed, and finds no room.
        bench.setBudget(1_000)
        bench.publish("roads")
        bench.tellEdition("roads")
        bench.run(seconds: 120)
        #expect(bench.version("roads") == "v1" && bench.region("home")?.staged?.editions == ["roads": "v2"])
        bench.setBudget(100_000_000)
        bench.run(seconds: 70)
        #expect(bench.version("roads") == "v3" && bench.region("home")?.editions == ["roads": "v3"])
    }
}
