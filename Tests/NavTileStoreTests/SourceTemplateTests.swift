import NavTileCache
import NavTileStore
import Testing

@Suite("Templates of addresses")
struct SourceTemplateTests {
    @Test("Numbers, the row from the south, and the ratio are put in their places")
    func places() throws {
        let tile = SourceFixture.tile(3, 5, 1)
        #expect(try TileTemplate("a/{z}/{x}/{y}{ratio}.png", ratio: 2).text(tile) == "a/3/5/1@2x.png")
        #expect(try TileTemplate("a/{z}/{x}/{-y}{ratio}.png", ratio: 1).text(tile) == "a/3/5/6.png")
        #expect(try TileTemplate("{z}{x}{y}", ratio: 1, isFromSouth: true).text(tile) == "356")
        #expect(try TileTemplate("{z}/{x}/{y}.mvt?key=a.b", ratio: 1).fileExtension == "mvt")
    }

    @Test(
        "One that leaves a number out, or wants what is not known, is refused", arguments: ["{z}/{x}", "{z}{x}{y}{s}"])
    func refused(text: String) {
        #expect(throws: TileSourceError.self) { try TileTemplate(text, ratio: 1) }
    }
}
