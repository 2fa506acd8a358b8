internal import Glibc

/// The claim of one process on a store: an exclusive `flock` on its file `lock`, freed by the kernel whatever becomes
/// of the process.
package final class FolderLock: Sendable {
    private let file: Int32

    /// Claims a folder for `holder`.
    package init(_ folder: StoreFolder, holder: String) throws(StoreError) {
        let file = open(folder.lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw Files.error("cannot open", folder.lock, errno) }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            let number = errno
            close(file)
            guard number == EWOULDBLOCK else { throw Files.error("cannot lock", folder.lock, number) }
            throw StoreError(
                .busy,
                "the tile store '\(folder.path)' is owned by \(Self.owner(folder)): stop that process, ask it over "
                    + "the bus, or use another folder")
        }
        self.file = file
        // Who it is is a courtesy: a full disk does not keep the store from opening.
        let text = Array("process \(getpid()) (\(holder))\n".utf8)
        ftruncate(file, 0)
        _ = text.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, 0) }
    }

    /// Whether a process owns a folder now. It claims the folder for an instant itself: to be asked seldom.
    static func isHeld(_ folder: StoreFolder) -> Bool {
        let file = open(folder.lock, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        guard flock(file, LOCK_SH | LOCK_NB) == 0 else { return true }
        flock(file, LOCK_UN)
        return false
    }

    /// Who holds the lock, by its own word.
    private static func owner(_ folder: StoreFolder) -> String {
        let text = (try? Files.read(folder.lock, limit: 4_096)) ?? []
        let line = String(decoding: text.prefix { $0 != 0x0a }, as: UTF8.self)
        return line.isEmpty ? "another process" : line
    }

    deinit {
        // A child that is just being started still has the descriptor: closing alone would leave it the lock.
        flock(file, LOCK_UN)
        close(file)
    }
}
