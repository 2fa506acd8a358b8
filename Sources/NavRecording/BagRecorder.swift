import Foundation
import NavBag
package import NavBus
import NavConfig
package import NavGeo
package import NavKit
package import NavMessages

/// A recorder of bus topics, which are added to a bag as they appear.
///
/// Messages older than a second are in the file even if the process is killed, and any tool can read the file at any moment. If the file
/// exists, the recording continues in another one; see ``Options/overwrite``.
package final class BagRecorder {
    package struct Options: Sendable {
        /// The topics to record; `*` matches any text.
        package var topics = ["*"]
        /// Whether to order the bag by `/clock` instead of the machine's clock.
        package var simTime = false
        /// The name of `/clock` on this bus.
        package var clockTopic = Topics.clock.name
        /// Whether to take part in lockstep playback and record only its messages, so that equal playbacks produce
        /// equal bytes.
        ///
        /// See <doc:Lockstep>. `*` then excludes health and logs, which depend on the machine.
        package var lockstep = false
        /// Whether to replace an existing bag; otherwise `drive.mcap` is kept and the recording goes to `drive_1.mcap`.
        ///
        /// The recording's further files and snapshots continue after the last existing file.
        package var overwrite = false
        /// The bytes after which the recording continues in another file, which begins with the latched values; nil for no limit.
        package var splitBytes: Int?
        /// The seconds of recorded time after which the recording continues in another file; nil for no limit.
        package var splitSeconds: Double?
        /// The total bytes of the recording's files, above which the oldest are deleted; nil for no limit.
        ///
        /// It limits ``splitBytes`` to half of it.
        package var quotaBytes: Int?
        /// The seconds of messages kept in memory for snapshots; nil writes everything as it arrives.
        ///
        /// The messages are written only when ``BagRecorder/snapshot(_:_:)`` is called.
        package var snapshotSeconds: Double?
        /// The maximum memory for the snapshot messages, bytes.
        package var snapshotBytes = 256 << 20
        package var attachments: [String] = []
        /// Information about the recording, written into it by name.
        package var facts: [String: String] = [:]

        /// Creates options that record everything by the machine's clock.
        package init() {}
    }

    /// The numbers of published messages missing from the recording, by cause.
    package struct Losses: Sendable, Equatable {
        /// Messages that never arrived, according to the publishers' counts.
        package var lost: UInt64 = 0
        /// Messages dropped because they arrived too fast, or before the first `/clock` message.
        package var dropped: UInt64 = 0
        /// Messages rejected because they are malformed or larger than 64 MiB.
        package var refused: UInt64 = 0
        /// Messages that the disk did not accept in time.
        package var unwritten: UInt64 = 0

        package var total: UInt64 { lost &+ dropped &+ refused &+ unwritten }

        /// A description of the losses; empty without losses.
        package var text: String {
            [
                (lost, "lost in transit"), (dropped, "dropped by the recorder"), (refused, "too large or malformed"),
                (unwritten, "not written to the disk"),
            ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        }
    }

    /// The maximum size of the messages held until the first `/clock` message, bytes.
    private static let greatestHold = 32 << 20
    /// The maximum wait for the disk at the end, seconds.
    private static let patience = 10.0
    private static let largest = 64 << 20
    /// The maximum number of requests to a node for its configuration.
    private static let mostAttempts = 3
    /// The maximum number of live nodes whose configuration is requested.
    private static let mostNodes = 1_024
    private static let mostSnapshots = 4
    private static let largestAttachment = 16 << 20

    /// A bag of the last seconds that is being written, and the call that waits for it.
    private struct Snapshot {
        var thread: RecordingThread
        var call: UnaryCall<SnapshotResponse>?
        /// The recorded time before the call that the snapshot covers, seconds.
        var before: Double
        /// The end of its messages: a steady time, and a deadline of the machine's clock in case `/clock` stops.
        var end: (steadyTime: Int64, deadline: MonotonicInstant)
        var isClosing = false
    }

    private let bus: any Bus
    private let options: Options
    private var files: RecordingThread.Files
    /// The thread that writes everything; nil when only snapshots are written.
    private let thread: RecordingThread?
    private var ring: SnapshotRing?
    private var snapshots: [Snapshot] = []
    private var snapshotPaths: [String] = []
    private var snapshotMessages: UInt64 = 0
    private var incompleteSnapshots = 0
    /// The entries at the start of each file of the recording.
    private var supplements: [RecordingThread.Supplement] = []
    /// The attachments that wait for the first `/clock` message.
    private var undated: [RecordingThread.Supplement] = []
    /// The number of requests to each node for its configuration, by boot id.
    private var asked: [UInt64: Int] = [:]
    private let nodeLog: NodeLog
    private var types: [String: (name: String, isLatched: Bool)] = [:]
    private var publishers: [UInt64: String] = [:]
    /// Publishers that are not in the directory.
    private var strangers: Set<UInt64> = []
    private let clock: NodeClock
    private let now: () -> MonotonicInstant
    private let participant: LockstepParticipant
    private var service: LockstepService?
    private let directory: BusDirectory?
    private var health: Publication?
    private let started = MonotonicClock.now()
    private var nextReport = MonotonicInstant(nanoseconds: 0)
    private var memory = HealthMemory()
    private var usage = ProcessUsage()
    /// The number of messages received from the bus.
    private var heard: UInt64 = 0
    /// The topics with a refused message, which is logged once.
    private var refused: Set<String> = []
    /// The messages that arrived before the first `/clock` message.
    private var held: [RecordingThread.Entry] = []
    private var heldBytes = 0
    private var heldDropped: UInt64 = 0

    package var messageCount: UInt64 { thread?.report.written ?? snapshotMessages }
    package var paths: [String] { thread?.report.paths ?? snapshotPaths }
    /// The files that still exist: a quota deletes the oldest.
    package var keptPaths: [String] { paths.filter { access($0, F_OK) == 0 } }

    /// Creates the bag and subscribes.
    ///
    /// - Parameters:
    ///   - directory: the registry for the types of topics outside the catalogue, in addition to the peers' announcements; topics without
    ///     a known type are recorded untyped.
    ///   - now: the clock of the bus's reception times, which determines the end of snapshots.
    package init(
        _ bus: any Bus, path: String, options: Options, directory: BusDirectory?, log nodeLog: NodeLog,
        now: @escaping () -> MonotonicInstant = MonotonicClock.now
    ) throws(NodeError) {
        self.bus = bus
        self.now = now
        self.options = options
        self.directory = directory
        self.nodeLog = nodeLog
        clock = NodeClock(isSimulated: options.simTime || options.lockstep) { nodeLog.warning($0) }
        participant = LockstepParticipant(bus, clock: clock) { nodeLog.warning($0) }
        var files = RecordingThread.Files(first: path, overwrite: options.overwrite)
        files.splitBytes = options.quotaBytes.map { min(options.splitBytes ?? $0 / 10, $0 / 2) } ?? options.splitBytes
        files.quotaBytes = options.quotaBytes
        files.splitNanoseconds = options.splitSeconds.map { Int64(min(max($0, 0) * 1e9, 1e18)) }
        // The ends of chunks must not depend on the machine's speed.
        files.flushes = !options.lockstep
        self.files = files
        ring = options.snapshotSeconds.map { SnapshotRing(seconds: $0, bytes: options.snapshotBytes) }
        // A file that cannot be attached must not leave an empty bag behind.
        var attachments: [RecordingThread.Supplement] = []
        // In lockstep, equal playbacks must produce equal bytes.
        for path in options.lockstep ? [] : options.attachments {
            attachments.append(try BagRecorder.attachment(path))
        }
        do throws(BagError) {
            thread = ring == nil ? try RecordingThread(files, log: nodeLog) : nil
        } catch {
            throw NodeError(.system, "cannot record: \(error)")
        }
        if !options.lockstep, !options.facts.isEmpty { add(.metadata(name: "navbus.recorder", options.facts)) }
        for attachment in attachments { add(attachment) }
        do throws(BusError) {
            // The count is unlimited: the bus limits the bytes, and no journal entry may be lost.
            _ = try bus.subscribe(
                matching: BagRecorder.filter(options), qos: .keepLast(QoS.maximumDepth),
                maximumPayloadSize: Self.largest)
            // In lockstep, a recorder publishes nothing, so the topics in the statistics are the subscribed ones. The recorder also
            // subscribes to topics that appear later.
            participant.subscribed = { [unowned bus] in Set(bus.statistics.topics.map(\.topic)) }
            let filter = BagRecorder.filter(options)
            participant.wants = { filter.matches($0) }
            if let directory {
                participant.nodes = { directory.liveNodes }
                clock.players = { directory.players(for: bus, on: options.clockTopic) }
            }
            if options.lockstep {
                service = try LockstepService(bus, participant, isSimulated: true)
            } else {
                if ring != nil { try bus.serve(RecorderService.served(by: self)) }
                health = try bus.advertise(
                    TopicDescription(
                        name: Topics.health(of: bus.name).name, typeName: NodeHealth.fullName,
                        schemaFingerprint: Schema.type(named: NodeHealth.fullName)?.schemaFingerprint ?? 0,
                        qos: .latched, maximumPayloadSize: 256 << 10))
            }
        } catch {
            throw NodeError(.system, error.description)
        }
    }

    private static func filter(_ options: Options) -> TopicFilter {
        let isSimulated = options.simTime || options.lockstep
        let machine = options.lockstep && options.topics == ["*"] ? [Topics.health(of: "*").name, Topics.log.name] : []
        return TopicFilter(include: options.topics + (isSimulated ? [options.clockTopic] : []), exclude: machine)
    }

    /// Records until `stop` is set, then takes the messages that have already arrived and completes the bag.
    ///
    /// - Returns: the published messages missing from the bag.
    package func run(until stop: StopSignal) throws(NodeError) -> Losses {
        var supervisor = SupervisorNotifier()
        supervisor.ready()
        do throws(BusError) {
            while !stop.isStopped {
                supervisor.heartbeat()
                try turn(.milliseconds(200))
                reportWhenDue()
            }
            supervisor.stopping()
            // Messages sent before the publishers stopped may still be in the sockets.
            let stopped = MonotonicClock.now()
            var count: UInt64
            repeat {
                count = heard
                try turn(.milliseconds(100))
                // Many messages at a time mean that there is a backlog.
            } while heard > count
                && MonotonicClock.now() < stopped + (heard - count > 500 ? .seconds(5) : .milliseconds(500))
        } catch {
            throw NodeError(.system, error.description)
        }
        if !held.isEmpty {
            nodeLog.warning("no /clock message arrived; the recording uses the system clock")
            release { $0 }
        }
        dateAttachments(WallClock.now())
        for index in snapshots.indices { close(&snapshots[index]) }
        let deadline = MonotonicClock.now() + Duration(clampingSeconds: Self.patience)
        while !snapshots.isEmpty, MonotonicClock.now() < deadline {
            finishSnapshots()
            usleep(1_000)
        }
        guard incompleteSnapshots + snapshots.count == 0 else {
            throw NodeError(.system, "\(incompleteSnapshots + snapshots.count) snapshots are incomplete")
        }
        guard let thread else { return losses }
        thread.setLosses(losses.metadata)
        let report = thread.close(atMost: Self.patience)
        guard report.isComplete else {
            throw NodeError(
                .system,
                "the recording is incomplete: "
                    + (report.failure ?? "the disk did not accept it within \(Self.patience) s")
                    + (losses.total > 0 ? "; \(losses.text)" : ""))
        }
        return losses
    }

    package var losses: Losses {
        let report = thread?.report ?? RecordingThread.Report()
        var losses = Losses(dropped: heldDropped, refused: report.tooLarge, unwritten: report.unwritten)
        for topic in bus.statistics.topics {
            losses.lost &+= topic.lost
            losses.dropped &+= topic.dropped
            losses.refused &+= topic.rejected
        }
        return losses
    }

    /// Runs one iteration of the recorder's loop.
    package func turn(_ timeout: Duration) throws(BusError) {
        try participant.turn(waiting: timeout, isIdle: { true }, handle: record, event: { _ in })
        finishSnapshots()
    }

    private func record(_ delivery: Delivery, isOfWave: Bool) {
        heard &+= 1
        if delivery.topic == options.clockTopic, clock.isSimulated {
            if let message = try? Clock(decoding: delivery.payload.bytes) {
                _ = clock.receive(message, from: delivery.header.bootID)
                if let start = clock.stamp, !(held.isEmpty && undated.isEmpty) {
                    dateAttachments(start)
                    release { at(start.nanoseconds, $0) }
                }
            }
            return
        }
        // Messages outside the lockstep waves are not reproducible.
        guard !options.lockstep || (isOfWave && participant.isInWave) else { return }
        let type = type(of: delivery.topic)
        if publishers[delivery.header.bootID] == nil { lookUp(delivery.header.bootID) }
        let entry = RecordingThread.Entry(
            topic: delivery.topic, type: type.name, isLatched: type.isLatched,
            sequence: options.lockstep ? nil : delivery.header.sequence,
            publisher: options.lockstep ? nil : delivery.header.bootID,
            node: options.lockstep ? nil : publishers[delivery.header.bootID],
            logTime: delivery.received.utcNanoseconds,
            publishTime: delivery.header.stampNanoseconds, steadyTime: delivery.received.monotonicNanoseconds,
            payload: delivery.payload.detached)
        guard clock.isSimulated else { return write(entry) }
        guard let now = clock.stamp?.nanoseconds else { return hold(entry) }
        write(at(now, entry))
    }

    private func write(_ entry: RecordingThread.Entry) {
        if let thread { return thread.take(entry, waits: options.lockstep) }
        ring?.take(entry)
        for snapshot in snapshots where !snapshot.isClosing && entry.steadyTime < snapshot.end.steadyTime {
            snapshot.thread.take(entry)
        }
    }

    /// Returns a message with the log time of a moment of `/clock`.
    ///
    /// A publish time that is closer to the machine's time is from a publisher that does not follow `/clock`, and is replaced by the
    /// moment.
    private func at(_ now: Int64, _ entry: RecordingThread.Entry) -> RecordingThread.Entry {
        var entry = entry
        let stamp = Double(entry.publishTime)
        if !options.lockstep, abs(stamp - Double(entry.logTime)) < abs(stamp - Double(now)) { entry.publishTime = now }
        (entry.logTime, entry.steadyTime) = (now, now)
        entry.epoch = clock.moment?.epoch.number ?? 0
        return entry
    }

    /// Holds a message until its recorded time is known.
    private func hold(_ entry: RecordingThread.Entry) {
        guard heldBytes < Self.greatestHold else {
            if heldDropped == 0 {
                nodeLog.warning("no /clock message yet and the buffer is full; messages are dropped")
            }
            heldDropped += 1
            return
        }
        held.append(entry)
        heldBytes += entry.cost
    }

    private func release(_ change: (RecordingThread.Entry) -> RecordingThread.Entry) {
        for entry in held { write(change(entry)) }
        (held, heldBytes) = ([], 0)
    }

    private func type(of topic: String) -> (name: String, isLatched: Bool) {
        if let known = types[topic] { return known }
        let announced = announcements.lazy.flatMap(\.topics).first { $0.name == topic }
        let entry = TopicCatalogue.topic(named: topic)
        let qos = announced?.qos ?? entry.map { QoS($0.qos) }
        let type = (name: announced?.typeName ?? entry?.type.fullName ?? "", isLatched: qos == .latched)
        types[topic] = type
        return type
    }

    /// The announcements of this host's nodes and of the peers.
    private var announcements: [Announcement] {
        ((try? directory?.inspect())?.nodes ?? []) + peerAnnouncements
    }

    private var peerAnnouncements: [Announcement] { (bus as? BusNode)?.peerAnnouncements ?? [] }

    /// Looks up the name of a publisher, at most once.
    private func lookUp(_ bootID: UInt64) {
        guard !options.lockstep, !strangers.contains(bootID) else { return }
        if strangers.count >= 4_096 { strangers = [] }
        for node in announcements { publishers[node.bootID] = node.node }
        if publishers[bootID] == nil { strangers.insert(bootID) }
    }

    // MARK: Metadata and attachments

    private func dateAttachments(_ time: NavGeo.Timestamp) {
        let attachments = undated
        undated = []
        for attachment in attachments { add(attachment, at: time) }
    }

    /// Adds metadata or an attachment with a moment of the recording; nil for the present.
    private func add(_ supplement: RecordingThread.Supplement, at time: NavGeo.Timestamp? = nil) {
        guard let stamp = time ?? clock.stamp ?? (supplement.isDated ? nil : WallClock.now()) else {
            if undated.count < RecordingThread.mostSupplements { undated.append(supplement) }
            return
        }
        let supplement = supplement.dated(UInt64(clamping: stamp.nanoseconds))
        // A node that restarts with the same configuration adds no new information.
        guard supplements.count < RecordingThread.mostSupplements,
            supplements.last(where: { $0.name == supplement.name })?.hasContent(of: supplement) != true
        else { return }
        supplements.append(supplement)
        thread?.add(supplement)
        for snapshot in snapshots { snapshot.thread.add(supplement) }
    }

    private static func attachment(_ path: String) throws(NodeError) -> RecordingThread.Supplement {
        do throws(ConfigError) {
            let data = try TextFile.bytes(path, limit: largestAttachment)
            let name = (path as NSString).lastPathComponent
            let types = ["json": "application/json", "yaml": "application/yaml", "yml": "application/yaml"]
            return .attachment(
                name: name, mediaType: types[(name as NSString).pathExtension] ?? "text/plain", logTime: 0, data: data)
        } catch {
            throw NodeError(.missing, "cannot attach a file to the recording: \(error)")
        }
    }

    /// Requests the version and configuration of each new node of this and other hosts, and attaches the description of its road tiles.
    private func describeNodes() {
        guard !self.options.lockstep, let directory, let local = try? directory.inspect().nodes else { return }
        let known = Set(local.map(\.bootID))
        // A call by name reaches the node of this host.
        let names = Set(local.map(\.node))
        let nodes = local + peerAnnouncements.filter { !names.contains($0.node) }
        let living = Set(nodes.map(\.bootID))
        asked = asked.filter { living.contains($0.key) }
        for node in nodes where node.node != bus.name && node.services.contains(where: { $0.name == NodeService.name })
        {
            guard asked[node.bootID, default: 0] < Self.mostAttempts, asked.count < Self.mostNodes else { continue }
            let (name, bootID, attempt) = (node.node, node.bootID, asked[node.bootID, default: 0] + 1)
            let processID = known.contains(bootID) ? node.processID : nil
            asked[bootID] = Self.mostAttempts
            var options = CallOptions(timeout: .seconds(5))
            options.node = name
            options.waitForReady = true
            _ = try? bus.call(NodeService.getInfo, GetInfoRequest(), options: options) { [weak self] result in
                switch result {
                case .success(let answer): self?.describe(name, processID, answer)
                case .failure: self?.asked[bootID] = attempt
                }
            }
            _ = try? bus.call(NodeService.getParameters, GetParametersRequest(), options: options) {
                [weak self] result in
                switch result {
                case .success(let answer): self?.describe(name, processID, answer.parameters)
                case .failure: self?.asked[bootID] = attempt
                }
            }
        }
    }

    /// Adds a node's program; `processID` is nil for a node of another host.
    private func describe(_ node: String, _ processID: Int32?, _ info: GetInfoResponse) {
        var facts = ["version": info.version, "host": info.host].compactMapValues {
            $0.flatMap { $0.isEmpty ? nil : $0 }
        }
        if let processID, let words = try? TextFile.bytes("/proc/\(processID)/cmdline", limit: 1 << 16) {
            facts["command"] = words.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }.joined(
                separator: " ")
        }
        if !facts.isEmpty { add(.metadata(name: "navbus.node/\(node)", facts)) }
    }

    private func describe(_ node: String, _ processID: Int32?, _ parameters: [Parameter]) {
        guard !parameters.isEmpty else { return }
        let entries = parameters.compactMap { parameter in parameter.key.map { ($0, parameter.value?.text ?? "") } }
        let values = Dictionary(entries, uniquingKeysWith: { first, _ in first })
        add(.metadata(name: "navbus.parameters/\(node)", values))
        // Files of another host are not accessible here.
        guard let processID, let tiles = values["tiles"], !tiles.isEmpty else { return }
        // A relative path is relative to the folder of the node.
        let list = (tiles.hasPrefix("/") ? tiles : "/proc/\(processID)/cwd/\(tiles)") + "/tileset.json"
        if let attachment = try? Self.attachment(list) { add(attachment) }
    }

    // MARK: Health

    private func reportWhenDue() {
        let now = MonotonicClock.now()
        guard let health, now >= nextReport else { return }
        nextReport = now + .seconds(1)
        let losses = losses
        thread?.setLosses(losses.metadata)
        // A later publisher of the topic may be announced.
        types = types.filter { !$0.value.name.isEmpty }
        describeNodes()
        for topic in bus.statistics.topics where topic.rejected > 0 && refused.insert(topic.topic).inserted {
            nodeLog.warning("\(topic.topic): messages that are malformed or over 64 MiB are not recorded")
        }
        let report = thread?.report ?? RecordingThread.Report()
        var findings: [HealthFinding] = []
        if let failure = report.failure { findings.append(HealthFinding("bag_unwritable", failure, severity: .lost)) }
        let lately = memory.recentLoss("losses", total: losses.total, at: now.nanoseconds)
        if lately > 0 {
            findings.append(
                HealthFinding(
                    "messages_lost", "\(lately) messages were not recorded in the last 10 s; in total \(losses.text)"))
        }
        let stamp = clock.stamp ?? WallClock.now()
        let since = memory.since(of: findings, at: stamp.nanoseconds)
        var message = NodeHealth(
            stampNs: stamp.nanoseconds, monotonicNs: now.nanoseconds, node: bus.name,
            state: findings.contains { $0.severity == .lost } ? .lost : findings.isEmpty ? .ok : .degraded)
        message.reasons = zip(findings, since).map { HealthReason(code: $0.code, message: $0.message, sinceNs: $1) }
        message.counters = [
            Counter(name: "messages_recorded", value: messageCount),
            Counter(name: "messages_lost", value: losses.lost),
            Counter(name: "messages_dropped", value: losses.dropped),
            Counter(name: "messages_refused", value: losses.refused),
            Counter(name: "messages_unwritten", value: losses.unwritten),
        ]
        message.residentBytes = ProcessUsage.residentBytes()
        message.cpuLoad = usage.load()
        message.uptimeS = (now - started).inSeconds
        message.bootId = bus.bootID
        message.lifecycleState = .active
        try? bus.publish(message.encoded(), on: health, stampNanoseconds: stamp.nanoseconds)
    }
}

