import NavWire
import NavConfig
import NavGeo
import NavKit
import NavMap
import NavMessages
import NavNavigator
import NavRouting
import NavigationNode

/// An execution of the journal's events of one run of the node.
struct JournalExecution {
    /// The maximum number of open requests; answers to older requests are ignored.
    private static let mostOpen = 1_024

    private let session: NavigationSession
    private let planner = RoutePlanner()
    private var maps: JournalMaps
    private var configuration: NavigationConfiguration
    private var mapNumber: UInt64
    private var queries: [UInt64: RouteQuery] = [:]
    private var questions: [UInt64: NavNavigator.PolicyRequest] = [:]

    init(_ run: JournalScan.Run, _ directory: TilesetDirectory, _ traffic: TrafficTrack) throws(NodeError) {
        configuration = try Self.configuration(run.start.configuration ?? "")
        maps = try JournalMaps(run, directory, configuration, traffic)
        session = NavigationSession(map: maps.first, configuration: configuration, nodeName: run.start.node ?? "")
        mapNumber = maps.first.number
    }

    private static func configuration(_ text: String) throws(NodeError) -> NavigationConfiguration {
        let pairs = text.split(separator: "\n").map { line in
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            return "\(parts[0])=\(parts.count > 1 ? parts[1].drop { $0 == " " } : "")"
        }
        do throws(ConfigError) {
            return try ConfigLoader.load(NavigationConfiguration.self, file: nil, overrides: pairs)
        } catch {
            throw NodeError(.invalid, "the configuration of the recorded node cannot be used: \(error)")
        }
    }

    /// Executes an event and returns the core's messages, the journal entry first.
    mutating func execute(_ entry: JournalEntry) throws(NodeError) -> [OutgoingMessage] {
        guard let outcome = try outcome(of: entry) else { return [] }
        for query in outcome.queries { queries[query.requestID] = query }
        for (request, _) in outcome.questions { questions[request.requestID] = request }
        if queries.count > Self.mostOpen, let oldest = queries.keys.min() { queries[oldest] = nil }
        if questions.count > Self.mostOpen, let oldest = questions.keys.min() { questions[oldest] = nil }
        return outcome.messages
    }

    private mutating func outcome(of entry: JournalEntry) throws(NodeError) -> NavigationSession.Outcome? {
        let stamp = NavGeo.Timestamp(nanoseconds: entry.stampNs ?? 0)
        let cause = entry.causeSequence ?? 0
        switch entry.event {
        case .start:
            // The core starts with the map that last became active before.
            if let number = entry.mapSnapshot {
                for change in try maps.changes(after: mapNumber, through: number) { _ = session.handle(change) }
                mapNumber = max(mapNumber, number)
            }
            return nil
        case .fix(let fix): return session.handle(fix, sequence: cause, arrival: entry.monotonicNs)
        case .odometry(let odometry):
            return session.handle(odometry, sequence: cause, arrival: entry.monotonicNs, isRecorded: true)
        case .timer: return session.fireTimer(recordedAt: stamp)
        case .command(let command): return carryOut(command, at: stamp)
        case .callEnded(let ended): return session.callEnded(ended.callId ?? 0)
        case .routeAnswer(let answer): return try take(answer)
        case .policyDecision(let decision):
            guard let request = decision.requestId.flatMap({ questions.removeValue(forKey: $0) }) else { return nil }
            return session.handle(
                PolicyAnswer(recorded: decision, as: nil, node: configuration.profile), to: request)
        case .traffic, .tiles:
            guard let number = entry.mapSnapshot, number > mapNumber else { return nil }
            let changes = try maps.changes(after: mapNumber, through: number)
            mapNumber = number
            return changes.last.map { session.handle($0) }
        case .parameter(let change):
            do throws(ConfigError) {
                configuration = try ConfigLoader.changed(configuration, [(change.key ?? "", change.value ?? "")])
            } catch {
                throw NodeError(.invalid, error.description)
            }
            return session.reconfigure(configuration)
        case .provider(let change): return session.note(providerRests: change.rests ?? false)
        case nil: return nil
        }
    }

    private func carryOut(_ command: NavigationCommand, at stamp: NavGeo.Timestamp) -> NavigationSession.Outcome? {
        switch command.caller {
        // The session issues these itself.
        case JournalCaller.configuration: nil
        case JournalCaller.clock: session.startOver(at: stamp)
        default:
            command.request.map {
                session.handle(
                    $0, call: command.callId ?? 0, caller: command.caller ?? "", at: stamp, isRecorded: true)
            }
        }
    }

    private mutating func take(_ answer: NavMessages.RouteAnswer) throws(NodeError) -> NavigationSession.Outcome? {
        guard let query = answer.requestId.flatMap({ queries[$0] }) else { return nil }
        let map = try maps.map(answer.mapSnapshot ?? mapNumber)
        // The duration of the search is the only value that a replay cannot reproduce.
        let seconds = answer.routes.first?.computeDurationS
        guard let body = answer.providerBody else {
            var again = FoundAnswer(answer: planner.answer(query, on: map), map: map.number)
            again.note(computeDuration: seconds)
            return session.handle(again, to: query)
        }
        do {
            guard let found = try planner.answer(query, from: body, on: map) else { return nil }
            var again = FoundAnswer(answer: found, map: map.number, body: body)
            again.note(computeDuration: seconds)
            return session.handle(again, to: query)
        } catch {
            throw NodeError(.invalid, "the provider's recorded answer is not a route on this map: \(error)")
        }
    }
}
