import Foundation
import Glibc
import NavBench
import Testing

struct WorkersTests {
    @Test func outputOfProcessesIsParsed() throws {
        let workers = try Workers()
        try workers.start("a", ["/bin/sh", "-c", "echo count 12; echo build not optimised; echo alone"])
        try workers.start("b", ["/bin/sh", "-c", "echo count 13"])
        try workers.finish(within: 60)
        #expect(workers.output(of: "a") == ["count": 12])
        #expect(workers.words(of: "a")["build"] == "not optimised")
        #expect(workers.output(of: "b") == ["count": 13])
        #expect(workers.output(of: "c").isEmpty)
        workers.close()
        #expect(!FileManager.default.fileExists(atPath: workers.folder))
    }

    @Test func failureNamesTheProcessAndItsOutput() throws {
        let workers = try Workers()
        defer { workers.close() }
        try workers.start("waits", ["/bin/sleep", "1000"])
        try workers.start("fails", ["/bin/sh", "-c", "echo no luck >&2; exit 3"])
        let error = #expect(throws: BenchError.self) { try workers.finish(within: 60) }
        #expect(error?.description == "fails failed: exit 3\nno luck\n")
    }

    @Test func missingProgramIsAnError() throws {
        let workers = try Workers()
        defer { workers.close() }
        let error = #expect(throws: BenchError.self) { try workers.start("x", ["/nowhere/x"]) }
        #expect(error?.description.contains("/nowhere/x cannot be started") == true)
    }

    @Test func slowProcessesAreReportedAndKilledOnClose() throws {
        let workers = try Workers()
        try workers.start("long", ["/bin/sh", "-c", "echo pid $$; exec sleep 1000"])
        let error = #expect(throws: BenchError.self) { try workers.finish(within: 0.5) }
        #expect(error?.description.contains("long") == true)
        let pid = workers.output(of: "long")["pid"].map { pid_t($0) }
        workers.close()
        if let pid { #expect(kill(pid, 0) != 0) }
        #expect(!FileManager.default.fileExists(atPath: workers.folder))
    }

    @Test func samplesAre64BitNumbers() throws {
        let workers = try Workers()
        defer { workers.close() }
        let values: [Int64] = [1, -2, .max]
        try values.withUnsafeBytes { Data($0) }.write(to: URL(fileURLWithPath: workers.folder + "/a.trip"))
        #expect(try workers.samples("a.trip") == values)
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: workers.folder + "/b.trip"))
        #expect(throws: BenchError.self) { try workers.samples("b.trip") }
        #expect(throws: BenchError.self) { try workers.samples("c.trip") }
    }
}
