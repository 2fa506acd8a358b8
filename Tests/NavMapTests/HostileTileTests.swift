import NavGeo
import NavMap
import NavSimulation
import NavTestSupport
import Testing

/// Tiles with a correct checksum and invalid content: refused or harmless, never a trap.
@Suite("Hostile tiles")
struct HostileTileTests {
    struct Damage: Sendable, CustomTestStringConvertible {
        var section: TileLayout.Section
        var field: Int
        var value: UInt32
        var testDescription: String { "\(section)+\(field) = \(value)" }
    }

    static let refused: [Damage] = [
        Damage(section: .nodes, field: 16, value: 1), Damage(section: .nodes, field: 20, value: 9),
        Damage(section: .edges, field: 8, value: 2), Damage(section: .edges, field: 8, value: 1 << 31 | 2),
        Damage(section: .edges, field: 12, value: 4), Damage(section: .edges, field: 12, value: .max),
        Damage(section: .edges, field: 16, value: Float.nan.bitPattern),
        Damage(section: .edges, field: 16, value: (-1 as Float).bitPattern),
        Damage(section: .edges, field: 16, value: (1e30 as Float).bitPattern),
        Damage(section: .edges, field: 20, value: 2), Damage(section: .edges, field: 24, value: 3),
        Damage(section: .edges, field: 24, value: 2), Damage(section: .edges, field: 24, value: 0),
        Damage(section: .edges, field: 28, value: 1), Damage(section: .edges, field: 28, value: 0xffff),
        Damage(section: .edges, field: 28, value: 1 << 16 | 3),
        Damage(section: .attributes, field: 0, value: 200),
        Damage(section: .attributes, field: 8, value: 0),
        Damage(section: .attributes, field: 8, value: Float.nan.bitPattern),
        Damage(section: .attributes, field: 8, value: 1),
        Damage(section: .attributes, field: 12, value: Float.infinity.bitPattern),
        Damage(section: .attributes, field: 32, value: Float.nan.bitPattern),
        Damage(section: .features, field: 0, value: 3), Damage(section: .features, field: 4, value: 3),
        Damage(section: .attributes, field: 0, value: 0x0000_0006 | 3 << 24),
        Damage(section: .attributes, field: 56, value: Float.nan.bitPattern),
        Damage(section: .attributes, field: 60, value: (-1 as Float).bitPattern),
        Damage(section: .attributes, field: 72, value: 1), Damage(section: .attributes, field: 72, value: .max),
        Damage(section: .restrictions, field: 0, value: 1), Damage(section: .restrictions, field: 4, value: 1),
        Damage(section: .restrictions, field: 4, value: .max), Damage(section: .restrictions, field: 8, value: 9),
        Damage(section: .conditions, field: 0, value: 2), Damage(section: .conditions, field: 0, value: 4 << 8),
        Damage(section: .conditions, field: 8, value: 0), Damage(section: .conditions, field: 8, value: .max),
        Damage(section: .conditions, field: 16, value: Float.nan.bitPattern),
        Damage(section: .indexItems, field: 0, value: 3), Damage(section: .indexItems, field: 4, value: 0xffff),
        Damage(section: .arrivals, field: 0, value: 2), Damage(section: .arrivals, field: 4, value: 2),
    ]

