import Foundation
import Glibc
import NavSimulation
import NavTestKit
import NavTestSystem
import Testing

/// A tile cache that is killed while it loads offline regions from a real tile server.
@Suite(.enabled(if: Nginx.program != nil, "needs nginx: set NAVBUS_NGINX to the program"))
struct CacheKillTests {
    /// The number of kills: `NAVBUS_REGION_KILLS`, else 3.
    static let kills = Int(ProcessInfo.processInfo.environment["NAVBUS_REGION_KILLS"] ?? "") ?? 3
    /// The seed of the kill times: `NAVBUS_REGION_SEED`, else random.
    static let seed =
        UInt64(ProcessInfo.processInfo.environment["NAVBUS_REGION_SEED"] ?? "") ?? .random(in: 0 ... .max)

    /// Kills the cache at random times while regions are loaded, updated to newer editions, removed and loaded again.
    /// Its store stays consistent, no stored tile is lost, complete regions stay complete in the old or new edition,
    /// stored tiles are not fetched again, and at the end everything is loaded.
    @Test func killsLoseNoTilesAndLoadingContinues() async throws {
        try await withSandbox { box in
            let roads = MadeUpRoads(in: box)
            try await roads.publish(1)
            let server = try Nginx(serving: roads.served)
            var drill = KillDrill(box, roads, server, seed: Self.seed)
            for _ in 0..<Self.kills { try await drill.round() }
            try await drill.finish()
            print("\(drill.report) (NAVBUS_REGION_SEED=\(Self.seed))")
        }
    }
}

/// A sequence of kills, and the state of the cache as observed by a client.
private struct KillDrill {
    /// The operation during which the cache is killed.
    private enum Work: String, CaseIterable {
        case firstLoad = "loading a region"
        case update = "updating to a newer edition"
        case removal = "removing a region and loading it again"
    }

    private static let town = ["--circle", "41.15,-8.61,9000"]
    private static let country = ["--circle", "41.15,-8.61,60000"]
    /// The lowest layer of the town.
    private static let townTiles = MadeUpRoads.tiles.filter { tile in
        (1948...1950).contains(tile.x) && (1532...1533).contains(tile.y)
    }

    private let box: Sandbox
    private let roads: MadeUpRoads
    private let server: Nginx
    private var random: SeededRandom
    private var newest = 1
    /// The edition last observed in use; 0 until the town is complete for the first time.
    private var inUse = 0
    /// The number of the country's tiles that have been reported as stored.
    private var announced = 0
    private var work = Work.firstLoad
    private var isGiven = false

    private var kills: [Work: Int] = [:]
    private var unfinished = 0
    /// The number of files that were fetched but not stored.
    private var lostCount = 0
    private var greatestLoss = 0
    private var switches = 0
    private var finds = 0

    init(_ box: Sandbox, _ roads: MadeUpRoads, _ server: Nginx, seed: UInt64) {
        (self.box, self.roads, self.server) = (box, roads, server)
        random = SeededRandom(seed: seed)
    }

    // MARK: One kill

    mutating func round() async throws {
        let before = server.sentFiles.count
        var onBoard = filesOnBoard(newest)
        let cache = try start(kilobits: 1_200)
        let load = try await give()
        if load != nil, work == .removal { onBoard = [] }
        try await awaitMoment()
        cache.send(SIGKILL)
        _ = try await cache.wait()
        load?.end()
        kills[work, default: 0] += 1
        if let load { try take(load) }

        try await expectSound()
        try expectWhole()
        // Stored files of an edition are not requested again.
        let sent = server.sentFiles.dropFirst(before).filter { !$0.hasSuffix("json") }
        let again = sent.filter(onBoard.contains)
        #expect(again.isEmpty, "\(again.count) stored files were fetched again: \(again.prefix(3))")
        try await expectWithoutNetwork()
        let lost = Set(sent).subtracting(filesOnBoard(newest)).count
        (lostCount, greatestLoss) = (lostCount + lost, max(greatestLoss, lost))
    }

