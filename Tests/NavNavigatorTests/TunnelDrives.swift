import NavGeo
import NavMap
import NavMatching
import NavNavigator
import NavPositioning
import NavRouting
import NavSimulation
import NavTestSupport

/// Drives through the tunnels of Andorra, without fixes inside.
enum TunnelDrives {
    /// A way through a tunnel, with some road before and after it.
    struct Passage: Sendable {
        var edges: [EdgeIndex]
        /// The indices of the edges inside the tunnel.
        var inside: Range<Int>
        var length: Double
    }

    static let map = RealMap.andorra

    /// Returns each tunnel of the map that is longer than `length` metres, in each permitted direction.
    static func passages(longerThan length: Double) throws -> [Passage] {
        let map = try map.get()
        let (graph, metric) = (map.graph, Metric(map.turns, model: CostModel()))
        func isTunnel(_ edge: EdgeIndex) -> Bool { graph.traits(of: edge).flags.contains(.tunnel) }
        func straightest(_ edges: [EdgeIndex], _ bearing: (EdgeIndex) -> Double, from other: Double) -> EdgeIndex? {
            edges.min { (Angle.separation(bearing($0), other), $0) < (Angle.separation(bearing($1), other), $1) }
        }
        func next(_ edge: EdgeIndex) -> EdgeIndex? {
            let exits = map.turns.arcs(from: edge.rawValue)
                .filter { metric.cost(ofArc: $0) != Metric.forbidden }
                .map { map.turns.edge(of: map.turns.target(of: $0)) }
                .filter { $0 != graph.opposite(edge) }
            return straightest(
                exits, { Double(graph.edgeStartBearings[$0.index]) }, from: Double(graph.edgeEndBearings[edge.index]))
        }
        func previous(_ edge: EdgeIndex) -> EdgeIndex? {
            let entries = graph.incoming(graph.edgeTails[edge.index])
                .filter { $0 != graph.opposite(edge) && metric.allows($0) && map.turns.allows($0, edge) }
            return straightest(
                Array(entries), { Double(graph.edgeEndBearings[$0.index]) },
                from: Double(graph.edgeStartBearings[edge.index]))
        }
        func metres(_ edges: [EdgeIndex]) -> Double { edges.reduce(0) { $0 + Double(graph.edgeLengths[$1.index]) } }
        var passages: [Passage] = []
        for number in 0..<graph.edgeCount {
            let entrance = EdgeIndex(number)
            guard isTunnel(entrance), metric.allows(entrance), let before = previous(entrance), !isTunnel(before) else {
                continue
            }
            var inside = [entrance]
            while let edge = inside.last.flatMap(next), isTunnel(edge), inside.count < 100 { inside.append(edge) }
            guard metres(inside) > length else { continue }
            var approach = [before]
            while metres(approach) < 1_500, let edge = previous(approach[0]), !approach.contains(edge) {
                approach.insert(edge, at: 0)
            }
            var exit: [EdgeIndex] = []
            while metres(exit) < 600, let edge = (exit.last ?? inside.last).flatMap(next), !exit.contains(edge) {
                exit.append(edge)
            }
            guard metres(exit) > 200, metres(approach) > 300 else { continue }
            passages.append(
                Passage(
                    edges: approach + inside + exit, inside: approach.count..<(approach.count + inside.count),
                    length: metres(inside)))
        }
        return passages
    }

    /// The outcome of a drive.
    struct Outcome {
        /// The distance between the last predicted position in the tunnel and the truth, metres, and its stated
        /// standard deviation.
        var error: Double
        var sigma: Double
        var length: Double
        var ride: Ride
        /// The largest step between two positions that is not explained by the speed, metres.
        var jump: Double
    }

    static func drive(
        _ passage: Passage, hasOdometry: Bool, isGuided: Bool, deviation: Double = 0.04, lasting: Double = 60,
        seed: UInt64
    ) throws -> Outcome? {
        let map = try map.get()
        let metric = Metric(map.turns, model: CostModel())
        guard let last = passage.edges.last else { return nil }
        let end = Double(map.graph.edgeLengths[last.index])
        guard let drive = Drive(metric, edges: passage.edges, from: 0, to: end) else { return nil }
        var random = SeededRandom(seed: seed)
        let driver = DriverModel(
            pace: 0.85 + 0.25 * random.uniform(), deviation: deviation, correlationTime: lasting)
        let states = driver.drive(drive.states(rate: 20), rate: 20, seed: random.next())
        func isInside(_ state: DriveState) -> Bool {
            map.graph.traits(of: passage.edges[state.edge]).flags.contains(.tunnel)
        }
        let odometer = OdometryModel(
            scaleError: 0.03 * (random.uniform() - 0.5), turnBias: 0.006 * (random.uniform() - 0.5))
        let fixes = ReceiverModel(.open).fixes(
            states.enumerated().filter { $0.offset % 20 == 0 }.map(\.element), start: SeededDrive.start,
            seed: random.next())
        let reports = odometer.reports(states, start: SeededDrive.start, seed: random.next())
        let snapshot = MapSnapshot(graph: map.graph)
        var ride = Ride(snapshot)
        if isGuided {
            let stops = [drive.line.coordinates.first, drive.line.coordinate(at: drive.line.length - 20)].compactMap(
                \.self)
            let line = drive.line
            let course = line.bearing(at: 5)
            guard
                case .found(let route) = map.router().route(
                    RouteRequest(waypoints: [
                        Waypoint(stops[0], bearing: course),
                        Waypoint(stops[1], bearing: line.bearing(at: line.length - 20)),
                    ]), workspace: SearchWorkspace())
            else { return nil }
            ride.command(.setRoute(RoutePlan(route, on: snapshot)))
        }
        var nextFix = 0
        var inside: (state: DriveState, at: Timestamp)?
        var lastPredicted: (position: VehiclePosition, error: Double)?
        for (index, state) in states.enumerated() {
            let stamp = SeededDrive.start.advanced(bySeconds: state.time)
            if hasOdometry { ride.drive(reports[index]) } else { ride.fireTimers(until: stamp) }
            if nextFix < fixes.count, fixes[nextFix].stamp <= stamp {
                if !isInside(state) { ride.drive(fixes[nextFix]) }
                nextFix += 1
            }
            if passage.inside.contains(state.edge) {
                inside = (state, stamp)
                if let position = ride.vehiclePositions.last, position.prediction != nil,
                    position.stamp == stamp || !hasOdometry,
                    let truth = states.last(where: {
                        $0.time <= position.stamp.seconds(since: SeededDrive.start) + 1e-6
                    })
                {
                    lastPredicted = (position, Geodesy.distance(position.match.coordinate, truth.coordinate))
                }
            }
        }
        guard inside != nil, let lastPredicted else { return nil }
        var jump = 0.0
        for (first, second) in zip(ride.vehiclePositions, ride.vehiclePositions.dropFirst()) {
            let seconds = second.stamp.seconds(since: first.stamp)
            let moved = Geodesy.distance(first.match.coordinate, second.match.coordinate)
            jump = max(jump, moved - max(first.speed ?? 0, second.speed ?? 0) * seconds)
        }
        return Outcome(
            error: lastPredicted.error, sigma: lastPredicted.position.road?.alongSigma ?? 0, length: passage.length,
            ride: ride, jump: jump)
    }
}
