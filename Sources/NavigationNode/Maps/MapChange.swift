package import NavGeo
import NavMap
package import NavMessages
package import NavNavigator

/// A map that came into force, and the reason.
package struct MapChange: Sendable {
    package let map: MapSnapshot
    package let cause: MapCause

    /// A map with the changes that led to it.
    ///
    /// - Parameters:
    ///   - traffic: The traffic messages that led to it, without their speeds, each with its sequence.
    ///   - stamp: The moment at which expired speeds were dropped.
    package init(
        map: MapSnapshot, traffic: [(header: TrafficSpeeds, sequence: UInt64)] = [], tiles: TileSupply.Change? = nil,
        at stamp: NavGeo.Timestamp = NavGeo.Timestamp(nanoseconds: .min)
    ) {
        self.map = map
        cause = MapCause(
            number: map.number, mapVersion: map.graph.mapVersion, traffic: traffic, tiles: tiles, stamp: stamp)
    }

    /// The change of a map from which speeds expired.
    package init(expiredAt now: NavGeo.Timestamp, _ map: MapSnapshot) {
        self.init(
            map: map, traffic: [(TrafficSpeeds(stampNs: now.nanoseconds, provider: MapCause.expiry), 0)], at: now)
    }
}

/// The reason why a map came into force, as written to the journal.
package struct MapCause: Sendable {
    /// The pseudo provider for the expiry of speeds.
    package static let expiry = "expiry"
    /// The pseudo provider for a reset to the node's initial speeds.
    package static let start = "start"

    package var number: UInt64
    package var mapVersion: String
    /// The traffic messages that led to the map, without their speeds, each with its sequence; ``expiry`` and ``start`` mark changes
    /// without a message.
    package var traffic: [(header: TrafficSpeeds, sequence: UInt64)]
    /// The tiles that were added or removed; nil when the roads are the same.
    package var tiles: TileSupply.Change?
    /// The moment at which expired speeds were dropped.
    package var stamp: NavGeo.Timestamp

    package init(
        number: UInt64, mapVersion: String, traffic: [(header: TrafficSpeeds, sequence: UInt64)],
        tiles: TileSupply.Change?, stamp: NavGeo.Timestamp
    ) {
        (self.number, self.mapVersion, self.traffic) = (number, mapVersion, traffic)
        (self.tiles, self.stamp) = (tiles, stamp)
    }

    /// Whether all earlier traffic was dropped.
    package var replacesTraffic: Bool { traffic.contains { $0.header.replacesAll ?? false } }
}

/// The reasons for maps that came into force before a journal was kept; a node may wait for its first fix for days.
package struct EarlyMapCauses {
    /// The most reasons that are kept; once older ones are dropped, the journal cannot be replayed.
    package static let most = 10_000
    private(set) var causes: [MapCause] = []

    package mutating func append(_ cause: MapCause) {
        if cause.tiles == nil, cause.replacesTraffic { causes.removeAll { $0.tiles == nil } }
        if causes.count >= Self.most { causes.removeFirst() }
        causes.append(cause)
    }
}
