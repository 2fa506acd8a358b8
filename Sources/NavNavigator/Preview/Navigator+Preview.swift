import NavGeo
import NavRouting

/// Route previews before the start: up to three routes with the latest traffic.
extension Navigator {
    func calculate(_ order: RouteOrder, isPreview: Bool, _ call: UInt64, _ event: NavigatorEvent) {
        let here = vehiclePosition.map { origin($0, keepsCourse: true) }
        guard let start = order.origin ?? here ?? config.originFallback.map({ Waypoint($0) }) else {
            return refuse(call, "the vehicle's position is unknown: give an origin", .noPosition)
        }
        if isPreview, trip?.isComplete == false {
            return refuse(call, "guidance is active: stop it, or request routes without a preview")
        }
        guard routes.all.count(where: { $0.purpose.calculation != nil }) < Navigator.mostCalculations else {
            return refuse(call, "too many route requests are pending: try again later", .resourceExhausted)
        }
        let id = routes.nextID()
        let calculation = Calculation(
            order: order, isPreview: isPreview, call: call, origin: order.origin == nil ? vehiclePosition : nil)
        if isPreview { cancelPreview("superseded by another preview") }
        request(
            query(
                id, .calculate, [start] + order.waypoints, order.preferences, at: event.stamp,
                startsHere: order.origin == nil && here != nil, alternatives: min(max(order.alternatives, 0), 2)),
            for: .calculation(calculation), cause: event.causeSequence, event)
    }

    /// The maximum number of pending calculations; more are refused to bound memory.
    private static let mostCalculations = 8

    private func cancelPreview(_ reason: String) {
        for calculation in cancelRequests(for: { $0.calculation?.isPreview == true }) {
            reply(.failed(RouteFailure(code: .cancelled, message: reason)), to: calculation.call)
        }
    }

    func answerCalculation(
        _ calculation: Calculation, _ answer: RouteAnswer, _ event: NavigatorEvent
    ) {
        switch answer {
        case .failed(let failure):
            reply(.failed(failure), to: calculation.call)
            // An active preview stays: only a selection, a stop or other routes end it.
            if calculation.isPreview, !preview.isActive {
                show(RoutePreview(routes: [], active: 0, failure: failure), calculation, event)
            }
            if !failure.missingTiles.isEmpty { perform(.needTiles(failure.missingTiles)) }
        case .found(let found):
            let routes = self.routes(found, calculation.order.preferences).filter { $0.plan.defect == nil }
            guard !routes.isEmpty else {
                let failure = RouteFailure(code: .internal, message: "the calculated routes are unusable")
                return reply(.failed(failure), to: calculation.call)
            }
            if calculation.isPreview {
                let lack = RouteFailure(found: routes.count - 1, ofAlternatives: calculation.order.alternatives)
                show(RoutePreview(routes: routes, active: 0, failure: lack), calculation, event)
            }
            reply(.routes(routes, at: event.stamp), to: calculation.call)
        }
    }

    private func show(
        _ routes: RoutePreview, _ calculation: Calculation, _ event: NavigatorEvent
    ) {
        preview.shown = PreviewState.Shown(preview: routes, order: calculation.order, origin: calculation.origin)
        publish(.preview(routes), event)
    }

    /// Returns found routes as a preview: numbered, best first.
    private func routes(_ found: FoundRoutes, _ preferences: RoutePreferences) -> [PreviewedRoute] {
        var routes =
            [PreviewedRoute(id: session.nextRoute(), plan: found.main, via: found.via)]
            + found.alternatives.map {
                PreviewedRoute(id: $0.alternative.id, plan: $0.plan, via: $0.alternative.via)
            }
        for index in routes.indices { routes[index].plan.preferences = preferences }
        return routes
    }

    /// Returns the index of the chosen route; without one, refuses the call and returns nil.
    private func place(_ choice: PreviewChoice, _ call: UInt64) -> Int? {
        let routes = preview.shown?.preview.routes ?? []
        switch choice {
        case .index(let index):
            if routes.indices.contains(index) { return index }
            refuse(call, "the preview has no route \(index): it has \(routes.count)", .notFound)
        case .route(let id):
            if let index = routes.firstIndex(where: { $0.id == id }) { return index }
            refuse(call, "the preview has no route with route_id \(id)", .notFound)
        }
        return nil
    }

    func selectPreview(_ choice: PreviewChoice, _ call: UInt64, _ event: NavigatorEvent) {
        guard preview.isActive, let shown = preview.shown else {
            return refuse(call, "the preview has no routes: calculate routes first")
        }
        guard let index = place(choice, call) else { return }
        if shown.preview.active != index {
            preview.shown?.preview.active = index
            preview.shown.map { publish(.preview($0.preview), event) }
        }
        reply(.selected(routeID: shown.preview.routes[index].id), to: call)
    }

    func startPreview(
        _ choice: PreviewChoice?, _ drive: SimulatedDrive?, _ call: UInt64, _ event: NavigatorEvent
    ) {
        guard preview.isActive, let shown = preview.shown else {
            return refuse(call, "the preview has no routes: calculate routes first")
        }
        guard let chosen = place(choice ?? .index(shown.preview.active), call) else { return }
        cancelSearch(event)
        start(
            shown.preview.routes[chosen].plan,
            RouteSearch.PendingTrip(order: shown.order, simulation: drive, call: call), origin: shown.origin, .started,
            event)
    }

    /// Ends the preview when guidance starts or everything is stopped.
    func endPreview(_ event: NavigatorEvent) {
        cancelPreview("the preview has ended")
        guard preview.shown != nil else { return }
        preview.shown = nil
        publish(.preview(RoutePreview(routes: [], active: 0)), event)
    }

    /// Refreshes the durations of the previewed routes, so that their delays reflect the latest traffic.
    func refreshPreview(_ event: NavigatorEvent) {
        guard var shown = preview.shown, !shown.preview.routes.isEmpty else { return }
        var isChanged = false
        let preferences = shown.order.preferences
        let pricing = pricing(
            for: preferences, at: preferences.options.departure ?? config.localTime(at: event.stamp))
        for index in shown.preview.routes.indices {
            guard let (route, changed) = pricing.repriced(shown.preview.routes[index].plan.route) else { continue }
            if changed > 0 { isChanged = true }
            shown.preview.routes[index].plan.route = route
        }
        preview.shown = shown
        if isChanged { publish(.preview(shown.preview), event) }
    }
}
