import Foundation
import NavBus
import NavDigest
import NavGeo
import NavHTTP
import NavMessages
import NavTileCache
import NavTileStore

/// The answers of the cache to requests from web maps.
struct TileAnswers: Sendable {
    let lookup: TileLookup
    /// The longest wait for a download, ns.
    let patience: Int64

    /// The conditions of a request: what its client has cached and what it accepts.
    struct Conditions: Sendable {
        /// If-None-Match.
        var known: [String] = []
        /// Accept-Encoding; nil when it was not sent, in which case any encoding is accepted.
        var encodings: String?
        /// The address at which the client reached the server, `HOST:PORT`.
        var host: String
    }

    func answer(_ request: TileRequest, _ conditions: Conditions) async -> TileReply {
        switch request {
        case .index: return index(conditions)
        case .description(let name):
            guard let view = lookup.view(name, nil) else { return .text(404, "there is no tileset '\(name)'") }
            return Self.description(of: view, host: conditions.host)
        case .tile(let address, let fileExtension):
            guard lookup.view(address.tileset, nil) != nil else {
                return .text(404, "there is no tileset '\(address.tileset)'")
            }
            do throws(TileFailure) {
                let tile = try await lookup.find(
                    address, cacheOnly: false, acceptsExpired: true, acceptsPath: false,
                    deadline: Clocks.monotonic() &+ patience)
                return Self.reply(tile, fileExtension: fileExtension, conditions, now: lookup.now)
            } catch {
                return Self.reply(error)
            }
        }
    }

    // MARK: Tiles

    private static func reply(
        _ tile: FoundTile, fileExtension: String, _ conditions: Conditions, now: NavGeo.Timestamp
    ) -> TileReply {
        let isPacked = tile.contentEncoding.map { accepts($0, conditions.encodings) } ?? true
        let tag = "\"\(tile.hash.hexadecimal)\(isPacked ? "" : "-plain")\""
        var headers = [(name: "ETag", value: tag), (name: "Vary", value: "Accept-Encoding")]
        if let expires = tile.expires {
            let seconds = expires.seconds(since: now)
            headers.append(("Cache-Control", "max-age=\(Int(min(max(seconds, 0), 31_536_000)))"))
        } else {
            // The tile is valid until it is replaced; a revalidation costs only a response without a body.
            headers.append(("Cache-Control", "no-cache"))
        }
        if conditions.known.contains(where: { $0 == "*" || $0 == tag || $0 == "W/" + tag }) {
            return TileReply(304, headers)
        }
        let mediaType = tile.mediaType ?? TileForm(format: fileExtension).mediaType
        headers.append(("Content-Type", mediaType ?? "application/octet-stream"))
        var body = tile.data ?? []
        if let encoding = tile.contentEncoding {
            if isPacked {
                headers.append(("Content-Encoding", encoding))
            } else {
                guard let packing = Packing(contentEncoding: encoding),
                    let plain = try? Unpacker.unpack(body, packing, limit: greatestSize)
                else { return .text(406, "the tile is stored as \(encoding), which the request does not accept") }
                body = plain
            }
        }
        return TileReply(200, headers, body: body)
    }

    /// The maximum size of a tile that is decompressed for a client, bytes.
    private static let greatestSize = 64 << 20

    private static func reply(_ failure: TileFailure) -> TileReply {
        switch failure.code {
        // A missing tile is not an error: answer with an empty tile.
        case .notFound where !failure.isRetryable:
            TileReply(204, [("Cache-Control", "no-cache")])
        case .notFound, .invalidRequest: .text(404, failure.message)
        case .deadlineExceeded: .text(504, failure.message)
        case .resourceExhausted: .text(503, failure.message)
        default: .text(failure.isRetryable ? 503 : 502, failure.message)
        }
    }

    /// Whether an encoding is accepted (the part of RFC 9110, 12.5.3, that map clients use).
    static func accepts(_ encoding: String, _ header: String?) -> Bool {
        guard let header else { return true }
        for part in header.lowercased().split(separator: ",") {
            let words = part.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
            guard let name = words.first, name == encoding || name == "*" else { continue }
            return !words.dropFirst().contains { $0 == "q=0" || $0 == "q=0.0" || $0 == "q=0.00" || $0 == "q=0.000" }
        }
        return false
    }

    // MARK: Descriptions

    private func index(_ conditions: Conditions) -> TileReply {
        let list = lookup.views.map { view in
            [
                "name": view.keys.name, "domain": view.keys.domain.rawValue,
                "tilejson": "http://\(conditions.host)/\(view.keys.name).json",
            ]
        }
        return Self.json(list)
    }

    /// Returns the TileJSON (3.0.0) of a tileset: its source's description with the URLs of this server.
    ///
    /// The source of an uncacheable tileset is not polled, so the tileset is described by its keys.
    private static func description(of view: TilesetView, host: String) -> TileReply {
        let edition = view.current?.edition
        guard edition != nil || !view.keys.isCacheable else {
            return .text(503, "the edition of tileset '\(view.keys.name)' is not known yet")
        }
        var document: [String: Any] = [:]
        if view.keys.domain == .maps, let edition,
            let own = try? JSONSerialization.jsonObject(with: Data(edition.document)) as? [String: Any]
        {
            document = own
        }
        document["tilejson"] = "3.0.0"
        if document["name"] == nil { document["name"] = view.keys.name }
        document["tiles"] = ["http://\(host)/\(view.keys.name)/{z}/{x}/{y}"]
        document["scheme"] = "xyz"
        if let zooms = edition?.zooms ?? view.keys.zooms {
            document["minzoom"] = Int(zooms.lowerBound)
            document["maxzoom"] = Int(zooms.upperBound)
        }
        if let bounds = edition?.bounds {
            document["bounds"] = [bounds.west, bounds.south, bounds.east, bounds.north]
        }
        if let edition, !edition.attribution.isEmpty { document["attribution"] = edition.attribution }
        if let edition, !edition.version.isEmpty { document["navbus:edition"] = edition.version }
        return json(document)
    }

    private static func json(_ value: Any) -> TileReply {
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        guard JSONSerialization.isValidJSONObject(value),
            let data = try? JSONSerialization.data(withJSONObject: value, options: options)
        else { return .text(500, "the description cannot be written") }
        return TileReply(200, [("Content-Type", "application/json"), ("Cache-Control", "no-cache")], body: Array(data))
    }
}
