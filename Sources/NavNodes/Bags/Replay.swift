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

    /// A replay on a map.
    public init(map: MapSnapshot, configuration: NavigationConfiguration) {
        self.map = map
        self.configuration = configuration
    }

    /// Replays fixes into a bag. `progress` is told the number of fixes done.
    public func run<Sink: ByteSink>(
        _ fixes: [GnssFix], into log: inout MessageLog<Sink>, progress: (Int) -> Void = { _ in }
    ) throws(BagError) -> Summary {
        let session = NavigationSession(map: map, configuration: configuration, nodeName: "replay")
        let planner = RoutePlanner()
        var summary = Summary()
        var logTime: Int64 = 0
        for (index, fix) in fixes.enumerated() {
            // A bag's log time never falls: a fix with an older stamp is logged when it arrived, after its predecessor.
            logTime = max(logTime, fix.stampNs ?? logTime)
            try log.write(fix, topic: "/gnss/fix", logTime: logTime, publishTime: fix.stampNs ?? logTime)
            summary.fixes += 1
            summary.messages += 1
            var outcomes = [session.handle(fix, sequence: UInt64(index + 1))]
            while !outcomes.isEmpty {
                let outcome = outcomes.removeFirst()
                for message in outcome.messages {
                    summary.count(message.message)
                    summary.messages += 1
                    try log.write(
                        message.message, topic: message.topic, logTime: logTime, publishTime: message.stamp.nanoseconds)
                }
                for query in outcome.queries where !outcome.cancelled.contains(query.requestID) {
                    outcomes.append(session.handle(planner.answer(query, on: map), to: query))
                }
            }
            progress(index + 1)
        }
        return summary
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
