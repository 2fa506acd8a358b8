import NavTileCache
import NavTileStore
import Testing

@Suite("Tile URL templates")
struct SourceTemplateTests {
    @Test("Zoom, column, row (also from the south) and ratio are substituted")
    func places() throws {
        let tile = SourceFixture.tile(3, 5, 1)
        #expect(try TileTemplate("a/{z}/{x}/{y}{ratio}.png", ratio: 2).text(tile) == "a/3/5/1@2x.png")
        #expect(try TileTemplate("a/{z}/{x}/{-y}{ratio}.png", ratio: 1).text(tile) == "a/3/5/6.png")
        #expect(try TileTemplate("{z}{x}{y}", ratio: 1, isFromSouth: true).text(tile) == "356")
        #expect(try TileTemplate("{z}/{x}/{y}.mvt?key=a.b", ratio: 1).fileExtension == "mvt")
    }

    @Test(
        "A template with a missing or unknown placeholder is rejected", arguments: ["{z}/{x}", "{z}{x}{y}{s}"])
    func refused(text: String) {
        #expect(throws: TileSourceError.self) { try TileTemplate(text, ratio: 1) }
    }
}
