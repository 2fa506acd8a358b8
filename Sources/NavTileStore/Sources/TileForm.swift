/// The format of a map tile, checked far enough to reject error pages, truncated tiles and decompression bombs.
package enum TileForm: String, Sendable, Hashable {
    case png
    case jpeg
    case webp
    case avif
    case vector = "mvt"
    case unknown

    /// The format named by a file extension, or by the `format` of MBTiles and TileJSON.
    package init(format: String) {
        switch format.lowercased() {
        case "png": self = .png
        case "jpg", "jpeg": self = .jpeg
        case "webp": self = .webp
        case "avif": self = .avif
        case "pbf", "mvt", "application/vnd.mapbox-vector-tile": self = .vector
        default: self = .unknown
        }
    }

    package init(mediaType: String) {
        let name = mediaType.split(separator: ";").first.map { $0.lowercased().filter { $0 != " " } } ?? ""
        switch name {
        case "image/png": self = .png
        case "image/jpeg", "image/jpg": self = .jpeg
        case "image/webp": self = .webp
        case "image/avif": self = .avif
        case "application/vnd.mapbox-vector-tile", "application/x-protobuf", "application/protobuf": self = .vector
        default: self = .unknown
        }
    }

    /// The media type; nil when unknown.
    package var mediaType: String? {
        switch self {
        case .png: "image/png"
        case .jpeg: "image/jpeg"
        case .webp: "image/webp"
        case .avif: "image/avif"
        case .vector: "application/vnd.mapbox-vector-tile"
        case .unknown: nil
        }
    }

    /// Returns the reason why uncompressed bytes cannot be a tile of this format; nil when they can.
    package func fault(of bytes: UnsafeRawBufferPointer) -> String? {
        if self != .vector, bytes.isEmpty { return "it is empty" }
        if Self.isPage(bytes) { return "it is an HTML or XML page" }
        let isRight =
            switch self {
            case .png:
                Self.has([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], in: bytes)
                    && Self.has([0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82], in: bytes, at: bytes.count - 8)
            case .jpeg: Self.has([0xff, 0xd8, 0xff], in: bytes)
            case .webp:
                Self.has(Array("RIFF".utf8), in: bytes) && Self.has(Array("WEBP".utf8), in: bytes, at: 8)
                    && Self.little(bytes, at: 4) <= bytes.count - 8
            case .avif: Self.has(Array("ftyp".utf8), in: bytes, at: 4)
            case .vector: Self.isMessage(bytes)
            case .unknown: true
            }
        return isRight ? nil : "it does not look like \(self == .vector ? "a vector tile" : rawValue)"
    }

    private static func has(_ magic: [UInt8], in bytes: UnsafeRawBufferPointer, at offset: Int = 0) -> Bool {
        guard offset >= 0, bytes.count >= offset + magic.count else { return false }
        return bytes[offset..<offset + magic.count].elementsEqual(magic)
    }

    private static func little(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
        guard bytes.count >= offset + 4 else { return .max }
        return (0..<4).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
    }

    /// Whether the bytes begin like HTML or XML.
    private static func isPage(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let end = min(bytes.count, 256)
        var start = 0
        while start < end, [0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf].contains(bytes[start]) { start += 1 }
        guard start + 5 <= end, bytes[start] == UInt8(ascii: "<") else { return false }
        let head = String(decoding: bytes[start..<start + 5], as: UTF8.self).lowercased()
        return ["<!doc", "<html", "<head", "<?xml", "<body"].contains(head)
    }

    /// Whether the bytes are a protobuf message whose fields are all layers (field 3 of a vector tile) or extensions.
    private static func isMessage(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var offset = 0
        while offset < bytes.count {
            guard let key = varint(bytes, &offset), key >> 3 == 3 || key >> 3 >= 16 else { return false }
            switch key & 7 {
            case 0: guard varint(bytes, &offset) != nil else { return false }
            case 1: offset += 8
            case 2:
                guard let length = varint(bytes, &offset), length <= UInt64(bytes.count - offset) else { return false }
                offset += Int(length)
            case 5: offset += 4
            default: return false
            }
            guard offset <= bytes.count else { return false }
        }
        return true
    }

    private static func varint(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int) -> UInt64? {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard offset < bytes.count else { return nil }
            let byte = bytes[offset]
            offset += 1
            value |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return value }
        }
        return nil
    }
}
