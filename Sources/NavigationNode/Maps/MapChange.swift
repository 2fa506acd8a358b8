package import NavGeo
import NavMap
package import NavMessages
package import NavNavigator

/// A map that has come into force, and why.
package struct MapChange: Sendable {
    package let map: MapSnapshot
    package let cause: MapCause

    /// A map with what has changed.
    ///
    /// - Parameters:
    ///   - traffic: the messages of traffic behind it, without their speeds, each with the sequence that it came with.
    ///   - stamp: speeds that had ceased to hold by then are not in it.
    package init(
        map: MapSnapshot, traffic: [(header: TrafficSpeeds, sequence: UInt64)] = [], tiles: TileSupply.Change? = nil,
        at stamp: NavGeo.Timestamp = NavGeo.Timestamp(nanoseconds: .min)
    ) {
        self.map = map
        cause = MapCause(
            number: map.number, mapVersion: map.graph.mapVersion, traffic: traffic, tiles: tiles, stamp: stamp)
    }

    /// Speeds have ceased to hold.
    package init(expiredAt now: NavGeo.Timestamp, _ map: MapSnapshot) {
        self.init(
            map: map, traffic: [(TrafficSpeeds(stampNs: now.nanoseconds, provider: MapCause.expiry), 0)], at: now)
    }
}

/// Why a map came into force: what the journal says of it.
package struct MapCause: Sendable {
    /// The provider that says that speeds have ceased to hold.
    package static let expiry = "expiry"
    /// The provider that says that only the speeds hold that the node starts with.
    package static let start = "start"

    package var number: UInt64
    package var mapVersion: String
    /// The messages of traffic behind it, without their speeds, each with the sequence that it came with; those of the
    /// providers ``expiry`` and ``start`` stand for themselves.
    package var traffic: [(header: TrafficSpeeds, sequence: UInt64)]
    /// Tiles that came or went; nil when the roads are the same.
    package var tiles: TileSupply.Change?
    /// Speeds that had ceased to hold by then are not in it.
    package var stamp: NavGeo.Timestamp

    package init(
        number: UInt64, mapVersion: String, traffic: [(header: TrafficSpeeds, sequence: UInt64)],
        tiles: TileSupply.Change?, stamp: NavGeo.Timestamp
    ) {
        (self.number, self.mapVersion, self.traffic) = (number, mapVersion, traffic)
        (self.tiles, self.stamp) = (tiles, stamp)
    }

    /// Whether nothing of the traffic that was known before counts.
    package var replacesTraffic: Bool { traffic.contains { $0.header.replacesAll ?? false } }
}

/// Why maps came into force while no journal was kept: a node that waits for its first fix may wait for days.
package struct EarlyMapCauses {
    /// The most that are kept; without the older ones the journal cannot be executed again.
    package static let most = 10_000
    private(set) var causes: [MapCause] = []

    package mutating func append(_ cause: MapCause) {
        if cause.tiles == nil, cause.replacesTraffic { causes.removeAll { $0.tiles == nil } }
        if causes.count >= Self.most { causes.removeFirst() }
        causes.append(cause)
    }
}
