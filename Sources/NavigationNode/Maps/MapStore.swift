import Foundation
package import NavGeo
package import NavMap
package import NavNavigator
import NavRouting
package import NavWire
import Synchronization

/// The map in force, shared with searches: a search keeps its map while the next map is built.
///
/// The caller's thread of ``update(_:roads:at:)`` customises new traffic and new tiles, then swaps the map. Searches never wait: the
/// lock is held only to copy a few references.
package final class MapStore: Sendable {
    private let content: Mutex<MapSnapshot>
    private let expiry = Mutex<NavGeo.Timestamp?>(nil)
    /// Held while the next map is built, so that updates are sequential.
    private let traffic = Mutex(TrafficOverlay())
    private let isShared: Bool
    private let forEach: @Sendable (Int, @Sendable (Int) -> Void) -> Void

    package struct Result: Sendable, Equatable {
        package var isChanged = false
        /// The number of refused speeds, which are invalid or too many.
        package var refusedCount = 0

        /// Describes the refused speeds and the limits; nil without any.
        package var refusal: String? {
            guard refusedCount > 0 else { return nil }
            let range = "above 0 and at most \(Int(TrafficOverlay.greatestSpeed))"
            return "\(refusedCount) speeds on /traffic/speeds were ignored: a speed needs two different nodes, and "
                + "closed or a speed_mps \(range); at most \(TrafficOverlay.greatestCount) speeds are kept"
        }
    }

    /// A store with a map.
    ///
    /// - Parameter cores: The number of cores for building the next map; more than 1 builds it in parallel.
    package init(_ map: MapSnapshot, cores: Int = 1) {
        content = Mutex(map)
        isShared = cores > 1
        forEach = isShared ? MapStore.onAllCores : HierarchyMetric.inTurn
    }

    /// Runs parts on as many threads as there are cores.
    package static let onAllCores: @Sendable (Int, @Sendable (Int) -> Void) -> Void = { count, body in
        DispatchQueue.concurrentPerform(iterations: count, execute: body)
    }

    package var current: MapSnapshot { content.withLock { $0 } }

    /// The earliest expiry of a known speed; nil when none expires.
    package var nextExpiry: NavGeo.Timestamp? { expiry.withLock { $0 } }

    /// Applies new speeds and roads, and drops expired speeds; returns once the new map is in force.
    ///
    /// - Parameters:
    ///   - updates: The traffic updates, in order; one customisation serves them all.
    ///   - roads: The new road graph, for the same vehicle; nil to keep the current one.
    ///   - now: The current time on the clock of the speeds.
    package func update(_ updates: [TrafficUpdate], roads: RoadGraph? = nil, at now: NavGeo.Timestamp) -> Result {
        // Sorting in halves is faster only when both run in parallel.
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
            // Repeated equal speeds, which many providers send every minute, cause no customisation.
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
