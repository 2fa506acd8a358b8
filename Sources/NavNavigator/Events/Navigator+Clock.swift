import NavGeo

extension Timestamp {
    /// Moves by nanoseconds; a sum out of range stays at its end.
    mutating func move(by nanoseconds: Int64) {
        let (sum, isOverflow) = self.nanoseconds.addingReportingOverflow(nanoseconds)
        self = Timestamp(nanoseconds: isOverflow ? (nanoseconds > 0 ? .max : .min) : sum)
    }
}

/// The one place that knows every moment which the navigator keeps. Positioning has a clock of its own.
extension Navigator {
    /// Goes on by the clock of the fixes, which was set to `stamp`: what was to last goes on for the time that it had left, and what has lasted
    /// has lasted as long.
    func setClock(to stamp: Timestamp) {
        guard let now else { return }
        let (shift, isOverflow) = stamp.nanoseconds.subtractingReportingOverflow(now.nanoseconds)
        let nanoseconds = isOverflow ? (stamp > now ? .max : .min) : shift
        routes.moveClock(by: nanoseconds)
        questions.moveClock(by: nanoseconds)
        search.moveClock(by: nanoseconds)
        alternatives.next?.move(by: nanoseconds)
        for index in alternatives.kept.indices { alternatives.kept[index].refusedUntil?.move(by: nanoseconds) }
        faster.next?.move(by: nanoseconds)
        faster.offer?.until?.move(by: nanoseconds)
        refresh.last?.move(by: nanoseconds)
        simulation?.last.move(by: nanoseconds)
        simulation?.due.move(by: nanoseconds)
        trip?.reachedSince?.move(by: nanoseconds)
        trip?.standsSince?.move(by: nanoseconds)
        // The evidence against the route came from a filter that has restarted.
        trip?.restartDeviation(at: stamp)
        self.now = stamp
    }
}
