import NavGeo
import NavMap
import NavMatching
import NavPositioning
import NavRouting

/// The alternatives to the route in force: the current list, the time of the next search, and the detection of a turn onto one.
///
/// While an alternative is ahead, no search is made: the list changes only when a fork is passed, traffic changes an alternative's
/// duration, or the route changes. A stationary vehicle passes no fork, so its list is stable.
final class AlternativesTracker {
    /// An alternative with its fork from the route in force.
    struct Kept {
        var plan: AlternativePlan
        /// Metres from the start of the route in force to the fork.
        var forkOffset: Double
        /// The offset of each edge past the fork that is not on the route in force, metres from the alternative's start.
        var own: [EdgeKey: Double]
        /// The place where it rejoins the route in force; nil when it rejoins only at the destination.
        var join: Coordinate?
        /// Consecutive fixes on the edges in `own`; a clear one counts as all that are required.
        var fixes = 0
        /// The end of the period in which no decision on it is requested; nil when none is set.
        var refusedUntil: Timestamp?
        var isShown = false

        /// Returns the place of a vehicle on the route in force, metres from the alternative's start; past the fork, the fork's offset.
        func offset(of trip: Trip) -> Double {
            max(plan.alternative.fork.routeOffset - max(forkOffset - trip.offset, 0), 0)
        }
    }

    /// The distance past its fork within which driving along an alternative switches to it, metres.
    private static let takingReach = 500.0
    /// The distance past a fork at which the vehicle has certainly continued on its route, metres: roads that diverge at a small angle can
    /// be distinguished only late.
    private static let passingReach = 100.0
    /// The delay from which an alternative counts as slower than the route, seconds; prevents flapping of the display.
    private static let hysteresis = 5.0

    var config: NavigatorConfig {
        didSet {
            if isByInterval { next?.move(from: oldValue.alternatives.interval, to: config.alternatives.interval) }
        }
    }
    var kept: [Kept] = []
    /// The time of the next search; nil for now.
    var next: Timestamp?
    /// Whether ``next`` is one interval after the last search.
    private var isByInterval = false
    private var lastLook: Coordinate?
    private var hasFailed = false

    init(_ config: NavigatorConfig) { self.config = config }

    // MARK: Searching

    func isDue(at stamp: Timestamp, _ position: VehiclePosition) -> Bool {
        guard config.alternatives.isEnabled, config.alternatives.limit > 0, kept.isEmpty else {
            return false
        }
        if let lastLook, Geodesy.distance(lastLook, position.coordinate) < config.alternatives.minimumMovement {
            return false
        }
        return next.map { stamp >= $0 } ?? true
    }

    func begin(at stamp: Timestamp, from position: VehiclePosition) {
        next = stamp.advanced(bySeconds: config.alternatives.interval)
        isByInterval = true
        lastLook = position.coordinate
    }

    /// Accepts found alternatives to a trip; drops those whose fork is less than `leastToFork` metres ahead.
    func take(
        _ found: FoundRoutes, with preferences: RoutePreferences, for trip: Trip, leastToFork: Double,
        at stamp: Timestamp
    ) -> AlternativesUpdate? {
        // Searches are made only while the list is empty; see `isDue`.
        kept = []
        let onRoute = Set(trip.plan.route.edges.map(\.key))
        var isLate = false
        if found.mainIsCurrent {
            for var plan in found.alternatives {
                plan.preferences = preferences
                let alternative = plan.alternative
                let forkOffset = trip.plan.route.length - (found.main.route.length - alternative.fork.routeOffset)
                guard forkOffset - trip.offset >= leastToFork else {
                    isLate = true
                    continue
                }
                guard !kept.contains(where: { $0.plan.alternative.id == alternative.id }) else { continue }
                var own: [EdgeKey: Double] = [:]
                for edge in alternative.route.edges
                where edge.routeOffset >= alternative.fork.routeOffset - 0.5
                    && edge.routeOffset < alternative.fork.routeOffset + AlternativesTracker.takingReach
                    && !onRoute.contains(edge.key)
                { own[edge.key] = edge.routeOffset - edge.startOffset }
                kept.append(
                    Kept(
                        plan: plan, forkOffset: forkOffset, own: own, join: Self.join(of: alternative, with: onRoute)))
            }
        }
        // The vehicle was not on the rest of its route, for example shortly before a stop that it has since reached.
        if kept.isEmpty, isLate || !found.mainIsCurrent { bringForward(at: stamp) }
        for index in kept.indices { kept[index].isShown = accepts(kept[index], trip) }
        let added = kept.filter(\.isShown).map(\.plan.alternative.id)
        defer { hasFailed = false }
        guard !added.isEmpty || hasFailed else { return nil }
        return AlternativesUpdate(alternatives: offered(to: trip), added: added)
    }

