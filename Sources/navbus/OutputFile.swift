import Glibc
import NavBag
import NavKit

/// A bag that a command writes: it takes its name when it is whole, and takes the place only of a bag that the same command has made.
final class OutputFile {
    /// The file that is written until then.
    let partial: String
    private let path: String
    /// The mark of commands that replace nothing unless they are told to.
    static let noMark = ""

    /// Checks that the bag may be written.
    ///
    /// - Parameters:
    ///   - given: its path; where it is a link, what that leads to.
    ///   - mark: the name of the metadata by which bags of this command are known; nil when they have none, as a replay, whose
    ///     bytes are those of a recording in lockstep. Simulated drives and live recordings have some.
    ///   - overwrite: whether anything that is there may be replaced.
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
                .system, "'\(path)' is there and was not made by this command; --overwrite replaces it")
        }
    }

    deinit { if partial != path { unlink(partial) } }

    private static func isMarked(_ path: String, _ mark: String?) -> Bool {
        guard let reader = try? BagReader(path: path) else { return false }
        guard let mark else { return reader.index.metadata.isEmpty }
        guard mark != noMark else { return false }
        return reader.index.metadata.contains { $0.name == mark }
    }

    /// Gives the bag its name; call it when the bag has been closed.
    func finish() throws(NodeError) {
        guard partial != path, rename(partial, path) != 0 else { return }
        throw NodeError(.system, "'\(path)' cannot be written: \(String(cString: strerror(errno)))")
    }
}
