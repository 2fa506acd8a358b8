import NavBag
public import NavBus
import NavMessages

/// Plays a bag's messages onto the bus at their pace.
public final class BagPlayer {
    /// How a bag is played.
    public struct Options: Sendable {
        /// Times as fast as it was recorded, in ``rates``.
        public var rate = 1.0
        /// Seconds from the bag's start at which playing starts.
        public var start = 0.0
        /// Seconds from the bag's start at which playing ends; nil plays to the end.
        public var end: Double?
        /// Starts over at the end.
        public var loop = false
        /// Topics to play, `*` stands for any text.
        public var topics = ["*"]
        /// Topics and what they are called on the bus.
        public var remaps: [String: String] = [:]
        /// Publishes `/clock` with the bag's time.
        public var clock = false
        /// How many subscribers each topic should have before the first message.
        public var subscribers = 1
        /// How long to wait for them, seconds.
        public var wait = 10.0
        /// How long to stay after the last message, so that late deliveries arrive, seconds.
        public var linger = 1.0

        /// Everything, at the recorded pace.
        public init() {}
    }

    private struct Track {
        var publication: Publication
        var latched: Bool
    }

    /// How much slower or faster than it was recorded a bag can be played.
    public static let rates = 0.001...1_000_000.0

    private let bus: any Bus
    private let reader: BagReader
    private let options: Options
    private let log: NodeLog
    private var tracks: [UInt16: Track] = [:]
    private var clockPublication: Publication?

    /// Messages played so far.
    public private(set) var messageCount = 0
    /// Share of the bag that was played, 0 ... 1.
    public private(set) var progress = 0.0

    /// Opens a bag and announces its topics.
    public init(_ bus: any Bus, path: String, options: Options, log: NodeLog) throws(NodeError) {
        guard BagPlayer.rates.contains(options.rate) else {
            throw NodeError(.usage, "a bag is played at 0.001 to 1000000 times its pace, not at \(options.rate)")
        }
        self.bus = bus
        self.options = options
        self.log = log
        do throws(BagError) {
            reader = try BagReader(path: path)
        } catch {
            throw NodeError(.invalid, error.description)
        }
        let filter = TopicFilter(include: options.topics)
        for channel in reader.index.channels where filter.matches(channel.topic) {
            try announce(channel)
        }
        guard !tracks.isEmpty else {
            let topics = reader.index.channels.map(\.topic).sorted().joined(separator: ", ")
            guard !topics.isEmpty else {
                throw NodeError(.invalid, "'\(path)' holds no message that can be read: record it again")
            }
            throw NodeError(.usage, "no topic of '\(path)' is to be played; it holds: \(topics)")
        }
        if options.clock { clockPublication = try advertise("/clock", "navbus.v1.Clock", fallback: .latest) }
    }

    private func announce(_ channel: BagChannel) throws(NodeError) {
        guard channel.messageEncoding == "protobuf" else {
            log.warning("\(channel.topic) is left out: its encoding is '\(channel.messageEncoding)', not protobuf")
            return
        }
        let name = options.remaps[channel.topic] ?? channel.topic
        let type = reader.index.schema(channel.schemaID)?.name ?? ""
        let entry = TopicCatalogue.topic(named: channel.topic)
        let publication = try advertise(name, type, fallback: entry.map { QoS($0.qos) } ?? .keepLast(64))
        tracks[channel.id] = Track(publication: publication, latched: entry?.qos == .latched)
    }

    private func advertise(_ name: String, _ type: String, fallback qos: QoS) throws(NodeError) -> Publication {
        do throws(BusError) {
            return try bus.advertise(
                TopicDescription(
                    name: name, typeName: type, schemaFingerprint: Schema.type(named: type)?.schemaFingerprint ?? 0,
                    qos: qos, maximumPayloadSize: TopicCatalogue.topic(named: name)?.maxSize ?? 64 << 20))
        } catch {
            throw NodeError(.system, error.description)
        }
    }

    /// Plays until the end or until `stop` is set. `report` is told of progress about ten times a second.
    public func run(until stop: StopSignal, report: (BagPlayer) -> Void = { _ in }) throws(NodeError) {
        do {
            try awaitSubscribers(stop)
            repeat { try playOnce(stop, report) } while options.loop && !stop.isStopped
            report(self)
            let end = MonotonicClock.now() + Int64(options.linger * 1e9)
            while MonotonicClock.now() < end, !stop.isStopped { _ = try bus.poll(timeout: .milliseconds(50)) }
        } catch let error as BagError {
            throw NodeError(.invalid, error.description)
        } catch let error as BusError {
            throw NodeError(.system, error.description)
        } catch {
            throw NodeError(.system, "\(error)")
        }
    }

    private func awaitSubscribers(_ stop: StopSignal) throws(BusError) {
        let deadline = MonotonicClock.now() + Int64(options.wait * 1e9)
        while !stop.isStopped {
            var missing: [String] = []
            for track in tracks.values where try bus.subscriberCount(of: track.publication) < options.subscribers {
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

    private func playOnce(_ stop: StopSignal, _ report: (BagPlayer) -> Void) throws {
        let first = reader.index.timeRange?.lowerBound ?? 0
        let start = Pace.moment(options.start, after: first)
        let query = BagQuery(start: start, end: options.end.map { Pace.moment($0, after: first) })
        var cursor = reader.messages(query)
        let begin = MonotonicClock.now()
        var nextClock: UInt64 = start
        var nextReport = begin
        while !stop.isStopped, let message = try cursor.next() {
            guard let track = tracks[message.channelID] else { continue }
            while nextClock < message.logTime, options.clock {
                try waitUntil(nextClock, start, begin, stop)
                try publishClock(nextClock)
                nextClock += min(message.logTime - nextClock, UInt64(options.rate * 1e7))
            }
            try waitUntil(message.logTime, start, begin, stop)
            guard !stop.isStopped else { return }
            try publishClock(message.logTime)
            try message.data.withUnsafeBytes { bytes in
                try bus.publish(
                    bytes, on: track.publication, stampNanoseconds: Int64(clamping: message.publishTime))
            }
            messageCount += 1
            progress = cursor.progress
            if MonotonicClock.now() >= nextReport {
                nextReport = MonotonicClock.now() + 100_000_000
                report(self)
            }
        }
        progress = 1
    }

    private func publishClock(_ time: UInt64) throws(BusError) {
        guard let clockPublication else { return }
        let clock = Clock(stampNs: Int64(clamping: time), rate: options.rate)
        try bus.publish(clock.encoded(), on: clockPublication, stampNanoseconds: Int64(clamping: time))
    }

    /// Waits for a message's moment; the bus is served meanwhile.
    private func waitUntil(_ time: UInt64, _ start: UInt64, _ begin: Int64, _ stop: StopSignal) throws(BusError) {
        let due = begin + Pace.nanoseconds(from: Int64(clamping: start), to: Int64(clamping: time), rate: options.rate)
        while !stop.isStopped {
            let remaining = due - MonotonicClock.now()
            guard remaining > 0 else { return }
            _ = try bus.poll(timeout: .nanoseconds(min(remaining, 100_000_000)))
        }
    }
}
