/// The bytes of a tile in memory owned elsewhere: a mapped file or a buffer.
public final class TileStorage: @unchecked Sendable {
    // Safe to share: the bytes are never written while the storage lives, and the pointer never changes.
    let bytes: UnsafeRawBufferPointer
    private let release: @Sendable () -> Void

    /// Wraps 8-byte aligned bytes that must not change until `release` is called, exactly once, at the end of the
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

    /// Calls a closure with the bytes, which are valid until it returns.
    package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result { body(bytes) }

    deinit { release() }
}

/// An error in the bytes of a road tile.
public enum TileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The bytes do not start with the signature of a road tile.
    case notATile
    /// The tile has another version of the format.
    case version(found: UInt32)
    /// The file's length differs from the length in its header.
    case truncated(expected: UInt64, found: Int)
    /// The checksum does not match the content.
    case checksum
    /// A record points outside the tile.
    case corrupt(String)

    /// A description of the failure and, where there is one, of the remedy.
    public var description: String {
        switch self {
        case .notATile: "not a road tile"
        case .version(let found):
            "road tile of format version \(found), this program reads \(TileLayout.version); rebuild with 'navbus map build'"
        case .truncated(let expected, let found): "road tile of \(found) bytes should have \(expected)"
        case .checksum: "road tile is damaged: checksum mismatch"
        case .corrupt(let what): "road tile is damaged: \(what)"
        }
    }
}
