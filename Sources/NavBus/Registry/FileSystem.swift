internal import Glibc

final class FileDescriptor: Sendable {
    let rawValue: Int32

    init(_ rawValue: Int32) { self.rawValue = rawValue }

    deinit { close(rawValue) }

    /// Opens a path, nil with `errno` set on failure; never follows a final symbolic link, never blocks on a pipe.
    static func open(_ path: String, _ flags: Int32, mode: mode_t = 0o600) -> FileDescriptor? {
        let flags = flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        while true {
            let descriptor = Glibc.open(path, flags, mode)
            if descriptor >= 0 { return FileDescriptor(descriptor) }
            if errno != EINTR { return nil }
        }
    }

    var status: stat? {
        var status = stat()
        return fstat(rawValue, &status) == 0 ? status : nil
    }
}

/// The few POSIX file operations that the registry needs; none of them waits on another process.
enum FileSystem {
    /// Returns the text of an error number, by default `errno`.
    static func reason(_ code: Int32 = errno) -> String { String(cString: strerror(code)) }

    /// Reads a regular file of at most `limit` bytes that belongs to this user, or to root where that is acceptable.
    static func read(
        _ path: String, limit: Int, ownedByRoot: Bool = false
    ) throws(BusError) -> (bytes: [UInt8], status: stat) {
        guard let file = FileDescriptor.open(path, O_RDONLY), let status = file.status else {
            throw BusError(.registry, "cannot read \(path): \(reason())")
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw BusError(.registry, "cannot read \(path): not a regular file")
        }
        guard status.st_uid == geteuid() || (ownedByRoot && status.st_uid == 0) else {
            throw BusError(.unsafeDirectory, "ignored \(path): it belongs to user \(status.st_uid), not \(geteuid())")
        }
        guard status.st_size <= limit else {
            throw BusError(.registry, "ignored \(path): \(status.st_size) bytes, more than \(limit)")
        }
        var bytes = [UInt8](repeating: 0, count: limit + 1)
        var count = 0
        while count < bytes.count {
            let got = bytes.withUnsafeMutableBytes { buffer in
                Glibc.read(file.rawValue, buffer.baseAddress?.advanced(by: count), buffer.count - count)
            }
            if got < 0 && errno == EINTR { continue }
            guard got >= 0 else { throw BusError(.registry, "cannot read \(path): \(reason())") }
            if got == 0 { break }
            count += got
        }
        guard count <= limit else { throw BusError(.registry, "ignored \(path): more than \(limit) bytes") }
        bytes.removeSubrange(count...)
        return (bytes, status)
    }

    /// Writes all of `bytes` at the descriptor's position.
    static func write(_ bytes: [UInt8], to file: FileDescriptor, path: String) throws(BusError) {
        var count = 0
        while count < bytes.count {
            let put = bytes.withUnsafeBytes { buffer in
                Glibc.write(file.rawValue, buffer.baseAddress?.advanced(by: count), buffer.count - count)
            }
            if put < 0 && errno == EINTR { continue }
            guard put > 0 else {
                throw BusError(
                    .registry, "cannot write \(path): \(reason()); free some space or set NAVBUS_DIR to another place")
            }
            count += put
        }
    }

    /// Replaces a file atomically: readers see the old content or the new, never a part.
    static func replace(_ path: String, with bytes: [UInt8]) throws(BusError) {
        let temporary = path + ".new"
        guard let file = FileDescriptor.open(temporary, O_WRONLY | O_CREAT | O_TRUNC) else {
            throw BusError(.registry, "cannot create \(temporary): \(reason())")
        }
        do {
            try write(bytes, to: file, path: temporary)
        } catch {
            unlink(temporary)
            throw error
        }
        guard rename(temporary, path) == 0 else {
            let why = reason()
            unlink(temporary)
            throw BusError(.registry, "cannot replace \(path): \(why)")
        }
    }

    /// Returns the names in a directory, sorted; nil with `errno` set when it cannot be read.
    static func list(_ path: String) -> [String]? {
        guard let directory = opendir(path) else { return nil }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { buffer in
                String(decoding: buffer.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Creates a directory, mode 0700, unless it exists.
    static func makeDirectory(_ path: String) throws(BusError) {
        if mkdir(path, 0o700) != 0 && errno != EEXIST {
            throw BusError(
                .registry, "cannot create \(path): \(reason()); set NAVBUS_DIR to a directory you can write to")
        }
    }

    /// Refuses a directory in which another user could impersonate a node.
    static func checkDirectory(_ path: String, isPrivate: Bool) throws(BusError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw BusError(.registry, "cannot inspect \(path): \(reason())") }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw BusError(
                .unsafeDirectory, "\(path) is not a directory: remove it or set NAVBUS_DIR to another place")
        }
        guard status.st_uid == geteuid() else {
            throw BusError(
                .unsafeDirectory,
                "\(path) belongs to user \(status.st_uid), not to you (\(geteuid())): set NAVBUS_DIR to a directory "
                    + "of your own")
        }
        let forbidden: mode_t = isPrivate ? 0o077 : 0o022
        guard status.st_mode & forbidden == 0 else {
            let mode = String(status.st_mode & 0o777, radix: 8)
            throw BusError(
                .unsafeDirectory, "\(path) has mode \(mode), which gives access to others: run chmod 700 \(path)")
        }
    }
}