    @Test("a record that points outside the tile is refused", arguments: refused)
    func outside(_ damage: Damage) throws {
        var bytes = try TestTiles.bytes()
        TestTiles.put(damage.value, at: TestTiles.section(damage.section, of: bytes).offset + damage.field, in: &bytes)
        TestTiles.seal(&bytes)
        let error = #expect(throws: TileError.self) { try TestTiles.tile(bytes) }
        guard case .corrupt = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("a maneuver outside its path, or of an unknown kind, is ignored")
    func maneuvers() throws {
        for (code, place) in [(UInt32(0x11), UInt32(7)), (0xff, 0)] {
            var bytes = try TestTiles.bytes()
            let first = TestTiles.section(.restrictions, of: bytes).offset
            TestTiles.put(2 | place << 21 | code << 24, at: first + 4, in: &bytes)
            TestTiles.seal(&bytes)
            let tile = try TestTiles.tile(bytes)
            TestTiles.exercise(tile)
            let graph = RoadGraph(tiles: [tile], mapVersion: "test")
            #expect((0..<graph.edgeCount).allSatisfy { graph.maneuvers(onto: EdgeIndex($0)).isEmpty })
            #expect(graph.restrictions.count == 1)
        }
    }

    @Test("texts that are not limits are ignored", arguments: ["", ";", "nan;inf;-1;1e9;0", "a;b", "١;²;;;;7;8"])
    func limits(text: String) {
        #expect(SizeLimits(text: text).isEmpty)
    }

    @Test("a section table with wrong offsets is refused or harmless", arguments: TileLayout.Section.allCases)
    func sections(_ section: TileLayout.Section) throws {
        let good = try TestTiles.bytes()
        let entry = TileLayout.headerBytes + section.rawValue * 8
        for (field, value) in [
            (0, 0), (0, 4), (0, 64), (0, UInt32.max), (0, 0xffff_fff8), (4, 0), (4, 1), (4, 1 << 20), (4, .max),
            (0, UInt32(good.count) / 8 * 8),
        ] as [(Int, UInt32)] {
            var bytes = good
            TestTiles.put(value, at: entry + field, in: &bytes)
            TestTiles.seal(&bytes)
            if let tile = try? TestTiles.tile(bytes) { TestTiles.exercise(tile) }
        }
    }

    @Test("a tile with any word set to an extreme value is refused or harmless")
    func everyWord() throws {
        let good = try TestTiles.bytes()
        var accepted = 0
        for offset in stride(from: 8, to: good.count - 3, by: 2) {
            for value in [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x7fc0_0000, 0xff80_0000] as [UInt32] {
                var bytes = good
                TestTiles.put(value, at: offset, in: &bytes)
                TestTiles.seal(&bytes)
                guard let tile = try? TestTiles.tile(bytes) else { continue }
                accepted += 1
                TestTiles.exercise(tile)
            }
        }
        #expect(accepted > 100)
    }

    /// Use the seed in the test's argument to reproduce a failure.
    @Test("random damage is refused or harmless", arguments: 1...40 as ClosedRange<UInt64>)
    func random(seed: UInt64) throws {
        let good = try TestTiles.bytes()
        var random = SeededRandom(seed: seed)
        for _ in 0..<200 {
            var bytes = good
            for _ in 0...(random.next() % 6) {
                bytes[8 + Int(random.next() % UInt64(bytes.count - 8))] = UInt8(truncatingIfNeeded: random.next())
            }
            TestTiles.put(TileLayout.version, at: TileLayout.HeaderOffset.version, in: &bytes)
            TestTiles.put(UInt64(bytes.count), at: TileLayout.HeaderOffset.fileLength, in: &bytes)
            TestTiles.seal(&bytes)
            if let tile = try? TestTiles.tile(bytes) { TestTiles.exercise(tile) }
        }
    }

    /// Ranks are used only with the tile that they match.
    @Test("a rank file that is changed, truncated or of another tile is refused")
    func ranks() throws {
        let good = EdgeRanks(tile: TestTiles.id, values: [3, 3, 1]).encoded()
        func read(_ bytes: [UInt8], edges: Int = 3) throws -> EdgeRanks {
            try bytes.withUnsafeBytes { try EdgeRanks(decoding: $0, tile: TestTiles.id, edgeCount: edges) }
        }
        #expect(try read(good).values == [3, 3, 1])
        for index in good.indices {
            for change: UInt8 in [0x01, 0x80, 0xff] {
                var bytes = good
                bytes[index] ^= change
                #expect(throws: TileError.self, "byte \(index)") { try read(bytes) }
            }
            #expect(throws: TileError.self, "\(index) bytes") { try read(Array(good.prefix(index))) }
        }
        #expect(throws: TileError.self) { try read(good + [0, 0, 0, 0]) }
        #expect(throws: TileError.self) { try read(good, edges: 2) }
        #expect(throws: TileError.self) { try read(good, edges: 0) }
        #expect(throws: TileError.self) { try read(EdgeRanks(tile: TestTiles.neighbour, values: [3, 3, 1]).encoded()) }
        #expect(throws: TileError.self) { try read(try TestTiles.bytes()) }
        let tile = try TestTiles.bytes()
        #expect(throws: TileError.self) {
            try RoadTile(TileStorage(copying: tile), ranks: TileStorage(copying: Array(good.dropLast(4))))
        }
    }

    @Test("arbitrary rank values are harmless", arguments: [0, 1, 2, UInt32.max - 1, .max])
    func wildRanks(value: UInt32) throws {
        let ranks = EdgeRanks(tile: TestTiles.id, values: [value, value, value ^ 1]).encoded()
        let tile = try RoadTile(TileStorage(copying: try TestTiles.bytes()), ranks: TileStorage(copying: ranks))
        TestTiles.exercise(tile)
    }

    @Test("a tile at the path of another tile is refused")
    func swapped() throws {
        let bytes = try TestTiles.bytes()
        #expect(throws: TileError.self) {
            try RoadTile(TileStorage(copying: bytes), expected: TestTiles.neighbour)
        }
    }

    @Test("a header with huge counts does not cause allocations")
    func hugeCounts() throws {
        for section in TileLayout.Section.allCases {
            var bytes = [UInt8](repeating: 0, count: TileLayout.firstSectionOffset)
            for (index, byte) in TileLayout.magic.enumerated() { bytes[index] = byte }
            TestTiles.put(TileLayout.version, at: TileLayout.HeaderOffset.version, in: &bytes)
            TestTiles.put(TestTiles.id.rawValue, at: TileLayout.HeaderOffset.tile, in: &bytes)
            TestTiles.put(UInt64(bytes.count), at: TileLayout.HeaderOffset.fileLength, in: &bytes)
            TestTiles.put(UInt32.max, at: TileLayout.headerBytes + section.rawValue * 8 + 4, in: &bytes)
            TestTiles.seal(&bytes)
            #expect(throws: TileError.self) { try TestTiles.tile(bytes) }
        }
    }
}
