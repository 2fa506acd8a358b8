public import NavBag
import NavGeo
import NavMap
public import NavMessages
public import NavNavigator
import NavRouting

/// Runs the navigation core over recorded fixes in this process, as fast as it can.
///
/// Equal fixes, configuration and tiles give byte-identical bags: routes are answered at once, and every stamp comes from the fixes.
public struct Replay {
    /// What a replay did.
    public struct Summary: Sendable, Equatable, Codable {
        /// Fixes that entered the core.
        public var fixes = 0
        /// Messages in the new bag.
        public var messages = 0
        /// Routes that were found.
        public var routes = 0
        /// Reroutes that came into force.
        public var reroutes = 0
        /// Waypoints that were reached.
        public var arrivals = 0
        /// Fixes that were rejected.
        public var rejected = 0
    }

    private let map: MapSnapshot
    private let configuration: NavigationConfiguration
    private let file: TrafficFile?

    /// A replay on a map.
    ///
    /// - Parameter file: Speeds that hold from the start.
    public init(map: MapSnapshot, configuration: NavigationConfiguration, file: TrafficFile? = nil) {
        self.map = map
        self.configuration = configuration
        self.file = file
    }

    /// Replays fixes into a bag.
    ///
    /// Traffic comes into force at once, before the fix that it precedes.
    ///
    /// - Parameters:
    ///   - traffic: What was said of the traffic between the fixes.
    ///   - progress: Is told the number of fixes done.
    public func run<Sink: ByteSink>(
        _ fixes: [GnssFix], traffic: TrafficTrack? = nil, into log: inout MessageLog<Sink>,
        progress: (Int) -> Void = { _ in }
    ) throws(BagError) -> Summary {
        let store = MapStore(map)
        if let file { _ = store.update([TrafficUpdate(file)], at: NavGeo.Timestamp(nanoseconds: .min)) }
        let session = NavigationSession(map: store.current, configuration: configuration, nodeName: "replay")
        let planner = RoutePlanner()
        var summary = Summary()
        var logTime: Int64 = 0
        var track = try traffic.map { track throws(BagError) in try TrafficTrack.Reader(track) }
        for (index, fix) in fixes.enumerated() {
            var changes: [MapChange] = []
            while let message = try track?.message(before: index) {
                logTime = max(logTime, index == 0 ? fix.stampNs ?? logTime : logTime)
                try log.write(
                    message.data, topic: "/traffic/speeds", type: TrafficSpeeds.fullName, sequence: nil,
                    logTime: logTime, publishTime: Int64(clamping: message.publishTime))
                summary.messages += 1
                if let change = Replay.change(message, store, at: NavGeo.Timestamp(nanoseconds: logTime)) {
                    changes.append(change)
                }
            }
            let now = NavGeo.Timestamp(nanoseconds: fix.stampNs ?? logTime)
            if let expiry = store.nextExpiry, expiry <= now, store.update([], at: now).isChanged {
                changes.append(MapChange(expiredAt: now, store.current))
            }
            for change in changes {
                try carryOut(session.handle(change), session, planner, store, &summary, &log, logTime)
            }
            // A bag's log time never falls: a fix with an older stamp is logged when it arrived, after its predecessor.
            logTime = max(logTime, fix.stampNs ?? logTime)
            try log.write(fix, topic: "/gnss/fix", logTime: logTime, publishTime: fix.stampNs ?? logTime)
            summary.fixes += 1
            summary.messages += 1
            let outcome = session.handle(fix, sequence: UInt64(index + 1))
            try carryOut(outcome, session, planner, store, &summary, &log, logTime)
            progress(index + 1)
        }
        return summary
    }

    /// Brings a message of traffic into force; nil for one that cannot be read.
    private static func change(_ message: BagMessage, _ store: MapStore, at now: NavGeo.Timestamp) -> MapChange? {
        let update = message.data.withUnsafeBytes { bytes in
            try? TrafficUpdate(decoding: bytes, limit: bytes.count)
        }
        guard let update, store.update([update], at: now).isChanged else { return nil }
        return MapChange(map: store.current, traffic: [(update.header, UInt64(message.sequence))])
    }

    /// Writes what a session says and finds the routes that it asks for.
    private func carryOut<Sink: ByteSink>(
        _ first: NavigationSession.Outcome, _ session: NavigationSession, _ planner: RoutePlanner, _ store: MapStore,
        _ summary: inout Summary, _ log: inout MessageLog<Sink>, _ logTime: Int64
    ) throws(BagError) {
        var outcomes = [first]
        while !outcomes.isEmpty {
            let outcome = outcomes.removeFirst()
            for message in outcome.messages {
                summary.count(message.message)
                summary.messages += 1
                try log.write(
                    message.message, topic: message.topic, logTime: logTime, publishTime: message.stamp.nanoseconds)
            }
            for query in outcome.queries where !outcome.cancelled.contains(query.requestID) {
                outcomes.append(session.handle(planner.answer(query, on: store.current), to: query))
            }
        }
    }
}

extension Replay.Summary {
    mutating func count(_ message: any Message) {
        switch message {
        case let route as NavMessages.Route where route.geometry != nil: routes += 1
        case let event as NavMessages.RerouteEvent where event.phase == .applied: reroutes += 1
        case let event as NavMessages.ArrivalEvent where event.phase == .arrived: arrivals += 1
        case is FixRejected: rejected += 1
        default: break
        }
    }
}
