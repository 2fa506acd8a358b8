import Foundation
import Glibc

/// A file system in memory of a few megabytes, for tests of a full disk; needs root.
package final class SmallDisk {
    /// The folder in which it is mounted.
    package let path: String

    /// Mounts the file system; returns nil if this user may not mount.
    package init?(megabytes: Int) {
        path = NSTemporaryDirectory() + "navbus-disk-" + UUID().uuidString
        guard mkdir(path, 0o755) == 0 else { return nil }
        guard mount("tmpfs", path, "tmpfs", 0, "size=\(megabytes)m") == 0 else {
            rmdir(path)
            return nil
        }
    }

    deinit {
        umount2(path, Int32(MNT_DETACH))
        rmdir(path)
    }

    /// Remounts it read-only or writable; returns false if the system refuses.
    ///
    /// The disk is busy briefly while a parallel test starts a process: until the process executes its program, it
    /// holds copies of all open files, including those closed here meanwhile.
    package func remount(_ how: String) -> Bool {
        let flags = UInt(MS_REMOUNT) | (how == "ro" ? UInt(MS_RDONLY) : 0)
        for _ in 0..<1_000 {
            if mount("tmpfs", path, "tmpfs", flags, nil) == 0 { return true }
            guard errno == EBUSY else { return false }
            usleep(10_000)
        }
        return false
    }

    /// Writes files until no further byte fits.
    package func fillUp() {
        for (number, size) in [1 << 20, 1 << 14, 1 << 12].enumerated() {
            let file = open("\(path)/other-\(number)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
            guard file >= 0 else { continue }
            defer { close(file) }
            let block = [UInt8](repeating: 7, count: size)
            while write(file, block, block.count) > 0 {}
        }
    }

    /// Frees `bytes` of those written by ``fillUp()``.
    package func free(_ bytes: Int) {
        var left = bytes
        for number in 0..<3 {
            let file = "\(path)/other-\(number)"
            var status = stat()
            guard left > 0, stat(file, &status) == 0 else { continue }
            let taken = min(left, Int(status.st_size))
            truncate(file, status.st_size - taken)
            left -= taken
        }
    }

    /// Whether this process may create a small disk.
    package static let isPossible = SmallDisk(megabytes: 1) != nil
}
