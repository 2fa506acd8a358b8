import Glibc
import NavGeo
import NavTileStore

/// Stores `tiles` map tiles in commits of 256, with `contents` different contents among them, and says what that cost.
func measure(_ folder: String, tiles: Int64, contents: Int64) throws {
    var options = TileStoreOptions()
    options.budgetBytes = 1 << 40
    let store = try TileStore(folder: folder, options: options)
    let now = Timestamp(nanoseconds: 1)
    try store.addEdition(mapEdition, now: now)
    let start = seconds()
    let startMemory = residentMegabytes()
    for first in stride(from: Int64(0), to: tiles, by: 256) {
        let batch = (first..<min(first + 256, tiles)).map { number in
            FetchedTile(
                TileAddress("maps", tile(number, zoom: 14)), edition: "",
                parts: [part(.body, content("map \(number % max(contents, 1))", count: 1_000))],
                validators: Validators(etag: "\"\(number)\""))
        }
        _ = try store.commit(batch, now: now)
    }
    let elapsed = seconds() - start
    say("store.insert.per_s \(Double(tiles) / elapsed)")
    say("store.insert.seconds \(elapsed)")
    say("store.memory.start_mb \(startMemory)")
    say("store.memory.after_insert_mb \(residentMegabytes())")
    try measureLookups(store, tiles, now)
    let room = seconds()
    store.setBudget(try store.reader.statistics(now: now).objectBytes - 50_000)
    let removed = try store.makeRoom(for: 0, needed: nil)
    say("store.evict.count \(removed.removedCount)")
    say("store.evict.ms \((seconds() - room) * 1e3)")
    let totals = seconds()
    _ = try store.reader.statistics(now: now)
    say("store.statistics.ms \((seconds() - totals) * 1e3)")
    store.close()
    let opening = seconds()
    let again = try TileStore(folder: folder, options: options)
    say("store.open.ms \((seconds() - opening) * 1e3)")
    say("store.memory.end_mb \(residentMegabytes())")
    var check = CheckOptions()
    check.readsContent = false
    let checking = seconds()
    let report = try again.reader.check(check)
    say("store.check.seconds \(seconds() - checking)")
    say("sound \(report.isSound)")
    again.close()
}

private func measureLookups(_ store: TileStore, _ tiles: Int64, _ now: Timestamp) throws {
    var chance = Chance(state: 5)
    var times: [Double] = []
    for _ in 0..<50_000 {
        let address = TileAddress("maps", tile(Int64(chance.next(UInt64(tiles))), zoom: 14))
        let start = seconds()
        let found = try store.reader.tile(address, now: now)
        times.append(seconds() - start)
        if found == nil { say("lost \(address)") }
    }
    times.sort()
    say("store.lookup.p50_us \(times[times.count / 2] * 1e6)")
    say("store.lookup.p99_us \(times[times.count * 99 / 100] * 1e6)")
    say("store.lookup.p999_us \(times[times.count * 999 / 1000] * 1e6)")
}

private func seconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
}

/// Memory of this process that is in use, without what the system caches of files.
private func residentMegabytes() -> Double {
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var buffer = [CChar](repeating: 0, count: 128)
    guard fgets(&buffer, 128, file) != nil else { return 0 }
    let text = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let fields = text.split(separator: " ").compactMap { Double($0) }
    guard fields.count > 2 else { return 0 }
    return (fields[1] - fields[2]) * Double(sysconf(Int32(_SC_PAGESIZE))) / 1e6
}
