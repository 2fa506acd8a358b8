import NavMap
import NavNavigator
import NavPositioning

/// The number of events of each kind in simulated drives: a kind that does not occur is not tested.
struct Tally {
    private(set) var counts: [String: Int] = [:]

    /// The events expected within a few dozen drives.
    static let expected = [
        "fix", "odometry", "timer", "call ended", "map of other tiles", "map of another version", "configured",
        "route started", "route set", "route rerouted", "route alternativeTaken", "route fasterRoute",
        "route waypointSkipped", "route refreshed", "route stopped",
        "reroute applied", "reroute failed", "reroute rejected", "reroute manual", "reroute offRoute",
        "reroute wrongWay",
        "reroute routeInvalidated", "arrived", "held", "leg started", "destination",
        "taken by driving", "taken by a call", "alternatives added", "alternatives removed", "alternatives failed",
        "faster applied", "faster rejected", "refresh invalidated", "refresh failed", "preview", "preview failed",
        "predicted", "lost", "simulated by hand", "receiver changed", "fix rejected", "tiles needed",
        "decided by client", "decided by timeout", "decided by unavailable", "cancelled",
        "reply following", "reply routes", "reply failed", "reply legStarted", "reply refreshed", "reply selected",
    ]

    private mutating func add(_ what: String) { counts[what, default: 0] += 1 }

    mutating func note(_ step: SimStep, version: String) {
        switch step.event.kind {
        case .fix: add("fix")
        case .odometry: add("odometry")
        case .timer: add("timer")
        case .callEnded: add("call ended")
        case .configured: add("configured")
        case .provider: add("provider")
        case .mapChanged(let map):
            add(map.graph.mapVersion == version ? "map of other tiles" : "map of another version")
        case .command, .routeAnswer, .policyAnswer: break
        }
        for effect in step.effects {
            switch effect {
            case .publish(_, let what): note(what)
            case .reply(_, let reply): add("reply \(Tally.name(reply))")
            case .needTiles: add("tiles needed")
            case .cancelRoute: add("cancelled")
            case .requestRoute, .askPolicy, .withdrawPolicy, .qualified, .keepTrip: break
            }
        }
    }

    /// Returns the name of a case without its associated values.
    private static func name(_ value: CommandReply) -> String {
        switch value {
        case .following: "following"
        case .awaitingPosition: "awaitingPosition"
        case .routes: "routes"
        case .selected: "selected"
        case .requested: "requested"
        case .stopped: "stopped"
        case .legStarted: "legStarted"
        case .refreshed: "refreshed"
        case .repeated: "repeated"
        case .failed: "failed"
        }
    }

    private mutating func note(_ what: Publication) {
        switch what {
        case .route(_, let change): add("route \(change)")
        case .reroute(let event):
            switch event.phase {
            case .applied: add("reroute applied")
            case .failed: add("reroute failed")
            case .rejected: add("reroute rejected")
            case .willReroute: add("reroute \(event.reason)")
            case .fetching, .fetched: break
            }
        case .arrival(let event):
            switch event.phase {
            case .arrived: add(event.isDestination ? "destination" : "arrived")
            case .held: add("held")
            case .legStarted: add("leg started")
            case .approaching: break
            }
        case .alternativeSwitch(let event):
            if case .taken = event.phase { add(event.isByDriving ? "taken by driving" : "taken by a call") }
        case .alternatives(let update):
            if !update.added.isEmpty { add("alternatives added") }
            if !update.removed.isEmpty { add("alternatives removed") }
            if update.failure != nil { add("alternatives failed") }
        case .fasterRoute(let event):
            switch event.phase {
            case .detected: break
            case .applied: add("faster applied")
            case .rejected: add("faster rejected")
            }
        case .refresh(let event):
            switch event.phase {
            case .invalidated: add("refresh invalidated")
            case .failed: add("refresh failed")
            case .refreshing, .refreshed: break
            }
        case .preview(let preview): add(preview.failure == nil ? "preview" : "preview failed")
        case .position(let position): if position.prediction != nil { add("predicted") }
        case .simulation(let event):
            if event.phase == .began, event.reason == .manual { add("simulated by hand") }
            if event.phase == .ended, event.position == nil { add("lost") }
        case .receiver: add("receiver changed")
        case .fixRejected: add("fix rejected")
        case .policyDecision(let decision): add("decided by \(decision.answer.decider)")
        case .state, .progress, .visual, .spoken, .policyRequest: break
        }
    }
}