    /// Returns the place where an alternative rejoins the route in force past its fork.
    private static func join(of alternative: AlternativeRoute, with onRoute: Set<EdgeKey>) -> Coordinate? {
        let behind = alternative.route.edges.drop { $0.routeOffset < alternative.fork.routeOffset - 0.5 }
        let apart = behind.drop { onRoute.contains($0.key) }
        guard let edge = apart.first(where: { onRoute.contains($0.key) }) else { return nil }
        return alternative.route.line.coordinate(at: edge.routeOffset)
    }

    /// Records a failed search; current alternatives stay. Returns the update on the first failure only.
    func fail(_ failure: RouteFailure, for trip: Trip) -> AlternativesUpdate? {
        guard !hasFailed else { return nil }
        hasFailed = true
        return AlternativesUpdate(alternatives: offered(to: trip), failure: failure)
    }

    // MARK: Keeping

    /// Drops alternatives whose fork has been passed, once the vehicle has certainly continued on its route there.
    func pass(_ trip: Trip, at stamp: Timestamp) -> AlternativesUpdate? {
        guard trip.deviation.state == .onRoute else { return nil }
        let limit = trip.confirmedOffset - AlternativesTracker.passingReach
        let passed = kept.filter { $0.forkOffset < limit && $0.fixes == 0 }
        guard !passed.isEmpty else { return nil }
        kept.removeAll { $0.forkOffset < limit && $0.fixes == 0 }
        // Search again past the fork, but no more often than allowed.
        if kept.isEmpty { bringForward(at: stamp) }
        return update(passed.filter(\.isShown), .forkPassed, trip)
    }

    /// Drops all alternatives; returns an update if there were any.
    func clear(_ reason: AlternativesUpdate.Removal, at stamp: Timestamp, except taken: UInt64? = nil)
        -> AlternativesUpdate?
    {
        let gone = kept.filter(\.isShown).map {
            AlternativesUpdate.Removed(
                id: $0.plan.alternative.id, reason: $0.plan.alternative.id == taken ? .taken : reason)
        }
        kept = []
        hasFailed = false
        lastLook = nil
        bringForward(at: stamp)
        return gone.isEmpty ? nil : AlternativesUpdate(alternatives: [], removed: gone)
    }

    private func bringForward(at stamp: Timestamp) {
        guard let last = next?.advanced(bySeconds: -config.alternatives.interval) else { return }
        next = max(last.advanced(bySeconds: AlternativesConfig.shortestInterval), stamp)
        isByInterval = false
    }

    func refresh(_ pricing: RoutePricing, for trip: Trip, at stamp: Timestamp) -> AlternativesUpdate? {
        guard !kept.isEmpty else { return nil }
        var removed: [AlternativesUpdate.Removed] = []
        var added: [UInt64] = []
        var isChanged = false
        for index in kept.indices.reversed() {
            let id = kept[index].plan.alternative.id
            let offset = kept[index].offset(of: trip)
            guard let (route, changed) = pricing.repriced(kept[index].plan.alternative.route, from: offset),
                route.pieces(from: offset).allSatisfy({ !pricing.isClosed($0.key) })
            else {
                if kept[index].isShown { removed.append(AlternativesUpdate.Removed(id: id, reason: .invalidated)) }
                kept.remove(at: index)
                continue
            }
            if changed > 0 {
                isChanged = true
                kept[index].plan.alternative.route = route
                kept[index].plan.alternative.durationFromFork = RouteTimes(route).remaining(
                    from: kept[index].plan.alternative.fork.routeOffset)
            }
            // Past its fork, an alternative remains unchanged until the vehicle has certainly passed it.
            guard kept[index].forkOffset > trip.offset || kept[index].fixes > 0 else { continue }
            let isAccepted = accepts(kept[index], trip)
            if isAccepted != kept[index].isShown {
                if isAccepted {
                    added.append(id)
                } else {
                    removed.append(AlternativesUpdate.Removed(id: id, reason: .notAccepted))
                }
                kept[index].isShown = isAccepted
            }
        }
        if kept.isEmpty { bringForward(at: stamp) }
        guard isChanged || !removed.isEmpty || !added.isEmpty else { return nil }
        return AlternativesUpdate(alternatives: offered(to: trip), added: added.reversed(), removed: removed.reversed())
    }

