import Glibc
public import Logging

/// A node's log: structured lines on standard error, and on `/log` while a ``NodeRunner`` runs.
///
/// A line that repeats within a second is collapsed into a count, and a storm of lines is cut off. Any thread may write.
public struct NodeLog: Sendable {
    /// The log as swift-log's logger, for libraries that want one.
    public let logger: Logger
    let sink: LogSink

    /// A log of a node.
    ///
    /// - Parameter isWrittenToStandardError: false for a log that only goes to the bus.
    public init(node: String, level: Logger.Level = .info, isWrittenToStandardError: Bool = true) {
        self.init(node: node, level: level, output: isWrittenToStandardError ? STDERR_FILENO : nil)
    }

    /// A log whose lines go to a descriptor.
    package init(node: String, level: Logger.Level = .info, output: Int32?) {
        let sink = LogSink(node: node, level: level, output: output)
        self.sink = sink
        logger = Logger(label: node) { _ in SinkHandler(sink: sink, part: "") }
    }

    private init(_ sink: LogSink, part: String) {
        self.sink = sink
        logger = Logger(label: part) { _ in SinkHandler(sink: sink, part: part) }
    }

    /// Lines that could not be written to standard error.
    package var unwrittenCount: UInt64 { sink.counts.unwritten }

    /// The same log for a part of the node, which its lines name.
    public func part(_ name: String) -> NodeLog { NodeLog(sink, part: name) }

    /// The least level that is heard; a change counts for all parts at once.
    public var level: Logger.Level { sink.level }

    /// Something for who looks for a fault.
    public func debug(_ message: @autoclosure () -> String, _ facts: [String: String] = [:]) {
        write(.debug, message, facts)
    }
    /// Something that went as it should.
    public func info(_ message: @autoclosure () -> String, _ facts: [String: String] = [:]) {
        write(.info, message, facts)
    }
    /// Something that the user should know of.
    public func warning(_ message: @autoclosure () -> String, _ facts: [String: String] = [:]) {
        write(.warning, message, facts)
    }
    /// Something that failed.
    public func error(_ message: @autoclosure () -> String, _ facts: [String: String] = [:]) {
        write(.error, message, facts)
    }

    private func write(_ level: Logger.Level, _ message: () -> String, _ facts: [String: String]) {
        guard level >= sink.level else { return }
        logger.log(level: level, "\(message())", metadata: facts.isEmpty ? nil : facts.mapValues { .string($0) })
    }
}

private struct SinkHandler: LogHandler {
    let sink: LogSink
    let part: String
    var metadata = Logger.Metadata()

    init(sink: LogSink, part: String) {
        self.sink = sink
        self.part = part
    }

    /// The level is the node's: it changes for all its loggers at once.
    var logLevel: Logger.Level {
        get { sink.level }
        set { sink.level = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { _, new in new }
        sink.take(LogLine(event.level, "\(event.message)", source: part, metadata: all.mapValues { "\($0)" }))
    }
}
