import Foundation
import Glibc
import NavBench
import NavBus
import NavTileStore
import Synchronization

/// The time until a batch of new files is durable on the disk, by the store's method and by `syncfs`, which waits for
/// the whole file system; alone, and beside a program that writes without syncing.
final class DurabilitySuite {
    private let workers: Workers
    private let scratch: ScratchFolder
    private let batchCount: Int

    /// The number of files in a batch, as many as a commit waits for at once, and the size of each, bytes.
    private static let (fileCount, size) = (128, 20_000)

    private typealias SyncFS = @convention(c) (Int32) -> Int32

    /// - Parameter parent: a folder on the measured disk; nil for the system's temporary files.
    init(parent: String?, isQuick: Bool) throws {
        workers = try Workers()
        scratch = try ScratchFolder(in: parent ?? workers.folder)
        batchCount = isQuick ? 1 : 5
    }

    var comparisons: [Comparison] {
        [false, true].map { isBusy in
            Comparison(
                "tiles.durable.\(Self.fileCount)files" + (isBusy ? ".busy" : ""), peer: "syncfs",
                [.init("p50", "ms"), .init("max", "ms")],
                ours: { try self.measure(isBusy) { files in try FileSync.wait(files) } },
                theirs: { try self.measure(isBusy) { files in try self.syncAll(files) } })
        }
    }

    private func measure(
        _ isBusy: Bool, _ wait: ([(descriptor: Int32, path: String)]) throws -> Void
    ) throws -> [String: Double] {
        let other = isBusy ? try BusyWriter(scratch.path + "/other") : nil
        defer { other?.stop() }
        var nanoseconds: [Int64] = []
        for _ in 0..<batchCount {
            let files = try (0..<Self.fileCount).map { try write("\(scratch.path)/\($0)") }
            let start = Clocks.monotonic()
            try wait(files)
            nanoseconds.append(Clocks.monotonic() - start)
            for file in files { unlink(file.path) }
        }
        return [
            "p50": Double(Statistics.percentile(nanoseconds.sorted(), permille: 500) ?? 0) / 1e6,
            "max": Double(nanoseconds.max() ?? 0) / 1e6,
        ]
    }

    private func write(_ path: String) throws -> (descriptor: Int32, path: String) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw BenchError("\(path): \(String(cString: strerror(errno)))") }
        var bytes = [UInt8](repeating: 0, count: Self.size)
        arc4random_buf(&bytes, bytes.count)
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
            close(descriptor)
            throw BenchError("\(path) cannot be written: \(String(cString: strerror(errno)))")
        }
        return (descriptor, path)
    }

    /// The C library declares `syncfs` only with a feature macro.
    private func syncAll(_ files: [(descriptor: Int32, path: String)]) throws {
        defer { for file in files { close(file.descriptor) } }
        guard let first = files.first, let symbol = dlsym(nil, "syncfs") else { throw BenchError("syncfs is missing") }
        guard unsafeBitCast(symbol, to: SyncFS.self)(first.descriptor) == 0 else {
            throw BenchError("syncfs of \(first.path): \(String(cString: strerror(errno)))")
        }
    }
}

/// A continuous writer, like a program that copies a file.
private final class BusyWriter: Sendable {
    private let isStopped = Atomic(false)
    private let ended = DispatchSemaphore(value: 0)
    private let path: String

    /// The bytes of a piece, the pieces of the file before it is restarted, and the pause between two pieces, ns: 20
    /// MB/s.
    private static let (piece, pieces, pause) = (1 << 20, 64, Int64(50_000_000))

    init(_ path: String) throws {
        self.path = path
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw BenchError("\(path): \(String(cString: strerror(errno)))") }
        Thread.detachNewThread {
            let bytes = [UInt8](repeating: 1, count: Self.piece)
            var count = 0
            while !self.isStopped.load(ordering: .relaxed) {
                if count % Self.pieces == 0 { lseek(descriptor, 0, SEEK_SET) }
                if Glibc.write(descriptor, bytes, bytes.count) != bytes.count { break }
                count += 1
                sleep(until: Clocks.monotonic() + Self.pause)
            }
            close(descriptor)
            self.ended.signal()
        }
    }

    func stop() {
        isStopped.store(true, ordering: .relaxed)
        ended.wait()
        unlink(path)
    }
}
