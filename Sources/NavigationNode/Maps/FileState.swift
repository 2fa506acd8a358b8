import Glibc

/// A file's identity, to tell whether it is still the same one without reading it.
struct FileState: Equatable, Sendable {
    private var device: UInt64
    private var inode: UInt64
    private var size: Int64
    /// When it was last written to, and when its record was.
    private var times: [UInt8]

    /// Nil when there is no such file.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        times = withUnsafeBytes(of: status.st_mtim) { Array($0) } + withUnsafeBytes(of: status.st_ctim) { Array($0) }
    }
}
