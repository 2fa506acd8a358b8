import Foundation
import NavBench
import NavTestBus

/// The comparisons of `navbus-bench bus`: both sides are processes with the same roles and options.
struct BusSuite {
    private enum Side {
        case ours, theirs
    }

    private let ours: [String]
    private let theirs: [String]
    private let peer: String
    private var scheduling: Scheduling
    private let isQuick: Bool
    private let build: String

    /// Finds both programs in `folder` and queries the peer for the version of libzmq.
    init(folder: String, scheduling: Scheduling, isQuick: Bool) throws {
        ours = [folder + "/navbus-bench", "bus-worker"]
        theirs = [folder + "/navbus-bench-peer"]
        (self.scheduling, self.isQuick) = (scheduling, isQuick)
        guard FileManager.default.isExecutableFile(atPath: theirs[0]) else {
            throw BenchError("\(theirs[0]) is missing: build the whole package")
        }
        let workers = try Workers()
        defer { workers.close() }
        try workers.start("version", theirs + ["version"])
        try workers.finish(within: 10)
        let words = workers.words(of: "version")
        peer = "C libzmq " + (words["libzmq"] ?? "?")
        build = words["build"] ?? "unknown"
    }

    /// Lines for the report's header.
    var peers: [String] { ["peer     \(peer), \(build)", "threads  \(scheduling.description)"] }

    func comparisons(of part: BusCommand.Part) -> [Comparison] {
        switch part {
        case .pubsub: roundTrips
        // Long enough that the start of a connection, with empty buffers and untouched memory, is negligible.
        case .throughput: [throughput(200, count: 1_000_000), throughput(100_000, count: 10_000)]
        case .rpc: [unary(rate: 0), unary(rate: 1000), stream]
        case .fanout: (isQuick ? [1, 3] : [1, 8, 32]).flatMap { [fanOut($0), pacedFanOut($0)] }
        case .tail: Scheduling.variants.map(tail)
        }
    }

    // MARK: Processes

    private func scaled(_ count: Int) -> Int { isQuick ? max(20, count / 200) : count }

