package import NavDigest
package import NavGeo
package import NavStorage
package import NavTileCache

package struct StoreFolder: Sendable, Hashable {
    /// The folder, absolute.
    package let path: String

    /// The folder at a path, which becomes absolute.
    package init(_ path: String) {
        var path = path.hasPrefix("/") ? path : Files.workingDirectory + "/" + path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        self.path = path
    }

    package var index: String { path + "/index.sqlite" }
    package var lock: String { path + "/lock" }
    package var reserve: String { path + "/reserve" }
    package var damageMark: String { path + "/index.damaged" }
    package var regions: String { path + "/regions.json" }
    package var incoming: String { path + "/incoming" }
    /// The hashes of the files of the batch that is being stored, 32 bytes each; empty between batches. One file for all of them: ext4 looks
    /// at each file that was removed in the last minutes whenever it makes another.
    package var batch: String { path + "/batch" }
    package var objects: String { path + "/objects" }
    /// The file with the position of the scrub; it keeps its old name.
    package var scrub: String { path + "/patrol" }
    package var quarantine: String { path + "/quarantine" }
    package var setAside: String { path + "/set-aside" }
    package var tilesets: String { path + "/tilesets" }

    /// Throws `missing` when the disk was taken away: nothing is taken for damaged then.
    func requireObjects() throws(StoreError) {
        guard Files.status(objects)?.isDirectory != true else { return }
        throw StoreError(.missing, "the folder '\(objects)' is not there any more: mount its disk, or restart the node")
    }

    /// The file of a content: `objects/ab/cdef…`.
    package func object(_ hash: ContentHash) -> String { path + "/" + objectName(hash) }

    /// The same, relative to the folder.
    func objectName(_ hash: ContentHash) -> String {
        let digits = hash.hexadecimal
        return "objects/\(digits.prefix(2))/\(digits.dropFirst(2))"
    }

    /// The files of the batch that is being stored, or was when its owner ended; nil when there is no list of one.
    func filesOfBatch() throws(StoreError) -> [ContentHash]? {
        guard let bytes = try Files.content(batch, limit: 1 << 26) else { return nil }
        return stride(from: 0, to: bytes.count - 31, by: 32).compactMap {
            ContentHash(bytes: Array(bytes[$0..<$0 + 32]))
        }
    }

    /// A path of the store, relative to its folder.
    func relative(_ path: String) -> String { String(path.dropFirst(self.path.count + 1)) }

    /// The folder of all editions of a tileset.
    package func tileset(_ name: String) -> String { "\(tilesets)/\(name)" }

    /// The folder for mapping of an edition.
    package func view(_ edition: EditionKey) throws(StoreError) -> String {
        try "\(tilesets)/\(edition.tileset)/\(Self.folderName(ofVersion: edition.version))"
    }

    /// The name of an edition's folder: its version where that is 1 to 64 letters, digits, `.`, `-` or `_`, the first
    /// a letter or digit; else `v-` and the first half of its SHA-256, because a version comes from a server.
    ///
    /// - Throws: ``StoreError`` `exhausted` when there is no hash to be had.
    package static func folderName(ofVersion version: String) throws(StoreError) -> String {
        let bytes = Array(version.utf8)
        let isPlain =
            (1...64).contains(bytes.count) && isAlphanumeric(bytes[0]) && version != "current"
            && !version.hasPrefix("v-")
            && bytes.allSatisfy { isAlphanumeric($0) || $0 == 0x2d || $0 == 0x2e || $0 == 0x5f }
        return isPlain ? version : "v-" + (try ContentHash.checked(bytes)).hexadecimal.prefix(32)
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
    }

    /// The file of a part of a road tile below its edition's folder, the name that road tiles have on every server.
    package static func viewFile(_ tile: TileID, _ part: TilePart) -> String {
        "\(tile.zoom)/\(tile.x)/\(tile.y)." + (part == .body ? "road" : "rank")
    }
}
