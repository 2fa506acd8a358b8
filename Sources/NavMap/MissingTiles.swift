public import NavGeo

extension RoadGraph {
    /// Returns the unloaded tiles of some layers that reach to within `radius` metres of a place, the nearest first.
    ///
    /// Without a catalogue, a tile is known to exist only if a loaded road leads into it. The search then takes time
    /// proportional to the number of nodes with missing edges, unless all tiles around the place are loaded.
    public func missingTiles(_ layers: [RoadLayer], within radius: Double, of place: Coordinate) -> [RoadTileID] {
        let unloaded = layers.flatMap { Self.tiles($0, within: radius, of: place) }
            .filter { !loadedTiles.contains($0.id) }
        guard !unloaded.isEmpty else { return [] }
        let known = absentTiles ?? tilesAhead
        return unloaded.filter { known.contains($0.id) }
            .sorted { ($0.distance, $0.id) < ($1.distance, $1.id) }.map(\.id)
    }

    /// The unloaded tiles into which loaded roads lead.
    private var tilesAhead: Set<RoadTileID> {
        var tiles: Set<RoadTileID> = []
        for node in incompleteness.indices where !incompleteness[node].isEmpty {
            tiles.formUnion(missingTiles(at: NodeIndex(node)))
        }
        return tiles
    }

    /// Returns the tiles of a layer that reach to within `radius` metres of a place, with their distances, metres.
    private static func tiles(
        _ layer: RoadLayer, within radius: Double, of place: Coordinate
    ) -> [(id: RoadTileID, distance: Double)] {
        let frame = LocalFrame(origin: place)
        let height = radius / frame.metresPerDegreeLatitude
        let width = radius / max(frame.metresPerDegreeLongitude, 1)
        func tile(north: Double, east: Double) -> TileID {
            TileID(
                containing: Coordinate(
                    latitude: place.latitude + north, longitude: Geodesy.wrappedLongitude(place.longitude + east)),
                zoom: layer.zoom)
        }
        let (own, first, last) = (
            tile(north: 0, east: 0), tile(north: height, east: -width), tile(north: -height, east: width)
        )
        let count: UInt32 = 1 << UInt32(layer.zoom)
        // Columns wrap at the antimeridian; near a pole the circle may hold all of them.
        let columns = width < 90 ? ((last.x &- first.x) & (count - 1)) + 1 : count
        var tiles: [(id: RoadTileID, distance: Double)] = []
        for row in first.y...last.y {
            for column in 0..<columns {
                guard let tile = TileID(zoom: layer.zoom, x: (first.x &+ column) & (count - 1), y: row),
                    let id = RoadTileID(tile)
                else { continue }
                let distance = tile == own ? 0 : Self.distance(of: tile.bounds, frame)
                if distance <= radius { tiles.append((id, distance)) }
            }
        }
        return tiles
    }

    /// Returns the distance of a box from the origin of a frame, metres.
    private static func distance(of box: BoundingBox, _ frame: LocalFrame) -> Double {
        let place = frame.origin
        let west = Geodesy.wrappedLongitude(box.west - place.longitude)
        let east = Geodesy.wrappedLongitude(box.east - place.longitude)
        let aside = west <= 0 && east >= 0 ? 0 : abs(west) < abs(east) ? west : east
        let nearest = Coordinate(
            latitude: min(max(place.latitude, box.south), box.north), longitude: place.longitude + aside)
        return frame.point(nearest).length
    }
}
