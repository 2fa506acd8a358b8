import Foundation
import Glibc
public import Logging

/// Structured log lines on standard error: time, level, node, message.
public struct NodeLog: Sendable {
    private let logger: Logger

    /// A log of a node.
    public init(node: String, level: Logger.Level = .info) {
        var logger = Logger(label: node) { StandardErrorHandler(label: $0) }
        logger.logLevel = level
        self.logger = logger
    }

    /// Something that went as it should.
    public func info(_ message: String) { logger.info("\(message)") }
    /// Something that the user should know of.
    public func warning(_ message: String) { logger.warning("\(message)") }
    /// Something that failed.
    public func error(_ message: String) { logger.error("\(message)") }
}

private struct StandardErrorHandler: LogHandler {
    let label: String
    var logLevel = Logger.Level.info
    var metadata = Logger.Metadata()

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        var parts = tm()
        gmtime_r(&now.tv_sec, &parts)
        let time = String(
            format: "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
            parts.tm_hour, parts.tm_min, parts.tm_sec, now.tv_nsec / 1_000_000)
        let line = "\(time) \(event.level) \(label): \(event.message)\n"
        FileHandle.standardError.write(Data(line.utf8))
    }
}
