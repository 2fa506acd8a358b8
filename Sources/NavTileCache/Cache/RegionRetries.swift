/// A condition of this machine that keeps a region incomplete.
package enum RegionObstacle: Sendable, CaseIterable {
    case disk
    /// The budget has no room.
    case budget
    /// The network mode forbids the downloads.
    case network
}

/// The schedule of retries of incomplete regions, and the obstacles that ended their loads.
///
/// The end of an obstacle triggers retries only of the regions that it stopped: a source that failed has its own pause,
/// which does not depend on the disk.
package struct RegionRetries {
    private struct Wait {
        var moment: Int64
        var obstacle: RegionObstacle?
    }

    private var waits: [String: Wait] = [:]

    package init() {}

    /// Schedules a retry of a region.
    ///
    /// - Parameters:
    ///   - moment: The latest moment of the retry, monotonic ns; `Int64.max` when only the end of the obstacle helps.
    ///   - obstacle: The obstacle that ended the load; nil when the cause is not on this machine.
    package mutating func add(_ id: String, until moment: Int64, for obstacle: RegionObstacle? = nil) {
        waits[id] = Wait(moment: moment, obstacle: obstacle)
    }

    /// Cancels the retry of a region; returns false when none was scheduled.
    @discardableResult
    package mutating func remove(_ id: String) -> Bool { waits.removeValue(forKey: id) != nil }

    package func contains(_ id: String) -> Bool { waits[id] != nil }

    /// Makes the regions due that were stopped by an obstacle, since it has ended.
    ///
    /// - Parameter moment: The latest moment of their retry, monotonic ns; at once by default.
    package mutating func end(_ obstacle: RegionObstacle, by moment: Int64 = .min) {
        for (id, wait) in waits where wait.obstacle == obstacle { waits[id]?.moment = min(wait.moment, moment) }
    }

    /// Takes the ids of the regions that are due, sorted.
    package mutating func takeDue(at moment: Int64) -> [String] {
        let due = waits.filter { $0.value.moment <= moment }.keys.sorted()
        for id in due { waits[id] = nil }
        return due
    }
}
