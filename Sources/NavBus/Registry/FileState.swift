internal import Glibc

/// A file's identity and times, by which a change is detected without reading the file.
package struct FileState: Equatable, Sendable {
    private var device: UInt64
    private var inode: UInt64
    private var size: Int64
    /// The times of the last change to its content and to its inode.
    private var times: [UInt8]

    /// Reads a file's state; nil when there is no such file.
    package init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        times = withUnsafeBytes(of: status.st_mtim) { Array($0) } + withUnsafeBytes(of: status.st_ctim) { Array($0) }
    }
}
