import Foundation
package import NavBag
import NavGeo
import NavMessages
import NavigationNode

/// A collector of a drive's messages for a page, in bounded memory.
///
/// Each kind of content is limited; omitted items are counted and reported on the page.
package struct DriveCollector {
    /// The most rows of a table: an hour at 10 Hz.
    static let mostRows = 36_000
    /// The flag of a position that does not continue the previous one, in the column `flags`.
    static let teleport: Int32 = 8
    private static let mostEvents = 4_000
    private static let mostRoutes = 200
    private static let mostRoutePoints = 200_000
    private static let mostNodes = 64
    private static let mostStates = 1_000
    private static let mostLatencies = 32
    private static let mostNames = 5_000
    private static let mostTopics = 2_000
    private static let mostReceivers = 16
    /// The length to which texts of messages are truncated, characters.
    private static let longestText = 400

    /// An event, in the words of the node's log.
    struct LoggedEvent {
        var time: Int64
        var kind: String
        var topic: String
        var text: String
    }

    struct Utterance {
        var time: Int64
        var text: String
        var type: Int32
        var modifier: Int32
        var urgency: Int32
        var distance: Double?
    }

    struct RouteLine {
        var time: Int64
        var id: UInt64
        var text: String
        var reason: String
        var line: [NavGeo.Coordinate]
        var stops: [(place: NavGeo.Coordinate, name: String)]
    }

    /// The messages of one run of a publisher on a topic; each run restarts the sequence.
    private struct Publication: Hashable {
        var topic: String
        var publisher: UInt64?
    }

    struct NodeState {
        var time: Int64
        var state: Int32
        var reason: String
    }

    var fixes = SampleTable(["lat", "lon", "acc", "speed", "receiver"], measure: 2, limit: mostRows)
    /// The names of the receivers of fixes; receivers beyond the limit share the last entry.
    var receivers: [String] = []
    var positions = SampleTable(
        [
            "lat", "lon", "course", "speed", "limit", "along", "cross", "offset", "confidence", "flags", "road",
            "rawLat", "rawLon",
        ],
        measure: 7, limit: mostRows)
    /// The number of positions by the lateral distance of the fix from the road, 0.01 m. It counts all positions, because the table keeps
    /// only extremes.
    private(set) var offsets: [UInt32: Int] = [:]
    var progress = SampleTable(["remaining", "left", "deviation", "distance", "next"], measure: 3, limit: mostRows)
    var rejected = SampleTable(["lat", "lon", "reason"], measure: 2, limit: 8_000)
    var roads: [String] = []
    private var roadNumbers: [String: Int32] = [:]
    var happened: [LoggedEvent] = []
    var utterances: [Utterance] = []
    var routes: [RouteLine] = []
    private var routePoints = 0
    private var lastGeometry: NavMessages.Polyline?
    var nodes: [String: [NodeState]] = [:]
    /// The times of the first and the last health message of each node, including unchanged ones.
    var heard: [String: ClosedRange<Int64>] = [:]
    var latencies: [String: SampleTable] = [:]
    var topics: [String: (type: String, count: Int)] = [:]
    /// The arrivals at destinations, ns.
    var arrivals: [Int64] = []
    /// The number of items omitted from the page, by kind.
    private(set) var leftOut: [String: Int] = [:]
    /// The sequence and the stamp of the last message of each topic and publisher. The sequence alone does not identify a repeated message,
    /// because publishers without an id count from 1 in each run.
    private var last: [Publication: (sequence: UInt32, stamp: Int64)] = [:]

    /// - Parameter runs: the number of runs on the page, which share its size.
    package init(runs: Int = 1) {
        guard runs > 1 else { return }
        let most = Self.mostRows / runs / 4 * 4
        fixes.limit = most
        positions.limit = most
        progress.limit = most
    }

    /// Adds a message of a recording.
    package mutating func add(_ record: Record) {
        let channel = record.channel
        if topics[channel.topic] != nil || topics.count < Self.mostTopics {
            topics[channel.topic, default: (channel.schemaName, 0)].count += 1
        }
        let stamp = Int64(clamping: record.publishTime > 0 ? record.publishTime : record.logTime)
        guard Self.shown.contains(channel.schemaName) else { return }
        let publisher = channel.metadata["boot_id"].flatMap { UInt64($0, radix: 16) }
        add(
            channel.schemaName, topic: channel.topic, publisher: publisher, sequence: record.sequence, stamp: stamp,
            Array(record.data))
    }

    /// Adds a message; an unreadable message is only counted.
    ///
    /// - Parameter publisher: the `boot_id` of the publisher, which differs between its runs; nil when unknown.
    package mutating func add(
        _ type: String, topic: String, publisher: UInt64?, sequence: UInt32, stamp: Int64, _ bytes: [UInt8]
    ) {
        do throws(MessageError) {
            switch type {
            case GnssFix.fullName: add(try GnssFix(decoding: bytes), stamp)
            case MatchedPosition.fullName: add(try MatchedPosition(decoding: bytes), stamp)
            case RouteProgress.fullName: add(try RouteProgress(decoding: bytes), stamp)
            case FixRejected.fullName: add(try FixRejected(decoding: bytes), stamp)
            case NodeHealth.fullName: add(try NodeHealth(decoding: bytes), stamp)
            default:
                // Each further file of a recording begins with the latched messages, which keep their stamps.
                let publication = Publication(topic: topic, publisher: publisher)
                guard let kind = Self.kinds[type], let content = Schema.type(named: type),
                    sequence == 0 || last[publication].map({ $0 != (sequence, stamp) }) ?? true
                else { return }
                if last.count < Self.mostTopics || last[publication] != nil { last[publication] = (sequence, stamp) }
                add(try content.init(decoding: bytes), kind, topic, stamp)
            }
        } catch {
            leave("unreadable messages")
        }
    }

    private mutating func leave(_ what: String) { leftOut[what, default: 0] += 1 }

    // MARK: Types

    private static let kinds: [String: String] = [
        NavigationState.fullName: "state", Route.fullName: "route", RerouteEvent.fullName: "reroute",
        ArrivalEvent.fullName: "arrival", SpokenInstruction.fullName: "instruction",
        SimulationEvent.fullName: "prediction", ReceiverSelection.fullName: "receiver",
        Alternatives.fullName: "alternatives", AlternativeSwitch.fullName: "alternatives",
        FasterRoute.fullName: "faster", RouteRefresh.fullName: "refresh", PolicyDecision.fullName: "policy",
    ]

    /// The message types that a page shows.
    package static let shown = Set(kinds.keys).union([
        GnssFix.fullName, MatchedPosition.fullName, RouteProgress.fullName, FixRejected.fullName, NodeHealth.fullName,
    ])

    // MARK: Positions

    /// Returns millionths of a degree: a tenth of a metre.
    private static func degrees(_ value: Double) -> Int32 { SampleTable.scaled(value, 1e6) }

    private mutating func add(_ fix: GnssFix, _ stamp: Int64) {
        guard let place = NavGeo.Coordinate(ifValid: fix.latitude, fix.longitude) else {
            return leave("fixes without a position")
        }
        fixes.append(
            stamp,
            [
                Self.degrees(place.latitude), Self.degrees(place.longitude),
                SampleTable.scaled(fix.horizontalAccuracyM, 10), SampleTable.scaled(fix.speed, 100),
                receiver(fix.receiverName),
            ])
    }

    private mutating func receiver(_ name: String) -> Int32 {
        let name = Self.cut(name)
        if let number = receivers.firstIndex(of: name) { return Int32(number) }
        if receivers.count < Self.mostReceivers {
            receivers.append(receivers.count + 1 < Self.mostReceivers ? name : "others")
        }
        return Int32(receivers.count - 1)
    }

    private mutating func add(_ position: MatchedPosition, _ stamp: Int64) {
        guard let pose = position.matched, let place = NavGeo.Coordinate(ifValid: pose.latitude, pose.longitude) else {
            return leave("positions without a place")
        }
        let raw = position.raw.flatMap { NavGeo.Coordinate(ifValid: $0.latitude, $0.longitude) }
        var offset: Double?
        if let raw, let course = pose.course, course.isFinite {
            let point = LocalFrame(origin: place).point(raw)
            offset = point.east * cos(course) - point.north * sin(course)
        }
        let scaledOffset = SampleTable.scaled(offset, 100)
        if scaledOffset != SampleTable.absent { count(offset: scaledOffset.magnitude) }
        var flags: Int32 = position.isOnRoad == true ? 1 : 0
        if position.source == .predicted { flags |= 2 }
        if position.isTeleport == true { flags |= Self.teleport }
        if position.inTunnel == true { flags |= 16 }
        if position.speedUnlimited == true { flags |= 32 }
        let names = [position.roadRef, position.roadName].compactMap { $0 }.filter { !$0.isEmpty }
        positions.append(
            stamp,
            [
                Self.degrees(place.latitude), Self.degrees(place.longitude),
                SampleTable.scaled(pose.course, 1_800 / .pi),
                SampleTable.scaled(pose.speedMps ?? position.raw?.speedMps, 100),
                SampleTable.scaled(position.speedLimitMps, 100), SampleTable.scaled(position.alongSigmaM, 100),
                SampleTable.scaled(position.crossSigmaM, 100), scaledOffset,
                SampleTable.scaled(position.confidence, 100), flags, road(names.joined(separator: " ")),
                raw.map { Self.degrees($0.latitude) } ?? SampleTable.absent,
                raw.map { Self.degrees($0.longitude) } ?? SampleTable.absent,
            ])
    }

    private mutating func count(offset: UInt32) {
        // Ten significant bits bound the number of entries; up to 10 m the distance is exact.
        let shift = max(UInt32.bitWidth - 10 - offset.leadingZeroBitCount, 0)
        offsets[(offset >> shift) << shift, default: 0] += 1
    }

    private mutating func road(_ name: String) -> Int32 {
        let name = Self.cut(name)
        if let number = roadNumbers[name] { return number }
        guard !name.isEmpty, roads.count < Self.mostNames else { return SampleTable.absent }
        let number = Int32(roads.count)
        roads.append(name)
        roadNumbers[name] = number
        return number
    }

    private mutating func add(_ message: RouteProgress, _ stamp: Int64) {
        // The estimate is relative to the fix, so use the fix's own stamp if the message has one.
        let left = message.etaNs.map { Double($0) - Double(message.stampNs ?? stamp) }.map { $0 * 1e-9 }
        progress.append(
            stamp,
            [
                SampleTable.scaled(message.distanceRemainingM), SampleTable.scaled(left, 10),
                message.deviation?.rawValue ?? SampleTable.absent, SampleTable.scaled(message.distanceToRouteM, 10),
                SampleTable.scaled(message.stepDistanceRemainingM),
            ])
    }

    private mutating func add(_ message: FixRejected, _ stamp: Int64) {
        let place = message.fix.flatMap { NavGeo.Coordinate(ifValid: $0.latitude, $0.longitude) }
        rejected.append(
            stamp,
            [
                place.map { Self.degrees($0.latitude) } ?? SampleTable.absent,
                place.map { Self.degrees($0.longitude) } ?? SampleTable.absent, message.reason?.rawValue ?? 0,
            ])
    }

    // MARK: Nodes

    private mutating func add(_ health: NodeHealth, _ stamp: Int64) {
        let node = Self.cut(health.node ?? "?")
        guard nodes[node] != nil || nodes.count < Self.mostNodes else { return leave("nodes") }
        let reasons = Self.cut(health.reasons.map { $0.message ?? $0.code ?? "?" }.joined(separator: "; "))
        let state = NodeState(time: stamp, state: health.state?.rawValue ?? 0, reason: reasons)
        heard[node] = heard[node].map { min($0.lowerBound, stamp)...max($0.upperBound, stamp) } ?? stamp...stamp
        let last = nodes[node]?.last
        if last == nil || last?.state != state.state || last?.reason != reasons {
            if nodes[node]?.count ?? 0 < Self.mostStates {
                nodes[node, default: []].append(state)
            } else {
                leave("changes of a node's health")
            }
        }
        for latency in health.latencies {
            let name = "\(node) \(Self.cut(latency.name ?? "?"))"
            guard latencies[name] != nil || latencies.count < Self.mostLatencies else { continue }
            latencies[name, default: SampleTable(["p50", "p99"], measure: 1, limit: 7_200)].append(
                stamp, [SampleTable.scaled(latency.p50S, 1e6), SampleTable.scaled(latency.p99S, 1e6)])
        }
    }

    // MARK: Events

    private mutating func add(_ message: any Message, _ kind: String, _ topic: String, _ stamp: Int64) {
        switch message {
        case let route as Route:
            // Other topics carry routes too; the active one is on its own topic.
            guard topic == Topics.route.name else { return }
            add(route, stamp)
        case let spoken as SpokenInstruction:
            add(spoken, stamp)
        case let event as ArrivalEvent where event.phase == .arrived && event.isDestination == true:
            if arrivals.count < Self.mostEvents { arrivals.append(stamp) }
        default: break
        }
        guard let text = EventLine.text(message, numbersRoutes: false) else { return }
        guard happened.count < Self.mostEvents else { return leave("events") }
        happened.append(LoggedEvent(time: stamp, kind: kind, topic: topic, text: Self.cut(text)))
    }

    private mutating func add(_ spoken: SpokenInstruction, _ stamp: Int64) {
        guard let text = spoken.text, utterances.count < Self.mostEvents else { return }
        utterances.append(
            Utterance(
                time: stamp, text: Self.cut(text), type: spoken.maneuver?.type?.rawValue ?? 0,
                modifier: spoken.maneuver?.modifier?.rawValue ?? 0, urgency: spoken.urgency?.rawValue ?? 0,
                distance: spoken.distanceToManeuverM))
    }

    private mutating func add(_ route: Route, _ stamp: Int64) {
        guard route.geometry != lastGeometry else { return }
        lastGeometry = route.geometry
        guard let geometry = route.geometry, geometry.count > 1 else { return }
        // The time for simplification grows with the square of the number of points in the worst case.
        guard geometry.count <= Self.mostRoutePoints else { return leave("routes") }
        guard routes.count < Self.mostRoutes, routePoints < Self.mostRoutePoints else { return leave("routes") }
        let line = Line.simplified(
            geometry.coordinates().compactMap { NavGeo.Coordinate(ifValid: $0.latitude, $0.longitude) }, tolerance: 0.5)
        routePoints += line.count
        let stops = route.waypoints.prefix(50).compactMap { waypoint in
            NavGeo.Coordinate(ifValid: waypoint.latitude, waypoint.longitude).map {
                (place: $0, name: Self.cut(waypoint.name ?? ""))
            }
        }
        let reason = (route.reason?.description ?? "").replacing("ROUTE_REASON_", with: "")
        routes.append(
            RouteLine(
                time: stamp, id: route.routeId ?? 0, text: Self.cut(EventLine.text(route, numbersRoutes: false) ?? ""),
                reason: reason, line: line, stops: stops))
    }

    private static func cut(_ text: String) -> String {
        text.count > longestText ? String(text.prefix(longestText - 1)) + "…" : text
    }
}
