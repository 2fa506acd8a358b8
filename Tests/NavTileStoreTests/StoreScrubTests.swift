import Foundation
import Glibc
import NavGeo
import NavStorage
import NavTileCache
import NavTileStore
import Testing

/// The scrub of a store in use: its findings and repairs, step by step.
@Suite("The scrub of a store")
struct StoreScrubTests {
    /// Returns the reports of all steps of a round.
    private static func round(_ store: TileStore, bytes: Int64 = 1) throws -> [ScrubReport] {
        var reports: [ScrubReport] = []
        repeat {
            reports.append(try store.scrub(from: reports.last?.place ?? ScrubPosition(), bytes: bytes))
        } while reports.last?.isRound == false && reports.count < 10_000
        return reports
    }

    @Test(
        "A round checks each tile once within the byte limit per step, and finds no fault in a sound store"
    )
    func steps() throws {
        let (bench, _) = try StoreDamage.bench(mapCount: 600)
        let single = try Self.round(bench.store)
        #expect(single.reduce(0) { $0 + $1.tileCount } == 604)
        #expect(single.allSatisfy { $0.tileCount <= 1 && $0.findings.isEmpty })
        // A file counts for at least 4 KiB, and a road tile has two files.
        let steps = try Self.round(bench.store, bytes: 20 * 4_096)
        #expect(steps.reduce(0) { $0 + $1.tileCount } == 604)
        #expect(steps.allSatisfy { $0.bytes <= 21 * 4_096 && $0.findings.isEmpty })
        #expect(steps.last?.place == ScrubPosition())
        // The number of tiles per step is limited whatever the byte limit.
        #expect(try Self.round(bench.store, bytes: .max).map(\.tileCount).max() == 256)
        #expect(bench.store.takeLosses().isEmpty)
        #expect(try bench.totals().corruptCount == 0)
    }

    @Test(
        "Each damage is found and repaired, and lost tiles are reported",
        arguments: StoreDamage.all.filter(\.isOnTheWay))
    func damage(_ damage: StoreDamage) throws {
        let (bench, roads) = try StoreDamage.bench()
        try damage.inflict(bench, roads)
        #expect(try bench.store.reader.check().findings.contains { $0.kind == damage.kind })
        let findings = try Self.round(bench.store).flatMap(\.findings)
        #expect(findings.contains { $0.kind == damage.kind }, "\(findings)")
        #expect(findings.allSatisfy { $0.isRepaired }, "\(findings)")
        try bench.expectSound()
        let lost = damage.lost.map { RegionTile(roads.addresses[$0], edition: "v1") }
        #expect(bench.store.takeLosses() == (lost.map { [$0] } ?? []) && bench.store.takeLosses().isEmpty)
        #expect(try bench.store.reader.region("home")?.state == (lost == nil ? .complete : .incomplete))
        let tiles = roads.addresses.map { RegionTile($0, edition: "v1") }
        #expect(try bench.store.reader.lacking(tiles) == (lost.map { [$0] } ?? []))
        // The next round finds nothing.
        #expect(try Self.round(bench.store).allSatisfy { $0.findings.isEmpty })
        guard let place = damage.lost else { return }
        _ = try bench.store.commit([roads.tiles[place]], now: at(3))
        #expect(try bench.store.reader.lacking(tiles).isEmpty)
        #expect(try bench.text(roads.addresses[place]) == "road \(place) of v1")
    }

    @Test("The scrub position survives a restart; an unreadable one restarts at the beginning")
    func keptPosition() throws {
        var (bench, _) = try StoreDamage.bench()
        #expect(bench.store.savedScrubPosition() == ScrubPosition())
        var place = ScrubPosition()
        for _ in 0..<6 { place = try bench.store.scrub(from: place, bytes: 1).place }
        #expect(place != ScrubPosition())
        bench.store.saveScrubPosition(place)
        bench.store.close()
        bench.store = try TileStore(folder: bench.path, options: StoreBench.options())
        #expect(bench.store.savedScrubPosition() == place)
        try bench.expectSound()
        bench.store.saveScrubPosition(ScrubPosition())
        #expect(bench.store.savedScrubPosition() == ScrubPosition())
        try Data("seven".utf8).write(to: URL(fileURLWithPath: bench.path + "/patrol"))
        #expect(bench.store.savedScrubPosition() == ScrubPosition())
    }

    @Test("Files of an unmounted disk do not count as damaged")
    func unmountedDisk() throws {
        let (bench, roads) = try StoreDamage.bench()
        let folder = StoreFolder(bench.path)
        #expect(rename(folder.objects, bench.path + "/away") == 0)
        let error = #expect(throws: StoreError.self) { try bench.store.quarantine(roads.tiles[0].parts[0].hash) }
        #expect(error?.code == .missing)
        #expect(throws: StoreError.self) { try Self.round(bench.store) }
        #expect(code { _ = try bench.store.scrub(from: ScrubPosition(), bytes: 1 << 20) } == .missing)
        #expect(rename(bench.path + "/away", folder.objects) == 0)
        #expect(bench.store.takeLosses().isEmpty)
        #expect(try Self.round(bench.store).allSatisfy { $0.findings.isEmpty })
        #expect(try bench.text(roads.addresses[0]) == "road 0 of v1")
        try bench.expectSound()
    }

    @Test("A damaged file removes all its tiles, which are reported once")
    func shared() throws {
        let (bench, _) = try StoreDamage.bench()
        _ = try bench.store.commit((10..<13).map { mapTile($0, "the sea") }, now: at(1))
        let tile = try #require(try bench.find(TileAddress("maps", tileID(10))))
        try overwrite(tile.body.path, at: 0, with: [0x58])
        let findings = try Self.round(bench.store).flatMap(\.findings)
        #expect(findings.map(\.kind) == [.wrongHash])
        let lost = bench.store.takeLosses()
        #expect(Set(lost.map(\.address.tile)) == Set((10..<13).map { tileID($0) }) && lost.count == 3)
        #expect(try bench.totals().corruptCount == 1)
        try bench.expectSound()
    }

    @Test("The scrub continues at its position when the store changes meanwhile")
    func changing() throws {
        let (bench, roads) = try StoreDamage.bench(mapCount: 20)
        var place = ScrubPosition()
        var seen = 0
        for turn in 0..<40 {
            let report = try bench.store.scrub(from: place, bytes: 1)
            #expect(report.findings.isEmpty)
            (place, seen) = (report.place, seen + report.tileCount)
            if report.isRound { break }
            _ = try bench.store.commit([mapTile(UInt32(100 + turn), "new \(turn)")], now: at(3))
            if turn == 9 { try bench.store.purge(tileset: "maps") }
        }
        #expect(seen > roads.tiles.count)
        try bench.expectSound()
    }
}
