import NavGuidance
import NavNavigator
import NavRouting
import NavVerdict
import NavigationNode

extension DriveEvent {
    /// Creates the event of a request to the routing worker.
    init(_ query: RouteQuery, at time: Double) {
        let purpose =
            switch query.purpose {
            case .calculate: "CALCULATE"
            case .start: "START"
            case .reroute: "REROUTE"
            case .fasterRoute: "FASTER_ROUTE"
            case .alternatives: "ALTERNATIVES"
            }
        self.init(time: time, topic: "request", words: [purpose])
        let options = query.request.options
        fields = [
            "waypoints": "\(query.request.waypoints.count - 1)", "alternatives": "\(query.alternatives)",
            "initial_maneuver_avoidance_m": "\(options.initialManeuverAvoidance)",
            "chosen_route_edges": "\(options.chosenRoute.count)", "chosen_route_factor": "\(options.chosenRouteFactor)",
            "allow_online": "\(query.allowsOnline)",
        ]
        if let course = query.request.waypoints.first?.bearing { fields["course_deg"] = "\(course * 180 / .pi)" }
    }

    /// Creates the event of the answer to a command.
    init(_ reply: CommandReply, to command: String, at time: Double) {
        self.init(time: time, topic: "reply", words: [command, "OK"])
        switch reply {
        case .failed(let failure):
            words = [command, "FAILED", Self.code(failure.code)]
            text = failure.message
            fields["missing_tiles"] = "\(failure.missingTiles.count)"
        case .routes(let routes, _): fields["routes"] = "\(routes.count)"
        case .refreshed(let event):
            if case .refreshed(let changed) = event.phase { fields["changed_segment_count"] = "\(changed)" }
        case .repeated(let spoken, _, _, _): text = spoken.text
        case .following, .awaitingPosition, .selected, .requested, .stopped, .legStarted: break
        }
    }

    /// Returns the name of a code in messages, such as `NO_ROUTE` for `noRoute`.
    private static func code(_ code: RouteFailure.Code) -> String {
        if code == .tilesNeeded { return "MISSING_TILES" }
        return "\(code)".reduce(into: "") { $0 += $1.isUppercase ? "_\($1)" : $1.uppercased() }
    }
}