    /// Waits for a moment between the opening of the store and the end of the work; half of the updates are killed
    /// close to the switch to the newer edition.
    private mutating func awaitMoment() async throws {
        if work == .update, Bool.random(using: &random) {
            let count = 2 * MadeUpRoads.tiles.count - Int.random(in: 0...8, using: &random)
            for _ in 0..<1_500 where filesOnBoard(newest).count < count {
                try await Task.sleep(for: .milliseconds(2))
            }
            try await Task.sleep(for: .microseconds(Int.random(in: 0..<40_000, using: &random)))
        } else {
            try await Task.sleep(for: .milliseconds(Int.random(in: 0..<1_100, using: &random)))
        }
    }

    /// Gives the cache new work when it is idle.
    private mutating func give() async throws -> Program? {
        guard !isGiven else { return nil }
        switch work {
        case .firstLoad:
            try await awaitCache()
            if inUse == 0 {
                // The checks compare with the town, which is loaded before the first kill.
                try await box.succeed("navbus", ["region", "load", "town"] + Self.town)
                inUse = newest
            }
            isGiven = true
            return try box.start("navbus", ["region", "load", "country", "--json"] + Self.country)
        case .update:
            newest += 1
            try await roads.publish(newest)
            isGiven = true
            return nil
        case .removal:
            try await awaitCache()
            announced = 0
            isGiven = true
            return try box.start(
                "/bin/sh",
                [
                    "-c",
                    """
                    navbus region remove country && navbus service call navbus.v1.TileCache/Purge '{}' \
                        && navbus region load country --json "$@"
                    """, "sh",
                ] + Self.country)
        }
    }

    /// Reads how much of the country was reported as stored.
    private mutating func take(_ load: Program) throws {
        for line in load.output.split(separator: "\n") {
            // The last line may be incomplete.
            guard let message = try? json(line) as? [String: Any],
                let progress = message["progress"] as? [String: Any],
                let count = Int("\(progress["completed_count"] ?? "")")
            else { continue }
            announced = max(announced, count)
        }
    }

    // MARK: Observations

    private func start(kilobits: Int, _ more: [String] = []) throws -> Program {
        try box.start(
            "tile-cache-node",
            [
                "--set", "store.path=\(box.path)/store", "--set", "tilesets=name=roads,source=\(server.url)", "--set",
                "network.bandwidth_kbps=\(kilobits)", "--set", "region.retry_s=1", "--set",
                "edition.check_interval_s=1",
            ] + more)
    }

    /// Waits until the cache answers; a killed cache may have left a stale announcement.
    private func awaitCache() async throws {
        try await box.succeed("navbus", ["service", "call", "--wait", "navbus.v1.TileCache/Statistics", "{}"])
    }

    private func expectSound() async throws {
        let check = try await box.run("tile-cache-node", ["--check", "--set", "store.path=\(box.path)/store"])
        #expect(check.status == 0, "\(check.output)\(check.errors)")
    }

    /// Returns the stored files of an edition by their names on the server.
    private func filesOnBoard(_ edition: Int) -> Set<String> {
        let folder = "\(box.path)/store/tilesets/roads/\(MadeUpRoads.version(edition))/"
        let names = FileManager.default.enumerator(atPath: folder)?.allObjects ?? []
        return Set(names.compactMap { ($0 as? String).map { "\(roads.folder(edition))/\($0)" } })
            .subtracting(["\(roads.folder(edition))/tileset.json"])
    }

    /// Expects the town to be complete in one edition, not older than before, as a navigation node would map it.
    private mutating func expectWhole() throws {
        guard inUse > 0 else { return }
        let edition = try currentEdition()
        #expect((inUse...newest).contains(edition), "edition \(edition) after \(inUse)")
        if edition > inUse { switches += 1 }
        inUse = edition
        for tile in Self.townTiles {
            for kind in ["road", "rank"] {
                let bytes = readBytes("\(current)/\(tile.path).\(kind)")
                #expect(bytes == tile.content(edition, kind), "\(tile.path).\(kind) is not of edition \(edition)")
            }
        }
    }

    private var current: String { box.path + "/store/tilesets/roads/current" }

    private func currentEdition() throws -> Int {
        let list = try #require(try json(readFile(current + "/tileset.json") ?? "") as? [String: Any])
        let version = list["mapVersion"] as? String ?? ""
        return try #require(Int(version.dropFirst("edition".count)), "\(version)")
    }

