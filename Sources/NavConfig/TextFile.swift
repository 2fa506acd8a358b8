import Glibc

/// A reader of whole files of limited size.
public enum TextFile {
    /// The largest configuration file, bytes.
    public static let greatestConfiguration = 1 << 20

    /// Returns the text of a file.
    ///
    /// - Throws: ``ConfigError`` when it cannot be read, is larger than `limit` bytes, or is not UTF-8.
    public static func read(_ path: String, limit: Int) throws(ConfigError) -> String {
        guard let text = String(validating: try bytes(path, limit: limit), as: UTF8.self) else {
            throw ConfigError("'\(path)' cannot be read: it is not UTF-8 text")
        }
        return text
    }

    /// Returns the first bytes of a file.
    public static func head(_ path: String, count: Int) throws(ConfigError) -> [UInt8] {
        var file = try OpenFile(path)
        var bytes: [UInt8] = []
        while bytes.count < count, let more = try file.read() { bytes += more }
        return Array(bytes.prefix(count))
    }

    /// Returns the bytes of a file or a pipe.
    ///
    /// - Throws: ``ConfigError`` when it cannot be read or is larger than `limit` bytes.
    public static func bytes(_ path: String, limit: Int) throws(ConfigError) -> [UInt8] {
        var file = try OpenFile(path)
        func check(_ count: Int) throws(ConfigError) {
            guard count <= limit else {
                throw ConfigError("'\(path)' is larger than \(limit) bytes, the limit for such a file")
            }
        }
        try check(file.size)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(file.size)
        while let more = try file.read() {
            try check(bytes.count + more.count)
            bytes += more
        }
        return bytes
    }
}

/// The lines of a text file without their line ends, read one by one in bounded memory.
public struct TextLines: ~Copyable {
    /// The default limit of a line's length, bytes.
    public static let longest = 4_096

    private let longest: Int
    private var file: OpenFile
    private var buffer: ArraySlice<UInt8> = []
    /// The index from which the end of the next line is searched.
    private var scanned = 0
    private var isAtEnd = false
    private var taken = 0
    /// The number of the last returned line, from 1.
    public private(set) var number = 0

    /// Opens a file.
    ///
    /// - Parameter longest: The most bytes of a line.
    public init(_ path: String, longest: Int = TextLines.longest) throws(ConfigError) {
        self.longest = longest
        file = try OpenFile(path)
    }

    /// Reads standard input from its current position.
    ///
    /// - Parameter longest: The most bytes of a line.
    public init(standardInputWithLinesUpTo longest: Int) throws(ConfigError) {
        try self.init(STDIN_FILENO, named: "standard input", longest: longest)
    }

    /// Reads an open descriptor from its current position; the caller keeps ownership.
    package init(_ descriptor: Int32, named name: String, longest: Int = TextLines.longest) throws(ConfigError) {
        self.longest = longest
        file = try OpenFile(name, fcntl(descriptor, F_DUPFD_CLOEXEC, 0))
    }

    /// The share of the file that has been returned, 0 to 1; 0 when its size is unknown.
    public var share: Double { file.size > 0 ? Double(taken) / Double(file.size) : 0 }

    /// Returns the next line; nil at the end.
    ///
    /// - Throws: ``ConfigError`` when the file cannot be read, or a line is longer than allowed.
    public mutating func next() throws(ConfigError) -> String? {
        while true {
            let end = buffer[max(scanned, buffer.startIndex)...].firstIndex(of: UInt8(ascii: "\n"))
            guard (end ?? buffer.endIndex) - buffer.startIndex <= longest else {
                throw ConfigError(
                    "'\(file.path)' line \(number + 1) is longer than \(longest) bytes: is it a text file?")
            }
            if let end { return take(buffer[..<end], to: end + 1) }
            guard !isAtEnd else { return buffer.isEmpty ? nil : take(buffer, to: buffer.endIndex) }
            scanned = buffer.endIndex
            if let more = try file.read() { buffer += more } else { isAtEnd = true }
        }
    }

    private mutating func take(_ line: ArraySlice<UInt8>, to end: Int) -> String {
        var line = line
        number += 1
        taken += end - buffer.startIndex
        // Spreadsheets begin a file with a byte order mark, U+FEFF.
        if number == 1, line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
        let text = String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self)
        buffer = buffer[end...]
        return text
    }
}

private struct OpenFile: ~Copyable {
    private static let piece = 1 << 16

    let path: String
    /// The file's size when it was opened; 0 for a pipe.
    let size: Int
    private let descriptor: Int32

    init(_ path: String) throws(ConfigError) {
        try self.init(path, open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY))
    }

    init(_ path: String, _ descriptor: Int32) throws(ConfigError) {
        self.path = path
        self.descriptor = descriptor
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            size = 0
            let advice = errno == ENOENT ? "; does it exist?" : ""
            throw ConfigError("'\(path)' cannot be read: \(Self.reason())\(advice)")
        }
        size = status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : 0
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Returns the next bytes; nil at the end.
    mutating func read() throws(ConfigError) -> [UInt8]? {
        while true {
            var count = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: Self.piece) { buffer, used in
                count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                used = max(0, count)
            }
            if count < 0, errno == EINTR { continue }
            // Another process that shares the terminal or pipe may have made it non-blocking.
            if count < 0, errno == EAGAIN {
                var input = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                _ = poll(&input, 1, -1)
                continue
            }
            guard count >= 0 else { throw ConfigError("'\(path)' cannot be read: \(Self.reason())") }
            return count == 0 ? nil : bytes
        }
    }

    private static func reason() -> String { String(cString: strerror(errno)) }
}
