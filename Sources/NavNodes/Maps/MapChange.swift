import NavGeo
public import NavMessages
public import NavNavigator

/// A map that has come into force, and why.
public struct MapChange: Sendable {
    /// The map.
    public var map: MapSnapshot
    /// The messages of traffic behind it, without their speeds, each with the sequence that it came with. One of the
    /// provider `expiry` says that speeds have ceased to hold.
    public var traffic: [(header: TrafficSpeeds, sequence: UInt64)] = []
    /// Tiles that came or went; nil when the roads are the same.
    var tiles: TileSupply.Change?

    package init(
        map: MapSnapshot, traffic: [(header: TrafficSpeeds, sequence: UInt64)] = [], tiles: TileSupply.Change? = nil
    ) {
        self.map = map
        self.traffic = traffic
        self.tiles = tiles
    }

    /// Speeds have ceased to hold.
    init(expiredAt now: NavGeo.Timestamp, _ map: MapSnapshot) {
        self.init(map: map, traffic: [(TrafficSpeeds(stampNs: now.nanoseconds, provider: "expiry"), 0)])
    }
}