    /// Expects stored tiles and reported progress to be available without a server.
    private mutating func expectWithoutNetwork() async throws {
        let sent = server.sentFiles.count
        let cache = try start(kilobits: 0, ["--offline"])
        try await awaitCache()
        let tile = Self.townTiles[Int.random(in: Self.townTiles.indices, using: &random)]
        let key = #"{"domain": "TILE_DOMAIN_NAVIGATION", "zoom": 12, "x": \#(tile.x), "y": \#(tile.y)}"#
        let answer = try await box.succeed(
            "navbus",
            ["service", "call", "--wait", "navbus.v1.TileCache/GetTile", #"{"key": \#(key), "cache_only": true}"#])
        let found = try #require(try json(answer.output) as? [String: Any])
        let data = (found["data"] as? String).flatMap { Data(base64Encoded: $0) }
        // A newer edition that was stored when the cache was killed may have come into use at its start.
        let editions = [inUse, try currentEdition()]
        #expect(
            editions.contains { data == Data(tile.content($0, "road")) }, "\(editions) \(answer.output.prefix(300))")
        finds += 1
        let regions = try await regions()
        let town = try #require(regions["town"])
        #expect(town.required == town.completed || inUse < newest, "\(town)")
        if let country = regions["country"] {
            if work != .update {
                #expect(country.completed >= announced, "\(announced) tiles were stored, now \(country.completed)")
            }
            let isDone = country.state == "REGION_STATE_COMPLETE" && inUse == newest
            if isDone, isGiven {
                isGiven = false
                work = Work.allCases.filter { $0 != .firstLoad }[Int.random(in: 0...1, using: &random)]
                announced = 0
            } else {
                unfinished += 1
            }
        } else {
            isGiven = false
            work = .firstLoad
        }
        cache.send(SIGKILL)
        _ = try await cache.wait()
        #expect(server.sentFiles.count == sent)
    }

    private func regions() async throws -> [String: (state: String, required: Int, completed: Int)] {
        let answer = try await box.succeed("navbus", ["region", "list", "--json"])
        let list = try #require(try json(answer.output) as? [String: Any])
        var regions: [String: (String, Int, Int)] = [:]
        for region in list["regions"] as? [[String: Any]] ?? [] {
            let id = (region["definition"] as? [String: Any])?["region_id"] as? String ?? ""
            let progress = region["progress"] as? [String: Any] ?? [:]
            let counts = ["required_count", "completed_count"].map { Int("\(progress[$0] ?? 0)") ?? 0 }
            regions[id] = (region["state"] as? String ?? "", counts[0], counts[1])
        }
        return regions
    }

    // MARK: The end

    /// Expects everything to be loaded after the last kill, and to stay available without the server.
    mutating func finish() async throws {
        var cache = try start(kilobits: 0)
        try await awaitCache()
        if try await regions()["country"] == nil {
            try await box.succeed("navbus", ["region", "load", "country"] + Self.country)
        }
        try await eventually("both regions are complete, of the newest edition") {
            let regions = try await regions()
            return regions.count == 2 && regions.values.allSatisfy { $0.state == "REGION_STATE_COMPLETE" }
                && (readFile(current + "/tileset.json") ?? "").contains(
                    "\"\(MadeUpRoads.version(newest))\"")
        }
        server.stop()
        cache.send(SIGTERM)
        #expect(try await cache.wait().status == 0)
        try await expectSound()
        try expectWhole()
        #expect(inUse == newest)
        cache = try start(kilobits: 0, ["--offline"])
        try await awaitCache()
        let country = try #require(try await regions()["country"])
        #expect(country.completed == MadeUpRoads.tiles.count && country.required == country.completed)
        for tile in MadeUpRoads.tiles {
            for kind in ["road", "rank"] {
                let bytes = readBytes("\(current)/\(tile.path).\(kind)")
                #expect(bytes == tile.content(newest, kind), "\(tile.path).\(kind)")
            }
        }
    }

    var report: String {
        let sent = server.sentFiles.count { !$0.hasSuffix("json") }
        let moments = Work.allCases.map { "\(kills[$0, default: 0]) \($0.rawValue)" }.joined(separator: ", ")
        return "killed \(kills.values.reduce(0, +)) times (\(moments)), \(unfinished) of them with a load unfinished; "
            + "\(switches) editions came into use; \(finds) tiles served without a network; "
            + "\(sent) files fetched, \(lostCount) of them in vain, at most \(greatestLoss) at a kill"
    }
}
