import Dispatch
import Glibc
import NavHTTP
import NavTileCache
import NavTileStore

/// Opens a map source at an address twice: without free file descriptors, and with them.
func exhaust(_ address: String) {
    var files: [Int32] = []
    while true {
        let file = open("/dev/null", O_RDONLY)
        guard file >= 0 else { break }
        files.append(file)
    }
    for round in 0..<2 {
        do throws(TileSourceError) {
            _ = try TileSourceConfiguration("map", .maps, address: address).open()
            say("opened")
        } catch {
            say("\(error.code.rawValue): \(error.message)")
        }
        if round == 0 { for file in files { close(file) } }
    }
}

/// Requests all tiles of a list at once for a second, and prints the maximum growth of the address space, bytes.
func announced(_ address: String) throws {
    var configuration = TileSourceConfiguration("roads", .navigation, address: address)
    configuration.concurrency = 64
    configuration.limits.http.totalTimeout = 1
    let source = try configuration.open()
    let done = DispatchSemaphore(value: 0)
    Task {
        defer { done.signal() }
        guard case .edition(let edition, _) = try? await source.edition(known: nil) else { return say("no list") }
        let before = greatestSize()
        await withTaskGroup(of: Void.self) { group in
            for tile in edition.tiles ?? [] {
                group.addTask { _ = try? await source.fetch(tile.tile, edition: nil, known: nil, meter: nil) }
            }
        }
        say("\(greatestSize() - before)")
    }
    done.wait()
}

/// Returns the peak size of this process's address space, bytes.
private func greatestSize() -> Int {
    let file = open("/proc/self/status", O_RDONLY | O_CLOEXEC)
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = max(read(file, &bytes, bytes.count), 0)
    let line = String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n").first {
        $0.hasPrefix("VmPeak:")
    }
    return (line.flatMap { Int($0.filter(\.isNumber)) } ?? 0) * 1_024
}
