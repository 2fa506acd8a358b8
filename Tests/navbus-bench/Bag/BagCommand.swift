import ArgumentParser
import Foundation
import NavBag
import NavBench
import NavBus
import NavGeo
import NavKit
import NavMessages

/// The command `navbus-bench bag`.
struct BagCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bag", abstract: "Measure bags: recording, writing, reading and replay, against Python's mcap.",
        discussion: """
            Fixes of about 100 bytes on one topic, in chunks of 1 MiB compressed with zstd, with checksums; reading is in \
            log-time order and verifies them. The peer is the reference implementation in Python (PyPI mcap), run by \
            NAVBUS_PYTHON or python3 on the same file. record publishes at a fixed rate to its own recorder over ipc; \
            'lost' counts the messages missing in the bag. With --tiles, replay runs the navigation core over a simulated \
            drive to a destination, into a bag: fixes per second of one core, by the thread's processor time.
            """)

    @OptionGroup var options: SuiteOptions

    @Option(help: ArgumentHelp("Messages in a bag, 1000 to 100000000.", valueName: "n")) var messages = 1_000_000

    @Option(help: ArgumentHelp("Recorded messages per second, 1000 to 10000000.", valueName: "HZ"))
    var rate = 100_000

    @Option(
        help: ArgumentHelp("Directory of road tiles for the replay; without it none is measured.", valueName: "DIR"))
    var tiles: String?

    @Option(help: ArgumentHelp("Seed of the replayed drive's places.", valueName: "n")) var seed: UInt64 = 1

    func validate() throws {
        guard (1_000...100_000_000).contains(messages) else { throw ValidationError("--messages is out of range") }
        guard (1_000...10_000_000).contains(rate) else { throw ValidationError("--rate is out of range") }
    }

    func run() throws {
        let drive = try tiles.map { try ReplayDrive(tiles: $0, seed: seed, fixes: options.quick ? 1 : 20_000) }
        let suite = BagSuite(count: options.quick ? 20_000 : messages, rate: rate, drive: drive)
        try Report(options: options, peers: suite.lines).run(suite.comparisons)
    }
}

/// The recording, writing and reading of the same messages by both sides.
final class BagSuite {
    private let count: Int
    private let rate: Int
    private let python: String?
    private let drive: ReplayDrive?
    private let fix = GnssFix(
        latitude: 60.1699, longitude: 24.9384, altitude: 12, timestamp: Timestamp(seconds: 1_767_258_000), speed: 13.9,
        course: 1.5, fixType: .threeD, satellitesUsed: 12, hdop: 0.9, horizontalAccuracyM: 2.5
    ).encoded()

    init(count: Int, rate: Int, drive: ReplayDrive?) {
        (self.count, self.rate, self.drive) = (count, rate, drive)
        let path = ProcessInfo.processInfo.environment["NAVBUS_PYTHON"] ?? "/usr/bin/python3"
        let probe = try? BagSuite.run([path, "-c", "import mcap, zstandard; print('ok 1')"])
        python = probe?["ok"] == nil ? nil : path
    }

    /// The description of the measurements for the report's header.
    var lines: [String] {
        ["bag      \(count) messages of \(fix.count) bytes, zstd", "peer     " + (python ?? "none: it has no mcap")]
            + (drive.map { [$0.line] } ?? [])
    }

    var comparisons: [Comparison] {
        let peer = python == nil ? nil : "mcap (Python)"
        func theirs(_ script: String) -> Comparison.Run? {
            python.map { python in
                { try self.measure { [python, "-c", script, $0, "\(self.count)", "\(self.fix.count)"] } }
            }
        }
        return [
            Comparison("bag.write", peer: peer, [.init("", "msg/s")], ours: write, theirs: theirs(Self.writer)),
            Comparison("bag.read", peer: peer, [.init("", "msg/s")], ours: read, theirs: theirs(Self.reader)),
            Comparison(
                "bag.record", peer: nil, [.init("rate", "msg/s"), .init("lost", "msg")], ours: record, theirs: nil),
        ]
            + (drive.map {
                [Comparison("bag.replay", peer: nil, [.init("fixes_per_s", "1/s")], ours: $0.run, theirs: nil)]
            } ?? [])
    }

    // MARK: Ours

    private func makeBag(_ path: String) throws {
        var writer = try BagWriter(path: path)
        let channel = try writer.addChannel(
            topic: Topics.gnssFix.name, schemaName: GnssFix.fullName, schemaEncoding: "protobuf",
            schemaData: Schema.fileDescriptorSet(for: GnssFix.fullName) ?? [], messageEncoding: "protobuf")
        for index in 0..<count {
            let time = UInt64(index) * 10_000
            try writer.write(
                channel: channel, sequence: UInt32(truncatingIfNeeded: index), logTime: time, publishTime: time,
                data: fix)
        }
        try writer.close()
    }

