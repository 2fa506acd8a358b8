import Foundation
import NavBus
import NavGeo
import NavKit
import NavMessages
import NavTestKit
import NavTestSystem
import NavTileCache
import NavTileStore
import NavWire
import Synchronization
import Testing
import TileCacheNode

/// Editions published faster than regions are loaded.
struct CacheEditionTests {
    /// A gate that holds back the responses for one path and releases them individually.
    private final class Gate: Sendable {
        private struct State {
            var path: String?
            var asked = 0
            var released = 0
        }

        private let state = Mutex(State())

        /// The number of responses that were held back so far.
        var asked: Int { state.withLock { $0.asked } }

        func hold(_ path: String) { state.withLock { $0.path = path } }

        /// Releases the oldest response.
        func release() { state.withLock { $0.released += 1 } }

        func pass(_ path: String) {
            let place = state.withLock { state -> Int? in
                guard path == state.path else { return nil }
                state.asked += 1
                return state.asked
            }
            guard let place else { return }
            while state.withLock({ $0.released < place }) { usleep(1_000) }
        }
    }

    @Test func lateTileOfRemovedEditionDoesNotDisturbTheNewest() async throws {
        let scratch = try TemporaryFolder()
        defer { withExtendedLifetime(scratch) {} }
        let folder = scratch.path + "/server"
        let all = try TileFolders.roads(in: folder, reach: 20_000)
        let gate = Gate()
        let server = try LoopbackServer { request, _ in
            guard let body = FileManager.default.contents(atPath: folder + request.path) else {
                return .answer(status: 404)
            }
            gate.pass(request.path)
            return .answer(body: [UInt8](body))
        }
        let table = try CacheTable([
            "tilesets=name=roads,source=\(server.url)", "edition.check_interval_s=86400", "region.retry_s=86400",
            "network.retries=0",
        ])
        let area = try RegionArea.circle(around: TileFolders.porto, radius: 6_000)
        let loaded = try await table.load(
            RegionDefinition(
                regionId: "r", geometry: MultiPolygon(area), descriptors: [TilesetDescriptor(tileset: "roads")]))
        #expect(loaded.last?.region?.state == .complete)
        let wanted = try table.onBoard("roads", of: all)

        func publish(_ version: String) async throws {
            try TileFolders.roads(in: folder, version: version, reach: 20_000)
            let answer = try await table.call(
                TileCacheService.updateRegion, UpdateRegionRequest(regionId: "r", revalidate: true))
            #expect(answer.error == nil)
        }
        func editions() throws -> [String] {
            try TileStoreReader(folder: table.folder + "/store").editions().map(\.key.version)
        }
        // The last file of a tile, so that the tile is complete when it arrives.
        let late = try #require(wanted.filter { $0.zoom == 12 }.min())
        gate.hold("/12/\(late.x)/\(late.y).rank")
        try await publish("two")
        try await table.until("a tile is being fetched") { gate.asked == 1 }
        try await publish("three")
        try await table.until("the middle edition is removed") {
            try gate.asked == 2 && editions().sorted() == ["one", "three"]
        }
        let node = try #require(table.node).node
        let before = node.downloads
        gate.release()
        try await table.until("the late tile is fetched") { node.downloads > before }
        // Arrived tiles are stored within the next turns, which is not reported.
        try await table.pass(seconds: 2)
        #expect(try table.events.allSatisfy { $0.success != false })
        #expect(try table.states.last?.mapVersion == "one")

        gate.release()
        try await table.until("the newest edition is in use") { try table.states.last?.mapVersion == "three" }
        #expect(try table.onBoard("roads", of: all) == wanted)
        let listed = try await table.call(TileCacheService.listRegions, ListRegionsRequest())
        #expect(listed.regions.map(\.state) == [.complete] && listed.regions.allSatisfy { $0.error == nil })
        #expect(try !table.findings.contains { $0.code == "region_outdated" })
        #expect(try table.check() == [])
        await table.end()
    }

    @Test func changedSourceThatFailsPollsIsNotPolledPerTile() async throws {
        let scratch = try TemporaryFolder()
        defer { withExtendedLifetime(scratch) {} }
        let folder = scratch.path + "/server"
        try TileFolders.roads(in: folder, reach: 40_000)
        // The newer list is served once and then fails.
        let lists = Mutex(Int.max)
        let server = try LoopbackServer { request, _ in
            guard let body = FileManager.default.contents(atPath: folder + request.path) else {
                return .answer(status: 404)
            }
            guard request.path.hasSuffix("tileset.json") else { return .answer(body: [UInt8](body)) }
            let isLeft = lists.withLock { left in
                left -= 1
                return left >= 0
            }
            return isLeft ? .answer(body: [UInt8](body)) : .answer(status: 418)
        }
        let table = try CacheTable([
            "tilesets=name=roads,source=\(server.url)", "edition.check_interval_s=86400", "region.retry_s=86400",
            "network.retries=0",
        ])
        try await table.settle()
        // A list that was just fetched is not polled again.
        try await table.pass(seconds: 6)
        try TileFolders.roads(in: folder, version: "two", reach: 40_000)
        lists.withLock { $0 = 1 }
        let before = server.requests.count { $0.path.hasSuffix("tileset.json") }
        let tile = TileID(containing: TileFolders.porto, zoom: 12)
        let key = TileKey(domain: .navigation, zoom: 12, x: tile.x, y: tile.y)
        let doubted = try await table.call(TileCacheService.getTile, GetTileRequest(key: key))
        #expect(doubted.error?.code == .wrongState, "\(doubted)")

        let area = try RegionArea.circle(around: TileFolders.porto, radius: 30_000)
        try table.caller.call(
            TileCacheService.loadRegion,
            LoadRegionRequest(
                definition: RegionDefinition(
                    regionId: "r", geometry: MultiPolygon(area), descriptors: [TilesetDescriptor(tileset: "roads")])),
            options: CallOptions(timeout: .seconds(600))
        ) { _ in }
        try await table.pass(seconds: 3)
        #expect(try table.findings.contains { $0.code == "source_faulty" })
        // One successful poll, then one after each pause: 2, 4 and 8 s.
        let asked = server.requests.count { $0.path.hasSuffix("tileset.json") } - before
        #expect((2...20).contains(asked), "\(asked)")
        await table.end()
    }
}
