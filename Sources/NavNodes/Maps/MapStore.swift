import Foundation
public import NavGeo
public import NavNavigator
public import NavRouting
import Synchronization

/// The map in force, for those who search: they take it, and go on with it while the next one is made.
///
/// New traffic is customised on the threads of whoever calls ``apply(_:replacingAll:at:)`` and then takes the place of
/// what was there. No search waits: the lock is held for the copy of a few references.
public final class MapStore: Sendable {
    private struct Content: Sendable {
        var map: MapSnapshot
        /// Counts the maps that were in force.
        var generation: UInt64 = 0
    }

    private let content: Mutex<Content>
    /// Held while the next map is made, so that updates follow each other.
    private let traffic = Mutex(TrafficOverlay())

    /// A store with a map.
    public init(_ map: MapSnapshot) { content = Mutex(Content(map: map)) }

    /// The map in force.
    public var current: MapSnapshot { content.withLock { $0.map } }

    /// How often another map came into force.
    public var generation: UInt64 { content.withLock { $0.generation } }

    /// Brings speeds into force; returns when they are, with how many were refused.
    ///
    /// - Parameters:
    ///   - speeds: What is new.
    ///   - replacingAll: Whether everything that was known is forgotten first.
    ///   - now: The moment on the clock of the speeds; what ceased to hold by then is forgotten.
    public func apply(_ speeds: [TrafficSpeed], replacingAll: Bool, at now: Timestamp) -> Int {
        traffic.withLock { traffic in
            let refused = traffic.apply(speeds, replacingAll: replacingAll)
            _ = traffic.dropExpired(at: now)
            put(traffic, now)
            return refused
        }
    }

    /// Forgets speeds that ceased to hold; whether another map came into force.
    public func expire(at now: Timestamp) -> Bool {
        traffic.withLock { traffic in
            guard traffic.dropExpired(at: now) else { return false }
            put(traffic, now)
            return true
        }
    }

    /// Puts another map in force, such as one with tiles that arrived; it gets the traffic that is known.
    public func replace(_ map: MapSnapshot, at now: Timestamp) {
        traffic.withLock { traffic in
            put(traffic, now, on: map)
        }
    }

    private func put(_ traffic: TrafficOverlay, _ now: Timestamp, on map: MapSnapshot? = nil) {
        let base = map ?? current
        let router = base.router.live(traffic, at: now) { count, body in
            DispatchQueue.concurrentPerform(iterations: count, execute: body)
        }
        content.withLock { content in
            content.map = MapSnapshot(base, router: router)
            content.generation += 1
        }
    }
}