    private func update(_ gone: [Kept], _ reason: AlternativesUpdate.Removal, _ trip: Trip) -> AlternativesUpdate? {
        guard !gone.isEmpty else { return nil }
        return AlternativesUpdate(
            alternatives: offered(to: trip),
            removed: gone.map { AlternativesUpdate.Removed(id: $0.plan.alternative.id, reason: reason) })
    }

    private func accepts(_ kept: Kept, _ trip: Trip) -> Bool {
        switch config.alternatives.acceptance {
        case .unfiltered: true
        case .faster: delta(kept, trip) < (kept.isShown ? AlternativesTracker.hysteresis : 0)
        case .shorter: kept.plan.alternative.lengthDelta < 0
        }
    }

    /// Returns the seconds that an alternative takes longer than the route in force.
    private func delta(_ kept: Kept, _ trip: Trip) -> Double {
        kept.plan.alternative.durationFromFork - trip.routerTimes.remaining(from: kept.forkOffset)
    }

    /// Returns the shown alternatives, as seen from the vehicle.
    func offered(to trip: Trip) -> [OfferedAlternative] {
        kept.filter(\.isShown).map { offered($0, trip) }
    }

    private func offered(_ kept: Kept, _ trip: Trip) -> OfferedAlternative {
        var plan = kept.plan
        plan.alternative.durationDelta = delta(kept, trip)
        return OfferedAlternative(
            plan: plan, forkOffset: kept.forkOffset, join: kept.join,
            forkPoint: trip.plan.route.line.index(nearest: kept.forkOffset),
            distanceToFork: max(kept.forkOffset - trip.offset, 0),
            durationToFork: max(
                trip.routerTimes.remaining(from: trip.offset) - trip.routerTimes.remaining(from: kept.forkOffset), 0),
            durationDelta: plan.alternative.durationDelta)
    }

    // MARK: Taking

    func offered(_ id: UInt64, to trip: Trip) -> OfferedAlternative? {
        kept.first { $0.isShown && $0.plan.alternative.id == id }.map { offered($0, trip) }
    }

    /// Records the vehicle's position; returns the alternative that it has turned onto, if any.
    func follow(_ position: VehiclePosition, on trip: Trip) -> OfferedAlternative? {
        guard position.isSeen else { return nil }
        for index in kept.indices {
            guard let road = position.road, !road.isAgainst, kept[index].own[road.edgeKey] != nil,
                position.match.confidence >= config.alternatives.takingProbability
            else {
                kept[index].fixes = 0
                continue
            }
            let isClear = turnsClearly(position, along: road.bearing, from: trip)
            kept[index].fixes += isClear ? config.alternatives.takingFixes : 1
        }
        let taken = kept.first {
            $0.fixes >= config.alternatives.takingFixes && $0.refusedUntil.map { $0 <= position.stamp } ?? true
        }
        return taken.map { offered($0, trip) }
    }

    /// Whether a single fix shows that the vehicle has turned off its route: its road is certain, and its measured course is that of this
    /// road and not of the route nearby.
    private func turnsClearly(_ position: VehiclePosition, along bearing: Double, from trip: Trip) -> Bool {
        guard let course = position.fix.course, let speed = position.fix.speed, course.isFinite,
            let separation = trip.placement?.leastSeparation
        else { return false }
        return position.match.confidence >= config.alternatives.takingCertainty
            && speed >= config.deviationCourseMinimumSpeed && separation > config.deviationCourse
            && Angle.separation(course, bearing) <= config.deviationCourse
    }

    /// Returns the vehicle's position along an alternative, metres from its start.
    func offset(of offered: OfferedAlternative, _ position: VehiclePosition?) -> Double {
        let alternative = offered.plan.alternative
        if let road = position?.road, let kept = kept.first(where: { $0.plan.alternative.id == offered.id }),
            let start = kept.own[road.edgeKey]
        {
            return max(start + road.offset, 0)
        }
        return max(alternative.fork.routeOffset - offered.distanceToFork, 0)
    }

    /// Records that no decision on an alternative is requested until the given moment.
    func refuse(_ id: UInt64, until stamp: Timestamp) {
        for index in kept.indices where kept[index].plan.alternative.id == id { kept[index].refusedUntil = stamp }
    }
}
