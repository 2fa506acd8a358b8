import DequeModule
import NavKit
package import NavBag
import NavGeo
import NavMap
package import NavMessages
package import NavNavigator
import NavPositioning
package import NavRecording
import NavRouting
import NavWire
package import NavigationNode

/// A destination for the inputs and messages of a replay.
package protocol ReplayOutput {
    /// Whether it accepts the core's inputs, as messages and in the journal; otherwise it accepts only the core's
    /// messages.
    static var takesInput: Bool { get }
    mutating func write(_ message: any Message, topic: String, logTime: Int64, publishTime: Int64) throws(BagError)
    /// Writes an input of the bag unchanged.
    mutating func write(recorded message: BagMessage, topic: String, type: String, logTime: Int64) throws(BagError)
}

extension MessageLog: ReplayOutput {
    package static var takesInput: Bool { true }

    package mutating func write(
        recorded message: BagMessage, topic: String, type: String, logTime: Int64
    ) throws(BagError) {
        try write(
            message.data, topic: topic, type: type, sequence: nil, logTime: logTime,
            publishTime: Int64(clamping: message.publishTime))
    }
}

/// A replay that runs the navigation core over recorded fixes in this process, as fast as possible.
///
/// Equal fixes, configuration and tiles produce byte-identical bags: route requests are answered at once, and every stamp is derived from
/// the fixes.
package struct Replay {
    package struct Summary: Sendable, Equatable, Codable {
        package var fixes = 0
        /// The number of odometry reports that entered the core.
        package var odometry = 0
        /// The number of commands that the node received during recording.
        package var commands = 0
        package var messages = 0
        package var routes = 0
        package var reroutes = 0
        package var arrivals = 0
        package var rejected = 0
        /// A one-line reason why the last requested route was not found; nil when it was found or none was requested.
        package var failure: String?
    }

    /// The node name of the core in the journal, which identifies a bag as a replay.
    package static let nodeName = "replay"

    private let map: MapSnapshot
    private let configuration: NavigationConfiguration
    private let file: TrafficFile?
    private let planner: RoutePlanner

    /// Creates a replay on a map.
    ///
    /// - Parameters:
    ///   - file: The speeds that apply from the start.
    ///   - planner: The planner of the routes; several replays on one map may share it.
    package init(
        map: MapSnapshot, configuration: NavigationConfiguration, file: TrafficFile? = nil,
        planner: RoutePlanner = RoutePlanner()
    ) {
        self.map = map
        // A replay has no network. Its journal contains this configuration, so that the replay can itself be
        // re-executed.
        var configuration = configuration
        configuration.online = OnlineRoutingKeys()
        self.configuration = configuration
        self.file = file
        self.planner = planner
    }

    /// Replays fixes to a bag or another output.
    ///
    /// Traffic applies immediately, before the fix that it precedes. Odometry and commands enter the core between the fixes as recorded;
    /// the decisions of the owner's policy are taken from the recording. Without a configured destination, a trip in progress that the
    /// recorded commands do not explain is resumed.
    ///
    /// - Parameters:
    ///   - others: The other inputs recorded between the fixes.
    ///   - progress: Called with the number of processed fixes.
    package func run<Output: ReplayOutput>(
        _ fixes: RecordedFixes, others: InputTrack? = nil, into log: inout Output,
        progress: (Int) -> Void = { _ in }
    ) throws(BagError) -> Summary {
        let store = MapStore(map)
        if let file { _ = store.update([TrafficUpdate(file)], at: NavGeo.Timestamp(nanoseconds: .min)) }
        var run = Run(
            session: NavigationSession(
                map: store.current, configuration: configuration, nodeName: Self.nodeName, hasJournal: Output.takesInput
            ),
            store: store, planner: planner)
        run.policy = RecordedPolicy(others?.decisions ?? [], vehicle: configuration.profile)
        var track = try others.map { track throws(BagError) in try InputTrack.Reader(track) }
        var commands = (others?.commands ?? [])[...]
        let resumed = configuration.destination == nil ? others?.tripUnderWay : nil
        var reader = try RecordedFixes.Reader(fixes)
        for index in 0...fixes.count {
            let fix = try reader.next()
            // A bag's log time never decreases: a fix with an older stamp is logged at its predecessor's time.
            if index == 0 { run.logTime = max(run.logTime, fix?.stampNs ?? run.logTime) }
            var changes: [MapChange] = []
            while let (topic, message) = try track?.message(before: index) {
                if topic == Topics.trafficSpeeds.name {
                    if let change = try run.takeTraffic(message, &log) { changes.append(change) }
                } else {
                    try run.takeOdometry(message, &log)
                }
            }
            try run.take(changes, at: fix?.stampNs, &log)
            if let resumed, resumed.fix == index {
                try run.carryOut(.resumeTrip(resumed.trip), caller: JournalCaller.recording, &log)
            }
            while let (place, command) = commands.first, place <= index {
                commands = commands.dropFirst()
                try run.take(command, &log)
            }
            guard let fix else { break }
            try run.take(fix, &log)
            progress(index + 1)
        }
        return run.summary
    }

    /// The state of a replay between messages.
    private struct Run {
        let session: NavigationSession
        let store: MapStore
        let planner: RoutePlanner
        var summary = Summary()
        var logTime: Int64 = 0
        var policy = RecordedPolicy([], vehicle: VehicleProfile())
        private var odometry: UInt64 = 0

        init(session: NavigationSession, store: MapStore, planner: RoutePlanner) {
            self.session = session
            self.store = store
            self.planner = planner
        }

        mutating func take<Output: ReplayOutput>(_ fix: GnssFix, _ log: inout Output) throws(BagError) {
            logTime = max(logTime, fix.stampNs ?? logTime)
            if Output.takesInput {
                try log.write(fix, topic: Topics.gnssFix.name, logTime: logTime, publishTime: fix.stampNs ?? logTime)
            }
            summary.fixes += 1
            summary.messages += 1
            try carryOut(session.handle(fix, sequence: UInt64(summary.fixes)), &log)
        }

        mutating func take<Output: ReplayOutput>(
            _ command: NavigationCommand, _ log: inout Output
        ) throws(BagError) {
            guard let request = command.request else { return }
            summary.commands += 1
            try carryOut(request, call: command.callId ?? 0, caller: command.caller ?? "recorded", &log)
        }

        mutating func carryOut<Output: ReplayOutput>(
            _ request: NavigationCommand.Request, call: UInt64 = 0, caller: String, _ log: inout Output
        ) throws(BagError) {
            let now = session.time ?? NavGeo.Timestamp(nanoseconds: logTime)
            try carryOut(session.handle(request, call: call, caller: caller, at: now, isRecorded: true), &log)
        }

        mutating func takeOdometry<Output: ReplayOutput>(
            _ message: BagMessage, _ log: inout Output
        ) throws(BagError) {
            odometry += 1
            let report = InputTrack.odometry(message)
            let outcome = report.map { session.handle($0, sequence: odometry) }
            // A rejected report may have an arbitrary stamp.
            if let outcome, let stamp = report?.stampNs, !outcome.messages.isEmpty {
                logTime = max(logTime, stamp)
                summary.odometry += 1
            }
            try write(message, Topics.odometry.name, VehicleOdometry.fullName, &log)
            if let outcome { try carryOut(outcome, &log) }
        }

        /// Writes traffic and applies it; nil when it cannot be read or has no effect.
        mutating func takeTraffic<Output: ReplayOutput>(
            _ message: BagMessage, _ log: inout Output
        ) throws(BagError) -> MapChange? {
            try write(message, Topics.trafficSpeeds.name, TrafficSpeeds.fullName, &log)
            return Replay.change(message, store, at: NavGeo.Timestamp(nanoseconds: logTime))
        }

        private mutating func write<Output: ReplayOutput>(
            _ message: BagMessage, _ topic: String, _ type: String, _ log: inout Output
        ) throws(BagError) {
            if Output.takesInput { try log.write(recorded: message, topic: topic, type: type, logTime: logTime) }
            summary.messages += 1
        }

        mutating func take<Output: ReplayOutput>(
            _ changes: [MapChange], at stamp: Int64?, _ log: inout Output
        ) throws(BagError) {
            var changes = changes
            let now = NavGeo.Timestamp(nanoseconds: stamp ?? logTime)
            if let expiry = store.nextExpiry, expiry <= now, store.update([], at: now).isChanged {
                changes.append(MapChange(expiredAt: now, store.current))
            }
            for change in changes { try carryOut(session.handle(change), &log) }
        }

        /// Writes the messages of a session, and computes the routes and policy decisions that it requests.
        private mutating func carryOut<Output: ReplayOutput>(
            _ first: NavigationSession.Outcome, _ log: inout Output
        ) throws(BagError) {
            // Requests are answered in order.
            var outcomes: Deque = [first]
            while let outcome = outcomes.popFirst() {
                for message in outcome.messages {
                    if Summary.topics.contains(message.topic) { summary.count(message.message) }
                    summary.messages += 1
                    try log.write(
                        message.message, topic: message.topic, logTime: logTime, publishTime: message.stamp.nanoseconds)
                }
                for query in outcome.queries where !outcome.cancelled.contains(query.requestID) {
                    outcomes.append(session.handle(planner.answer(query, on: store.current), to: query))
                }
                for (request, _) in outcome.questions where !outcome.withdrawn.contains(request.requestID) {
                    // A request that was not recorded is answered at once with the default.
                    let answer = policy.answer(to: request) ?? PolicyAnswer(verdict: nil, decider: .unavailable)
                    outcomes.append(session.handle(answer, to: request))
                }
            }
        }
    }

    /// Applies a traffic message; nil when it cannot be read or has no effect.
    private static func change(_ message: BagMessage, _ store: MapStore, at now: NavGeo.Timestamp) -> MapChange? {
        guard let update = TrafficUpdate(message), store.update([update], at: now).isChanged else { return nil }
        return MapChange(map: store.current, traffic: [(update.header, UInt64(message.sequence))], at: now)
    }
}

extension Replay.Summary {
    /// The topics whose messages are counted by content; checking the type of every message would be slower.
    fileprivate static let topics: Set = [
        Topics.route.name, Topics.reroute.name, Topics.arrival.name, Topics.fixRejected.name,
    ]

    fileprivate mutating func count(_ message: any Message) {
        switch message {
        case let route as NavMessages.Route where route.geometry != nil:
            routes += 1
            failure = nil
        case let event as NavMessages.RerouteEvent where event.phase == .applied: reroutes += 1
        case let event as NavMessages.RerouteEvent where event.phase == .failed: failure = event.error?.message
        case let event as NavMessages.ArrivalEvent where event.phase == .arrived: arrivals += 1
        case is FixRejected: rejected += 1
        default: break
        }
    }
}
