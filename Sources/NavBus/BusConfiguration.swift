/// How a node takes part in the bus; the defaults suit a vehicle's computer.
public struct BusConfiguration: Sendable {
    /// The largest size limit that can be configured, in bytes: what a frame's length and `Int32` both hold.
    public static let maximumMessageSizeLimit = 1 << 30

    /// Where the domain's nodes meet.
    public var directory: BusDirectory

    /// How many messages may wait for one slow subscriber before further ones are dropped for it (`ZMQ_SNDHWM`).
    public var sendHighWaterMark: Int32 = 1000

    /// How many messages may wait for this node, per publisher (`ZMQ_RCVHWM`).
    public var receiveHighWaterMark: Int32 = 1000

    /// The largest frame accepted from a publisher, in bytes; the connection is cut at a larger one (`ZMQ_MAXMSGSIZE`).
    public var maximumMessageSize: Int = 64 << 20

    /// How long ``BusNode/close()`` lets sent messages reach their subscribers, in milliseconds (`ZMQ_LINGER`).
    public var lingerMilliseconds: Int32 = 500

    /// How often the registry is read when nothing is heard from it, in milliseconds. Changes are seen at once through
    /// inotify; this finds what that misses, such as a crashed node.
    public var rescanMilliseconds: Int = 1000

    /// How other hosts are reached, and reach the node; nil when this host is all there is.
    public var hosts: HostConfiguration?

    /// A configuration for `directory`, with every other value at its default.
    public init(directory: BusDirectory) { self.directory = directory }

    func check() throws(BusError) {
        try hosts?.check()
        guard sendHighWaterMark > 0, receiveHighWaterMark > 0 else {
            throw BusError(.invalidArgument, "a high-water mark is at least 1: 0 would let a slow node eat the memory")
        }
        guard (1...Self.maximumMessageSizeLimit).contains(maximumMessageSize) else {
            throw BusError(
                .invalidArgument,
                "maximumMessageSize is 1 to \(Self.maximumMessageSizeLimit), not \(maximumMessageSize)")
        }
        guard (0...60_000).contains(lingerMilliseconds), (10...60_000).contains(rescanMilliseconds) else {
            throw BusError(
                .invalidArgument, "lingerMilliseconds is 0 to 60000 and rescanMilliseconds 10 to 60000")
        }
    }
}