extension BagRecorder.Losses {
    fileprivate var metadata: [String: String] {
        ["lost": "\(lost)", "dropped": "\(dropped)", "refused": "\(refused)"]
    }
}

// MARK: - Snapshots

extension BagRecorder: RecorderServiceProvider {
    /// Writes the last seconds into a separate bag, and answers the call when it is complete.
    package func snapshot(_ request: SnapshotRequest, _ call: UnaryCall<SnapshotResponse>) throws {
        guard let ring else {
            throw CallStatus(.failedPrecondition, "'\(bus.name)' has no snapshot buffer: start it with --snapshot")
        }
        guard snapshots.count < Self.mostSnapshots else {
            throw CallStatus(.resourceExhausted, "\(Self.mostSnapshots) snapshots are being written; retry later")
        }
        let after = request.afterS ?? 0
        guard after >= 0, after <= 3_600 else {
            throw CallStatus(.invalidArgument, "after_s is \(after), not within 0 to 3600 seconds")
        }
        let content = ring.content
        guard let last = content.last?.steadyTime else {
            throw CallStatus(.failedPrecondition, "nothing has been published yet")
        }
        let thread: RecordingThread
        do throws(BagError) {
            thread = try RecordingThread(files, log: nodeLog)
            files.overwrite = false
        } catch {
            throw CallStatus(.internal, "cannot write the snapshot: \(error)")
        }
        for supplement in supplements { thread.add(supplement) }
        if let reason = request.reason { thread.add(.metadata(name: "navbus.snapshot", ["reason": reason])) }
        thread.take(held: content)
        let called = now()
        // The bus may have been silent since the last message, but the time of `/clock` is known only from messages.
        let begin = clock.isSimulated ? last : max(last, called.nanoseconds)
        let end = begin.addingReportingOverflow(Int64(after * 1e9) + 1).partialValue
        let deadline = called + Duration(clampingSeconds: after)
        let before = (Double(last) - Double(content.first?.steadyTime ?? last)) / 1e9
        snapshots.append(Snapshot(thread: thread, call: call, before: before, end: (end, deadline)))
    }

    private func close(_ snapshot: inout Snapshot) {
        guard !snapshot.isClosing else { return }
        snapshot.isClosing = true
        snapshot.thread.setLosses(losses.metadata)
        snapshot.thread.beginClosing()
    }

    private func finishSnapshots() {
        for index in snapshots.indices where now() >= snapshots[index].end.deadline {
            close(&snapshots[index])
        }
        snapshots.removeAll { snapshot in
            let report = snapshot.thread.report
            guard report.hasEnded else { return false }
            snapshotPaths += report.paths
            snapshotMessages += report.written
            guard report.isComplete, report.unwritten == 0 else {
                incompleteSnapshots += 1
                let reason = report.failure ?? "\(report.unwritten) messages were not written"
                snapshot.call?.fail(CallStatus(.internal, "the snapshot is incomplete: \(reason)"))
                return true
            }
            snapshot.call?.finish(
                SnapshotResponse(
                    path: report.paths.first, messageCount: report.written, beforeS: snapshot.before))
            return true
        }
    }
}