    private func write() throws -> [String: Double] {
        let folder = try ScratchFolder(in: "/tmp")
        let watch = Stopwatch(processorTime: false)
        let start = watch.now()
        try makeBag(folder.path + "/bag.mcap")
        return ["": Double(count) * 1e9 / Double(watch.now() - start)]
    }

    private func read() throws -> [String: Double] {
        let folder = try ScratchFolder(in: "/tmp")
        let path = folder.path + "/bag.mcap"
        try makeBag(path)
        let watch = Stopwatch(processorTime: false)
        let start = watch.now()
        var cursor = try BagReader(path: path).messages()
        var seen = 0
        while let message = try cursor.next() { seen += message.data.isEmpty ? 0 : 1 }
        guard seen == count else { throw NodeError(.invalid, "\(seen) of \(count) messages were read") }
        return ["": Double(count) * 1e9 / Double(watch.now() - start)]
    }

    private func record() throws -> [String: Double] {
        let workers = try Workers()
        defer { workers.close() }
        let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path
        let path = workers.folder + "/bag.mcap"
        try workers.start(
            "recorder",
            [
                "/usr/bin/env", "NAVBUS_DIR=\(workers.folder)", "NAVBUS_DOMAIN=0", program + "/navbus", "bag", "record",
                Topics.gnssFix.name, "--out", path,
            ])
        let directory = try BusDirectory(path: workers.folder)
        let bus = try BusNode(name: "publisher", configuration: BusConfiguration(directory: directory))
        defer { bus.close() }
        let publication = try bus.advertise(
            TopicDescription(
                name: Topics.gnssFix.name, typeName: GnssFix.fullName, schemaFingerprint: GnssFix.schemaFingerprint,
                qos: .keepLast(QoS.maximumDepth), maximumPayloadSize: 1 << 16))
        let deadline = MonotonicClock.now() + .seconds(30)
        while try bus.subscriberCount(of: publication) < 1 {
            guard MonotonicClock.now() < deadline else { throw NodeError(.system, "the recorder did not subscribe") }
            _ = try bus.poll(timeout: .milliseconds(20))
        }
        let start = MonotonicClock.now()
        for index in 0..<count {
            if index % 100 == 0 {
                let due = start + .nanoseconds(Int64(index) * 1_000_000_000 / Int64(rate))
                let remaining = due - MonotonicClock.now()
                if remaining > .zero { _ = try bus.poll(timeout: remaining) }
            }
            try bus.publish(fix, on: publication, stampNanoseconds: Int64(index))
        }
        let seconds = (MonotonicClock.now() - start).inSeconds
        let end = MonotonicClock.now() + .seconds(1)
        while MonotonicClock.now() < end { _ = try bus.poll(timeout: .milliseconds(20)) }
        if let id = workers.processID(of: "recorder") { kill(id, SIGINT) }
        // The recorder exits with 1 if messages are lost, which the bag also shows.
        try? workers.finish(within: 60)
        let recorded = try BagReader(path: path).index.messageCount ?? 0
        return ["rate": Double(recorded) / seconds, "lost": Double(count) - Double(recorded)]
    }

    // MARK: The peer's

    private func measure(_ command: (String) -> [String]) throws -> [String: Double] {
        let folder = try ScratchFolder(in: "/tmp")
        let path = folder.path + "/bag.mcap"
        try makeBag(path)
        let nanoseconds = try Self.run(command(path))["ns"] ?? 0
        guard nanoseconds > 0 else { throw NodeError(.invalid, "the peer reported no time") }
        return ["": Double(count) * 1e9 / Double(nanoseconds)]
    }

    private static func run(_ command: [String]) throws -> [String: Int64] {
        let workers = try Workers()
        defer { workers.close() }
        try workers.start("peer", command)
        try workers.finish(within: 600)
        return workers.output(of: "peer")
    }

    private static let writer = """
        import sys, time
        from mcap.writer import Writer
        path, count, data = sys.argv[1], int(sys.argv[2]), bytes(range(int(sys.argv[3]) % 256))
        start = time.monotonic_ns()
        with open(path, "wb") as file:
            writer = Writer(file)
            writer.start()
            schema = writer.register_schema("S", "protobuf", b"")
            channel = writer.register_channel("\(Topics.gnssFix.name)", "protobuf", schema)
            for index in range(count):
                writer.add_message(channel, index * 10000, data, index * 10000, index)
            writer.finish()
        print("ns", time.monotonic_ns() - start)
        """

    private static let reader = """
        import sys, time
        from mcap.reader import make_reader
        start, seen = time.monotonic_ns(), 0
        with open(sys.argv[1], "rb") as file:
            for schema, channel, message in make_reader(file, validate_crcs=True).iter_messages():
                seen += 1
        assert seen == int(sys.argv[2])
        print("ns", time.monotonic_ns() - start)
        """
}
