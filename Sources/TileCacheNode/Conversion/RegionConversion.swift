package import NavWire
import NavGeo
package import NavMessages
package import NavTileCache
import NavTileStore

extension NavTileCache.TileDomain: WireEnum {
    package static let bridge = EnumBridge<Self, NavMessages.TileDomain>()
}

extension StoredRegionState: WireEnum {
    package static let bridge = EnumBridge<Self, RegionState>()
}

extension RegionNotice.Kind: WireEnum {
    package static let bridge = EnumBridge<Self, RegionEventKind>()
}

extension RegionArea {
    /// - Parameter field: The name of the message's field in the request, for errors.
    init(_ message: MultiPolygon, field: String = "geometry") throws(TileFailure) {
        var polygons: [[[NavGeo.Coordinate]]] = []
        for (number, polygon) in message.polygons.enumerated() {
            var rings: [[NavGeo.Coordinate]] = []
            for (place, ring) in polygon.rings.enumerated() {
                guard let corners = ring.corners else {
                    let isEven = ring.latDeltasE7.count == ring.lonDeltasE7.count
                    throw TileFailure(
                        .invalidRequest,
                        "\(field).polygons[\(number)].rings[\(place)] has "
                            + (isEven
                                ? "a corner that is not on the Earth" : "unequal numbers of latitudes and longitudes"))
                }
                rings.append(corners)
            }
            polygons.append(rings)
        }
        do throws(RegionFault) {
            try self.init(polygons: polygons)
        } catch {
            throw TileFailure(error).about(field)
        }
    }
}

extension MultiPolygon {
    /// The message of an area, with closed rings.
    package init(_ area: RegionArea) {
        self.init(
            polygons: area.polygons.map { rings in
                Polygon(rings: rings.map { NavMessages.Polyline($0 + $0.prefix(1)) })
            })
    }
}

extension NavTileCache.RegionDescriptor {
    /// The descriptors of messages, with the domains of their tilesets.
    ///
    /// - Parameter field: The name of the messages' field in the request, for errors.
    static func all(
        _ messages: [TilesetDescriptor], in tilesets: [TilesetKeys], field: String
    ) throws(TileFailure) -> [Self] {
        var all: [Self] = []
        for (index, message) in messages.enumerated() {
            all.append(try Self(message, in: tilesets, field: "\(field)[\(index)]"))
        }
        return all
    }

    private init(_ message: TilesetDescriptor, in tilesets: [TilesetKeys], field: String) throws(TileFailure) {
        let wanted = message.domain.flatMap { TileDomain($0) }
        let named = message.tileset ?? ""
        guard let keys = tilesets.first(where: { named.isEmpty ? $0.domain == wanted : $0.name == named }) else {
            let known = tilesets.map(\.name).joined(separator: ", ")
            let configured = "configured: \(known.isEmpty ? "none" : known)"
            guard named.isEmpty else {
                throw TileFailure(.notFound, "\(field).tileset: there is no tileset '\(named)'; \(configured)")
            }
            throw TileFailure(
                .invalidRequest,
                wanted.map { "\(field).domain: no tileset has \($0.rawValue) tiles; \(configured)" }
                    ?? "\(field).tileset is missing, or a domain; \(configured)")
        }
        guard wanted == nil || wanted == keys.domain else {
            throw TileFailure(
                .invalidRequest, "\(field).domain: tileset '\(keys.name)' only has \(keys.domain.rawValue) tiles")
        }
        if let refusal = keys.refusal {
            throw TileFailure(
                .deniedByPolicy, "\(field).tileset: tiles of '\(keys.name)' must not be stored: \(refusal)")
        }
        let low = message.zoomMin ?? 0
        let high = message.zoomMax ?? UInt32(TileID.maximumZoom)
        guard low <= UInt32(TileID.maximumZoom) else {
            throw TileFailure(.invalidRequest, "\(field).zoom_min \(low) of '\(keys.name)' is not within 0 to 22")
        }
        guard low <= high else {
            throw TileFailure(
                .invalidRequest, "\(field).zoom_min \(low) of '\(keys.name)' is above its zoom_max \(high)")
        }
        guard high <= UInt32(TileID.maximumZoom) else {
            throw TileFailure(.invalidRequest, "\(field).zoom_max \(high) of '\(keys.name)' is not within 0 to 22")
        }
        if let ratio = message.pixelRatio, ratio != keys.pixelRatio {
            throw TileFailure(
                .invalidRequest,
                "\(field).pixel_ratio: tileset '\(keys.name)' has tiles of pixel ratio \(keys.pixelRatio), not \(ratio)"
            )
        }
        self.init(
            tileset: keys.name, domain: keys.domain, zoomMin: UInt8(low), zoomMax: UInt8(high),
            pixelRatio: message.pixelRatio)
    }

