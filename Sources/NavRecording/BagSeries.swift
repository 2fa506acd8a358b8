import Glibc
package import NavBag

/// The files of a recording: `drive.mcap`, then `drive_1.mcap`, `drive_2.mcap`, and so on.
///
/// A recording that finds the first one taken goes on behind the last: a recorder that is restarted loses and replaces
/// nothing of what was recorded before.
struct BagSeries {
    /// The most files of a series.
    static let most = 100_000

    private let first: String
    private let overwrite: Bool
    private var number = 0

    /// A series by its first file.
    ///
    /// - Parameter overwrite: replaces files that are there instead of going on behind them.
    init(_ first: String, overwrite: Bool) {
        self.first = first
        self.overwrite = overwrite
    }

    /// The path of a file, the first being 0.
    func path(_ number: Int) -> String {
        guard number > 0 else { return first }
        let name = first.lastIndex(of: "/").map { first.index(after: $0) } ?? first.startIndex
        guard let dot = first[name...].lastIndex(of: "."), dot > name else { return "\(first)_\(number)" }
        return "\(first[..<dot])_\(number)\(first[dot...])"
    }

    /// Creates the next file.
    mutating func create() throws(BagError) -> (bag: BagWriter, path: String) {
        while true {
            let path = path(number)
            do throws(BagError) {
                let bag = try BagWriter(path: path, overwrite: overwrite, durable: true)
                number += 1
                return (bag, path)
            } catch {
                guard !overwrite, error.code == .io, access(path, F_OK) == 0 else { throw error }
                // What is no recording was named by mistake.
                guard number > 0 || Self.isBag(path) else {
                    throw BagError(.io, "\(error.reason), and it is no bag; --overwrite replaces it")
                }
                number += 1
                guard number < Self.most else { throw error }
            }
        }
    }

    /// Whether a file begins as a bag does, as far as it goes.
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
