import NavBag
public import NavGeo
import NavMap
import NavMatching
import NavMessages
public import NavRouting
public import NavSimulation

/// Drives a route that no car has driven, with the errors of a receiver, into a bag.
public struct DriveSimulator {
    /// What is driven.
    public struct Plan: Sendable {
        /// Start, stops, destination.
        public var waypoints: [NavRouting.Waypoint]
        /// Metres after which a wrong turn is taken; nil follows the route.
        public var deviateAt: Double?
        /// The receiver's errors.
        public var receiver: ReceiverModel
        /// Fixes a second.
        public var rate: Double
        /// Chooses the errors.
        public var seed: UInt64
        /// When the drive starts.
        public var start: NavGeo.Timestamp

        /// A plan.
        public init(
            waypoints: [NavRouting.Waypoint], deviateAt: Double?, receiver: ReceiverModel, rate: Double, seed: UInt64,
            start: NavGeo.Timestamp
        ) {
            self.waypoints = waypoints
            self.deviateAt = deviateAt
            self.receiver = receiver
            self.rate = rate
            self.seed = seed
            self.start = start
        }
    }

    /// What was driven.
    public struct Report: Sendable, Equatable, Codable {
        /// Metres of the drive.
        public var distance: Double
        /// Seconds of the drive.
        public var duration: Double
        /// Fixes written.
        public var fixes: Int
        /// Metres from the start where the drive leaves the planned route; nil when it does not.
        public var deviation: Double?
    }

    private let router: Router

    /// A simulator on a map, for the router's vehicle.
    public init(router: Router) { self.router = router }

    /// Drives a plan and writes the fixes as a bag.
    public func run(_ plan: Plan, into path: String) throws(NodeError) -> Report {
        let workspace = SearchWorkspace()
        let outcome = router.route(RouteRequest(waypoints: plan.waypoints), workspace: workspace)
        guard case .found(let route) = outcome else { throw Self.failure(outcome, plan) }
        let graph = router.metric.turns.graph
        let driven: DrivePath?
        if let distance = plan.deviateAt {
            driven = DetourPlanner(router: router, workspace: workspace).path(along: route, wrongTurnAfter: distance)
            if driven == nil {
                throw NodeError(
                    .missing,
                    "no wrong turn from which the destination can be reached comes after \(Int(distance)) m of the "
                        + "\(Int(route.length)) m route: choose a smaller --deviate-at")
            }
        } else {
            driven = DrivePath(route, graph: graph)
        }
        guard let driven,
            let drive = Drive(router.metric, edges: driven.edges, from: driven.start, to: driven.end)
        else { throw NodeError(.missing, "start and destination are the same place on the road") }
        let states = drive.states(rate: plan.rate)
        let fixes = plan.receiver.fixes(states, start: plan.start, seed: plan.seed)
        do throws(BagError) {
            var log = MessageLog(try BagWriter(path: path, overwrite: true))
            for fix in fixes {
                try log.write(
                    GnssFix(fix), topic: "/gnss/fix", logTime: fix.stamp.nanoseconds,
                    publishTime: fix.stamp.nanoseconds)
            }
            try log.addMetadata(
                name: "navbus.simulation",
                [
                    "from": plan.waypoints.first?.coordinate.text ?? "",
                    "to": plan.waypoints.last?.coordinate.text ?? "",
                    "seed": "\(plan.seed)", "map_version": graph.mapVersion,
                    "deviation_m": driven.deviation.map { "\(Int($0))" } ?? "",
                ])
            try log.close()
        } catch {
            throw NodeError(.system, "the drive cannot be written: \(error)")
        }
        return Report(
            distance: drive.line.length, duration: states.last?.time ?? 0, fixes: fixes.count,
            deviation: driven.deviation)
    }

    private static func failure(_ outcome: RouteOutcome, _ plan: Plan) -> NodeError {
        switch outcome {
        case .found, .invalid: NodeError(.usage, "these places make no route")
        case .unreachable(let index):
            NodeError(.missing, "no road leads to \(plan.waypoints[index].coordinate.text)")
        case .offRoad(let index):
            NodeError(
                .missing,
                "no road near \(plan.waypoints[index].coordinate.text): is it inside the map? (navbus map info)")
        case .tilesNeeded(let tiles):
            NodeError(.missing, "the route needs \(tiles.count) tiles that are not there")
        }
    }
}
