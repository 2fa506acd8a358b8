import NavGeo
import NavGuidance
import NavMap
import NavMatching
import NavNavigator
import NavPositioning
import NavRouting

/// A log of a drive, one line per event or effect.
struct EventLog {
    private(set) var lines: [String] = []
    private var last: (fix: String, count: Int)?

    init() {}

    mutating func note(_ step: SimStep) {
        let time = EventLog.seconds(step.time)
        if let line = EventLog.line(step.event) { lines.append("\(time) > \(line)") }
        for effect in step.effects {
            if let line = EventLog.line(effect) { lines.append("\(time)     \(line)") }
        }
    }

    private static func seconds(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    private static func metres(_ value: Double) -> String {
        value.isFinite ? "\(Int(value.rounded())) m" : "\(value) m"
    }
    private static func clock(_ stamp: Timestamp) -> String { seconds(max(stamp.seconds(since: SimWorld.start), 0)) }

    /// Returns the line of an event; nil for fixes, odometry and timers, which are frequent.
    private static func line(_ event: NavigatorEvent) -> String? {
        switch event.kind {
        case .fix, .odometry, .timer: nil
        case .command(let command, let call): "command \(short(command)), call \(call)"
        case .callEnded(let call): "call \(call) ended"
        case .routeAnswer(let id, .found(let found)):
            "route answer \(id): \(metres(found.main.route.length)), \(found.alternatives.count) alternatives"
        case .routeAnswer(let id, .failed(let failure)): "route answer \(id): \(failure.code)"
        case .policyAnswer(let id, let answer): "policy answer \(id): \(answer.verdict.map { "\($0)" } ?? "nothing")"
        case .mapChanged(let map): "map with \(map.graph.edgeCount) edges of version \(map.graph.mapVersion.prefix(6))"
        case .configured(let config): "configured, asks for \(config.policy.asked.map(\.rawValue).sorted())"
        case .provider(let rests): rests ? "provider rests" : "provider is asked again"
        }
    }

    private static func short(_ command: NavigatorCommand) -> String {
        switch command {
        case .calculate(let order, let isPreview): "calculate \(order.waypoints.count) waypoints, preview \(isPreview)"
        case .navigate(let order, let drive): "navigate \(order.waypoints.count) waypoints, simulated \(drive != nil)"
        case .setRoute(let plan, let drive): "set route of \(metres(plan.route.length)), simulated \(drive != nil)"
        case .reroute(let preferences): "reroute, preferences \(preferences != nil)"
        case .selectPreview, .start, .stop, .selectAlternative, .acceptFasterRoute, .advanceLeg, .skipWaypoint,
            .refreshRoute, .repeatInstruction, .resume:
            "\("\(command)".prefix(120))"
        }
    }

    private static func line(_ effect: Effect) -> String? {
        switch effect {
        case .requestRoute(let query):
            "request \(query.requestID) \(query.purpose) through \(query.request.waypoints.count), due \(clock(query.deadline))"
        case .cancelRoute(let id): "cancel \(id)"
        case .needTiles(let tiles): "tiles needed: \(tiles.count)"
        case .askPolicy(let request):
            "ask \(request.requestID) \(request.question.kind.rawValue), due \(clock(request.deadline))"
        case .withdrawPolicy(let id): "withdraw \(id)"
        case .qualified: nil
        case .keepTrip(let trip): trip.map { "keep leg \($0.leg) of \($0.sessionID % 100_000)" } ?? "keep nothing"
        case .reply(let call, let reply): "reply to \(call): \("\(reply)".prefix(50))"
        case .publish(let context, let what):
            line(what).map { "[\(context.sessionID % 100_000)/\(context.routeID)] \($0)" }
        }
    }

    private static func line(_ what: Publication) -> String? {
        switch what {
        case .state(let state):
            "state \(state.phase) leg \(state.leg)/\(state.legCount) rerouting \(state.isRerouting) held \(state.isHeld)"
        case .position(let position): "position \(clock(position.stamp))\(position.prediction.map { " \($0)" } ?? "")"
        case .progress(let progress):
            "progress leg \(progress.leg) step \(progress.step) \(metres(progress.distanceRemaining)) left, \(progress.deviation.state)"
        case .route(let plan, let change):
            "route \(change) \(plan.map { metres($0.route.length) + " through \($0.route.waypoints.count)" } ?? "none")"
        case .reroute(let event):
            "reroute \("\(event.phase)".prefix(80)) \(event.reason) \(event.requestID.map { "\($0)" } ?? "-")"
        case .visual(let visual, _, _): "show \(visual.map { "\($0.id)" } ?? "nothing")"
        case .spoken(let spoken, _, _): "say \(spoken.id) \(spoken.text)"
        case .arrival(let event): "arrival \(event.phase) leg \(event.leg) waypoint \(event.waypoint)"
        case .fixRejected(let fix, let rejection): "fix \(clock(fix.stamp)) rejected: \(rejection.reason)"
        case .simulation(let event): "simulation \(event.phase) \(event.reason)"
        case .receiver(let change): "receiver \(change.new) in the place of \(change.old): \(change.reason)"
        case .preview(let preview): "preview of \(preview.routes.count), active \(preview.active)"
        case .alternatives(let update):
            "alternatives \(update.alternatives.map(\.id)) added \(update.added) removed \(update.removed.map { "\($0.id) \($0.reason)" })"
        case .alternativeSwitch(let event):
            "switch \("\(event.phase)".prefix(40)) \(event.id) by driving \(event.isByDriving)"
        case .fasterRoute(let event): "faster \("\(event.phase)".prefix(60))"
        case .refresh(let event): "refresh \("\(event.phase)".prefix(40))"
        case .policyRequest: nil
        case .policyDecision(let decision):
            "decision \(decision.requestID) \(decision.kind.rawValue) \(decision.verdict) by \(decision.answer.decider)"
        }
    }
}
