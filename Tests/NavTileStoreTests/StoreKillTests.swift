import Foundation
import Glibc
import NavGeo
import NavTestKit
import NavTestSystem
import NavTileCache
import NavTileStore
import Testing

@Suite("A store whose owner is killed")
struct StoreKillTests {
    /// The number of kills: 20, or the value of `NAVBUS_STORE_KILLS`.
    static let kills = Int(ProcessInfo.processInfo.environment["NAVBUS_STORE_KILLS"] ?? "") ?? 20

    @Test("A kill at any moment leaves the old or the new region, loses no stored tile, and the check passes")
    func kill() throws {
        let folder = try TemporaryFolder()
        var generator = SystemRandomNumberGenerator()
        var last: Int64 = 0
        var unfinished = 0
        for round in 0..<Self.kills {
            let probe = try Probe("NavTileStoreProbe", ["churn", folder.path, "\(round)"])
            let first = probe.line()
            try #require(first == "ready", "\(first ?? "nothing") \(probe.rest())")
            // At least one owner completes a region, however slow the machine is.
            if round == Self.kills / 2, last == 0 {
                let line = probe.line()
                last = try #require(line.flatMap(Self.region), "\(line ?? "nothing") \(probe.rest())")
            }
            // From before the first commit to about the third update on a machine without much load.
            usleep(UInt32.random(in: 0..<400_000, using: &generator))
            for line in try probe.kill() {
                last = try #require(Self.region(line), "\(line)")
            }
            try expectReadable(folder, since: last, round)
            last = try expectWhole(folder, since: last, round, &unfinished)
        }
        #expect(last > 0)
        print("\(unfinished) of \(Self.kills) owners were killed during a change")
        // Usually about half are; one in 20 suffices.
        #expect(unfinished * 20 >= Self.kills)
    }

    /// Returns the number of the region's edition from a line of the probe.
    private static func region(_ line: String) -> Int64? {
        line.hasPrefix("region ") ? Int64(line.dropFirst("region ".count)) : nil
    }

    /// Expects that another process can read the region before an owner has repaired the store.
    private func expectReadable(_ folder: TemporaryFolder, since last: Int64, _ round: Int) throws {
        guard last > 0 else { return }
        let reader = try TileStoreReader(folder: folder.path)
        let version = try #require(try reader.region("home")?.editions["roads"])
        #expect(version == "e\(last)" || version == "e\(last + 1)")
        for x in 0..<UInt32(48) {
            let tile = try #require(
                try reader.tile(TileAddress("roads", tileID(x, zoom: 12)), version: version, now: at(0)))
            #expect(try reader.data(of: tile).starts(with: Array("road \(version) \(x)\n".utf8)))
        }
    }

    /// Expects the region to have the last reported edition or the next one, and returns its number.
    private func expectWhole(
        _ folder: TemporaryFolder, since last: Int64, _ round: Int, _ unfinished: inout Int
    ) throws -> Int64 {
        let store = try TileStore(folder: folder.path, options: StoreBench.options(900_000))
        defer { store.close() }
        #expect(store.opening.damagedIndex == nil)
        if store.opening != OpeningReport() { unfinished += 1 }
        #expect(folder.files(below: "incoming").isEmpty)
        let report = try store.reader.check()
        #expect(report.isSound, "round \(round): \(report.findings)")
        guard let region = try store.reader.region("home"), let version = region.editions["roads"] else {
            #expect(last == 0, "round \(round): the region is gone")
            return 0
        }
        let number = Int64(version.dropFirst()) ?? -1
        guard region.state == .complete || region.staged != nil else {
            // The first load is incomplete.
            #expect(last == 0)
            return 0
        }
        // Until the first load is reported as complete, each owner starts it with another edition.
        #expect(last == 0 || number == last || number == last + 1, "round \(round): \(version) after \(last)")
        #expect(try store.reader.currentEdition(of: "roads")?.version == version)
        for x in 0..<Int64(48) {
            let tile = try #require(
                try store.reader.tile(TileAddress("roads", tileID(UInt32(x), zoom: 12)), version: version, now: at(0)))
            #expect(try store.data(of: tile).starts(with: Array("road \(version) \(x)\n".utf8)))
            #expect(try store.data(of: tile, part: .ranks).starts(with: Array("rank \(x)\n".utf8)))
            #expect(tile.isPinned)
        }
        let files = folder.files(below: "tilesets/roads/current/").filter { $0.hasSuffix(".road") }
        #expect(files.count == 48, "round \(round)")
        return number
    }
}
