// A separate process for tests that owns a tile store, and is killed or runs out of disk space, or that uses a source:
// NavTileStoreProbe ROLE FOLDER|ADDRESS ...
import Glibc
import NavStorage
import NavTileStore

let arguments = CommandLine.arguments
guard arguments.count >= 3 else {
    print("usage: NavTileStoreProbe hold|churn|fill|unhashed FOLDER ... | exhaust|announced ADDRESS")
    exit(2)
}
do {
    let rest = arguments.dropFirst(3).map { Int64($0) ?? 0 }
    switch arguments[1] {
    case "hold": try hold(arguments[2])
    case "churn": try churn(arguments[2], seed: UInt64(rest.first ?? 0))
    case "fill": try fill(arguments[2], greatestFile: rest.first ?? 0)
    case "unhashed": try unhashed(arguments[2], settings: arguments.count > 3 ? arguments[3] : "")
    case "exhaust": exhaust(arguments[2])
    case "announced": try announced(arguments[2])
    default: say("no role \(arguments[1])")
    }
} catch let error as StoreError {
    say("failed \(error.code.rawValue): \(error)")
    exit(1)
}

/// Prints a line immediately.
func say(_ line: String) {
    print(line)
    fflush(nil)
}

/// Returns whether the test has closed its end of the standard input: it has ended, or requests the end of this
/// process.
func isOrphaned() -> Bool {
    var entry = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLHUP) != 0
}

/// Owns a store until the test closes the standard input.
func hold(_ folder: String) throws {
    var options = TileStoreOptions()
    options.holder = "the probe"
    let store = try TileStore(folder: folder, options: options)
    say("ready")
    while !isOrphaned() { usleep(20_000) }
    store.close()
}
