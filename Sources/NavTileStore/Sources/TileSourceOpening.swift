import Foundation
import NavHTTP
package import NavTileCache

extension TileSourceConfiguration {
    /// Makes the source without sending a request.
    ///
    /// Throws ``TileSourceError/Code/configuration``; the message says what to change.
    package func open() throws(TileSourceError) -> any TileSource {
        if let fault { throw TileSourceError(.configuration, fault) }
        let place = try parsed()
        switch (place, resolvedKind) {
        case (.path(let path), .folder): return try FolderSource(self, path: path)
        case (.path(let path), .pmtiles):
            return PMTilesSource(self, FileRanges(path), place: path, isRemote: false)
        case (.path(let path), .mbtiles): return MBTilesSource(self, path: path)
        case (.web(let address), .webFolder): return try WebFolderSource(self, address)
        case (.web, .template): return try TemplateSource(self, template: address)
        case (.web(let address), .tileJSON): return try TemplateSource(self, description: address)
        case (.web(let address), .pmtiles):
            return PMTilesSource(
                self, try WebRanges(self, address), place: address.description, isRemote: true)
        case (.path, let kind):
            throw TileSourceError(.configuration, "a source of kind '\(kind.rawValue)' needs an http: or https: URL")
        case (.web, let kind):
            throw TileSourceError(.configuration, "a source of kind '\(kind.rawValue)' needs a local path")
        }
    }

    /// The reason why the configuration is invalid; nil when it is valid.
    package var fault: String? {
        if !TilesetName.isValid(tileset) { return "a tileset's name must be 1 to 64 of a-z, 0-9, '-' and '_'" }
        if let scheme, !Self.schemes.contains(scheme) {
            return
                "the source of '\(tileset)' has the unknown scheme '\(scheme):'; use a local path or a "
                + "file:, http: or https: URL"
        }
        let isRoad = [.folder, .webFolder].contains(resolvedKind)
        if domain == .navigation, !isRoad {
            return "road tiles come from a folder or a static server, not from '\(resolvedKind.rawValue)'"
        }
        if domain == .maps, resolvedKind == .webFolder {
            return "map tiles need a URL with {z}, {x} and {y}, a TileJSON, or a .pmtiles or .mbtiles file"
        }
        return nil
    }

    /// The configured kind, or the kind inferred from the address.
    package var resolvedKind: Kind {
        if let kind { return kind }
        let isWeb = address.lowercased().hasPrefix("http:") || address.lowercased().hasPrefix("https:")
        let path = address.prefix { $0 != "?" && $0 != "#" }.lowercased()
        if path.contains("{z}") { return .template }
        if path.hasSuffix(".pmtiles") { return .pmtiles }
        if path.hasSuffix(".mbtiles") { return .mbtiles }
        guard isWeb else { return .folder }
        return domain == .maps && path.hasSuffix(".json") ? .tileJSON : .webFolder
    }

    /// The schemes of addresses, as opposed to paths.
    private static let schemes: Set<String> = ["file", "http", "https"]

    /// The scheme of the address, in lower case; nil for a path.
    private var scheme: String? {
        guard let mark = address.firstRange(of: "://") else { return nil }
        let scheme = address[..<mark.lowerBound].lowercased()
        // RFC 3986, 3.1; a folder whose name looks like a scheme must be written as a path: './name:'.
        let isScheme =
            scheme.utf8.first.map { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) } == true
            && scheme.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
                default: "+-.".utf8.contains(byte)
                }
            }
        return isScheme ? scheme : nil
    }

    private enum Place {
        case path(String)
        case web(HTTPAddress)
    }

    private func parsed() throws(TileSourceError) -> Place {
        let lowered = address.lowercased()
        if lowered.hasPrefix("http:") || lowered.hasPrefix("https:") {
            guard let address = HTTPAddress(address) else {
                throw TileSourceError(
                    .configuration,
                    "the source of '\(tileset)' is not a URL; use http(s)://host[:port]/path, a port up to 65535 and %20 for spaces"
                )
            }
            return .web(address)
        }
        var path = address
        if lowered.hasPrefix("file:") {
            guard lowered.hasPrefix("file:///"), let decoded = address.dropFirst(7).removingPercentEncoding else {
                throw TileSourceError(.configuration, "the source of '\(tileset)' must be file:///path")
            }
            path = decoded
        }
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw TileSourceError(.configuration, "the source of '\(tileset)' is not a valid path")
        }
        return .path(path)
    }
}
