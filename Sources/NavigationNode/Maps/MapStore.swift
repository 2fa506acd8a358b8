import Foundation
package import NavGeo
package import NavMap
package import NavNavigator
import NavRouting
package import NavWire
import Synchronization

/// The map in force, for those who search: they take it, and go on with it while the next one is made.
///
/// New traffic and new tiles are customised on the thread of whoever calls ``update(_:roads:at:)`` and then take the place of
/// what was there. No search waits: the lock is held for the copy of a few references.
package final class MapStore: Sendable {
    private let content: Mutex<MapSnapshot>
    private let expiry = Mutex<NavGeo.Timestamp?>(nil)
    /// Held while the next map is made, so that updates follow each other.
    private let traffic = Mutex(TrafficOverlay())
    private let isShared: Bool
    private let forEach: @Sendable (Int, @Sendable (Int) -> Void) -> Void

    package struct Result: Sendable, Equatable {
        package var isChanged = false
        /// Speeds that were refused because they make no sense or are too many.
        package var refusedCount = 0
        /// Segments whose speed is known now.
        package var segmentCount = 0
    }

    /// A store with a map.
    ///
    /// - Parameter cores: How many cores making the next map may take; more than 1 shares it out.
    package init(_ map: MapSnapshot, cores: Int = 1) {
        content = Mutex(map)
        isShared = cores > 1
        forEach = isShared ? MapStore.onAllCores : HierarchyMetric.inTurn
    }

    /// Does parts on as many threads as there are cores.
    package static let onAllCores: @Sendable (Int, @Sendable (Int) -> Void) -> Void = { count, body in
        DispatchQueue.concurrentPerform(iterations: count, execute: body)
    }

    package var current: MapSnapshot { content.withLock { $0 } }

    /// The soonest moment at which a known speed ceases to hold; nil when all hold until they are replaced.
    package var nextExpiry: NavGeo.Timestamp? { expiry.withLock { $0 } }

    /// Brings speeds and other roads into force, and forgets what has ceased to hold; returns when that is done.
    ///
    /// - Parameters:
    ///   - updates: What is new of the traffic, in order: one customisation serves them all.
    ///   - roads: Other roads, for the vehicle of those in force; they get the traffic that is known. Nil for those in
    ///     force.
    ///   - now: The moment on the clock of the speeds.
    package func update(_ updates: [TrafficUpdate], roads: RoadGraph? = nil, at now: NavGeo.Timestamp) -> Result {
        // Sorting in halves is faster only when both run at once.
        let sorter: HierarchyMetric.ForEach? = isShared ? .some(forEach) : .none
        return traffic.withLock { (traffic) -> Result in
            var result = Result()
            let before = traffic
            for update in updates {
                if update.replacesAll { traffic.stamp = nil }
                if let stamp = update.stamp(at: now) { traffic.stamp = max(traffic.stamp ?? stamp, stamp) }
                result.refusedCount += traffic.apply(
                    update.speeds, replacingAll: update.replacesAll, forEach: sorter)
                result.refusedCount += update.unusableCount
            }
            _ = traffic.dropExpired(at: now)
            expiry.withLock { $0 = traffic.nextExpiry }
            result.segmentCount = traffic.speeds.count
            // A provider that repeats the same speeds, as many do every minute, causes no customisation.
            guard roads != nil || traffic.speeds != before.speeds else {
                traffic.stamp = before.stamp
                return result
            }
            let base = current
            var next =
                if let roads {
                    MapSnapshot(graph: roads, model: base.metric.model, traffic: traffic, at: now, forEach: forEach)
                } else {
                    MapSnapshot(base, router: base.router.live(traffic, at: now, forEach: forEach))
                }
            next.number = base.number + 1
            content.withLock { $0 = next }
            result.isChanged = true
            return result
        }
    }
}
