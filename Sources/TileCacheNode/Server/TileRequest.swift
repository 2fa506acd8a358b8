import NavGeo
import NavTileCache
import NavTileStore

enum TileRequest: Sendable, Equatable {
    case description(tileset: String)
    case tile(TileAddress, fileExtension: String)
    case index

    /// The maximum length of a URL, bytes.
    static let longest = 1_024

    /// Parses the path of a URL; nil for an unknown one.
    ///
    /// The paths are `/`, `/{tileset}.json`, and `/{tileset}/{z}/{x}/{y}` with or without an extension. A query is
    /// ignored.
    init?(path text: String) {
        guard text.utf8.count <= Self.longest, text.hasPrefix("/") else { return nil }
        let path = text.prefix { $0 != "?" && $0 != "#" }
        let parts = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        if parts == [""] {
            self = .index
            return
        }
        if parts.count == 1, parts[0].hasSuffix(".json") {
            let name = String(parts[0].dropLast(".json".count))
            guard TilesetName.isValid(name) else { return nil }
            self = .description(tileset: name)
            return
        }
        guard parts.count == 4, TilesetName.isValid(parts[0]) else { return nil }
        let last = parts[3].split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let zoom = Self.number(parts[1]), let x = Self.number(parts[2]), let y = Self.number(last[0]),
            let tile = TileID(zoom: UInt8(clamping: zoom), x: x, y: y)
        else { return nil }
        let fileExtension = last.count > 1 ? last[1] : ""
        guard fileExtension.utf8.count <= 16 else { return nil }
        self = .tile(TileAddress(parts[0], tile), fileExtension: fileExtension)
    }

    /// Parses a number of decimal digits only.
    private static func number(_ text: String) -> UInt32? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return UInt32(text)
    }
}

/// An answer to a web map.
struct TileReply: Sendable, Equatable {
    var status: Int
    /// The header fields in addition to those of every answer.
    var headers: [(name: String, value: String)]
    var body: [UInt8]

    init(_ status: Int, _ headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Returns an answer with a line of human-readable text.
    static func text(_ status: Int, _ text: String) -> TileReply {
        TileReply(
            status, [("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", "no-store")],
            body: Array((text + "\n").utf8))
    }

    static func == (left: TileReply, right: TileReply) -> Bool {
        left.status == right.status && left.body == right.body
            && left.headers.elementsEqual(right.headers) { $0.name == $1.name && $0.value == $1.value }
    }
}
