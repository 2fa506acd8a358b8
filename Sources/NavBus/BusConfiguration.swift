/// The configuration of a node's part in the bus; the defaults suit a vehicle's computer.
public struct BusConfiguration: Sendable {
    /// The largest size limit that can be configured, in bytes; it fits both a frame's length and `Int32`.
    public static let maximumMessageSizeLimit = 1 << 30

    /// The directory of the domain.
    public var directory: BusDirectory

    /// The most messages that wait for one slow subscriber before further messages to it are dropped (`ZMQ_SNDHWM`): some minutes of a
    /// vehicle's traffic, so that a recorder that stalls for half a minute loses nothing.
    ///
    /// Like ``receiveHighWaterMark`` it is fixed for the node's life, because libzmq's flow control depends on it.
    public var sendHighWaterMark: Int32 = 16_384

    /// The most messages per publisher that wait in this node's memory while its loop does not run (`ZMQ_RCVHWM`).
    ///
    /// Do not lower it: once the queue is full libzmq stops reading, and the last messages of a publisher that closes are lost.
    public var receiveHighWaterMark: Int32 = 1000

    /// The largest frame accepted from a publisher, in bytes; a larger one cuts the connection, which is re-established
    /// after a second (`ZMQ_MAXMSGSIZE`).
    public var maximumMessageSize: Int = 64 << 20

    /// The time that ``BusNode/close()`` allows for sent messages to reach their subscribers, in milliseconds (`ZMQ_LINGER`).
    public var lingerMilliseconds: Int32 = 500

    /// The most payload bytes queued on either side; the high-water marks additionally limit the number of messages.
    ///
    /// When the payloads that the slowest subscribers have not read reach this size, the publisher sends no further
    /// large payload, and ends the connections of subscribers that read nothing for two seconds. A subscription's queue
    /// drops its oldest messages beyond this size. Drops are counted, and show as gaps in the sequence.
    public var maximumQueuedBytes: Int = 64 << 20

    /// The silence after which a publisher is probed, in milliseconds.
    ///
    /// A live publisher that does not answer the probe is reconnected to.
    public var silenceMilliseconds: Int = 5_000

    /// The real-time priority (`SCHED_FIFO`) of libzmq's I/O thread, 1 to 99; nil keeps the ordinary scheduler.
    ///
    /// Every message passes through that thread, so on a busy machine its scheduling determines the latency. It needs
    /// `CAP_SYS_NICE` or `ulimit -r`; without the right the node does not start.
    public var ioThreadPriority: Int32?

    /// The interval at which the registry is read where inotify does not work, in milliseconds.
    ///
    /// With inotify, changes are detected at once, and a full read, at thirty times this interval, is only a safety
    /// net.
    public var rescanMilliseconds: Int = 1000

    /// The heartbeats by which calls give up on a silent server, and servers on a silent client.
    public var heartbeat = HeartbeatConfiguration()

    /// The connections with other hosts; nil when the node uses this host only.
    public var hosts: HostConfiguration?

    /// A configuration for `directory`, with every other value at its default.
    public init(directory: BusDirectory) { self.directory = directory }

    /// The interval of full reads while inotify works, in nanoseconds.
    var safetyNetNanoseconds: Int64 { Int64(rescanMilliseconds) * 30_000_000 }

    func check() throws(BusError) {
        try heartbeat.check()
        try hosts?.check()
        guard sendHighWaterMark > 0, receiveHighWaterMark > 0 else {
            throw BusError(
                .invalidArgument, "a high-water mark must be at least 1: 0 would let a slow node exhaust the memory")
        }
        guard maximumQueuedBytes > 0 else {
            throw BusError(.invalidArgument, "maximumQueuedBytes must be at least 1, not \(maximumQueuedBytes)")
        }
        guard (1...Self.maximumMessageSizeLimit).contains(maximumMessageSize) else {
            throw BusError(
                .invalidArgument,
                "maximumMessageSize must be 1 to \(Self.maximumMessageSizeLimit), not \(maximumMessageSize)")
        }
        guard ioThreadPriority.map({ (1...99).contains($0) }) ?? true else {
            throw BusError(.invalidArgument, "ioThreadPriority must be 1 to 99 or nil")
        }
        guard (0...60_000).contains(lingerMilliseconds), (10...60_000).contains(rescanMilliseconds) else {
            throw BusError(
                .invalidArgument, "lingerMilliseconds must be 0 to 60000 and rescanMilliseconds 10 to 60000")
        }
        guard (100...3_600_000).contains(silenceMilliseconds) else {
            throw BusError(.invalidArgument, "silenceMilliseconds must be 100 to 3600000, not \(silenceMilliseconds)")
        }
    }
}
