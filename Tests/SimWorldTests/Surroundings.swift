import NavGeo
import NavMap
import NavNavigator
import NavRouting
import NavSimulation

/// The changing environment of the vehicle: traffic and loaded roads.
struct Surroundings {
    private var random: SeededRandom
    private let map: SimMap
    /// The loaded tiles, without traffic.
    private var base: MapSnapshot
    private var traffic = TrafficOverlay()
    /// The map that the core uses.
    private(set) var current: MapSnapshot
    private let wildness: Double

    init(_ map: SimMap, wildness: Double, seed: UInt64) {
        random = SeededRandom(seed: seed)
        self.map = map
        self.wildness = wildness
        base = random.uniform() < 0.15 * wildness ? map.others[1 + Int(random.next() % 3)] : map.roads
        current = base
    }

    private mutating func chance(_ share: Double) -> Bool { random.uniform() < share }

    /// Returns the seconds until the next change.
    mutating func pause() -> Double { 10 + (150 - 90 * wildness) * 2 * random.uniform() }

    /// Changes the traffic or the loaded tiles; `ahead` is the route that will be driven.
    mutating func change(ahead: Route?, at now: Timestamp) {
        switch random.uniform() {
        case ..<0.15: traffic = TrafficOverlay()
        case ..<(0.15 + 0.25 * wildness):
            // Tiles are added or removed, or another version of the map is loaded.
            base = chance(0.4) ? map.roads : map.others[Int(random.next() % UInt64(map.others.count))]
        default: _ = traffic.apply(speeds(ahead, now))
        }
        renew(at: now)
    }

    /// Loads the missing tiles.
    mutating func bringAll(at now: Timestamp) {
        base = map.roads
        renew(at: now)
    }

    private mutating func renew(at now: Timestamp) {
        _ = traffic.dropExpired(at: now)
        current = traffic.speeds.isEmpty ? base : MapSnapshot(base, router: base.router.live(traffic, at: now))
    }

    private mutating func speeds(_ ahead: Route?, _ now: Timestamp) -> [TrafficSpeed] {
        let isClosed = chance(0.3)
        let end = chance(0.4) ? now.advanced(bySeconds: 20 + 200 * random.uniform()) : nil
        if let ahead, chance(0.5), !ahead.segments.isEmpty {
            let first = Int(random.next() % UInt64(ahead.segments.count))
            return ahead.segments[first..<min(first + 3, ahead.segments.count)].map {
                TrafficSpeed(
                    fromNodeID: $0.fromNodeID, toNodeID: $0.toNodeID, speed: isClosed ? 0 : 1 + 20 * random.uniform(),
                    validUntil: end)
            }
        }
        return (0..<(isClosed ? 1 : 1 + Int(random.next() % 20))).map { _ in
            let edge = map.edges[map.place(&random).edge.index]
            return TrafficSpeed(
                fromNodeID: edge.first, toNodeID: edge.second, speed: isClosed ? 0 : 1 + 30 * random.uniform(),
                validUntil: end)
        }
    }
}
