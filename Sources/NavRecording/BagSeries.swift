import Foundation
import Glibc
import NavBag
import NavConfig

/// The files of a recording: `drive.mcap`, then `drive_1.mcap`, `drive_2.mcap`, and so on.
///
/// If files of the series exist, a recording continues after the last of them, so a restarted recorder overwrites no earlier recording.
struct BagSeries {
    /// The maximum number of files of a series.
    static let most = 100_000

    private let first: String
    /// Whether to replace the first file; false once the first file is written, since further files may belong to other
    /// recordings.
    private var overwrite: Bool
    private var number = 0

    /// Creates a series from the path of its first file.
    ///
    /// - Parameter overwrite: whether to replace the first file instead of continuing after the last one.
    init(_ first: String, overwrite: Bool) {
        self.first = first
        self.overwrite = overwrite
        if !overwrite, let last = numbers.last { number = last + 1 }
    }

    /// The numbers of the existing files, ascending.
    private var numbers: [Int] {
        let folder = first.parentFolder
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.isEmpty ? "." : folder)) ?? []
        let known = (path(0) as NSString).lastPathComponent
        let stem = (known as NSString).deletingPathExtension + "_"
        let end = known.dropFirst(stem.count - 1)
        return names.compactMap { name -> Int? in
            if name == known { return 0 }
            guard name.hasPrefix(stem), name.hasSuffix(end),
                // A larger number was not written by this program, and further numbers would overflow.
                let number = Int(name.dropFirst(stem.count).dropLast(end.count)), (1...Int.max / 2).contains(number),
                (path(number) as NSString).lastPathComponent == name
            else { return nil }
            return number
        }.sorted()
    }

    /// Deletes the oldest bags of the series until the rest take at most `room` bytes; the last file is never deleted.
    ///
    /// - Returns: log lines about deleted files and failed deletions.
    func makeRoom(_ room: Int) -> [String] {
        var files = numbers.map { number -> (path: String, size: Int) in
            var status = stat()
            let path = path(number)
            return (path, stat(path, &status) == 0 ? Int(status.st_size) : 0)
        }
        var notes: [String] = []
        while files.count > 1, files.reduce(0, { $0 + $1.size }) > room, let oldest = files.first {
            files.removeFirst()
            guard Self.isBag(oldest.path) else { continue }
            let isGone = unlink(oldest.path) == 0
            let reason = isGone ? "" : ": \(String(cString: strerror(errno)))"
            notes.append("the quota is reached; '\(oldest.path)' is \(isGone ? "" : "not ")deleted\(reason)")
        }
        return notes
    }

    /// Returns the path of a file; the first has number 0.
    func path(_ number: Int) -> String {
        guard number > 0 else { return first }
        let name = first.lastIndex(of: "/").map { first.index(after: $0) } ?? first.startIndex
        guard let dot = first[name...].lastIndex(of: "."), dot > name else { return "\(first)_\(number)" }
        return "\(first[..<dot])_\(number)\(first[dot...])"
    }

    mutating func create() throws(BagError) -> (bag: BagWriter, path: String) {
        // A file that is not a recording was named by mistake and must not be replaced.
        if !overwrite, access(first, F_OK) == 0, !Self.isBag(first) {
            throw BagError(.io, "cannot create \(first): it exists and is not a bag; --overwrite replaces it")
        }
        while true {
            let path = path(number)
            do throws(BagError) {
                let bag = try BagWriter(path: path, overwrite: overwrite, durable: true)
                if overwrite { (overwrite, number) = (false, numbers.last ?? 0) }
                number += 1
                return (bag, path)
            } catch {
                guard !overwrite, error.code == .io, access(path, F_OK) == 0 else { throw error }
                number += 1
                guard number < .max, numbers.count < Self.most else { throw error }
            }
        }
    }

    /// Whether a file begins like a bag; also true for an empty file and for a truncated bag.
    private static func isBag(_ path: String) -> Bool {
        do throws(BagError) {
            let file = try BagFile(path: path)
            guard file.count > 0 else { return true }
            _ = try MCAPLinearReader(file)
            return true
        } catch {
            return error.code == .truncated
        }
    }
}