    var message: TilesetDescriptor {
        TilesetDescriptor(
            tileset: tileset, domain: NavMessages.TileDomain(domain), zoomMin: UInt32(zoomMin),
            zoomMax: UInt32(zoomMax),
            pixelRatio: pixelRatio)
    }
}

/// A checked request for an offline region.
struct RegionOrder: Sendable {
    /// The maximum number of entries of the client's own data.
    static let greatestMetadataCount = 256
    /// The maximum size of an id, of a name, and of all of the client's own data, bytes.
    static let greatestTextSize = 64 << 10

    var definition: StoredRegionDefinition
    var area: RegionArea

    /// Checks a definition.
    ///
    /// - Parameter needsID: Whether the region is to be stored, so that it needs an id.
    init(_ message: RegionDefinition?, tilesets: [TilesetKeys], needsID: Bool = true) throws(TileFailure) {
        guard let message else { throw TileFailure(.invalidRequest, "definition is missing; a region needs one") }
        let id = message.regionId ?? ""
        guard ((needsID ? 1 : 0)...256).contains(id.utf8.count) else {
            throw TileFailure(
                .invalidRequest, "definition.region_id has \(id.utf8.count) bytes; a region's id has 1 to 256")
        }
        guard let geometry = message.geometry else {
            throw TileFailure(.invalidRequest, "definition.geometry of region '\(id)' is missing")
        }
        area = try RegionArea(geometry, field: "definition.geometry")
        guard !message.descriptors.isEmpty else {
            throw TileFailure(
                .invalidRequest, "definition.descriptors of region '\(id)' is empty; name at least one tileset")
        }
        let descriptors = try NavTileCache.RegionDescriptor.all(
            message.descriptors, in: tilesets, field: "definition.descriptors")
        guard Set(descriptors.map(\.tileset)).count == descriptors.count else {
            throw TileFailure(
                .invalidRequest, "definition.descriptors of region '\(id)' has two of the same tileset")
        }
        let name = try Self.name(message.name, field: "definition.name")
        let metadata = try Self.metadata(message.metadata, field: "definition.metadata")
        definition = StoredRegionDefinition(
            id: id, name: name ?? "", geometry: MultiPolygon(area).encoded(), descriptors: descriptors,
            acceptExpired: message.acceptExpired ?? false, metadata: metadata)
    }

    /// Returns the display name of a region; nil when none is given.
    ///
    /// - Parameter field: The name of its field in the request, for errors.
    static func name(_ name: String?, field: String) throws(TileFailure) -> String? {
        let size = name?.utf8.count ?? 0
        guard size <= greatestTextSize else {
            throw TileFailure(
                .invalidRequest, "\(field) has \(size) bytes of UTF-8, more than \(greatestTextSize)")
        }
        return name
    }

