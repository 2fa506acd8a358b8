/// The heartbeats by which a call gives up on a silent peer.
///
/// On one host, heartbeats are not needed for processes that die or leave: the kernel reports the freed lock of a dead process at once, and
/// a leaving process sends a goodbye. A server whose thread is busy in a handler is not dead, so silence ends its calls only after a limit
/// well over the longest handler. Between hosts, silence is the only sign of a dead machine or a cut cable, so there the limit is short and
/// a server must return to its loop within it.
public struct HeartbeatConfiguration: Sendable, Hashable {
    /// The interval of heartbeats to a server with calls in flight, in milliseconds, 10 to 60 000.
    public var intervalMilliseconds = 250
    /// The longest silence of a server on this host before its calls end as unavailable, in milliseconds.
    public var localSilenceMilliseconds = 10_000
    /// The longest silence of a server on another host before its calls end as unavailable, in milliseconds.
    public var remoteSilenceMilliseconds = 1_000
    /// The longest silence of a client with calls before the server drops them, in milliseconds.
    public var clientSilenceMilliseconds = 10_000

    /// The defaults: a ping every 250 ms, and a limit of 10 s on this host and 1 s between hosts.
    public init() {}

    func check() throws(BusError) {
        let limits = [localSilenceMilliseconds, remoteSilenceMilliseconds, clientSilenceMilliseconds]
        guard (10...60_000).contains(intervalMilliseconds),
            limits.allSatisfy({ (2 * intervalMilliseconds...3_600_000).contains($0) })
        else {
            throw BusError(
                .invalidArgument,
                "heartbeat: the interval must be 10 to 60000 ms, each silence limit twice the interval to 3600000 ms")
        }
    }

    var interval: Int64 { Int64(intervalMilliseconds) * 1_000_000 }
    var clientSilence: Int64 { Int64(clientSilenceMilliseconds) * 1_000_000 }

    func silence(isRemote: Bool) -> Int64 {
        Int64(isRemote ? remoteSilenceMilliseconds : localSilenceMilliseconds) * 1_000_000
    }
}
