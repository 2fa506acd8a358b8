import NavGeo
import NavMatching
import NavPositioning

extension Timestamp {
    /// Moves the stamp by nanoseconds, clamped to its range.
    mutating func move(by nanoseconds: Int64) {
        let (sum, isOverflow) = self.nanoseconds.addingReportingOverflow(nanoseconds)
        self = Timestamp(nanoseconds: isOverflow ? (nanoseconds > 0 ? .max : .min) : sum)
    }

    /// Moves a deadline when its interval changes, both in seconds.
    mutating func move(from old: Double, to new: Double) { self = advanced(bySeconds: new - old) }
}

extension VehiclePosition {
    /// Moves the position's time when the clock is set.
    mutating func moveClock(by nanoseconds: Int64) {
        fix.stamp.move(by: nanoseconds)
        match.stamp.move(by: nanoseconds)
    }
}

/// Adjustments of all stored moments when the clock is set. Positioning has its own clock.
extension Navigator {
    /// Continues on the clock of the first fix if the clock of the events before it, such as commands, is ahead: otherwise no deadline
    /// would pass until the fixes catch up.
    func beginClock(at fix: Timestamp) {
        guard let now, now.seconds(since: fix) > config.positioning.fixes.maximumLead else { return }
        setClock(to: fix)
    }

    /// Continues on the fix clock, which was set to `stamp`: each deadline keeps its remaining time and each elapsed time keeps its length.
    func setClock(to stamp: Timestamp) {
        guard let now else { return }
        let (shift, isOverflow) = stamp.nanoseconds.subtractingReportingOverflow(now.nanoseconds)
        let nanoseconds = isOverflow ? (stamp > now ? .max : .min) : shift
        routes.moveClock(by: nanoseconds) { $0.moveClock(by: nanoseconds) }
        questions.moveClock(by: nanoseconds) { $0.moveClock(by: nanoseconds) }
        search.moveClock(by: nanoseconds)
        alternatives.next?.move(by: nanoseconds)
        for index in alternatives.kept.indices { alternatives.kept[index].refusedUntil?.move(by: nanoseconds) }
        faster.next?.move(by: nanoseconds)
        faster.offer?.until?.move(by: nanoseconds)
        faster.offer?.origin.moveClock(by: nanoseconds)
        preview.shown?.origin?.moveClock(by: nanoseconds)
        refresh.last?.move(by: nanoseconds)
        simulation?.last.move(by: nanoseconds)
        simulation?.due.move(by: nanoseconds)
        trip?.reachedSince?.move(by: nanoseconds)
        trip?.stationarySince?.move(by: nanoseconds)
        trip?.jumpedAt?.move(by: nanoseconds)
        trip?.moveCursorClock(by: nanoseconds)
        // The evidence against the route came from a filter that has restarted.
        trip?.restartDeviation(at: stamp)
        self.now = stamp
    }
}
