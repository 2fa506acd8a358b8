import NavBag
package import NavBus
import NavGeo
package import NavKit
import NavMessages

/// A player that publishes a bag's messages on the bus: at their recorded pace, or in lockstep with the nodes that follow `/clock`.
package final class BagPlayer {
    package struct Options: Sendable {
        /// The speed relative to the recording, in ``rates``; nil for 1, or in lockstep for as fast as the nodes allow.
        package var rate: Double?
        /// The start of the playback, seconds from the bag's start.
        package var start = 0.0
        /// The end of the playback, seconds from the bag's start; nil to play to the end.
        package var end: Double?
        /// Whether to start over at the end, in a new epoch of `/clock`; a single moment repeats about once a second.
        package var loop = false
        /// The topics to play; `*` matches any text.
        package var topics = ["*"]
        /// The node that receives the bag as input, by its name in the recording; its own recorded messages are not played.
        package var inputOf: String?
        /// The bus names of renamed topics, by the name in the bag.
        package var remaps: [String: String] = [:]
        /// The longest gap between messages that is played, seconds of the bag; a longer gap is skipped.
        package var longestGap = 3_600.0
        /// Whether to publish `/clock` with the bag's time; lockstep always does.
        package var clock = false
        /// The number of subscribers that each topic should have before the first message.
        package var subscribers = 1
        /// The maximum wait for those subscribers, or for the participants of a lockstep playback, seconds.
        package var wait = 10.0
        /// The time to wait after the last message, so that late deliveries arrive, seconds.
        package var linger = 1.0
        /// Whether to wait after each moment until every participant has handled it; see <doc:Lockstep>.
        package var lockstep = false
        /// The participants in lockstep; empty for every node that follows `/clock`.
        package var participants: [String] = []
        /// The maximum time that a participant may take for a moment, seconds.
        package var patience = 30.0
        /// Whether to continue without a participant that fails, instead of ending.
        package var leavesOutFailed = false

        /// Creates options that play everything at the recorded pace.
        package init() {}
    }

    private struct Track {
        let topic: String
        var publication: Publication
        var isLatched: Bool
        /// Whether a message of the current epoch has been published.
        var hasValue = false
    }

    /// The range of rates at which a bag can be played.
    package static let rates = 0.001...1_000_000.0
    /// The interval of `/clock` between messages, and while paused.
    private static let tick = Duration.milliseconds(10)
    private static let pausedTick = Duration.milliseconds(200)
    /// The pause before a single moment is repeated in a loop.
    private static let loopPause = Duration.seconds(1)
    /// The longest delay after which the player catches up.
    ///
    /// After a longer stall, the bag continues from where it stopped: publishing all missed messages at once would change the drive.
    private static let hesitation = Duration.milliseconds(50)

    private let bus: any Bus
    private let path: String
    private let reader: BagReader
    private let options: Options
    private let log: NodeLog
    private let control: PlayerControl
    /// The callback for progress.
    private var report: (BagPlayer) -> Void = { _ in }
    private let leader: LockstepLeader?
    private let stop: StopSignal
    /// The speed relative to the recording; nil for as fast as the nodes allow.
    package private(set) var rate: Double?
    /// Whether the playback is paused.
    package var isPaused: Bool { control.isPaused }
    /// The time to jump to, which ends the current pass, ns of the bag.
    private var jump: UInt64?
    /// The played topics, and the index of each channel's topic in them; each publisher of a topic has its own channel.
    private var tracks: [Track] = []
    private var places: [UInt16: Int] = [:]
    private var clockPublication: Publication?
    private var epoch: UInt32 = 0
    /// The time when the bag's moment `origin` is due; pauses postpone it.
    private var begin = MonotonicInstant(nanoseconds: 0)
    private var origin = SimulatedTime(nanoseconds: 0)
    private var time = SimulatedTime(nanoseconds: 0)
    private var nextReport = MonotonicInstant(nanoseconds: 0)
    private var nextTimer: SimulatedTime?
    private var isStepping = false

    package private(set) var messageCount = 0
    /// The played share of the time from the playback's start to its end, 0 ... 1; in a loop, of the current pass.
    package var progress: Double {
        let all = (span.upperBound - span.lowerBound).inSeconds
        return all > 0 ? min(max((time - span.lowerBound).inSeconds / all, 0), 1) : messageCount > 0 ? 1 : 0
    }
    /// The seconds of the current pass that have been played.
    package var played: Double { max((time - span.lowerBound).inSeconds, 0) }
    /// The duration of one pass, seconds.
    package var duration: Double { (span.upperBound - span.lowerBound).inSeconds }
    private var span = SimulatedTime(nanoseconds: 0)...SimulatedTime(nanoseconds: 0)

    /// Opens a bag and announces its topics.
    ///
    /// - Parameters:
    ///   - directory: the registry for looking up participants; without it, lockstep uses the names in the options
    ///     unchanged.
    ///   - stop: the signal that ends the playback.
    package init(
        _ bus: any Bus, path: String, options: Options, control: PlayerControl = PlayerControl(),
        directory: BusDirectory? = nil, stop: StopSignal, log: NodeLog
    ) throws(NodeError) {
        if let rate = options.rate, !BagPlayer.rates.contains(rate) {
            throw NodeError(.usage, "the playback rate must be from 0.001 to 1000000, not \(rate)")
        }
        (self.bus, self.path, self.options, self.control) = (bus, path, options, control)
        (self.log, self.stop) = (log, stop)
        if options.lockstep {
            var leading = LockstepLeader.Options()
            leading.names = options.participants
            leading.joining = Duration(clampingSeconds: options.wait)
            leading.patience = Duration(clampingSeconds: options.patience)
            leading.leavesOut = options.leavesOutFailed
            leader = LockstepLeader(bus, options: leading, directory: directory, isStopped: { stop.isStopped }) {
                log.warning($0)
            }
        } else {
            leader = nil
        }
        do throws(BagError) {
            reader = try BagReader(path: path)
        } catch {
            throw NodeError(.invalid, error.description(of: path))
        }
        rate = options.rate
        let filter = TopicFilter(include: options.topics)
        let own = try options.inputOf.map { node throws(NodeError) in try channels(publishedBy: node, directory) } ?? []
        for channel in reader.index.channels where filter.matches(channel.topic) && !own.contains(channel.id) {
            try announce(channel)
        }
        guard !tracks.isEmpty else {
            let topics = reader.index.channels.map(\.topic).sorted().joined(separator: ", ")
            guard !topics.isEmpty else {
                throw NodeError(.invalid, "'\(path)' has no message that can be read; record it again")
            }
            throw NodeError(.usage, "no topic of '\(path)' is selected; it has: \(topics)")
        }
        if let warning = reader.index.origin.warning(about: path) { log.warning("\(warning)") }
        if options.clock || options.lockstep {
            let name = options.remaps[Topics.clock.name] ?? Topics.clock.name
            clockPublication = try advertise(name, Clock.fullName, qos: .latest)
        }
    }

    /// Returns the channels of the bag that a node published.
    ///
    /// A channel without a recorded publisher is included if the node has a channel with the same topic. If no channel records its
    /// publisher, the channels of the topics are returned that the node announces now or that belong to a node of that name.
    private func channels(publishedBy node: String, _ directory: BusDirectory?) throws(NodeError) -> Set<UInt16> {
        let channels = reader.index.channels
        let names = Set(channels.compactMap { $0.metadata["node"] })
        guard names.isEmpty else {
            guard names.contains(node) else {
                throw NodeError(
                    .usage,
                    "the bag has no topics of node '\(node)'; its nodes are: \(names.sorted().joined(separator: ", "))")
            }
            let own = channels.filter { $0.metadata["node"] == node }
            let topics = Set(own.map(\.topic))
            let unknown = channels.filter { $0.metadata["node"] == nil && topics.contains($0.topic) }
            if !unknown.isEmpty {
                log.warning(
                    "messages whose publisher is not recorded are left out, as if '\(node)' had published them",
                    ["topics": "\(Set(unknown.map(\.topic)).sorted().joined(separator: ", "))"])
            }
            return Set((own + unknown).map(\.id))
        }
        let live = (try? directory?.inspect())?.nodes.first { $0.node == node }?.topics.map(\.name) ?? []
        // The topics of these nodes share their first level.
        let known = [
            "navigation-node": Topics.state.name, "gnss-node": Topics.gnssFix.name,
            "tile-cache-node": Topics.tilesState.name,
        ][node]
        let prefix = known.map { "/\($0.split(separator: "/")[0])/" }
        let usual = channels.map(\.topic).filter { topic in
            topic == Topics.health(of: node).name
                || (live.isEmpty && prefix.map(topic.hasPrefix) ?? false)
        }
        guard prefix != nil || !live.isEmpty else {
            throw NodeError(
                .usage,
                "the bag does not record its publishers, and no node '\(node)' is running; start it, or pass --topics")
        }
        let topics = Set(live + usual)
        return Set(channels.filter { topics.contains($0.topic) }.map(\.id))
    }

    private func announce(_ channel: BagChannel) throws(NodeError) {
        guard channel.messageEncoding == "protobuf" else {
            log.warning("\(channel.topic) is left out: its encoding is '\(channel.messageEncoding)', not protobuf")
            return
        }
        if let place = tracks.firstIndex(where: { $0.topic == channel.topic }) {
            places[channel.id] = place
            return
        }
        let name = options.remaps[channel.topic] ?? channel.topic
        let type = reader.index.schema(channel.schemaID)?.name ?? ""
        let entry = TopicCatalogue.topic(named: channel.topic)
        let qos = entry.map { QoS($0.qos) } ?? (channel.isLatched ? .latched : .keepLast(64))
        let publication: Publication
        do throws(NodeError) {
            publication = try advertise(name, type, qos: qos)
        } catch {
            // A bag of another program may have names that are not valid topics here, and an untyped topic cannot be announced.
            guard error.code == .usage, name == channel.topic else { throw error }
            log.warning("\(channel.topic) is left out: \(error)")
            return
        }
        places[channel.id] = tracks.count
        tracks.append(Track(topic: channel.topic, publication: publication, isLatched: qos == .latched))
    }

    private func advertise(_ name: String, _ type: String, qos: QoS) throws(NodeError) -> Publication {
        do throws(BusError) {
            return try bus.advertise(
                TopicDescription(
                    name: name, typeName: type, schemaFingerprint: Schema.type(named: type)?.schemaFingerprint ?? 0,
                    qos: qos, maximumPayloadSize: TopicCatalogue.topic(named: name)?.maxSize ?? 64 << 20))
        } catch {
            let isUsage = error.code == .invalidName || error.code == .invalidArgument
            throw NodeError(isUsage ? .usage : .system, error.description)
        }
    }

    private var publications: [Publication] {
        tracks.map(\.publication) + (clockPublication.map { [$0] } ?? [])
    }

    /// Plays until the end or until stopped, and calls `report` about ten times a second, also during a pause.
    package func run(report: @escaping (BagPlayer) -> Void = { _ in }) throws(NodeError) {
        self.report = report
        defer { self.report = { _ in } }
        do {
            let first = reader.index.timeRange?.lowerBound ?? 0
            let beginning = Pace.moment(options.start, after: first)
            if let last = reader.index.timeRange?.upperBound, beginning > last {
                throw NodeError(
                    .usage,
                    "the start at \(options.start) s is past the end of the bag at \(Double(last - first) / 1e9) s"
                )
            }
            if let leader { try leader.begin(publications) } else { try awaitSubscribers() }
            defer { leader?.end() }
            var start: UInt64? = beginning
            while let from = start, !stop.isStopped {
                jump = nil
                let hasDuration = try playOnce(from: from, beginning: beginning)
                epoch &+= 1
                start = jump ?? (options.loop ? beginning : nil)
                // A loop over one moment would flood the bus with epochs.
                if !hasDuration, jump == nil, start != nil { try serve(until: MonotonicClock.now() + Self.loopPause) }
            }
            report(self)
            if leader == nil { try serve(until: MonotonicClock.now() + Duration(clampingSeconds: options.linger)) }
        } catch let error as BagError {
            throw NodeError(.invalid, error.description(of: path))
        } catch let error as BusError {
            throw NodeError(.system, error.description)
        } catch let error as NodeError {
            throw error
        } catch {
            throw NodeError(.system, "\(error)")
        }
    }

    private func awaitSubscribers() throws(BusError) {
        let deadline = MonotonicClock.now() + Duration(clampingSeconds: options.wait)
        while !stop.isStopped {
            var missing: [String] = []
            for track in tracks where try bus.subscriberCount(of: track.publication) < options.subscribers {
                missing.append(track.publication.topic)
            }
            if missing.isEmpty { return }
            if MonotonicClock.now() >= deadline {
                log.warning(
                    "fewer than \(options.subscribers) subscribers after \(options.wait) s: "
                        + missing.sorted().joined(separator: ", "))
                return
            }
            _ = try bus.poll(timeout: .milliseconds(20))
        }
    }

    private func serve(until end: MonotonicInstant) throws(BusError) {
        while !stop.isStopped, MonotonicClock.now() < end { _ = try bus.poll(timeout: .milliseconds(50)) }
    }

    // MARK: One pass

    /// Plays the bag from a time to the end, or until it is interrupted.
    ///
    /// - Returns: whether it has more than one moment.
    private func playOnce(from start: UInt64, beginning: UInt64) throws -> Bool {
        let first = reader.index.timeRange?.lowerBound ?? 0
        let query = BagQuery(start: start, end: options.end.map { Pace.moment($0, after: first) })
        var moments = BagMoments(reader.messages(query)) { [places] in places[$0] != nil }
        origin = SimulatedTime(nanoseconds: Int64(clamping: start))
        let last = min(query.end ?? .max, reader.index.timeRange?.upperBound ?? start)
        let lower = SimulatedTime(nanoseconds: Int64(clamping: beginning))
        span = lower...max(lower, SimulatedTime(nanoseconds: Int64(clamping: last)))
        time = origin
        begin = MonotonicClock.now()
        nextTimer = nil
        try beginEpoch(at: start, first: first)
        var momentCount = 0
        while !stop.isStopped, let messages = try moments.next() {
            guard let stamp = messages.first?.logTime else { continue }
            let due = SimulatedTime(nanoseconds: Int64(clamping: stamp))
            try runTime(to: due)
            guard !isInterrupted else { return true }
            momentCount += 1
            try publishClock(due)
            for message in messages { try play(message) }
            try settle(at: due)
            endStep(at: due)
            reportWhenDue()
        }
        while control.isAttended, control.isPaused, !isInterrupted {
            obey()
            if !isInterrupted { try standStill() }
        }
        return momentCount > 1
    }

    /// Whether the current pass ends before the end of the bag.
    private var isInterrupted: Bool { stop.isStopped || jump != nil }

    /// Executes the commands from the keyboard.
    private func obey() {
        if let factor = control.takeFactor() {
            (origin, begin) = (presentTime, MonotonicClock.now())
            rate = min(max((rate ?? 1) * factor, Self.rates.lowerBound), Self.rates.upperBound)
        }
        while jump == nil, let wanted = control.takeJump() {
            let lower = UInt64(clamping: span.lowerBound.nanoseconds)
            let upper = UInt64(clamping: span.upperBound.nanoseconds)
            switch wanted {
            case .by(let seconds):
                let present = UInt64(clamping: presentTime.nanoseconds)
                let place =
                    seconds < 0
                    ? present - min(present, Pace.moment(-seconds, after: 0)) : Pace.moment(seconds, after: present)
                jump = min(max(place, lower), upper)
            case .back:
                let topics = Set(tracks.map(\.topic))
                let present = UInt64(clamping: time.nanoseconds)
                guard
                    let place = try? reader.lastTime(of: Array(topics), on: Set(places.keys), before: present),
                    place >= lower
                else { continue }
                jump = place
                control.addStep()
            }
        }
    }

    /// The bag's current time according to the playback's pace.
    private var presentTime: SimulatedTime {
        guard !control.isPaused, rate != nil || leader == nil else { return time }
        let passed = (MonotonicClock.now() - begin).inSeconds * (rate ?? 1)
        return max(time, origin + Duration(clampingSeconds: max(passed, 0)))
    }

    private func reportWhenDue() {
        guard MonotonicClock.now() >= nextReport else { return }
        nextReport = MonotonicClock.now() + .milliseconds(100)
        report(self)
    }

    private func play(_ message: BagMessage) throws(BusError) {
        guard let place = places[message.channelID] else { return }
        tracks[place].hasValue = true
        try publish(message, on: tracks[place].publication)
        messageCount += 1
    }

    private func publish(_ message: BagMessage, on publication: Publication) throws(BusError) {
        try bus.publish(Array(message.data), on: publication, stampNanoseconds: Int64(clamping: message.publishTime))
    }

    /// Announces the epoch and publishes the values of latched topics at its start.
    ///
    /// A topic's value is its last message in the bag before the start; if there is none, an empty message replaces the previous epoch's
    /// value.
    private func beginEpoch(at start: UInt64, first: UInt64) throws {
        var values: [Int: BagMessage] = [:]
        if start > first {
            let latched = tracks.filter(\.isLatched).map(\.topic)
            let last = try reader.lastMessages(of: latched, on: Set(places.keys), before: start)
            for message in last.values {
                if let place = places[message.channelID] { values[place] = message }
            }
        }
        guard epoch > 0 || !values.isEmpty else { return }
        let moment = SimulatedTime(nanoseconds: Int64(clamping: start))
        try publishClock(moment)
        for (place, track) in tracks.enumerated() where track.isLatched {
            if let value = values[place] {
                try publish(value, on: track.publication)
            } else if track.hasValue {
                try bus.publish([UInt8](), on: track.publication, stampNanoseconds: moment.nanoseconds)
            }
            tracks[place].hasValue = values[place] != nil
        }
        try settle(at: moment)
    }

    // MARK: Time

    /// Advances time to a moment: in ticks of `/clock`, or in lockstep from one timer of the participants to the next.
    private func runTime(to due: SimulatedTime) throws {
        if due - time > Duration(clampingSeconds: options.longestGap) {
            let hours = Int((due - time).inSeconds / 3_600)
            log.info("skipping a gap of \(hours) h without messages", ["at_ns": "\(due.nanoseconds)"])
            (origin, begin) = (due, MonotonicClock.now())
            return try waitUntil(due)
        }
        guard leader != nil else { return try tick(to: due) }
        while let timer = nextTimer, timer < due, !isInterrupted {
            // A timer that is always due immediately must not stop time.
            let next = min(due, max(timer, time + .milliseconds(1)))
            guard next < due else { break }
            try waitUntil(next)
            guard !isInterrupted else { return }
            try publishClock(next)
            try settle(at: next)
        }
        try waitUntil(due)
    }

    private func tick(to due: SimulatedTime) throws(BusError) {
        guard options.clock else { return try waitUntil(due) }
        var next = time
        while next < due, !isInterrupted {
            try waitUntil(next)
            guard !isInterrupted else { return }
            try publishClock(next)
            next = next + max(.nanoseconds(1), Duration(clampingSeconds: Self.tick.inSeconds * (rate ?? 1)))
        }
        try waitUntil(due)
    }

    /// Waits until a moment is due and playback is not paused; lockstep without a rate does not wait for a due time.
    private func waitUntil(_ moment: SimulatedTime) throws(BusError) {
        while true {
            obey()
            guard !isInterrupted else { return }
            if !isStepping, control.isPaused {
                isStepping = control.takeStep()
                if !isStepping { try standStill() }
                continue
            }
            if isStepping || (leader != nil && rate == nil) { return }
            let span = Pace.nanoseconds(from: origin.nanoseconds, to: moment.nanoseconds, rate: rate ?? 1)
            let remaining = begin + .nanoseconds(span) - MonotonicClock.now()
            if remaining < .zero - Self.hesitation { begin = begin + (.zero - remaining) }
            guard remaining > .zero else { return }
            reportWhenDue()
            _ = try bus.poll(timeout: min(remaining, .milliseconds(100)))
        }
    }

    /// Waits for one tick during a pause: publishes it on `/clock`, and postpones the schedule by the same time.
    private func standStill() throws(BusError) {
        let paused = MonotonicClock.now()
        try publishClock(time, isPaused: true)
        report(self)
        _ = try bus.poll(timeout: Self.pausedTick)
        begin = begin + (MonotonicClock.now() - paused)
    }

    /// Restarts the schedule at a moment after a single step, which was played early.
    private func endStep(at moment: SimulatedTime) {
        guard isStepping else { return }
        (isStepping, origin, begin) = (false, moment, MonotonicClock.now())
    }

    private func publishClock(_ moment: SimulatedTime, isPaused: Bool = false) throws(BusError) {
        time = moment
        // In lockstep, publish only within a step.
        guard let clockPublication, !(isPaused && leader != nil) else { return }
        let clock = Clock(
            stampNs: moment.nanoseconds, rate: rate ?? (leader == nil ? 1 : 0), paused: isPaused ? true : nil,
            epoch: epoch)
        try bus.publish(clock.encoded(), on: clockPublication, stampNanoseconds: moment.nanoseconds)
    }

    /// Waits in lockstep until the participants have handled the published messages.
    private func settle(at moment: SimulatedTime) throws {
        guard let leader else { return }
        let statistics = bus.statistics
        let points = publications.map { publication in
            LockstepPoint(
                topic: publication.topic, bootID: bus.bootID,
                sequence: statistics[topic: publication.topic]?.published ?? 0, publisher: bus.name)
        }
        nextTimer = try leader.step(to: moment, epoch: epoch, published: points)
    }
}
