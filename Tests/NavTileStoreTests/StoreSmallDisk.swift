import Foundation
import Glibc

/// A file system in memory of a few megabytes, for tests of a full disk; needs root.
final class SmallDisk {
    let path: String

    /// nil where this user may not mount.
    init?(megabytes: Int) {
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

    /// Mounts it again read-only or writable; false when the system refuses.
    func remount(_ how: String) -> Bool {
        mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT) | (how == "ro" ? UInt(MS_RDONLY) : 0), nil)
            == 0
    }

    /// Whether this process may make one.
    static let isPossible = SmallDisk(megabytes: 1) != nil
}
