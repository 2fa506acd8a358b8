import Glibc
import NavBag
public import NavBus
import NavMessages

/// Records topics of the bus into a bag, as they appear.
public final class BagRecorder {
    /// How a recording is made.
    public struct Options: Sendable {
        /// Topics to take, `*` stands for any text.
        public var topics = ["*"]
        /// Orders the bag by `/clock` and not by the machine's clock.
        public var simTime = false
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
    private var clock: Int64?
    private let directory: BusDirectory?
    private var nextFlush: Int64 = 0

    /// Messages written so far.
    public var messageCount: UInt64 { log.messageCount }
    /// Messages that arrived and were lost on the way, by the publishers' counts.
    public var lostCount: UInt64 { bus.statistics.topics.reduce(0) { $0 + $1.lost + $1.dropped } }

    /// Creates the bag and subscribes.
    ///
    /// - Parameter directory: where types of topics outside the catalogue are looked up; nil records those without a type.
    public init(_ bus: any Bus, path: String, options: Options, directory: BusDirectory?) throws(NodeError) {
        self.bus = bus
        self.options = options
        self.directory = directory
        do throws(BagError) {
            log = MessageLog(try BagWriter(path: path, overwrite: options.overwrite))
        } catch {
            let isThere = error.code == .io && !options.overwrite && access(path, F_OK) == 0
            throw NodeError(.system, "cannot record: \(error)\(isThere ? "; --overwrite replaces it" : "")")
        }
        do throws(BusError) {
            subscription = try bus.subscribe(
                matching: TopicFilter(include: options.topics + (options.simTime ? ["/clock"] : [])),
                qos: .keepLast(4_096), maximumPayloadSize: 64 << 20)
        } catch {
            throw NodeError(.system, error.description)
        }
    }

    /// Records until `stop` is set, then takes what has already arrived and completes the bag.
    public func run(until stop: StopSignal) throws(NodeError) {
        do {
            while !stop.isStopped {
                if let delivery = try bus.poll(timeout: .milliseconds(200)) { try record(delivery) }
                try flushWhenDue()
            }
            // What the publishers sent before they were stopped may still be in the sockets.
            let deadline = MonotonicClock.now() + 500_000_000
            while MonotonicClock.now() < deadline, let delivery = try bus.poll(timeout: .milliseconds(100)) {
                try record(delivery)
            }
            try log.close()
        } catch let error as BagError {
            throw NodeError(.system, "the recording ends here: \(error)")
        } catch let error as BusError {
            throw NodeError(.system, error.description)
        } catch {
            throw NodeError(.system, "\(error)")
        }
    }

    private func record(_ delivery: Delivery) throws {
        let bytes = delivery.payload.bytes
        if delivery.topic == "/clock", let stamp = (try? Clock(decoding: bytes))?.stampNs { clock = stamp }
        if delivery.topic == "/clock", options.simTime { return }
        let stamp = delivery.header.stampNanoseconds
        try log.write(
            bytes, topic: delivery.topic, type: type(of: delivery.topic), sequence: delivery.header.sequence,
            logTime: options.simTime ? clock ?? stamp : delivery.received.utcNanoseconds, publishTime: stamp)
    }

    private func type(of topic: String) -> String {
        if let known = types[topic] { return known }
        let announced = (try? directory?.inspect())?.topics.first { $0.topic.name == topic }?.topic.typeName
        let type = announced ?? TopicCatalogue.topic(named: topic)?.type.fullName ?? ""
        types[topic] = type
        return type
    }

    private func flushWhenDue() throws(BagError) {
        let now = MonotonicClock.now()
        guard now >= nextFlush else { return }
        nextFlush = now + 2_000_000_000
        try log.flush()
    }
}
