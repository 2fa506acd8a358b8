package import NavDigest
package import NavGeo
package import NavStorage
package import NavTileCache

package struct StoreFolder: Sendable, Hashable {
    /// The absolute path of the folder.
    package let path: String

    /// The folder at a path, which is made absolute.
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
    /// The file that lists the hashes of the batch being stored, 32 bytes each; empty between batches.
    ///
    /// One file serves all batches, since ext4 examines each recently removed file whenever it creates another.
    package var batch: String { path + "/batch" }
    package var objects: String { path + "/objects" }
    /// The progress of the scrub. On disk and in the configuration the scrub has its old name, *patrol*.
    package var scrub: String { path + "/patrol" }
    package var quarantine: String { path + "/quarantine" }
    package var setAside: String { path + "/set-aside" }
    package var tilesets: String { path + "/tilesets" }

    /// Throws `missing` when the disk was removed, so that absent files are not mistaken for damage.
    func requireObjects() throws(StoreError) {
        guard Files.status(objects)?.isDirectory != true else { return }
        throw StoreError(.missing, "the folder '\(objects)' no longer exists; mount its disk, or restart the node")
    }

    /// Returns the path of the object file of a hash: `objects/ab/cdef…`.
    package func object(_ hash: ContentHash) -> String { path + "/" + objectName(hash) }

    /// Returns the same path, relative to the folder.
    func objectName(_ hash: ContentHash) -> String {
        let digits = hash.hexadecimal
        return "objects/\(digits.prefix(2))/\(digits.dropFirst(2))"
    }

    /// Returns the files of the batch being stored, or interrupted when its owner ended; nil when there is no batch.
    func filesOfBatch() throws(StoreError) -> [ContentHash]? {
        guard let bytes = try Files.content(batch, limit: 1 << 26) else { return nil }
        return stride(from: 0, to: bytes.count - 31, by: 32).compactMap {
            ContentHash(bytes: Array(bytes[$0..<$0 + 32]))
        }
    }

    /// Returns a path of the store relative to its folder.
    func relative(_ path: String) -> String { String(path.dropFirst(self.path.count + 1)) }

    /// Returns the folder of all editions of a tileset.
    package func tileset(_ name: String) -> String { "\(tilesets)/\(name)" }

    /// Returns the folder for mapping of an edition.
    package func view(_ edition: EditionKey) throws(StoreError) -> String {
        try "\(tilesets)/\(edition.tileset)/\(Self.folderName(ofVersion: edition.version))"
    }

    /// Returns the name of an edition's folder.
    ///
    /// A version of 1 to 64 letters, digits, `.`, `-` or `_`, the first a letter or digit, is used as it is. Any other
    /// version becomes `v-` and the first half of its SHA-256, because versions come from servers.
    ///
    /// - Throws: ``StoreError`` `exhausted` when the hash cannot be computed.
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

    /// Returns the path of a road tile's file below its edition's folder; the path is the same on every server.
    package static func viewFile(_ tile: TileID, _ part: TilePart) -> String {
        "\(tile.zoom)/\(tile.x)/\(tile.y)." + (part == .body ? "road" : "rank")
    }
}