    /// Returns the command of a side's process, the `index`-th of its measurement.
    private func command(_ side: Side, _ index: Int, _ role: String, _ options: [String: String]) -> [String] {
        scheduling.prefix(index) + (side == .ours ? ours : theirs) + [role]
            + options.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] }
    }

    /// Starts the processes of one measurement, waits until they end, and reads their results.
    private func run<Result>(
        _ side: Side, _ roles: [(name: String, role: String, more: [String: String])], _ options: [String: String],
        _ read: (Workers) throws -> Result
    ) throws -> Result {
        let workers = try Workers()
        defer { workers.close() }
        for (index, process) in roles.enumerated() {
            var all = options.merging(process.more) { $1 }
            (all["--folder"], all["--name"], all["--deadline"]) = (workers.folder, process.name, "60")
            try workers.start(process.name, command(side, index, process.role, all))
        }
        try workers.finish(within: 70)
        return try read(workers)
    }

    private func expect(_ workers: Workers, _ name: String, _ word: String, atLeast count: Int) throws {
        let seen = workers.output(of: name)[word] ?? 0
        guard seen >= count else {
            throw BenchError("\(name) reports '\(word) \(seen)' instead of the \(count) messages sent")
        }
    }

    // MARK: Round trips

    private var roundTrips: [Comparison] {
        [
            roundTrip("ipc", 200, count: 20_000, rate: 0), roundTrip("ipc", 200, count: 1500, rate: 1000),
            roundTrip("ipc", 100_000, count: 3000, rate: 0), roundTrip("ipc", 100_000, count: 500, rate: 1000),
            roundTrip("tcp", 200, count: 10_000, rate: 0), roundTrip("tcp", 100_000, count: 1000, rate: 0),
            inProcess(200), inProcess(100_000), twoThreads(200),
        ]
    }

    private static let tripMeasures =
        Comparison.Measure.latencies + Comparison.Measure.latencies.map { .init("oneway." + $0.name, $0.unit) }

    private func sizeName(_ size: Int) -> String { size >= 1000 ? "\(size / 1000)KB" : "\(size)B" }

    private func tripOptions(_ transport: String, _ size: Int, _ count: Int, _ rate: Int) -> [String: String] {
        let count = scaled(count)
        return [
            "--transport": transport, "--size": "\(size)", "--count": "\(count)", "--rate": "\(rate)",
            "--warmup": "\(rate > 0 ? min(count, 200) : count / 10)",
        ]
    }

    private func roundTrip(_ transport: String, _ size: Int, count: Int, rate: Int) -> Comparison {
        let options = tripOptions(transport, size, count, rate)
        let name = "bus.pubsub.\(transport).\(sizeName(size))" + (rate > 0 ? ".paced" : "")
        return Comparison(
            name, peer: peer, Self.tripMeasures,
            ours: { try trip(.ours, options) }, theirs: { try trip(.theirs, options) })
    }

    private func trip(_ side: Side, _ options: [String: String]) throws -> [String: Double] {
        try run(side, [("echo", "echo", [:]), ("ping", "ping", [:])], options) { workers in
            let count = Int(options["--count"] ?? "") ?? 0
            try expect(workers, "echo", "echoed", atLeast: count)
            return try latencies(workers, "ping", count)
        }
    }

    private func latencies(_ workers: Workers, _ name: String, _ count: Int) throws -> [String: Double] {
        try expect(workers, name, "count", atLeast: count)
        let ways = Statistics.latencies(nanoseconds: try workers.samples("\(name).way"))
        return Statistics.latencies(nanoseconds: try workers.samples("\(name).trip"))
            .merging(ways.map { ("oneway." + $0.key, $0.value) }) { $1 }
    }

    /// `InProcessBus` runs in one thread, as does the peer, with a high-water mark that a single thread cannot reach.
    private func inProcess(_ size: Int) -> Comparison {
        var options = tripOptions("inproc", size, size > 1000 ? 2000 : 20_000, 0)
        options["--hwm"] = "100000"
        options["--threads"] = "1"
        return Comparison(
            "bus.pubsub.inproc.\(sizeName(size))", peer: peer + ", inproc in one thread", Self.tripMeasures,
            ours: { try alone(.ours, options) }, theirs: { try alone(.theirs, options) })
    }

    private func twoThreads(_ size: Int) -> Comparison {
        let options = tripOptions("inproc", size, 20_000, 0)
        return Comparison(
            "bus.pubsub.inproc-threads.\(sizeName(size))", peer: peer + ", inproc between two threads",
            Self.tripMeasures, ours: nil, theirs: { try alone(.theirs, options) })
    }

    private func alone(_ side: Side, _ options: [String: String]) throws -> [String: Double] {
        try run(side, [("inproc", "inproc", [:])], options) { workers in
            try latencies(workers, "inproc", Int(options["--count"] ?? "") ?? 0)
        }
    }

    // MARK: Throughput and fan-out

    private func throughput(_ size: Int, count: Int) -> Comparison {
        let measure = { side in try broadcast(side, to: 1, size, scaled(count), rate: 0).filter { $0.key.isEmpty } }
        return Comparison(
            "bus.throughput.ipc.\(sizeName(size))", peer: peer, [.init("", "msg/s")],
            ours: { try measure(.ours) }, theirs: { try measure(.theirs) })
    }

    /// Measures fan-out at full speed: messages delivered to all subscribers, and the publisher's cost of a
    /// publication.
    private func fanOut(_ subscribers: Int) -> Comparison {
        let count = scaled(1_280_000) / subscribers
        return Comparison(
            "bus.fanout.1to\(subscribers)", peer: peer, [.init("", "msg/s"), .init("publish", "us")],
            ours: { try broadcast(.ours, to: subscribers, 200, count, rate: 0) },
            theirs: { try broadcast(.theirs, to: subscribers, 200, count, rate: 0) })
    }

    /// Measures fan-out at 500 Hz: the one-way latency over all subscribers.
    private func pacedFanOut(_ subscribers: Int) -> Comparison {
        let count = scaled(250)
        return Comparison(
            "bus.fanout.1to\(subscribers).paced", peer: peer,
            Comparison.Measure.latencies.map { .init("oneway." + $0.name, $0.unit) },
            ours: { try broadcast(.ours, to: subscribers, 200, count, rate: 500) },
            theirs: { try broadcast(.theirs, to: subscribers, 200, count, rate: 500) })
    }

    private func broadcast(
        _ side: Side, to subscribers: Int, _ size: Int, _ count: Int, rate: Int
    ) throws -> [String: Double] {
        let names = (0..<subscribers).map { "sub-\($0)" }
        let options = [
            "--size": "\(size)", "--count": "\(count)", "--rate": "\(rate)", "--hwm": "\(max(1000, count))",
        ]
        let publisher = ("pub", "pub", ["--subscribers": "\(subscribers)"])
        return try run(side, [publisher] + names.map { ($0, "sub", [:]) }, options) { workers in
            let sent = workers.output(of: "pub")
            try expect(workers, "pub", "count", atLeast: count)
            for name in names { try expect(workers, name, "count", atLeast: count) }
            if rate > 0 {
                let ways = try names.flatMap { try workers.samples("\($0).way") }
                return Dictionary(
                    uniqueKeysWithValues: Statistics.latencies(nanoseconds: ways).map { ("oneway." + $0.key, $0.value) }
                )
            }
            guard let start = sent["start"], let end = sent["end"],
                let last = names.compactMap({ workers.output(of: $0)["end"] }).max(), last > start
            else { throw BenchError("the publisher or its subscribers reported no times") }
            return [
                "": Double(count * subscribers) / (Double(last - start) / 1e9),
                "publish": Double(end - start) / 1000 / Double(count),
            ]
        }
    }

    // MARK: Services

    private func unary(rate: Int) -> Comparison {
        let options = tripOptions("ipc", 200, rate > 0 ? 1000 : 20_000, rate)
        let measure = { (side: Side) in
            try run(side, [("server", "server", [:]), ("unary", "unary", [:])], options) { workers in
                let count = Int(options["--count"] ?? "") ?? 0
                try expect(workers, "unary", "count", atLeast: count)
                try expect(workers, "server", "served", atLeast: count)
                return Statistics.latencies(nanoseconds: try workers.samples("unary.trip"))
            }
        }
        return Comparison(
            "bus.rpc.unary" + (rate > 0 ? ".paced" : ""), peer: peer + ", raw round trip",
            Comparison.Measure.latencies, ours: { try measure(.ours) }, theirs: { try measure(.theirs) })
    }

    private var stream: Comparison {
        let count = scaled(500_000)
        let options = ["--size": "200", "--count": "\(count)", "--warmup": "\(count / 10)", "--window": "64"]
        let measure = { (side: Side) in
            try run(side, [("server", "server", [:]), ("stream", "stream", [:])], options) { workers in
                try expect(workers, "stream", "count", atLeast: count)
                let times = workers.output(of: "stream")
                guard let start = times["start"], let end = times["end"], end > start else {
                    throw BenchError("the stream's client reported no times")
                }
                return ["": Double(count) / (Double(end - start) / 1e9)]
            }
        }
        return Comparison(
            "bus.rpc.stream", peer: peer + ", window of 64", [.init("", "msg/s")], ours: { try measure(.ours) },
            theirs: { try measure(.theirs) })
    }

    // MARK: The tail

    /// Measures paced round trips of 200 B of navbus under scheduler settings, compared with C libzmq under the
    /// default.
    private func tail(_ name: String, _ scheduling: Scheduling) -> Comparison {
        let options = tripOptions("ipc", 200, 1000, 1000)
        var (set, unset) = (self, self)
        (set.scheduling, unset.scheduling) = (scheduling, Scheduling())
        return Comparison(
            "bus.tail.\(name)", peer: peer + ", default scheduling", Comparison.Measure.latencies,
            ours: { [set] in try set.trip(.ours, options) },
            theirs: { [unset] in try unset.trip(.theirs, options) })
    }
}
