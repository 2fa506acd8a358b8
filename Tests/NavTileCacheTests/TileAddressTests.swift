import NavDigest
import NavTileCache
import Testing

@Suite("Names of tilesets and hashes of content")
struct TileAddressTests {
    @Test(
        "A name that could leave its folder is none",
        arguments: ["", ".", "..", "a/b", "../x", "-rf", "_x", "Roads", "a b", "é", String(repeating: "a", count: 65)])
    func refused(name: String) { #expect(!TilesetName.isValid(name)) }

    @Test("Letters, digits, hyphens and underscores are", arguments: ["roads", "roads-2026_11", "7"])
    func taken(name: String) { #expect(TilesetName.isValid(name)) }

    @Test("A hash comes back from its digits; anything but 64 of them is none")
    func hash() throws {
        let digits = String(repeating: "0aF9", count: 16)
        let hash = try #require(ContentHash(hexadecimal: digits))
        #expect(hash.hexadecimal == digits.lowercased())
        #expect(ContentHash(bytes: hash.bytes) == hash)
        #expect(ContentHash(hexadecimal: String(digits.dropLast())) == nil)
        #expect(ContentHash(hexadecimal: String(digits.dropLast()) + "g") == nil)
    }
}
