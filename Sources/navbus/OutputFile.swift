import Glibc
import NavBag
import NavKit

/// A bag that a command writes, renamed to its final name when complete; it replaces only a bag made by the same command.
final class OutputFile {
    /// The path of the file while it is written.
    let partial: String
    private let path: String
    /// The mark of commands that never replace a bag without `--overwrite`.
    static let noMark = ""

    /// Checks that the bag may be written.
    ///
    /// - Parameters:
    ///   - given: its path; a link is resolved.
    ///   - mark: the name of the metadata that identifies bags of this command; nil when they have no metadata, as a replay, whose
    ///     bytes equal those of a recording in lockstep. Simulated drives and live recordings have some.
    ///   - overwrite: whether any existing file may be replaced.
    init(_ given: String, mark: String?, overwrite: Bool) throws(NodeError) {
        let resolved = realpath(given, nil)
        defer { free(resolved) }
        let path = resolved.map { String(cString: $0) } ?? given
        self.path = path
        var status = stat()
        guard stat(path, &status) == 0 else {
            partial = path + ".partial-\(getpid())"
            return
        }
        // A path that is not a regular file, such as /dev/null, is written to directly.
        guard status.st_mode & S_IFMT == S_IFREG else {
            partial = path
            return
        }
        partial = path + ".partial-\(getpid())"
        guard overwrite || status.st_size == 0 || OutputFile.isMarked(path, mark) else {
            throw NodeError(
                .system, "'\(path)' exists and was not written by this command; --overwrite replaces it")
        }
    }

    deinit { if partial != path { unlink(partial) } }

    private static func isMarked(_ path: String, _ mark: String?) -> Bool {
        guard let reader = try? BagReader(path: path) else { return false }
        guard let mark else { return reader.index.metadata.isEmpty }
        guard mark != noMark else { return false }
        return reader.index.metadata.contains { $0.name == mark }
    }

    /// Renames the bag to its final name; call it after the bag has been closed.
    func finish() throws(NodeError) {
        guard partial != path, rename(partial, path) != 0 else { return }
        throw NodeError(.system, "'\(path)' cannot be written: \(String(cString: strerror(errno)))")
    }
}
