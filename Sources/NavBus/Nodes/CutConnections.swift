internal import CZeroMQ

/// A detector of connections of a SUB socket that ZeroMQ has given up permanently.
///
/// ZeroMQ reconnects when a publisher disappears, but not after a protocol violation such as a frame over
/// `ZMQ_MAXMSGSIZE`: the publisher's other topics would then stay silent indefinitely. Therefore a connection that
/// ended and is not retried within ``patienceNanoseconds`` is reported for reconnection.
struct CutConnections {
    /// The time allowed for ZeroMQ's own next attempt: a second; it reports the attempt at once.
    static let patienceNanoseconds: Int64 = 1_000_000_000

    private static let watchedEvents =
        ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CONNECTED | ZMQ_EVENT_CONNECT_DELAYED | ZMQ_EVENT_CONNECT_RETRIED

    private let monitor: ZeroMQSocket
    private var ended: [(endpoint: String, dueAt: Int64)] = []

    /// Readable when a connection was made or ended, see ``ZeroMQSocket/fileDescriptor()``.
    let fileDescriptor: Int32

    /// The time when ``take(_:)`` has a result, in monotonic nanoseconds; `.max` when nothing is expected.
    private(set) var next: Int64 = .max

    /// Starts watching `socket`; `name` must be unique in `context`.
    init(_ socket: ZeroMQSocket, name: String, in context: ZeroMQContext) throws(ZeroMQError) {
        monitor = try socket.monitor(Self.watchedEvents, name: name, in: context)
        fileDescriptor = try monitor.fileDescriptor()
    }

    mutating func look(_ now: Int64) throws(ZeroMQError) {
        while let frames = try monitor.receiveFrames(limit: 2) {
            guard let report = MonitorEvent(frames) else { continue }
            ended.removeAll { $0.endpoint == report.endpoint }
            if report.event == ZMQ_EVENT_DISCONNECTED {
                ended.append((report.endpoint, now + Self.patienceNanoseconds))
            }
        }
        next = ended.reduce(.max) { min($0, $1.dueAt) }
    }

    /// Returns the endpoints to reconnect to.
    mutating func take(_ now: Int64) throws(ZeroMQError) -> [String] {
        try look(now)
        let due = ended.filter { $0.dueAt <= now }.map(\.endpoint)
        ended.removeAll { $0.dueAt <= now }
        next = ended.reduce(.max) { min($0, $1.dueAt) }
        return due
    }
}
