/// The configuration of a node's part in the bus; the defaults suit a vehicle's computer.
public struct BusConfiguration: Sendable {
    /// The largest size limit that can be configured, in bytes: what a frame's length and `Int32` both hold.
    public static let maximumMessageSizeLimit = 1 << 30

    /// The directory of the domain.
    public var directory: BusDirectory

    /// The most messages that wait for one slow subscriber before further ones are dropped for it (`ZMQ_SNDHWM`): some
    /// minutes of a vehicle's bus, so that a recorder that is stopped for half a minute loses nothing.
    ///
    /// Like ``receiveHighWaterMark`` it holds for the node's life: libzmq's credit depends on it.
    public var sendHighWaterMark: Int32 = 16_384

    /// The most messages of a publisher that wait in this node's memory while its loop does not turn (`ZMQ_RCVHWM`).
    ///
    /// Not fewer: while as many wait, libzmq stops reading, and the last messages of a publisher that closes are lost.
    public var receiveHighWaterMark: Int32 = 1000

    /// The largest frame accepted from a publisher, in bytes; the connection is cut at a larger one and made
    /// anew after a second (`ZMQ_MAXMSGSIZE`).
    public var maximumMessageSize: Int = 64 << 20

    /// The time that ``BusNode/close()`` lets sent messages reach their subscribers, in milliseconds (`ZMQ_LINGER`).
    public var lingerMilliseconds: Int32 = 500

    /// The most bytes of payloads that wait on either side, beside the high-water marks, which count messages.
    ///
    /// A publisher sends no further large payload while those that its slowest subscribers have not taken reach this
    /// size, and ends the connections of subscribers that take nothing for two seconds meanwhile. A subscription's queue
    /// drops its oldest messages beyond it. What is dropped is counted, and shows as gaps in the sequence.
    public var maximumQueuedBytes: Int = 64 << 20

    /// The silence of a publisher after which it is asked for a sign of life, in milliseconds. One that lives
    /// and is not heard even then is connected to anew.
    public var silenceMilliseconds: Int = 5_000

    /// The real-time priority (`SCHED_FIFO`) of libzmq's I/O thread, 1 to 99; nil leaves it to the ordinary scheduler.
    ///
    /// Each message passes that thread, so where other processes keep the cores busy its turn decides the latency.
    /// It needs the right to (`CAP_SYS_NICE` or `ulimit -r`); without it the node does not start.
    public var ioThreadPriority: Int32?

    /// The interval of reading the registry where inotify does not work, in milliseconds. Where it does, changes are seen at
    /// once and everything is read thirty times less often, as a safety net.
    public var rescanMilliseconds: Int = 1000

    /// The heartbeats by which calls give up a silent server, and servers a silent client.
    public var heartbeat = HeartbeatConfiguration()

    /// The connections with other hosts; nil when this host is all there is.
    public var hosts: HostConfiguration?

    /// A configuration for `directory`, with every other value at its default.
    public init(directory: BusDirectory) { self.directory = directory }

    func check() throws(BusError) {
        try heartbeat.check()
        try hosts?.check()
        guard sendHighWaterMark > 0, receiveHighWaterMark > 0 else {
            throw BusError(.invalidArgument, "a high-water mark is at least 1: 0 would let a slow node eat the memory")
        }
        guard maximumQueuedBytes > 0 else {
            throw BusError(.invalidArgument, "maximumQueuedBytes is at least 1, not \(maximumQueuedBytes)")
        }
        guard (1...Self.maximumMessageSizeLimit).contains(maximumMessageSize) else {
            throw BusError(
                .invalidArgument,
                "maximumMessageSize is 1 to \(Self.maximumMessageSizeLimit), not \(maximumMessageSize)")
        }
        guard ioThreadPriority.map({ (1...99).contains($0) }) ?? true else {
            throw BusError(.invalidArgument, "ioThreadPriority is 1 to 99 or nil")
        }
        guard (0...60_000).contains(lingerMilliseconds), (10...60_000).contains(rescanMilliseconds) else {
            throw BusError(
                .invalidArgument, "lingerMilliseconds is 0 to 60000 and rescanMilliseconds 10 to 60000")
        }
        guard (100...3_600_000).contains(silenceMilliseconds) else {
            throw BusError(.invalidArgument, "silenceMilliseconds is 100 to 3600000, not \(silenceMilliseconds)")
        }
    }
}
