internal import Glibc
package import NavDigest

/// File system calls whose errors state what failed, where, and what to do.
package enum Files {
    /// The status of a path, without following symbolic links.
    package struct Status {
        package var size: Int64
        package var inode: UInt64
        package var device: UInt64
        package var isDirectory: Bool
        package var isFile: Bool
        /// The time of the last change of the content, nanoseconds since 1970 by the machine's clock.
        package var modified: Int64
    }

    package static var workingDirectory: String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        guard getcwd(&buffer, buffer.count) != nil else { return "" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Returns the store's error for a call that failed with errno `number`.
    package static func error(_ what: String, _ path: String, _ number: Int32) -> StoreError {
        let reason = String(cString: strerror(number))
        switch number {
        case ENOSPC, EDQUOT, EFBIG:
            return StoreError(
                .diskFull, "\(what) '\(path)': \(reason); free space on its disk, or lower the store's budget")
        case EROFS, EACCES, EPERM:
            return StoreError(
                .readOnly,
                "\(what) '\(path)': \(reason); give this user write permission, or use another folder")
        case ENOENT, ENOTDIR:
            return StoreError(
                .missing, "\(what) '\(path)': \(reason); check that its folder exists and that its disk is mounted")
        case ENOMEM, EMFILE, ENFILE:
            return StoreError(
                .exhausted, "\(what) '\(path)': \(reason); check this machine's memory and open files (ulimit -n)")
        default: return StoreError(.system, "\(what) '\(path)': \(reason); check the disk and the system log")
        }
    }

    package static func status(_ path: String) -> Status? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        let kind = status.st_mode & S_IFMT
        return Status(
            size: Int64(status.st_size), inode: UInt64(status.st_ino), device: UInt64(status.st_dev),
            isDirectory: kind == S_IFDIR,
            isFile: kind == S_IFREG,
            modified: Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec))
    }

    /// Makes a folder unless it exists.
    package static func makeDirectory(_ path: String) throws(StoreError) {
        if mkdir(path, 0o755) == 0 || errno == EEXIST { return }
        throw error("cannot create the folder", path, errno)
    }

    /// Returns the names in a folder, unordered; empty when there is no such folder.
    ///
    /// - Throws: ``StoreError`` when the folder cannot be read, so that an unreadable folder is not mistaken for an
    ///   empty one.
    package static func list(_ path: String) throws(StoreError) -> [String] {
        guard let directory = opendir(path) else {
            guard errno == ENOENT || errno == ENOTDIR else { throw error("cannot list the folder", path, errno) }
            return []
        }
        defer { closedir(directory) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(directory) else { break }
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        guard errno == 0 else { throw error("cannot list the folder", path, errno) }
        return names
    }

    /// Writes a whole new file and returns its descriptor for ``sync(_:_:)``; on failure the partial file is removed.
    package static func write(_ data: [UInt8], to path: String) throws(StoreError) -> Int32 {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard file >= 0 else { throw error("cannot create", path, errno) }
        var done = 0
        while done < data.count {
            let count = data.withUnsafeBytes { Glibc.write(file, $0.baseAddress.map { $0 + done }, data.count - done) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else {
                let number = count < 0 ? errno : ENOSPC
                Glibc.close(file)
                unlink(path)
                throw error("cannot write", path, number)
            }
            done += count
        }
        return file
    }

    /// Starts to write a file's pages to the disk, so that a later sync is shorter.
    ///
    /// Given this advice, Linux starts writing dirty pages before it drops clean ones, and keeps the pages being
    /// written.
    package static func beginSync(_ file: Int32) { _ = posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) }

    /// Drops the cached pages of a file, except mapped ones, so that the next read comes from the disk.
    package static func dropPages(_ path: String) {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { return }
        _ = posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED)
        Glibc.close(file)
    }

    /// Truncates a file to zero length, if it exists.
    package static func empty(_ path: String) { _ = truncate(path, 0) }

    /// Waits until a written file is on the disk, and closes it.
    package static func sync(_ file: Int32, _ path: String) throws(StoreError) {
        let result = fsync(file)
        let number = errno
        Glibc.close(file)
        guard result == 0 else { throw error("cannot flush", path, number) }
    }

    package static func close(_ file: Int32) { Glibc.close(file) }

    /// Waits until the directory entries of a folder are on the disk.
    package static func syncDirectory(_ path: String) throws(StoreError) {
        try sync(try openDirectory(path), path)
    }

    /// Opens a folder for ``FileSync``.
    package static func openDirectory(_ path: String) throws(StoreError) -> Int32 {
        let file = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard file >= 0 else { throw error("cannot open the folder", path, errno) }
        return file
    }

    /// Replaces a file atomically, and waits until the change is on the disk.
    package static func replace(_ path: String, with data: [UInt8], by temporary: String) throws(StoreError) {
        try sync(try write(data, to: temporary), temporary)
        try move(temporary, to: path)
        try syncDirectory(parent(path))
    }

    package static func move(_ path: String, to other: String) throws(StoreError) {
        guard rename(path, other) == 0 else { throw error("cannot rename '\(path)' to", other, errno) }
    }

    /// Removes a file; returns false when it could not be removed.
    @discardableResult
    package static func remove(_ path: String) -> Bool { unlink(path) == 0 }

    /// Removes a file if it exists; returns false when it may still exist.
    package static func removeIfPresent(_ path: String) -> Bool {
        unlink(path) == 0 || errno == ENOENT || errno == ENOTDIR
    }

    /// Removes a folder if it is empty.
    package static func removeEmptyDirectory(_ path: String) { rmdir(path) }

    /// Removes a folder and everything below it without following links; what cannot be listed or removed is kept.
    package static func removeTree(_ path: String) {
        guard let status = status(path) else { return }
        guard status.isDirectory else {
            unlink(path)
            return
        }
        for name in (try? list(path)) ?? [] { removeTree(path + "/" + name) }
        rmdir(path)
    }

    /// Makes `path` a hard link to `file`; returns false when that name is taken or its folder is missing.
    ///
    /// On a file system without hard links, copies the file to `temporary` and renames it, so that no partial copy is
    /// visible.
    package static func link(_ file: String, to path: String, by temporary: String) throws(StoreError) -> Bool {
        if Glibc.link(file, path) == 0 { return true }
        switch errno {
        case EEXIST: return false
        case ENOENT where status(file) != nil: return false
        case EPERM, EMLINK, ENOTSUP:
            guard status(parent(path))?.isDirectory == true else { return false }
            try sync(try write(try read(file), to: temporary), temporary)
            try move(temporary, to: path)
            return true
        default: throw error("cannot link '\(file)' to", path, errno)
        }
    }

    /// Whether two paths name the same file.
    package static func isSame(_ path: String, _ other: String) -> Bool {
        guard let left = status(path), let right = status(other), left.isFile, right.isFile else { return false }
        return left.inode == right.inode && left.device == right.device
    }

    /// Makes `path` a symbolic link to `target` atomically, replacing any existing file.
    package static func pointLink(_ path: String, to target: String, by temporary: String) throws(StoreError) {
        unlink(temporary)
        guard symlink(target, temporary) == 0 else { throw error("cannot create the link", temporary, errno) }
        try move(temporary, to: path)
        try syncDirectory(parent(path))
    }

    /// Returns the target of a symbolic link; nil when there is none.
    package static func linkTarget(_ path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &buffer, buffer.count)
        guard count >= 0 else { return nil }
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Reads a whole file of at most `limit` bytes.
    package static func read(_ path: String, limit: Int64 = 1 << 32) throws(StoreError) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw error("cannot open", path, errno) }
        defer { Glibc.close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, Int64(status.st_size) <= limit else {
            throw StoreError(.invalid, "'\(path)' is not a regular file of at most \(limit) bytes")
        }
        let size = Int(status.st_size)
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, done in
            while done < size {
                let count = Glibc.read(file, buffer.baseAddress.map { $0 + done }, size - done)
                if count < 0 && errno == EINTR { continue }
                if count < 0 { failure = errno }
                guard count > 0 else { break }
                done += count
            }
        }
        guard failure == 0 else { throw error("cannot read", path, failure) }
        return bytes
    }

    /// Reads a whole file; nil when it is missing, larger than `limit` bytes, or unreadable.
    ///
    /// - Throws: ``StoreError`` `exhausted` when it cannot be determined whether the file is readable.
    package static func content(_ path: String, limit: Int64 = 1 << 32) throws(StoreError) -> [UInt8]? {
        do throws(StoreError) {
            return try read(path, limit: limit)
        } catch {
            guard error.code != .exhausted else { throw error }
            return nil
        }
    }

    /// Whether the file system of a folder is mounted read-only.
    package static func isOnReadOnlyDisk(_ path: String) -> Bool {
        var status = statvfs()
        return statvfs(path, &status) == 0 && status.f_flag & UInt(ST_RDONLY) != 0
    }

    /// Returns the bytes that this user can still write on the disk of a folder; nil when the system does not report
    /// them.
    package static func freeBytes(_ path: String) -> Int64? {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        let (bytes, overflow) = Int64(clamping: status.f_bavail).multipliedReportingOverflow(
            by: Int64(clamping: status.f_frsize))
        return overflow ? .max : bytes
    }

    /// Makes a file occupy `size` bytes of the disk.
    package static func allocate(_ path: String, size: Int64) throws(StoreError) {
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw error("cannot create", path, errno) }
        defer { Glibc.close(file) }
        let number = posix_fallocate(file, 0, off_t(size))
        guard number == 0 else {
            unlink(path)
            throw error("cannot reserve space for", path, number)
        }
        ftruncate(file, off_t(size))
    }

    /// Returns the parent folder of a path.
    package static func parent(_ path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}

extension ContentHash {
    /// Returns the hash of some bytes.
    ///
    /// - Throws: ``StoreError`` `exhausted` when the library refuses; the content is then unknown and must not be
    ///   mistaken for different content.
    package static func checked(_ bytes: [UInt8]) throws(StoreError) -> ContentHash {
        guard let hash = ContentHash(of: bytes) else {
            throw StoreError(.exhausted, ContentHash.refusal)
        }
        return hash
    }
}
