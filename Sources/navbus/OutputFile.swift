import Foundation
import Glibc
import NavBag
import NavKit
import NavMessages
import NavRecording
import NavReplay

/// Returns the system's reason for an error of Foundation, whose own description has only a domain and a number.
func systemReason(_ error: any Error) -> String {
    let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
    return cause.map { String(cString: strerror(Int32($0.code))) } ?? error.localizedDescription
}

/// Returns a path with symbolic links resolved; nil when the file does not exist.
func realPath(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
}

/// An output file of a command, renamed to its final name when it is complete. Anything but a regular file, such as a device or a FIFO, is
/// written directly.
final class OutputFile {
    /// The existing files that a command replaces without `--overwrite`.
    enum Replaceable {
        /// None except empty ones.
        case none
        /// Bags written by the command, identified by the name of their metadata.
        case bags(marked: String)
        /// Replays of fixes, identified by the node's name in their journal. They have no metadata, as may also be the case for recordings
        /// in lockstep and bags of other programs.
        case replays
        /// Documents with the beginning of the command's own documents.
        case documents(beginning: String)
    }

    /// The name of the metadata of bags made from other bags, whose metadata they also contain.
    static let editMark = "navbus.edit"
    /// The name of the metadata of converted recordings, whose metadata they also contain.
    static let convertMark = "navbus.convert"

    /// The path of the file while it is written.
    let partial: String
    private let path: String
    private let unfinished: UnfinishedPaths

    /// Checks that the file may be written.
    ///
    /// - Parameters:
    ///   - given: its path; a link is resolved.
    ///   - replaceable: the files that may be replaced in any case.
    ///   - overwrite: whether any existing file may be replaced.
    init(_ given: String, replacing replaceable: Replaceable, overwrite: Bool = false) throws(NodeError) {
        let path = realPath(given) ?? given
        self.path = path
        var status = stat()
        let exists = stat(path, &status) == 0
        guard !exists || status.st_mode & S_IFMT == S_IFREG else {
            partial = path
            unfinished = UnfinishedPaths([])
            return
        }
        partial = path + ".partial-\(getpid())"
        unfinished = UnfinishedPaths([partial])
        guard !exists || overwrite || status.st_size == 0 || Self.isReplaceable(path, replaceable) else {
            let remedy =
                switch replaceable {
                case .documents: "use another file"
                case .none, .bags, .replays: "--overwrite replaces it"
                }
            throw NodeError(.system, "'\(path)' exists and was not written by this command; \(remedy)")
        }
    }

    deinit { if partial != path { unlink(partial) } }

    private static func isReplaceable(_ path: String, _ replaceable: Replaceable) -> Bool {
        switch replaceable {
        case .none: return false
        case .documents(let beginning):
            guard let file = FileHandle(forReadingAtPath: path) else { return false }
            defer { try? file.close() }
            return (try? file.read(upToCount: beginning.utf8.count)) == Data(beginning.utf8)
        case .bags(let mark):
            guard let names = (try? BagReader(path: path))?.index.metadata.map(\.name) else { return false }
            return names.contains(mark) && !names.contains(editMark) && !names.contains(convertMark)
        case .replays:
            guard let reader = try? BagReader(path: path), reader.index.metadata.isEmpty,
                reader.index.attachments.isEmpty
            else { return false }
            var journal = reader.messages(BagQuery(topics: [JournalEntry.topic]))
            guard let first = try? journal.next(), case .start(let start)? = (try? JournalEntry(first))?.event else {
                return false
            }
            return start.node == Replay.nodeName
        }
    }

    /// Opens the file for writing, empty.
    func open() throws(NodeError) -> FileHandle {
        let descriptor = Glibc.open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw error(String(cString: strerror(errno))) }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    /// Writes a whole document.
    func write(_ document: Data) throws(NodeError) {
        let file = try open()
        do {
            try file.write(contentsOf: document)
            try file.close()
        } catch {
            throw self.error(systemReason(error))
        }
        try finish()
    }

    /// Writes lines as they arrive.
    func writeLines(_ body: ((String) -> Void) throws -> Void) throws {
        let file = try open()
        var failure: (any Error)?
        var buffer = ""
        func flush() {
            // After a failure, further output is discarded.
            if failure == nil { do { try file.write(contentsOf: Data(buffer.utf8)) } catch { failure = error } }
            buffer.removeAll(keepingCapacity: true)
        }
        try body { line in
            buffer += line
            buffer += "\n"
            if buffer.utf8.count > 1 << 16 { flush() }
        }
        flush()
        do { try file.close() } catch { failure = failure ?? error }
        if let failure { throw error(systemReason(failure)) }
        try finish()
    }

    /// Renames the file to its final name; call it after the file has been closed.
    func finish() throws(NodeError) {
        guard partial != path, rename(partial, path) != 0 else { return }
        throw error(String(cString: strerror(errno)))
    }

    private func error(_ reason: String) -> NodeError { NodeError(.system, "'\(path)' cannot be written: \(reason)") }
}
