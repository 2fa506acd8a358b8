import NavGeo
import NavMap
import NavRouting

/// The schedule of refreshes of the route's durations.
struct RefreshSchedule {
    var config: RefreshConfig
    var last: Timestamp?
    /// Whether traffic or time-dependent rules have changed since the last refresh.
    private var isNew = false
    /// The local time at which the rules were last compared.
    private var compared: LocalTime?

    init(_ config: RefreshConfig) { self.config = config }

    /// Restarts the schedule when a route comes into force: its durations are current.
    mutating func restart(at stamp: Timestamp) {
        last = stamp
        isNew = false
    }

    mutating func noteTraffic() { isNew = true }

    /// Compares the active time-dependent rules with those at the last refresh, once a minute, which is the resolution of local times.
    mutating func noteRules(at stamp: Timestamp, minutesAheadOfUTC offset: Int?, _ rules: (LocalTime) -> ConditionSet) {
        guard config.isEnabled, !isNew, let last, let offset else { return }
        let now = LocalTime(stamp, minutesAheadOfUTC: offset)
        guard now != compared else { return }
        compared = now
        isNew = rules(now) != rules(LocalTime(last, minutesAheadOfUTC: offset))
    }

    func isDue(at stamp: Timestamp) -> Bool {
        guard config.isEnabled, let last else { return false }
        return stamp.seconds(since: last) >= (isNew ? config.minimumInterval : config.interval)
    }

    /// Whether the durations are current, or as recent as the minimum interval allows.
    func isFresh(at stamp: Timestamp) -> Bool {
        guard !isNew, let last else { return false }
        return stamp.seconds(since: last) < config.minimumInterval
    }
}

/// Refreshes of the route's durations with the latest traffic. The geometry, the cursor and past instructions stay unchanged.
extension Navigator {
    /// Returns the pricing of roads for the vehicle of the route in force.
    ///
    /// A running trip is timed from now, like in route searches.
    func pricing(at stamp: Timestamp) -> RoutePricing {
        // A reroute may have been requested with its own preferences.
        pricing(for: trip?.plan.preferences ?? session.preferences, at: config.localTime(at: stamp))
    }

    func pricing(for preferences: RoutePreferences, at time: LocalTime?) -> RoutePricing {
        RoutePricing(map.router, for: preferences.vehicle, usesTraffic: preferences.usesTraffic, at: time)
    }

    /// Handles a change of traffic or tiles.
    func noteTraffic(_ event: NavigatorEvent) {
        refreshPreview(event)
        guard let trip, !trip.isComplete else { return }
        let wasBlocked = trip.isBlocked
        trip.noteClosures(pricing(at: event.stamp))
        refresh.noteTraffic()
        if !wasBlocked, trip.isBlocked {
            publish(.refresh(RefreshEvent(phase: .invalidated, delta: 0, plan: trip.plan)), event)
        }
        refreshIfDue(event)
    }

    /// Schedules a refresh when the active time-dependent rules change for the vehicle of the route in force.
    func noteRules(_ event: NavigatorEvent) {
        refresh.noteRules(at: event.stamp, minutesAheadOfUTC: config.minutesAheadOfUTC) { time in
            let preferences = trip?.plan.preferences ?? session.preferences
            return map.turns.conditions(for: preferences.vehicle ?? map.metric.model.profile, at: time)
        }
    }

    func refreshIfDue(_ event: NavigatorEvent) {
        if refresh.isDue(at: event.stamp) { refreshRoute(event) }
    }

    func refreshByHand(_ call: UInt64, _ event: NavigatorEvent) {
        guard let trip, !trip.isComplete else { return refuse(call, "there is no trip under way") }
        switch refreshRoute(event) {
        case .success(let refreshed): reply(.refreshed(refreshed), to: call)
        case .failure(let failure): reply(.failed(failure), to: call)
        }
    }

    /// Refreshes the durations of the route and of its alternatives.
    ///
    /// - Parameter answer: A route from the same provider as the one in force; its durations are newer on the shared roads.
    @discardableResult
    func refreshRoute(by answer: Route? = nil, _ event: NavigatorEvent) -> Result<RefreshEvent, RouteFailure> {
        guard let trip else {
            return .failure(RouteFailure(code: .wrongState, message: "there is no trip under way"))
        }
        refresh.restart(at: event.stamp)
        publish(.refresh(RefreshEvent(phase: .refreshing, delta: 0, plan: trip.plan)), event)
        let pricing = pricing(at: event.stamp)
        guard var (route, changed) = pricing.repriced(trip.plan.route, from: trip.offset) else {
            let failure = RouteFailure(code: .tilesNeeded, message: "tiles of part of the route are not loaded")
            publish(.refresh(RefreshEvent(phase: .failed(failure), delta: 0, plan: trip.plan)), event)
            return .failure(failure)
        }
        if let answer { changed += route.takeTimes(of: answer) }
        let before = trip.durationRemaining
        trip.refresh(route, pricing)
        var refreshed = RefreshEvent(
            phase: .refreshed(changedSegments: changed), delta: trip.durationRemaining - before, plan: trip.plan,
            progress: trip.progress)
        refreshed.plan.offset = trip.offset
        publish(.refresh(refreshed), event)
        if changed > 0 { report(trip.plan, .refreshed, event) }
        report(alternatives.refresh(pricing, for: trip, at: event.stamp), event)
        return .success(refreshed)
    }
}
