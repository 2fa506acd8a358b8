import Glibc
import NavDigest
import NavGeo
import NavStorage
import NavTileCache
import NavTileStore

/// Checks a store and tries to repair it with a libcrypto that cannot compute hashes because of the configuration file
/// `settings`.
func unhashed(_ folder: String, settings: String) throws {
    setenv("OPENSSL_CONF", settings, 1)
    say(ContentHash(of: [1]) == nil ? "no hashes" : "hashes")
    let store = try TileStore(folder: folder)
    func told(_ what: String, _ body: () throws(StoreError) -> Void) {
        do throws(StoreError) {
            try body()
            say("\(what): done")
        } catch {
            say("\(what): \(error.code.rawValue)")
        }
    }
    told("check") { () throws(StoreError) in _ = try store.reader.check() }
    told("repair") { () throws(StoreError) in _ = try store.checkAndRepair() }
    told("scrub") { () throws(StoreError) in
        var place = ScrubPosition()
        for _ in 0..<10 { place = try store.scrub(from: place, bytes: 1).place }
    }
    for edition in try store.reader.editions() {
        for tile in try store.reader.edition(edition.key)?.tiles ?? [] {
            let address = TileAddress(edition.key.tileset, tile.tile)
            guard let record = try store.reader.tile(address, now: Timestamp(nanoseconds: 0)) else { continue }
            told("data") { () throws(StoreError) in _ = try store.data(of: record) }
            told("quarantine") { () throws(StoreError) in _ = try store.quarantine(record.body.hash) }
        }
    }
    told("edition") { () throws(StoreError) in
        try store.addEdition(roadEdition("a version of a server's own"), now: Timestamp(nanoseconds: 0))
    }
    store.close()
}
