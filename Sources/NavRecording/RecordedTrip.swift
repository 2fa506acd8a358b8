import NavBag
import NavKit
import NavMessages

/// The trip in progress in a bag whose journal lacks its start, such as a further file of a split recording, a cut or a snapshot.
///
/// It is read from the first route published by the recorded node, and from the state that belongs to it.
struct RecordedTrip: Sendable {
    /// The message types of the topics that show the trip.
    static let types: [String: String] = [
        Topics.route.name: Route.fullName, Topics.state.name: NavigationState.fullName,
    ]

    /// The number of fixes before the route.
    private(set) var fix = 0
    private var route: Route?
    private var state: NavigationState?
    /// The time of the first command that begins a trip, ns.
    private var commanded = Int64.max

    /// Takes the next message of a topic in ``types``; an unreadable message is ignored.
    ///
    /// - Parameter fix: the number of fixes before it.
    mutating func take(_ message: BagMessage, topic: String, fix: Int) {
        if topic == Topics.state.name {
            // Messages after the state of the route belong to a later time.
            guard route == nil || state?.routeId != route?.routeId else { return }
            state = (try? NavigationState(decoding: Array(message.data), limit: Topics.state.entry.maxSize)) ?? state
        } else if route == nil,
            let first = try? Route(decoding: Array(message.data), limit: Topics.route.entry.maxSize),
            // A route without a line marks the end of a route.
            first.geometry != nil
        {
            (route, self.fix) = (first, fix)
        }
    }

    /// Takes the next command to the recorded node.
    mutating func take(_ command: NavigationCommand, stamp: Int64?) {
        switch command.request {
        case .setRoute, .startNavigation, .resumeTrip: commanded = min(commanded, stamp ?? .min)
        default: break
        }
    }

    /// The trip to resume; nil when there is none, it has ended, or it results from a command in the bag.
    var trip: SavedTrip? {
        guard let route, commanded > route.stampNs ?? .max else { return nil }
        let state = state.flatMap { $0.routeId == route.routeId ? $0 : nil }
        // A completed trip keeps its route.
        if let state, state.phase != .guidance || state.guidance == .complete { return nil }
        let (leg, isHeld) = (state?.legIndex ?? 0, state?.isHeld ?? false)
        let completed = Int(leg) + (isHeld ? 1 : 0)
        // The first waypoint is the start. VIA points of the current leg may have been passed; the route shows which
        // remain.
        let stop = route.legs.indices.contains(completed - 1) ? Int(route.legs[completed - 1].waypointIndex ?? 0) : 0
        let ahead = Array(route.waypoints.dropFirst(stop + 1))
        guard !ahead.isEmpty else { return nil }
        return SavedTrip(
            sessionId: route.sessionId, routeId: route.routeId, legIndex: leg, atStop: isHeld, held: isHeld,
            route: route, order: CalculateRouteRequest(waypoints: ahead, options: route.options))
    }
}
