import Glibc
import NavGeo
import NavStorage
import NavTileCache
import NavTileStore

/// Stores tiles until the disk is full or, if `greatestFile` is not 0, until a file would exceed that many bytes, then
/// prints whether the store can still read, evict and store.
func fill(_ folder: String, greatestFile: Int64) throws {
    var options = TileStoreOptions()
    options.budgetBytes = 1 << 40
    options.reserveBytes = 1 << 20
    let store = try TileStore(folder: folder, options: options)
    try store.addEdition(mapEdition, now: Timestamp(nanoseconds: 0))
    if greatestFile > 0 {
        signal(SIGXFSZ, SIG_IGN)
        var limit = rlimit(rlim_cur: rlim_t(greatestFile), rlim_max: rlim_t(greatestFile))
        guard setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { return say("no limit") }
    }
    var stored: Int64 = 0
    var failure: StoreError?
    while failure == nil, stored < 100_000 {
        do throws(StoreError) {
            // Growing files reach the limit of a file, many small ones that of the disk.
            let size = greatestFile > 0 ? 1_000 << Int(stored / 8) : 20_000
            let batch = (1...8).map { mapTile((stored + $0) * 10 + 1, count: size) }
            _ = try store.commit(batch, now: Timestamp(nanoseconds: stored))
            stored += 8
        } catch {
            failure = error
        }
    }
    say("stored \(stored)")
    say("failure \(failure?.code.rawValue ?? "none")")
    var readable: Int64 = 0
    for number in 1...max(stored, 1) {
        let address = TileAddress("maps", tile(number * 10 + 1, zoom: 14))
        guard let found = try store.reader.tile(address, now: Timestamp(nanoseconds: 0)) else { continue }
        if try !store.data(of: found).isEmpty { readable += 1 }
    }
    say("readable \(readable)")
    let statistics = try store.reader.statistics(now: Timestamp(nanoseconds: 0))
    store.setBudget(statistics.objectBytes / 2)
    let removed = try store.makeRoom(for: 0, needed: nil)
    say("removed \(removed.removedCount)")
    let again = try store.commit([mapTile(77, count: 2_000)], now: Timestamp(nanoseconds: 9))
    say("again \(again.stored.count)")
    let report = try store.reader.check()
    for finding in report.findings { say("finding \(finding)") }
    say("sound \(report.isSound)")
    store.close()
}
