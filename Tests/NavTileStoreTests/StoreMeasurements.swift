import Foundation
import Testing

@Suite("What a large store costs")
struct StoreMeasurements {
    /// How many tiles: `NAVBUS_STORE_TILES`, a million for the figures of the article; and how many contents, as many
    /// unless `NAVBUS_STORE_CONTENTS` says fewer.
    private static let tiles = ProcessInfo.processInfo.environment["NAVBUS_STORE_TILES"]
    private static let contents = ProcessInfo.processInfo.environment["NAVBUS_STORE_CONTENTS"]

    @Test(
        "Tiles by the million: what inserts, lookups, memory, eviction and opening cost is said",
        .enabled(if: tiles != nil, "it takes minutes: NAVBUS_STORE_TILES=1000000 asks for it"))
    func million() throws {
        let folder = try ScratchFolder()
        let count = try #require(Self.tiles)
        let probe = try StoreProbe(["measure", folder.path + "/store", count, Self.contents ?? count])
        let lines = probe.rest()
        print(lines.joined(separator: "\n"))
        #expect(lines.contains("sound true"))
        #expect(!lines.contains { $0.hasPrefix("lost") })
    }
}
