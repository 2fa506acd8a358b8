import Foundation
import GRDB
import Glibc
import NavGeo
import NavTileCache
import NavTileStore
import Testing

/// Damage to a store in use.
struct StoreDamage: Sendable, CustomTestStringConvertible {
    /// The kind of the expected finding.
    var kind: CheckFinding.Kind
    var name: String
    /// The index of the road tile that the store loses through the damage.
    var lost: Int?
    /// Whether the scrub finds the damage; otherwise only the full check does.
    var isOnTheWay = false
    var isRepairable = true
    var inflict: @Sendable (StoreBench, RoadEdition) throws -> Void

    var testDescription: String { name }

    /// Returns a store with an edition of road tiles that a region pins, and `mapCount` map tiles.
    static func bench(mapCount: UInt32 = 3) throws -> (StoreBench, RoadEdition) {
        let bench = try StoreBench()
        let roads = try RoadEdition("v1", count: 4)
        try bench.store.addEdition(roads.edition, now: at(0))
        try bench.addMaps()
        _ = try bench.store.commit(roads.tiles, now: at(1))
        _ = try bench.store.commit((0..<mapCount).map { mapTile($0, "map \($0)") }, now: at(1))
        try bench.store.putRegion(
            StoredRegionDefinition(id: "home"), tiles: roads.addresses, editions: ["roads": "v1"], now: at(1))
        try bench.store.completeRegions(["home": StoredRegionProgress()], now: at(2))
        return (bench, roads)
    }

    private static func object(_ bench: StoreBench, _ roads: RoadEdition, _ tile: Int, _ part: Int = 0) -> String {
        StoreFolder(bench.path).object(roads.tiles[tile].parts[part].hash)
    }

    private static func sql(_ bench: StoreBench, _ statement: String) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        let queue = try DatabaseQueue(path: bench.path + "/index.sqlite", configuration: configuration)
        try queue.write { try $0.execute(sql: statement) }
    }

    /// Damage of each kind, for the store of ``bench(mapCount:)``.
    static let all = [
        StoreDamage(kind: .missingObject, name: "a missing file", lost: 0, isOnTheWay: true) { bench, roads in
            unlink(object(bench, roads, 0))
        },
        StoreDamage(kind: .wrongSize, name: "truncated ranks", lost: 1, isOnTheWay: true) { bench, roads in
            truncate(object(bench, roads, 1, 1), 3)
        },
        StoreDamage(kind: .wrongHash, name: "a changed byte", lost: 2, isOnTheWay: true) { bench, roads in
            try overwrite(object(bench, roads, 2), at: 0, with: [0x58])
        },
        StoreDamage(kind: .orphan, name: "an unreferenced file") { bench, _ in
            let orphan = part(.body, "an orphan")
            try Data(orphan.data).write(to: URL(fileURLWithPath: StoreFolder(bench.path).object(orphan.hash)))
        },
        StoreDamage(kind: .foreign, name: "a file with a foreign name", isRepairable: false) { bench, _ in
            try Data([1]).write(to: URL(fileURLWithPath: bench.path + "/objects/ab/readme"))
        },
        StoreDamage(kind: .view, name: "a tile missing in the folder", isOnTheWay: true) { bench, _ in
            unlink(bench.path + "/tilesets/roads/v1/12/0/7.road")
        },
        StoreDamage(kind: .view, name: "ranks missing in the folder", isOnTheWay: true) { bench, _ in
            unlink(bench.path + "/tilesets/roads/v1/12/1/7.rank")
        },
        StoreDamage(kind: .view, name: "a wrong tile in the folder", isOnTheWay: true) { bench, _ in
            let path = bench.path + "/tilesets/roads/v1/12/1/7.rank"
            unlink(path)
            try Data(repeating: 1, count: 12).write(to: URL(fileURLWithPath: path))
        },
        StoreDamage(kind: .view, name: "a missing folder", isOnTheWay: true) { bench, _ in
            try FileManager.default.removeItem(atPath: bench.path + "/tilesets/roads/v1")
        },
        StoreDamage(kind: .view, name: "a tile in the folder that is not stored") { bench, _ in
            let path = bench.path + "/tilesets/roads/v1/12/9"
            mkdir(path, 0o755)
            try Data([1]).write(to: URL(fileURLWithPath: path + "/7.road"))
        },
        StoreDamage(kind: .view, name: "a wrong tileset.json", isOnTheWay: true) { bench, _ in
            try overwrite(bench.path + "/tilesets/roads/v1/tileset.json", at: 0, with: [0x58])
        },
        StoreDamage(kind: .current, name: "a wrong target of the link current", isOnTheWay: true) { bench, _ in
            unlink(bench.path + "/tilesets/roads/current")
            symlink("/", bench.path + "/tilesets/roads/current")
        },
        StoreDamage(kind: .count, name: "a wrong use count of a file") { bench, _ in
            try sql(bench, "UPDATE objects SET uses = uses + 1 WHERE bytes = 5")
        },
        StoreDamage(kind: .count, name: "a wrong pin count of a tile") { bench, _ in
            try sql(bench, "UPDATE tiles SET pins = 5 WHERE ranks IS NULL")
        },
        StoreDamage(kind: .count, name: "wrong totals of an edition") { bench, _ in
            try sql(bench, "UPDATE editions SET tile_bytes = 1")
        },
        StoreDamage(kind: .count, name: "wrong totals of the store") { bench, _ in
            try sql(bench, "UPDATE totals SET object_bytes = -4")
        },
        StoreDamage(kind: .region, name: "a missing tile of a complete region") { bench, _ in
            try sql(bench, "DELETE FROM tiles WHERE id = (SELECT min(tile) FROM pins)")
            unlink(bench.path + "/tilesets/roads/v1/12/0/7.road")
            unlink(bench.path + "/tilesets/roads/v1/12/0/7.rank")
        },
    ]
}
