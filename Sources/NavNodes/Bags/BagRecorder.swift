import Glibc
import NavBag
public import NavBus
import NavGeo
import NavMessages

/// Records topics of the bus into a bag, as they appear.
public final class BagRecorder {
    /// How a recording is made.
    public struct Options: Sendable {
        /// Topics to take, `*` stands for any text.
        public var topics = ["*"]
        /// Orders the bag by `/clock` and not by the machine's clock.
        public var simTime = false
        /// Takes part in lockstep playback and records that alone, so that equal playbacks give equal bytes, see
        /// <doc:Lockstep>. What tells of the machine, health and logs, is left out of "everything".
        public var lockstep = false
        /// Replaces a bag that is there.
        public var overwrite = false

        /// Everything, by the machine's clock.
        public init() {}
    }

    private let bus: any Bus
    private let options: Options
    private let subscription: SubscriptionID
    private var log: MessageLog<FileSink>
    private var types: [String: String] = [:]
    private let clock: NodeClock
    private let participant: LockstepParticipant
    private var service: LockstepService?
    private let directory: BusDirectory?
    private var nextFlush = MonotonicInstant(nanoseconds: 0)
    private var failure: BagError?

    /// Messages written so far.
    public var messageCount: UInt64 { log.messageCount }
    /// Messages that arrived and were lost on the way, by the publishers' counts.
    public var lostCount: UInt64 { bus.statistics.topics.reduce(0) { $0 + $1.lost + $1.dropped } }

    /// Creates the bag and subscribes.
    ///
    /// - Parameter directory: where types of topics outside the catalogue are looked up; nil records those without a type.
    public init(
        _ bus: any Bus, path: String, options: Options, directory: BusDirectory?, log nodeLog: NodeLog
    ) throws(NodeError) {
        self.bus = bus
        self.options = options
        self.directory = directory
        clock = NodeClock(isSimulated: options.simTime || options.lockstep) { nodeLog.warning($0) }
        participant = LockstepParticipant(bus, clock: clock) { nodeLog.warning($0) }
        do throws(BagError) {
            log = MessageLog(try BagWriter(path: path, overwrite: options.overwrite))
        } catch {
            let isThere = error.code == .io && !options.overwrite && access(path, F_OK) == 0
            throw NodeError(.system, "cannot record: \(error)\(isThere ? "; --overwrite replaces it" : "")")
        }
        do throws(BusError) {
            subscription = try bus.subscribe(
                matching: BagRecorder.filter(options), qos: .keepLast(4_096), maximumPayloadSize: 64 << 20)
            // The topics found so far are all of the statistics, for a recorder publishes nothing; others it wants too.
            participant.subscribed = { [unowned bus] in Set(bus.statistics.topics.map(\.topic)) }
            let filter = BagRecorder.filter(options)
            participant.wants = { filter.matches($0) }
            if let directory {
                participant.nodes = { directory.liveNodes }
                clock.players = { directory.players }
            }
            if options.lockstep { service = try LockstepService(bus, participant, isSimulated: true) }
        } catch {
            throw NodeError(.system, error.description)
        }
    }

    private static func filter(_ options: Options) -> TopicFilter {
        let isSimulated = options.simTime || options.lockstep
        let machine = options.lockstep && options.topics == ["*"] ? ["/health/*", "/log"] : []
        return TopicFilter(include: options.topics + (isSimulated ? ["/clock"] : []), exclude: machine)
    }

    /// Records until `stop` is set, then takes what has already arrived and completes the bag.
    public func run(until stop: StopSignal) throws(NodeError) {
        do {
            while !stop.isStopped {
                try turn(.milliseconds(200))
                try flushWhenDue()
            }
            // What the publishers sent before they were stopped may still be in the sockets.
            let deadline = MonotonicClock.now() + .milliseconds(500)
            var before = messageCount
            repeat {
                before = messageCount
                try turn(.milliseconds(100))
            } while messageCount > before && MonotonicClock.now() < deadline
            try log.close()
        } catch let error as BagError {
            throw NodeError(.system, "the recording ends here: \(error)")
        } catch let error as BusError {
            throw NodeError(.system, error.description)
        } catch {
            throw NodeError(.system, "\(error)")
        }
    }

    /// One turn of the recorder's loop.
    package func turn(_ timeout: Duration) throws {
        try participant.turn(waiting: timeout, isIdle: { true }, handle: record, event: { _ in })
        if let failure { throw failure }
    }

    private func record(_ delivery: Delivery, isOfWave: Bool) {
        guard failure == nil else { return }
        let bytes = delivery.payload.bytes
        if delivery.topic == "/clock", clock.isSimulated {
            if let message = try? Clock(decoding: bytes) { _ = clock.receive(message, from: delivery.header.bootID) }
            return
        }
        // Outside the waves nothing comes twice in the same way.
        guard !options.lockstep || (isOfWave && participant.isInWave) else { return }
        let stamp = delivery.header.stampNanoseconds
        let logTime = clock.isSimulated ? clock.stamp?.nanoseconds ?? stamp : delivery.received.utcNanoseconds
        do throws(BagError) {
            try log.write(
                bytes, topic: delivery.topic, type: type(of: delivery.topic),
                sequence: options.lockstep ? nil : delivery.header.sequence, logTime: logTime, publishTime: stamp)
        } catch {
            failure = error
        }
    }

    private func type(of topic: String) -> String {
        if let known = types[topic] { return known }
        let announced = (try? directory?.inspect())?.topics.first { $0.topic.name == topic }?.topic.typeName
        let type = announced ?? TopicCatalogue.topic(named: topic)?.type.fullName ?? ""
        types[topic] = type
        return type
    }

    private func flushWhenDue() throws(BagError) {
        // Where chunks end must not depend on the machine's pace.
        guard !options.lockstep else { return }
        let now = MonotonicClock.now()
        guard now >= nextFlush else { return }
        nextFlush = now + .seconds(2)
        try log.flush()
    }
}
