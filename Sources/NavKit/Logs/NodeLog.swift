import Glibc
public import Logging

/// A node's log: structured lines on standard error, and on `/log` while a ``NodeRunner`` runs.
///
/// A line repeated within a second is collapsed into a count, and a storm of lines is cut off. Any thread may write.
public struct NodeLog: Sendable {
    /// The log as a swift-log logger, for libraries that need one.
    public let logger: Logger
    let sink: LogSink

    /// Creates a node's log.
    ///
    /// - Parameter isWrittenToStandardError: false for a log that goes to the bus only.
    public init(node: String, level: Logger.Level = .info, isWrittenToStandardError: Bool = true) {
        self.init(node: node, level: level, output: isWrittenToStandardError ? STDERR_FILENO : nil)
    }

    /// Creates a log that writes to a descriptor.
    package init(node: String, level: Logger.Level = .info, output: Int32?) {
        let sink = LogSink(node: node, level: level, output: output)
        self.sink = sink
        logger = Logger(label: node) { _ in SinkHandler(sink: sink, part: "") }
    }

    private init(_ sink: LogSink, part: String) {
        self.sink = sink
        logger = Logger(label: part) { _ in SinkHandler(sink: sink, part: part) }
    }

    /// The number of lines that could not be written to standard error.
    package var unwrittenCount: UInt64 { sink.counts.unwritten }

    /// Returns the same log for a part of the node, whose lines carry the part's name.
    public func part(_ name: String) -> NodeLog { NodeLog(sink, part: name) }

    /// The lowest level that is logged; a change takes effect for all parts at once.
    public var level: Logger.Level { sink.level }

    /// Logs a detail for debugging.
    public func debug(_ message: @autoclosure () -> String, _ facts: [String: String] = [:]) {
        write(.debug, message, facts)
    }
    /// Logs normal operation.
    public func info(_ message: @autoclosure () -> String, _ facts: [String: String] = [:]) {
        write(.info, message, facts)
    }
    /// Logs a problem that the user should know of.
    public func warning(_ message: @autoclosure () -> String, _ facts: [String: String] = [:]) {
        write(.warning, message, facts)
    }
    /// Logs a failure.
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

    /// The node's level; a change takes effect for all its loggers at once.
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
