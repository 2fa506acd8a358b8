internal import Glibc
package import NavStorage

/// One process's claim on a store: a write lock on its file `lock`, which the kernel frees however the process ends.
///
/// The lock belongs to the open file (`F_OFD_SETLK`), not to the process, and is not an `flock`: only such locks can be
/// queried without being taken, so that a query never locks out an owner.
package final class FolderLock: Sendable {
    private let file: Int32

    // The values on Linux (fcntl(2)), which the C library's module does not export to Swift.
    private static let getLock: Int32 = 36
    private static let setLock: Int32 = 37

    package init(_ folder: StoreFolder, holder: String) throws(StoreError) {
        let file = open(folder.lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw Files.error("cannot open", folder.lock, errno) }
        var claim = Self.whole(F_WRLCK)
        guard fcntl(file, Self.setLock, &claim) == 0 else {
            let number = errno
            close(file)
            guard number == EAGAIN || number == EACCES else { throw Files.error("cannot lock", folder.lock, number) }
            throw StoreError(
                .busy,
                "the tile store '\(folder.path)' is owned by \(Self.owner(folder)); stop that process, ask it over "
                    + "the bus, or use another folder")
        }
        self.file = file
        // The holder's name is only informative, so a full disk must not prevent the store from opening.
        let text = Array("process \(getpid()) (\(holder))\n".utf8)
        ftruncate(file, 0)
        _ = text.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, 0) }
    }

    /// Whether a process currently owns a folder.
    package static func isHeld(_ folder: StoreFolder) -> Bool {
        let file = open(folder.lock, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        var claim = whole(F_WRLCK)
        guard fcntl(file, getLock, &claim) == 0 else { return true }
        return claim.l_type != Int16(F_UNLCK)
    }

    /// Returns a lock of the given type on a whole file.
    private static func whole(_ kind: Int32) -> Glibc.flock {
        var claim = Glibc.flock()
        claim.l_type = Int16(kind)
        claim.l_whence = Int16(SEEK_SET)
        return claim
    }

    /// Returns the holder's name as it wrote it.
    private static func owner(_ folder: StoreFolder) -> String {
        let text = (try? Files.read(folder.lock, limit: 4_096)) ?? []
        let line = String(decoding: text.prefix { $0 != 0x0a }, as: UTF8.self)
        return line.isEmpty ? "another process" : line
    }

    deinit {
        // A child process being started may still have the descriptor, so closing alone would leave the lock in place.
        var claim = Self.whole(F_UNLCK)
        _ = fcntl(file, Self.setLock, &claim)
        close(file)
    }
}
