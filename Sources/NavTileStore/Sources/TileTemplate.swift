import Glibc
package import NavGeo
package import NavTileCache

/// A URL or a path with placeholders for a tile's numbers.
package struct TileTemplate: Sendable, Hashable {
    private enum Piece: Sendable, Hashable {
        case text(String)
        case zoom, column, row, rowFromSouth
    }

    private var pieces: [Piece] = []
    private let isFromSouth: Bool

    /// Parses a template; its faults are reported as configuration errors.
    ///
    /// - Parameter isFromSouth: whether `{y}` counts from the south, as in TMS.
    package init(_ text: String, ratio: Double, isFromSouth: Bool = false) throws(TileSourceError) {
        self.isFromSouth = isFromSouth
        var rest = text[...]
        while let open = rest.firstIndex(of: "{") {
            if open > rest.startIndex { pieces.append(.text(String(rest[..<open]))) }
            guard let close = rest[open...].firstIndex(of: "}") else { break }
            switch rest[rest.index(after: open)..<close] {
            case "z": pieces.append(.zoom)
            case "x": pieces.append(.column)
            case "y": pieces.append(.row)
            case "-y": pieces.append(.rowFromSouth)
            case "ratio": pieces.append(.text(Self.suffix(ratio)))
            case let name:
                throw TileSourceError(
                    .configuration, "unknown placeholder '{\(name)}' in a tile URL; use {z}, {x}, {y}, {-y} or {ratio}")
            }
            rest = rest[rest.index(after: close)...]
        }
        if !rest.isEmpty { pieces.append(.text(String(rest))) }
        let hasRow = pieces.contains(.row) || pieces.contains(.rowFromSouth)
        guard pieces.contains(.zoom), pieces.contains(.column), hasRow else {
            throw TileSourceError(.configuration, "a tile URL needs {z}, {x} and {y}")
        }
    }

    private static func suffix(_ ratio: Double) -> String {
        guard ratio.isFinite, ratio > 1, ratio <= 8 else { return "" }
        return ratio == ratio.rounded() ? "@\(Int(ratio))x" : "@\(ratio)x"
    }

    package func text(_ tile: TileID) -> String {
        let last = (UInt32(1) << UInt32(tile.zoom)) - 1
        return pieces.reduce(into: "") { text, piece in
            switch piece {
            case .text(let piece): text += piece
            case .zoom: text += String(tile.zoom)
            case .column: text += String(tile.x)
            case .row: text += String(isFromSouth ? last - tile.y : tile.y)
            case .rowFromSouth: text += String(isFromSouth ? tile.y : last - tile.y)
            }
        }
    }

    /// The file extension of the addresses, before any query; nil for none.
    package var fileExtension: String? {
        guard case .text(let last)? = pieces.last else { return nil }
        let path = last.prefix { $0 != "?" }
        guard let dot = path.lastIndex(of: ".") else { return nil }
        let name = path[path.index(after: dot)...]
        return name.isEmpty || !name.allSatisfy({ $0.isLetter || $0.isNumber }) ? nil : String(name)
    }
}
