/// Bytes of a tile that somebody else keeps in memory: a mapped file or a buffer.
public final class TileStorage: @unchecked Sendable {
    // Safe to share: the bytes are never written while the storage lives, and the pointer never changes.
    let bytes: UnsafeRawBufferPointer
    private let release: @Sendable () -> Void

    /// Takes over bytes, 8-byte aligned, that stay as they are until `release` is called, once, at the end of the
    /// storage's life.
    public init(bytes: UnsafeRawBufferPointer, release: @escaping @Sendable () -> Void) {
        self.bytes = bytes
        self.release = release
    }

    public convenience init(copying bytes: [UInt8]) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(bytes.count, 8), alignment: 8)
        copy.copyBytes(from: bytes)
        let address = UInt(bitPattern: copy.baseAddress)
        self.init(bytes: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(copy)[..<bytes.count])) {
            UnsafeMutableRawPointer(bitPattern: address)?.deallocate()
        }
    }

    /// The bytes, for as long as the closure runs.
    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result { body(bytes) }

    deinit { release() }
}

/// Why bytes are not a usable road tile.
public enum TileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The bytes do not start like a road tile.
    case notATile
    /// The tile was written in another version of the format.
    case version(found: UInt32)
    /// The file is shorter or longer than it says.
    case truncated(expected: UInt64, found: Int)
    /// The checksum does not fit the content.
    case checksum
    /// A record points outside the tile.
    case corrupt(String)

    /// A description of the fault and, where there is one, of the way out.
    public var description: String {
        switch self {
        case .notATile: "not a road tile"
        case .version(let found):
            "road tile of format version \(found), this program reads \(TileLayout.version); rebuild with 'navbus map build'"
        case .truncated(let expected, let found): "road tile of \(found) bytes should have \(expected)"
        case .checksum: "road tile is damaged: its checksum does not fit"
        case .corrupt(let what): "road tile is damaged: \(what)"
        }
    }
}
