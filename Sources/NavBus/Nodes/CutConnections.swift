internal import CZeroMQ

/// Finds the connections of a SUB socket that ZeroMQ gave up for good.
///
/// ZeroMQ connects anew when a publisher went, but not when the publisher broke the rules, as with a frame over
/// `ZMQ_MAXMSGSIZE`: its other topics would be silent for ever. So a connection that ended, and is not tried again
/// within ``patienceNanoseconds``, is reported, to be made anew.
struct CutConnections {
    /// The time that ZeroMQ has for the next attempt of its own: a second, five times its longest pause.
    static let patienceNanoseconds: Int64 = 1_000_000_000

    private static let watchedEvents =
        ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CONNECTED | ZMQ_EVENT_CONNECT_DELAYED | ZMQ_EVENT_CONNECT_RETRIED

    private let monitor: ZeroMQSocket
    private var ended: [(endpoint: String, dueAt: Int64)] = []

    /// Readable when a connection was made or ended, see ``ZeroMQSocket/fileDescriptor()``.
    let fileDescriptor: Int32

    /// The moment when ``take(_:)`` has something, monotonic nanoseconds; `.max` when nothing is expected.
    private(set) var next: Int64 = .max

    /// Watches `socket` from now on; `name` is unique in `context`.
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

    /// The endpoints that are to be connected to anew.
    mutating func take(_ now: Int64) throws(ZeroMQError) -> [String] {
        try look(now)
        let due = ended.filter { $0.dueAt <= now }.map(\.endpoint)
        ended.removeAll { $0.dueAt <= now }
        next = ended.reduce(.max) { min($0, $1.dueAt) }
        return due
    }
}
