/// A condition of this machine that keeps a region from being complete.
package enum RegionObstacle: Sendable, CaseIterable {
    case disk
    /// There is no room within the budget.
    case budget
    /// The network must not be used for it.
    case network
}

/// The schedule of retries of regions that are not complete, and what has ended them.
///
/// Where an obstacle ends, those are due that it has ended, and no others: a source that failed has its own pause, which
/// has nothing to do with a disk.
package struct RegionRetries {
    private struct Wait {
        var moment: Int64
        var obstacle: RegionObstacle?
    }

    private var waits: [String: Wait] = [:]

    package init() {}

    /// A region is tried again later.
    ///
    /// - Parameters:
    ///   - moment: When at the latest, monotonic ns; `Int64.max` when only the end of the obstacle helps.
    ///   - obstacle: What has ended it; nil when that was nothing of this machine's own.
    package mutating func add(_ id: String, until moment: Int64, for obstacle: RegionObstacle? = nil) {
        waits[id] = Wait(moment: moment, obstacle: obstacle)
    }

    /// A region does not wait any more; false when it did not.
    @discardableResult
    package mutating func remove(_ id: String) -> Bool { waits.removeValue(forKey: id) != nil }

    package func contains(_ id: String) -> Bool { waits[id] != nil }

    /// An obstacle has ended: what it kept waiting is due.
    ///
    /// - Parameter moment: When at the latest, monotonic ns; by default at once.
    package mutating func end(_ obstacle: RegionObstacle, by moment: Int64 = .min) {
        for (id, wait) in waits where wait.obstacle == obstacle { waits[id]?.moment = min(wait.moment, moment) }
    }

    /// Takes the regions that are due, by id.
    package mutating func takeDue(at moment: Int64) -> [String] {
        let due = waits.filter { $0.value.moment <= moment }.keys.sorted()
        for id in due { waits[id] = nil }
        return due
    }
}
