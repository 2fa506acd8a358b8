import Foundation
import Glibc
import NavBus
import NavDigest
import NavKit
import NavVerdict
import Synchronization

/// A hasher of files that does not read a file again while its attributes are unchanged, even in another process.
final class FileHasher: Sendable {
    /// The file with the known hashes; nil when they are not kept.
    private let index: String?
    private let workingFolder = FileManager.default.currentDirectoryPath
    private let files: Mutex<FileHashes>

    init(index: String?) {
        self.index = index
        files = Mutex(index.flatMap(Self.hashes) ?? FileHashes())
    }

    /// Returns the hash of a file's content.
    func hash(of path: String) throws(NodeError) -> String {
        let absolute = path.hasPrefix("/") ? path : workingFolder + "/" + path
        let now = Clocks.wall()
        guard let attributes = FileHashes.Attributes(absolute) else {
            throw NodeError(.missing, "'\(path)' cannot be read")
        }
        if let known = files.withLock({ $0.hash(of: absolute, attributes) }) { return known }
        let hash = try Self.contentHash(absolute)
        files.withLock { $0.note(hash, of: absolute, attributes, at: now) }
        return hash
    }

    /// Writes the known hashes if there are new ones, together with those of other processes, without those of files that are gone.
    ///
    /// Processes that end at the same time may lose hashes of each other, which are computed again.
    func save() {
        guard let index, var files = files.withLock({ $0.hasNews ? $0 : nil }) else { return }
        if let others = Self.hashes(in: index) { files.add(others) }
        files.keep { access($0, F_OK) == 0 }
        let text = Array(files.text.utf8)
        guard let sum = ContentHash(of: text) else { return }
        try? Data(Array("\(sum.hexadecimal)\n".utf8) + text).write(to: URL(fileURLWithPath: index), options: .atomic)
    }

    /// Reads an index: the hash of its other lines, and these; nil when it is missing or damaged.
    private static func hashes(in index: String) -> FileHashes? {
        guard let bytes = FileManager.default.contents(atPath: index).map({ Array($0) }),
            let end = bytes.firstIndex(of: UInt8(ascii: "\n")),
            let sum = ContentHash(hexadecimal: String(decoding: bytes[..<end], as: UTF8.self)),
            case let text = Array(bytes[(end + 1)...]), ContentHash(of: text) == sum
        else { return nil }
        return FileHashes(text: String(decoding: text, as: UTF8.self))
    }

    /// Returns the hash of a file's content, always from the content.
    static func contentHash(_ path: String) throws(NodeError) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw NodeError(.missing, "'\(path)' cannot be read") }
        defer { close(descriptor) }
        let hasher = ContentHasher()
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw NodeError(.system, "'\(path)' cannot be read") }
            guard count > 0 else { break }
            buffer.withUnsafeBytes { hasher.update(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
        guard let hash = hasher.finish() else { throw NodeError(.system, ContentHash.refusal) }
        return hash.hexadecimal
    }
}

extension FileHashes.Attributes {
    /// Reads the attributes of a file, of a link's target; nil when there is none.
    fileprivate init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        func nanoseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec) }
        self.init(
            size: Int64(status.st_size), modified: nanoseconds(status.st_mtim), changed: nanoseconds(status.st_ctim),
            inode: UInt64(status.st_ino))
    }
}
