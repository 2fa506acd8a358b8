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
    private let folder: String?
    /// The hash of this program.
    let program: String
    private let hasher: FileHasher
    /// The decoded keys of runs with their values, by their encoding, which most runs share with others.
    private let keys = Mutex<[[UInt8]: [String: String]]>([:])

    /// The file with the known hashes, below the folder.
    private static let index = "/navbus-check-files"
    /// The most records in a file, about in the order of their latest use: one for each set of values of the keys.
    private static let mostRecords = 8
    /// The time for which an unused record is kept, seconds: 30 days.
    private static let longestIdle = 30.0 * 86_400
    /// The interval at which the use of a record is noted, seconds: a day.
    private static let usePrecision = 86_400

    /// Creates a cache in a folder; nil keeps nothing.
    init(folder: String?) throws {
        self.folder = folder
        hasher = FileHasher(index: folder.map { $0 + Self.index })
        // An image may give another version the same attributes, and the program is one file.
        program = try FileHasher.contentHash("/proc/self/exe")
        guard let folder else { return }
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw NodeError(.system, "the cache '\(folder)' cannot be created: \(error.localizedDescription)")
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
            guard let hash = try? hasher.hash(of: path) else { return nil }
            parts.append("\(role) \(hash)")
        }
        return ContentHash(of: Array(parts.joined(separator: "\u{0}").utf8))?.hexadecimal
    }

    /// Returns the record of an earlier run whose keys match the values of a configuration.
    func record(_ key: String, _ values: [String: String]) -> DriveRecord? {
        guard let path = path(key), let (runs, used) = runs(path) else { return nil }
        for (place, run) in runs.enumerated() {
            guard let keys = keys(run), keys.allSatisfy({ values[$0.key] == $0.value }) else { continue }
            guard let record = run.record(keys: keys) else { return nil }
            // Marks the record as used. Those of a repeated comparison take turns: only one that could soon be dropped is moved to the front.
            if place >= Self.mostRecords / 2 {
                write([run] + runs[..<place] + runs[(place + 1)...], path)
            } else if time(nil) - used > Self.usePrecision {
                utimes(path, nil)
            }
            return record
        }
        return nil
    }

    /// Returns the keys of a run with their values.
    private func keys(_ run: DriveRecordFile.Run) -> [String: String]? {
        if let known = keys.withLock({ $0[run.keys] }) { return known }
        guard let keys = DriveRecordFile.Run.keys(run.keys) else { return nil }
        self.keys.withLock { $0[run.keys] = keys }
        return keys
    }

    func store(_ record: DriveRecord, _ key: String) {
        // Failed runs are not stored, so that they are tried again.
        guard record.failure == nil, let path = path(key) else { return }
        try? FileManager.default.createDirectory(
            atPath: path.parentFolder, withIntermediateDirectories: true)
        let run = DriveRecordFile.Run(record)
        write([run] + (runs(path)?.runs ?? []).filter { $0.keys != run.keys }, path)
    }

    private func write(_ runs: [DriveRecordFile.Run], _ path: String) {
        let file = DriveRecordFile(Array(runs.prefix(Self.mostRecords)))
        try? Data(file.bytes).write(to: URL(fileURLWithPath: path), options: .atomic)
    }

    private func path(_ key: String) -> String? { folder.map { "\($0)/\(key.prefix(2))/\(key.dropFirst(2)).runs" } }

    /// Returns the runs in a file and the time of its latest noted use, seconds since 1970.
    private func runs(_ path: String) -> (runs: [DriveRecordFile.Run], used: Int)? {
        var status = stat()
        guard stat(path, &status) == 0, let data = FileManager.default.contents(atPath: path) else { return nil }
        return (DriveRecordFile(bytes: Array(data)).runs, status.st_mtim.tv_sec)
    }

    /// Writes the known hashes of files, and removes records that have not been used for a long time.
    func finish(removingIdle: Bool) {
        hasher.save()
        guard removingIdle, let folder else { return }
        let oldest = Date(timeIntervalSinceNow: -Self.longestIdle)
        // The folder may contain other files, so only files named like records are removed.
        for part in names(in: folder) where Self.isHash(part, 2) {
            // Those of earlier versions end with .json.
            for name in names(in: "\(folder)/\(part)")
            where [".runs", ".json"].contains(name.suffix(5)) && Self.isHash(name.dropLast(5), program.count - 2) {
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
}
