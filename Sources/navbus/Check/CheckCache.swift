import Foundation
import Glibc
import NavConfig
import NavDigest
import NavKit
import NavVerdict
import NavigationNode
import Synchronization

/// A cache of the records of earlier runs, keyed by everything that a run depends on.
///
/// That is the program, the bag, the truth, the tiles, the expectations, and the values of the configuration keys that the
/// replay read; other keys may have any value.
final class CheckCache: Sendable {
    /// The hash of a file's content, valid while the file's attributes are unchanged.
    private struct Known: Equatable {
        var size: Int
        /// The time of the last change of content or inode, ns; unlike the modification time, a copy does not preserve it.
        var changed: Int64
        var inode: UInt64
        var hash: String
    }

    private let folder: String?
    /// The hash of this program.
    let program: String
    private let files = Mutex<[String: Known]>([:])

    /// The file with the known hashes, below the folder.
    private static let index = "/navbus-check-files"
    /// The most records in a file, about in the order of their latest use: one for each set of values of the keys.
    private static let mostRecords = 8
    /// The time for which an unused record is kept, seconds: 30 days.
    private static let longestIdle = 30.0 * 86_400
    /// The time since a file's last change after which its attributes represent its content, ns.
    private static let settling: Int64 = 2_000_000_000

    /// Creates a cache in a folder; nil keeps nothing.
    init(folder: String?) throws {
        self.folder = folder
        program = try CheckCache.contentHash("/proc/self/exe")
        guard let folder else { return }
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw NodeError(.system, "the cache '\(folder)' cannot be created: \(error.localizedDescription)")
        }
        guard let text = try? String(contentsOfFile: folder + Self.index, encoding: .utf8) else { return }
        files.withLock { files in
            for line in text.split(separator: "\n") {
                let fields = line.split(separator: "\t", maxSplits: 4)
                guard fields.count == 5, let size = Int(fields[0]), let changed = Int64(fields[1]),
                    let inode = UInt64(fields[2])
                else { continue }
                files[String(fields[4])] = Known(
                    size: size, changed: changed, inode: inode, hash: String(fields[3]))
            }
        }
    }

    /// Returns the key of a job without its configuration; nil when a file cannot be read, which the run then reports.
    func key(_ job: CheckJob, traffic: String) -> String? {
        var parts = ["1", program, job.destination ?? "bag", job.name]
        parts += job.expect.map { "\($0.number) \($0.text)" }
        // A file's role counts as well: one file may be given as another kind of truth.
        let inputs = [
            ("bag", job.path), ("tiles", job.tiles + "/tileset.json"), ("positions", job.truthPositions),
            ("edges", job.truthEdges), ("traffic", traffic.isEmpty ? nil : traffic),
        ]
        for case (let role, let path?) in inputs {
            guard let hash = hash(of: path) else { return nil }
            parts.append("\(role) \(hash)")
        }
        return ContentHash(of: Array(parts.joined(separator: "\u{0}").utf8))?.hexadecimal
    }

    /// Returns the record of an earlier run whose keys match the values of a configuration.
    func record(_ key: String, _ values: [String: String]) -> DriveRecord? {
        guard let path = path(key) else { return nil }
        var records = records(path)
        let place = records.firstIndex { record in record.keys.allSatisfy { values[$0.key] == $0.value } }
        guard let place else { return nil }
        let record = records.remove(at: place)
        // Marks the record as used. Those of a repeated comparison take turns: only one that could soon be dropped is moved to the front.
        if place < Self.mostRecords / 2 { utimes(path, nil) } else { write([record] + records, path) }
        return record
    }

    func store(_ record: DriveRecord, _ key: String) {
        // Failed runs are not stored, so that they are tried again.
        guard record.failure == nil, let path = path(key) else { return }
        try? FileManager.default.createDirectory(
            atPath: path.parentFolder, withIntermediateDirectories: true)
        write([record] + records(path).filter { $0.keys != record.keys }, path)
    }

    private func write(_ records: [DriveRecord], _ path: String) {
        guard let data = try? JSONEncoder().encode(Array(records.prefix(Self.mostRecords))) else { return }
        try? data.write(to: URL(fileURLWithPath: path), options: .atomic)
    }

    private func path(_ key: String) -> String? { folder.map { "\($0)/\(key.prefix(2))/\(key.dropFirst(2)).json" } }

    private func records(_ path: String) -> [DriveRecord] {
        guard let data = FileManager.default.contents(atPath: path) else { return [] }
        return (try? JSONDecoder().decode([DriveRecord].self, from: data)) ?? []
    }

    /// Writes the known hashes of files, and removes records that have not been used for a long time.
    func finish(removingIdle: Bool) {
        guard let folder else { return }
        let lines = files.withLock { files in
            files.filter { !removingIdle || FileManager.default.fileExists(atPath: $0.key) }.map { path, known in
                "\(known.size)\t\(known.changed)\t\(known.inode)\t\(known.hash)\t\(path)"
            }
        }
        let text = lines.sorted().joined(separator: "\n") + "\n"
        try? Data(text.utf8).write(to: URL(fileURLWithPath: folder + Self.index), options: .atomic)
        guard removingIdle else { return }
        let oldest = Date(timeIntervalSinceNow: -Self.longestIdle)
        // The folder may contain other files, so only files named like records are removed.
        for part in names(in: folder) where Self.isHash(part, 2) {
            for name in names(in: "\(folder)/\(part)")
            where name.hasSuffix(".json") && Self.isHash(name.dropLast(5), program.count - 2) {
                let path = "\(folder)/\(part)/\(name)"
                let date = try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
                if let date, date < oldest { try? FileManager.default.removeItem(atPath: path) }
            }
        }
    }

    private func names(in folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    private static func isHash(_ text: some StringProtocol, _ length: Int) -> Bool {
        text.utf8.count == length && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }

    // MARK: Content

    /// Returns the hash of a file's content, computed only if its attributes have changed; nil when it cannot be read.
    private func hash(of path: String) -> String? {
        let absolute = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        var status = stat()
        guard stat(absolute, &status) == 0 else { return nil }
        let changed = Int64(status.st_ctim.tv_sec) * 1_000_000_000 + Int64(status.st_ctim.tv_nsec)
        var known = Known(size: Int(status.st_size), changed: changed, inode: UInt64(status.st_ino), hash: "")
        if let earlier = files.withLock({ $0[absolute] }) {
            known.hash = earlier.hash
            if known == earlier { return earlier.hash }
        }
        guard let hash = try? CheckCache.contentHash(absolute) else { return nil }
        known.hash = hash
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        if Int64(now.tv_sec) * 1_000_000_000 - changed > Self.settling {
            files.withLock { $0[absolute] = known }
        }
        return hash
    }

    private static func contentHash(_ path: String) throws -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw NodeError(.missing, "'\(path)' cannot be read") }
        defer { close(descriptor) }
        let hasher = ContentHasher()
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw NodeError(.system, "'\(path)' cannot be read") }
            guard count > 0 else { break }
            buffer.withUnsafeBytes { hasher.update(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
        guard let hash = hasher.finish() else { throw NodeError(.system, ContentHash.refusal) }
        return hash.hexadecimal
    }
}
