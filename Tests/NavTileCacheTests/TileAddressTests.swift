import NavDigest
import NavTileCache
import Testing

@Suite("Tileset names and content hashes")
struct TileAddressTests {
    @Test(
        "A tileset name that could escape its folder is invalid",
        arguments: ["", ".", "..", "a/b", "../x", "-rf", "_x", "Roads", "a b", "é", String(repeating: "a", count: 65)])
    func refused(name: String) { #expect(!TilesetName.isValid(name)) }

    @Test("Letters, digits, hyphens and underscores are valid", arguments: ["roads", "roads-2026_11", "7"])
    func accepted(name: String) { #expect(TilesetName.isValid(name)) }

    @Test("A hash round-trips through its 64 digits; any other count is invalid")
    func hash() throws {
        let digits = String(repeating: "0aF9", count: 16)
        let hash = try #require(ContentHash(hexadecimal: digits))
        #expect(hash.hexadecimal == digits.lowercased())
        #expect(ContentHash(bytes: hash.bytes) == hash)
        #expect(ContentHash(hexadecimal: String(digits.dropLast())) == nil)
        #expect(ContentHash(hexadecimal: String(digits.dropLast()) + "g") == nil)
    }
}
