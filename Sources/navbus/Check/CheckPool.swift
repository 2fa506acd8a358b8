import Foundation
import Glibc
import NavKit
import NavVerdict
import Synchronization

/// A pool of worker processes that run jobs; a worker that dies or hangs loses only its current bag, and is replaced.
final class CheckPool: Sendable {
    private struct State {
        var next = 0
        var done = 0
    }

    private let jobs: [CheckJob]
    /// The longest time for one bag, seconds.
    private let timeout: Double
    private let state = Mutex(State())
    /// The jobs whose records have not arrived.
    private let unfinished = DispatchGroup()
    private let done: @Sendable (Int, DriveRecord, _ share: Double) -> Void

    /// - Parameter done: receives each record as it arrives, on any thread.
    init(
        _ jobs: [CheckJob], timeout: Double, done: @escaping @Sendable (Int, DriveRecord, _ share: Double) -> Void
    ) {
        (self.jobs, self.timeout, self.done) = (jobs, timeout, done)
    }

    /// Runs all jobs on a number of processes.
    func run(processes: Int) {
        for _ in jobs { unfinished.enter() }
        // Threads of their own, which mostly wait: concurrentPerform uses no more than there are processors.
        for _ in 1..<max(min(processes, jobs.count), 1) { Thread { [self] in work() }.start() }
        work()
        unfinished.wait()
    }

    private func work() {
        var worker: Worker?
        while let index = state.withLock({ state -> Int? in
            defer { state.next += 1 }
            return state.next < jobs.count ? state.next : nil
        }) {
            var record: DriveRecord?
            var reason = ""
            // A worker may have died because of earlier jobs, or for lack of memory: retry once in a new one.
            for _ in 0..<2 {
                do throws(NodeError) {
                    if worker == nil { worker = try Worker.start() }
                    record = try worker?.run(jobs[index], timeout: timeout)
                    break
                } catch {
                    reason = error.description
                    worker = nil
                    if error.code == Worker.tooLong { break }
                }
            }
            if record == nil {
                var failed = DriveRecord()
                failed.failure = reason
                record = failed
            }
            let share = state.withLock { state in
                state.done += 1
                return Double(state.done) / Double(jobs.count)
            }
            if let record { done(index, record, share) }
            unfinished.leave()
        }
    }

    /// Runs a worker process: jobs on standard input, records on standard output, one per line.
    static func serve() throws {
        CheckCommand.endWithParent()
        // The name in `ps -o comm`: from here on the process ends with its parent.
        try? Data("navbus-worker".utf8).write(to: URL(fileURLWithPath: "/proc/self/comm"))
        let runner = CheckRunner()
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        while let line = readLine() {
            let job = try JSONDecoder().decode(CheckJob.self, from: Data(line.utf8))
            var output = Output()
            output.line(String(decoding: try encoder.encode(runner.record(job)), as: UTF8.self))
            output.flush()
        }
    }
}

/// A worker process that runs jobs one after another; it ends with this object.
private final class Worker {
    /// The error code of a run that takes too long.
    static let tooLong = NodeError.Code.invalid
    /// Serialises the start of processes: another process must not inherit the pipes, or their end would not be seen.
    private static let starting = Mutex(())

    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var buffer: [UInt8] = []

    private init() throws(NodeError) {
        for handle in [input, output].flatMap({ [$0.fileHandleForReading, $0.fileHandleForWriting] }) {
            _ = fcntl(handle.fileDescriptor, F_SETFD, FD_CLOEXEC)
        }
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["check", "--worker"]
        (process.standardInput, process.standardOutput) = (input, output)
        do {
            try process.run()
        } catch {
            throw NodeError(.system, "a worker process cannot be started: \(error.localizedDescription)")
        }
    }

    static func start() throws(NodeError) -> Worker {
        try starting.withLock { _ throws(NodeError) in try Worker() }
    }

    deinit {
        try? input.fileHandleForWriting.close()
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
    }

    /// Runs a job.
    ///
    /// - Throws: when the process ends or takes longer than `timeout` seconds.
    func run(_ job: CheckJob, timeout: Double) throws(NodeError) -> DriveRecord {
        do {
            try input.fileHandleForWriting.write(contentsOf: try JSONEncoder().encode(job) + Data([10]))
        } catch {
            throw died()
        }
        let descriptor = output.fileHandleForReading.fileDescriptor
        let deadline = Date(timeIntervalSinceNow: timeout)
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let left = deadline.timeIntervalSinceNow
            guard left > 0 else {
                throw NodeError(Self.tooLong, "the run took longer than \(plainNumber(timeout)) s (--timeout)")
            }
            guard poll(&poller, 1, Int32(min(left * 1_000 + 1, 1_000_000))) > 0 else { continue }
            let count = read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw died() }
            buffer += piece[..<count]
            guard buffer.last == 10 else { continue }
            defer { buffer = [] }
            guard let record = try? JSONDecoder().decode(DriveRecord.self, from: Data(buffer)) else { throw died() }
            return record
        }
    }

    private func died() -> NodeError {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
        let how = process.terminationReason == .uncaughtSignal ? "by signal" : "with status"
        return NodeError(.system, "the worker process ended \(how) \(process.terminationStatus) during this bag")
    }
}