    /// Returns the client's own data; of several values of a key, the last is used.
    ///
    /// - Parameter field: The name of its field in the request, for errors.
    static func metadata(_ pairs: [KeyValue], field: String) throws(TileFailure) -> [String: String] {
        let size = pairs.reduce(0) { $0 + ($1.key ?? "").utf8.count + ($1.value ?? "").utf8.count }
        guard pairs.count <= greatestMetadataCount, size <= greatestTextSize else {
            throw TileFailure(
                .invalidRequest,
                "\(field) has \(pairs.count) keys and \(size) bytes in total, more than \(greatestMetadataCount) or "
                    + "\(greatestTextSize)")
        }
        return Dictionary(pairs.map { ($0.key ?? "", $0.value ?? "") }) { $1 }
    }
}

extension StoredRegionDefinition {
    /// The area; nil when the stored geometry is malformed.
    var area: RegionArea? {
        guard let message = try? MultiPolygon(decoding: geometry) else { return nil }
        return try? RegionArea(message)
    }

    var message: RegionDefinition {
        RegionDefinition(
            regionId: id, name: name.isEmpty ? nil : name, geometry: try? MultiPolygon(decoding: geometry),
            descriptors: descriptors.map(\.message), acceptExpired: acceptExpired,
            metadata: metadata.sorted { $0.key < $1.key }.map { KeyValue(key: $0.key, value: $0.value) })
    }
}

extension RegionProgress {
    init(_ progress: StoredRegionProgress) {
        self.init(
            requiredCount: UInt64(clamping: progress.requiredCount),
            completedCount: UInt64(clamping: progress.completedCount),
            completedBytes: UInt64(clamping: progress.completedBytes),
            loadedCount: UInt64(clamping: progress.loadedCount), loadedBytes: UInt64(clamping: progress.loadedBytes),
            erroredCount: UInt64(clamping: progress.erroredCount))
    }
}

extension Region {
    init(_ status: RegionStatus) {
        switch status {
        case .stored(let region, let expires):
            self.init(
                definition: region.definition.message, progress: RegionProgress(region.progress),
                state: RegionState(region.state), expiresNs: expires?.nanoseconds,
                createdNs: region.created.nanoseconds, updatedNs: region.updated.nanoseconds,
                error: region.failure.map { ErrorInfo(TileFailure($0)) })
        case .requested(let definition, let state):
            self.init(
                definition: definition.message, progress: RegionProgress(StoredRegionProgress()),
                state: RegionState(state))
        }
    }
}

extension RegionEvent {
    /// The message of a region's change, without stamp and number.
    init(_ notice: RegionNotice) {
        self.init(
            kind: RegionEventKind(notice.kind), regionId: notice.id,
            progress: notice.progress.map { RegionProgress($0) },
            success: notice.isSuccess, error: notice.failure.map { ErrorInfo($0) },
            region: notice.region.map { Region($0) })
    }
}

extension TileID {
    /// - Parameter field: The name of the key's field in the request, for errors.
    init(_ key: TileKey, field: String) throws(TileFailure) {
        for (name, value) in [("zoom", key.zoom), ("x", key.x), ("y", key.y)] where value == nil {
            throw TileFailure(.invalidRequest, "\(field).\(name) is missing; a tile has zoom, x and y")
        }
        let zoom = key.zoom ?? 0
        guard zoom <= UInt32(TileID.maximumZoom) else {
            throw TileFailure(.invalidRequest, "\(field).zoom \(zoom) is not within 0 to \(TileID.maximumZoom)")
        }
        for (name, value) in [("x", key.x ?? 0), ("y", key.y ?? 0)] where value >= 1 << zoom {
            throw TileFailure(
                .invalidRequest,
                "\(field).\(name) \(value) is not within 0 to \((1 << zoom) - 1), as at zoom \(zoom)")
        }
        guard let tile = TileID(zoom: UInt8(zoom), x: key.x ?? 0, y: key.y ?? 0) else {
            throw TileFailure(.invalidRequest, "\(field) is not a tile")
        }
        self = tile
    }
}

extension TileKey {
    init(_ address: TileAddress, _ domain: NavTileCache.TileDomain) {
        self.init(
            domain: NavMessages.TileDomain(domain), tileset: address.tileset, zoom: UInt32(address.tile.zoom),
            x: address.tile.x,
            y: address.tile.y)
    }
}
