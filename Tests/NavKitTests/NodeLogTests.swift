import Foundation
import Glibc
import Logging
import NavBus
import NavKit
import NavMessages
import Testing

/// A node's log on the bus.
struct NodeLogTests {
    @Test func linesArePublishedWithTheirMetadata() throws {
        let stage = try EchoStage()
        let log = stage.runner.context.log
        log.part("matcher").warning("off the road", ["edge": "7", "tile": "12/3/4"])
        log.debug("not heard")
        log.logger.error("from a library", metadata: ["code": "3"])
        try stage.turn()
        let lines = try stage.all(LogEntry.self, on: "/log")
        #expect(lines.compactMap(\.text) == ["off the road", "from a library"])
        #expect(lines.map(\.level) == [.warning, .error] && lines.map(\.source) == ["matcher", nil])
        #expect(lines.first?.metadata == [KeyValue(key: "edge", value: "7"), KeyValue(key: "tile", value: "12/3/4")])
        #expect(lines.allSatisfy { $0.node == "echo" && $0.bootId == stage.runner.context.bus.bootID })
        #expect(lines.allSatisfy { ($0.stampNs ?? 0) > 0 && $0.repeatCount == nil })
    }

    /// With the time of its output, a repeated state would appear newer than the state that followed it.
    @Test func heldLineHasTheTimeOfItsLastOccurrence() throws {
        let stage = try EchoStage()
        let log = stage.runner.context.log
        for text in ["off", "on", "off", "on"] { log.info(text) }
        let logged = Clocks.wall()
        usleep(1_100_000)
        try stage.turn()
        let lines = try stage.all(LogEntry.self, on: "/log")
        #expect(lines.compactMap(\.text) == ["off", "on", "off", "on"])
        #expect(lines.map(\.repeatCount) == [nil, nil, 1, 1])
        // The difference of the two clocks is much smaller than this.
        #expect(lines.allSatisfy { ($0.stampNs ?? .max) < logged + 500_000_000 })
    }

    @Test func remapOfAnUnknownTopicIsLogged() throws {
        let stage = try EchoStage(
            remaps: ["/gnss/fiix": "/x", "/gnss/fix": "/front/fix", "/nav/journal": "/y", "/health/gnss-node": "/z"])
        try stage.turn()
        let lines = try stage.all(LogEntry.self, on: "/log")
        #expect(lines.map(\.level) == [.warning])
        #expect(lines.first?.text?.contains("--remap /gnss/fiix") == true)
        #expect(lines.first?.text?.contains("did you mean /gnss/fix?") == true)
    }

    @Test func levelChangesForAllLoggersAtOnce() throws {
        let stage = try EchoStage()
        let part = stage.runner.context.log.part("part")
        let level = Parameter(key: "log.level", value: .stringValue("debug"))
        _ = try stage.call(NodeService.setParameters, SetParametersRequest(parameters: [level]))
        part.debug("heard")
        part.logger.trace("not heard")
        try stage.turn()
        #expect(try stage.all(LogEntry.self, on: "/log").compactMap(\.text) == ["parameter changed", "heard"])
    }

    @Test func linesOfEveryLevelArePublishedWithTheirLevel() throws {
        let stage = try EchoStage(log: NodeLog(node: "echo", level: .trace, output: nil))
        for level in Logger.Level.allCases { stage.runner.context.log.logger.log(level: level, "line of \(level)") }
        try stage.turn()
        let lines = try stage.all(LogEntry.self, on: "/log").filter { $0.text?.hasPrefix("line of ") == true }
        #expect(lines.map(\.level) == [.trace, .debug, .info, .notice, .warning, .error, .critical])
        #expect(lines.map(\.text) == Logger.Level.allCases.map { "line of \($0)" })
    }

    @Test func unwrittenLinesAreCountedAndReportedLater() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        // The pipe is full because its reader does not read.
        let filling = [UInt8](repeating: UInt8(ascii: "x"), count: 4_096)
        while write(ends[1], filling, filling.count) > 0 {}
        let stage = try EchoStage(log: NodeLog(node: "echo", output: ends[1]))
        let log = stage.runner.context.log
        for number in 0..<3 { log.info("lost \(number)") }
        let unwritten = log.unwrittenCount
        #expect(unwritten >= 3)

        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while read(ends[0], &buffer, buffer.count) > 0 {}
        log.info("written")
        let count = read(ends[0], &buffer, buffer.count)
        let text = String(decoding: buffer[..<max(0, count)], as: UTF8.self)
        let lines = text.split(separator: "\n")
        #expect(
            lines.count == 2 && lines.first?.contains("\(unwritten) log lines could not be written") == true, "\(text)")
        #expect(lines.last?.hasSuffix("echo: written") == true, "\(text)")
    }

    @Test(arguments: ["/dev/full", nil])
    func unwritableLogDoesNotEndTheProcess(path: String?) throws {
        let descriptor = path.map { open($0, O_WRONLY | O_CLOEXEC) } ?? Int32.max
        defer { close(descriptor) }
        let log = NodeLog(node: "echo", output: descriptor)
        for number in 0..<3 { log.info("lost \(number)") }
        #expect(log.unwrittenCount == 3)
    }

    @Test func logFloodFromManyThreadsIsBounded() throws {
        let stage = try EchoStage()
        let log = stage.runner.context.log
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for number in 0..<1_000 {
                log.info("line \(thread) \(number)")
                log.error("always the same")
            }
        }
        try stage.turn()
        #expect(stage.count("/log") <= 256)
        let entry = LogEntry(
            stampNs: 1, node: String(repeating: "n", count: 64), level: .info,
            text: String(repeating: "x", count: 4_096), source: String(repeating: "s", count: 64),
            metadata: (0..<16).map { _ in
                KeyValue(key: String(repeating: "k", count: 64), value: String(repeating: "v", count: 256))
            }, repeatCount: 1, bootId: 1)
        #expect(entry.encoded().count <= TopicCatalogue.topic(named: "/log")?.maxSize ?? 0)
    }
}
