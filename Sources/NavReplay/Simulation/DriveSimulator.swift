import NavPositioning
import NavigationNode
import NavWire
import NavBag
package import NavGeo
package import NavKit
import NavMap
import NavMatching
import NavMessages
import NavNavigator
import NavRecording
package import NavRouting
package import NavSimulation

/// A simulator that drives a route and writes a bag, with the errors of a receiver and of the vehicle's sensors.
package struct DriveSimulator {
    package struct Plan: Sendable {
        /// The start, the stops and the destination.
        package var waypoints: [NavRouting.Waypoint]
        /// The distance after which a wrong turn is taken, metres; nil to follow the route.
        package var deviateAt: Double?
        package var receiver: ReceiverModel
        /// The number of fixes per second.
        package var rate: Double
        package var seed: UInt64
        package var start: NavGeo.Timestamp
        /// The number of odometry reports per second; nil for none.
        ///
        /// With odometry, the vehicle follows a ``DriveTrajectory``: its positions leave the line of the road in sharp turns.
        package var odometryRate: Double?
        /// The distance that the vehicle reverses at the start, metres.
        package var backUp = 0.0
        /// Whether fixes are omitted in mapped tunnels of 30 m and more.
        package var tunnelsAreDark = false
        /// The delay between a fix's time and its arrival, seconds, varying by a fifth; 0 to write no arrival times.
        package var latency = 0.0

        package init(
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

    package struct Report: Sendable, Equatable, Codable {
        /// The length of the drive, metres.
        package var distance: Double
        /// The duration of the drive, seconds.
        package var duration: Double
        package var fixes: Int
        /// The number of odometry reports written.
        package var odometry: Int
        /// The time without fixes, seconds.
        package var outage: Double
        /// The distance from the start at which the drive leaves the planned route, metres; nil when it does not.
        package var deviation: Double?
    }

    /// The name of the metadata that marks a simulated bag.
    package static let mark = "navbus.simulation"

    /// The name of the attachment with the true positions.
    package static let truthPositions = "truth.csv"
    /// The name of the attachment with the driven segments.
    package static let truthEdges = "truth_edges.csv"

    private let router: Router

    package init(router: Router) { self.router = router }

    /// Drives a plan and writes its fixes, and its odometry if any, to a bag in the order of arrival.
    package func run(_ plan: Plan, into path: String) throws(NodeError) -> Report {
        let workspace = SearchWorkspace()
        let request = RouteRequest(waypoints: plan.waypoints)
        let route: NavRouting.Route
        do throws(RouteFailure) {
            route = try router.route(request, workspace: workspace).route(of: request)
        } catch {
            throw NodeError(error)
        }
        let graph = router.metric.turns.graph
        let driven: DrivePath?
        if let distance = plan.deviateAt {
            driven = DetourPlanner(router: router, workspace: workspace).path(along: route, wrongTurnAfter: distance)
            if driven == nil {
                throw NodeError(
                    .missing,
                    "no wrong turn from which the destination can be reached after "
                        + "\(Int(exactly: distance.rounded()) ?? .max) m of the \(Int(route.length)) m route: "
                        + "choose a smaller --deviate-at")
            }
        } else {
            driven = DrivePath(route, graph: graph)
        }
        guard let driven,
            let drive = Drive(router.metric, edges: driven.edges, from: driven.start, to: driven.end)
        else { throw NodeError(.missing, "start and destination are the same place on the road") }
        let trajectory = plan.odometryRate.map { _ in DriveTrajectory(drive, backingUp: plan.backUp) }
        let states =
            trajectory?.states(rate: plan.rate) ?? drive.states(rate: plan.rate, backingUp: plan.backUp)
        var receiver = plan.receiver
        if plan.tunnelsAreDark { receiver.outages += drive.tunnels(states, on: graph) }
        let fixes = receiver.fixes(states, start: plan.start, seed: plan.seed)
        let reports = trajectory.map { odometry($0, plan) } ?? []
        do throws(BagError) {
            var log = MessageLog(try BagWriter(path: path, overwrite: true))
            var next = 0
            func writeReports(before time: Int64) throws(BagError) {
                while next < reports.count, reports[next].stamp.nanoseconds <= time {
                    let stamp = reports[next].stamp.nanoseconds
                    try log.write(
                        VehicleOdometry(reports[next]), topic: Topics.odometry.name, logTime: stamp, publishTime: stamp)
                    next += 1
                }
            }
            var random = SeededRandom(seed: plan.seed &+ 2)
            var arrival = Int64.min
            for fix in fixes {
                var message = GnssFix(fix)
                if plan.latency > 0 {
                    let delay = plan.latency * (0.8 + 0.4 * random.uniform())
                    message.receiveStampNs = fix.stamp.advanced(bySeconds: delay).nanoseconds
                }
                // Messages arrive in the order of sending.
                arrival = max(arrival, message.receiveStampNs ?? fix.stamp.nanoseconds)
                if plan.latency > 0 { message.receiveStampNs = arrival }
                try writeReports(before: arrival)
                try log.write(message, topic: Topics.gnssFix.name, logTime: arrival, publishTime: fix.stamp.nanoseconds)
            }
            try writeReports(before: .max)
            try log.addMetadata(
                name: DriveSimulator.mark,
                [
                    "from": plan.waypoints.first?.coordinate.text ?? "",
                    "to": plan.waypoints.last?.coordinate.text ?? "",
                    "via": plan.waypoints.dropFirst().dropLast().map(\.coordinate.text).joined(separator: ";"),
                    "seed": "\(plan.seed)", "map_version": graph.mapVersion,
                    "deviation_m": driven.deviation.map { "\(Int($0))" } ?? "",
                    "odometry_hz": plan.odometryRate.map { "\($0)" } ?? "",
                ])
            for (name, text) in truth(drive, states, plan) {
                try log.addAttachment(
                    name: name, mediaType: "text/csv", logTime: UInt64(clamping: plan.start.nanoseconds),
                    data: Array(text.utf8))
            }
            try log.close()
        } catch {
            throw NodeError(.system, "the drive cannot be written: \(error)")
        }
        let outage = Double(states.count - fixes.count) / plan.rate
        return Report(
            distance: drive.line.length, duration: states.last?.time ?? 0, fixes: fixes.count,
            odometry: reports.count, outage: outage, deviation: driven.deviation)
    }

    /// Returns the true drive as files: a position per second, exact to 0.1 mm, and the driven segments.
    private func truth(_ drive: Drive, _ states: [DriveState], _ plan: Plan) -> [(name: String, text: String)] {
        var positions = "t_s,lat,lon,speed_mps,heading_deg\n"
        var next = 0.0
        for (index, state) in states.enumerated() where state.time >= next - 1e-6 || index == states.count - 1 {
            next = state.time + 1
            let place = state.coordinate
            let time = plan.start.advanced(bySeconds: state.time).seconds
            // More digits would only slow down the check of many drives.
            let values = [
                (place.latitude, 1e9), (place.longitude, 1e9), (state.speed, 1e4), (state.heading * 180 / .pi, 1e4),
            ]
            positions += "\(time)"
            for (value, unit) in values { positions += ",\((value * unit).rounded() / unit)" }
            positions += "\n"
        }
        let graph = router.metric.turns.graph
        var segments = "from_node,to_node\n"
        for edge in drive.edges {
            let shape = graph.shape(of: edge)
            for index in 0..<max(shape.coordinates.count - 1, 0) {
                segments += "\(shape.nodeID(index)),\(shape.nodeID(index + 1))\n"
            }
        }
        return [(Self.truthPositions, positions), (Self.truthEdges, segments)]
    }

    /// Returns the odometry of the drive, from the sensors of a car that the plan's seed selects.
    private func odometry(_ trajectory: DriveTrajectory, _ plan: Plan) -> [Odometry] {
        guard let rate = plan.odometryRate else { return [] }
        let seed = plan.seed &+ 1
        return OdometryModel.car(seed: seed).reports(trajectory.states(rate: rate), start: plan.start, seed: seed)
    }
}
