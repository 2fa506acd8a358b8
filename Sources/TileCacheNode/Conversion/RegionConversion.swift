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
    init(_ message: MultiPolygon) throws(TileFailure) {
        var polygons: [[[NavGeo.Coordinate]]] = []
        for (number, polygon) in message.polygons.enumerated() {
            var rings: [[NavGeo.Coordinate]] = []
            for (place, ring) in polygon.rings.enumerated() {
                guard let corners = ring.corners else {
                    let isEven = ring.latDeltasE7.count == ring.lonDeltasE7.count
                    throw TileFailure(
                        .invalidRequest,
                        "ring \(place) of polygon \(number) has "
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
            throw TileFailure(error)
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
    /// The descriptor of a message, with the domain of its tileset.
    init(_ message: TilesetDescriptor, in tilesets: [TilesetKeys]) throws(TileFailure) {
        let wanted = message.domain.flatMap { TileDomain($0) }
        let named = message.tileset ?? ""
        guard let keys = tilesets.first(where: { named.isEmpty ? $0.domain == wanted : $0.name == named }) else {
            let known = tilesets.map(\.name).joined(separator: ", ")
            throw TileFailure(
                named.isEmpty ? .invalidRequest : .notFound,
                named.isEmpty
                    ? "a descriptor names no tileset; configured: \(known.isEmpty ? "none" : known)"
                    : "there is no tileset '\(named)'; configured: \(known.isEmpty ? "none" : known)")
        }
        guard wanted == nil || wanted == keys.domain else {
            throw TileFailure(.invalidRequest, "tileset '\(keys.name)' only has \(keys.domain.rawValue) tiles")
        }
        if let refusal = keys.refusal {
            throw TileFailure(.deniedByPolicy, "tiles of '\(keys.name)' must not be stored: \(refusal)")
        }
        let low = message.zoomMin ?? 0
        let high = message.zoomMax ?? UInt32(TileID.maximumZoom)
        guard low <= UInt32(TileID.maximumZoom) else {
            throw TileFailure(.invalidRequest, "zoom_min \(low) of '\(keys.name)' is not within 0 to 22")
        }
        guard low <= high else {
            throw TileFailure(
                .invalidRequest, "zoom_min \(low) of '\(keys.name)' is above its zoom_max \(high)")
        }
        guard high <= UInt32(TileID.maximumZoom) else {
            throw TileFailure(.invalidRequest, "zoom levels \(low) to \(high) of '\(keys.name)' are not within 0 to 22")
        }
        if let ratio = message.pixelRatio, ratio != keys.pixelRatio {
            throw TileFailure(
                .invalidRequest, "tileset '\(keys.name)' has tiles of pixel ratio \(keys.pixelRatio), not \(ratio)")
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
    /// The most entries of the client's own data.
    static let greatestMetadataCount = 256
    /// The most bytes of an id, of a name, and of all of the client's own data.
    static let greatestTextSize = 64 << 10

    var definition: StoredRegionDefinition
    var area: RegionArea

    /// Checks a definition.
    ///
    /// - Parameter needsID: Whether the region is to be stored, so that it needs an id.
    init(_ message: RegionDefinition, tilesets: [TilesetKeys], needsID: Bool = true) throws(TileFailure) {
        let id = message.regionId ?? ""
        guard ((needsID ? 1 : 0)...256).contains(id.utf8.count) else {
            throw TileFailure(.invalidRequest, "a region needs an id of 1 to 256 bytes")
        }
        guard let geometry = message.geometry else {
            throw TileFailure(.invalidRequest, "region '\(id)' needs a geometry, a Polygon or MultiPolygon")
        }
        area = try RegionArea(geometry)
        guard !message.descriptors.isEmpty else {
            throw TileFailure(.invalidRequest, "region '\(id)' needs at least one descriptor, which names a tileset")
        }
        var descriptors: [NavTileCache.RegionDescriptor] = []
        for descriptor in message.descriptors {
            descriptors.append(try RegionDescriptor(descriptor, in: tilesets))
        }
        guard Set(descriptors.map(\.tileset)).count == descriptors.count else {
            throw TileFailure(.invalidRequest, "region '\(id)' has two descriptors of the same tileset")
        }
        let name = try Self.name(message.name, of: id)
        let metadata = try Self.metadata(message.metadata)
        definition = StoredRegionDefinition(
            id: id, name: name ?? "", geometry: MultiPolygon(area).encoded(), descriptors: descriptors,
            acceptExpired: message.acceptExpired ?? false, metadata: metadata)
    }

    /// Returns the display name of a region; nil when none is given.
    static func name(_ name: String?, of id: String) throws(TileFailure) -> String? {
        guard name?.utf8.count ?? 0 <= greatestTextSize else {
            throw TileFailure(
                .invalidRequest, "the name of region '\(id)' is too long; the limit is \(greatestTextSize) bytes")
        }
        return name
    }

    /// Returns the client's own data; the last value of a key counts.
    static func metadata(_ pairs: [KeyValue]) throws(TileFailure) -> [String: String] {
        let size = pairs.reduce(0) { $0 + ($1.key ?? "").utf8.count + ($1.value ?? "").utf8.count }
        guard pairs.count <= greatestMetadataCount, size <= greatestTextSize else {
            throw TileFailure(
                .invalidRequest,
                "metadata is limited to \(greatestMetadataCount) keys and \(greatestTextSize) bytes in total")
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

extension TileKey {
    init(_ address: TileAddress, _ domain: NavTileCache.TileDomain) {
        self.init(
            domain: NavMessages.TileDomain(domain), tileset: address.tileset, zoom: UInt32(address.tile.zoom),
            x: address.tile.x,
            y: address.tile.y)
    }
}
