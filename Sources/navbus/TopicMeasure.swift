import ArgumentParser
import Foundation
import NavBus
import NavMessages

/// The options shared by the measuring commands.
struct MeasureOptions: ParsableArguments {
    @Argument(help: "Topics; * matches any text.") var topics: [String]
    @OptionGroup var limits: ListenLimits
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Latest messages of each publisher to measure over, 2 to 1000000.", valueName: "COUNT")
    )
    var window = 10_000
    @Flag(help: "Print JSON, one object per publisher and second.") var json = false

    func validate() throws {
        if topics.isEmpty { throw ValidationError("give a topic") }
        guard (2...1_000_000).contains(window) else { throw ValidationError("--window must be from 2 to 1000000") }
    }
}

/// A meter of one publisher's messages on one topic, based only on header and size; messages are not decoded.
struct TopicMeter {
    struct Sample {
        var monotonic: Int64
        var delay: Int64
        var size: Int
    }

    private(set) var count: UInt64 = 0
    private(set) var lost: UInt64 = 0
    private var sequence: UInt64 = 0
    private var samples: [Sample] = []
    private var next = 0
    private let window: Int

    init(window: Int) { self.window = window }

    mutating func take(_ delivery: Delivery) {
        // The first message sets the baseline; repeated messages do not count.
        guard delivery.header.sequence > sequence else { return }
        if sequence > 0 { lost &+= delivery.header.sequence - sequence - 1 }
        sequence = delivery.header.sequence
        count += 1
        let (delay, overflow) = delivery.received.utcNanoseconds.subtractingReportingOverflow(
            delivery.header.stampNanoseconds)
        let sample = Sample(
            monotonic: delivery.received.monotonicNanoseconds, delay: overflow ? .max : delay,
            size: delivery.payload.count)
        if samples.count < window {
            samples.append(sample)
        } else {
            samples[next] = sample
            next = (next + 1) % window
        }
    }

    /// The samples of the window, oldest first.
    var inOrder: ArraySlice<Sample> { samples[next...] + samples[..<next] }

    /// The intervals between messages, seconds.
    var intervals: Spread {
        let times = inOrder.map(\.monotonic)
        return Spread(zip(times, times.dropFirst()).map { Double($1 - $0) * 1e-9 })
    }

    var sizes: Spread { Spread(samples.map { Double($0.size) }) }

    /// The delays from stamp to arrival, seconds.
    var delays: Spread { Spread(samples.map { Double($0.delay) * 1e-9 }) }

    /// The rate over the window, bytes per second; nil with fewer than two messages.
    var bytesPerSecond: Double? {
        let ordered = inOrder
        guard let first = ordered.first, let last = ordered.last, last.monotonic > first.monotonic else { return nil }
        let bytes = ordered.dropFirst().reduce(0.0) { $0 + Double($1.size) }
        return bytes / (Double(last.monotonic - first.monotonic) * 1e-9)
    }
}

/// The distribution of a set of numbers.
struct Spread {
    let sorted: [Double]
    let mean: Double
    let deviation: Double

    init(_ values: [Double]) {
        sorted = values.sorted()
        let mean = values.reduce(0, +) / Double(Swift.max(values.count, 1))
        self.mean = mean
        deviation = (values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(Swift.max(values.count, 1)))
            .squareRoot()
    }

    var isEmpty: Bool { sorted.isEmpty }
    var min: Double { sorted.first ?? .nan }
    var max: Double { sorted.last ?? .nan }

    /// Returns the percentile of a share, 0 ... 1, by the nearest-rank method.
    func percentile(_ share: Double) -> Double {
        guard !sorted.isEmpty else { return .nan }
        let rank = Int((share * Double(sorted.count)).rounded(.up))
        return sorted[Swift.min(Swift.max(rank, 1), sorted.count) - 1]
    }
}

/// A measuring command that prints one line per publisher every second.
struct Measurement {
    struct Source: Hashable {
        let topic: String
        let bootID: UInt64
    }

    let options: MeasureOptions
    /// The columns of a publisher's line, without its name.
    let columns: (TopicMeter) -> [String]
    let figures: (TopicMeter) -> [String: Double]

    func run() throws {
        let tool = try ToolBus("topic")
        defer { tool.close() }
        let isPattern = try tool.subscribe(options.topics, depth: 10_000)
        var meters: [Source: TopicMeter] = [:]
        var names: [UInt64: String] = [:]
        var live = LiveLines()
        var output = Output()
        var nextReport = 1.0

        func report() throws {
            let unknown = meters.keys.contains { names[$0.bootID] == nil }
            if unknown { for node in try tool.snapshot().nodes { names[node.bootID] = node.node } }
            let sources = meters.keys.sorted {
                ($0.topic, names[$0.bootID] ?? "", $0.bootID) < ($1.topic, names[$1.bootID] ?? "", $1.bootID)
            }
            var lines: [String] = []
            var table = Table()
            for source in sources {
                guard let meter = meters[source] else { continue }
                let name = names[source.bootID] ?? "a node that has left"
                let dropped = tool.bus.statistics[topic: source.topic]?.dropped ?? 0
                if options.json {
                    lines.append(try document(source, name, meter, dropped))
                    continue
                }
                var cells = columns(meter).map { Table.Cell($0) }
                cells.append(
                    Table.Cell("\(meter.count) messages, \(meter.lost) lost", meter.lost > 0 ? .yellow : nil))
                if isPattern || options.topics.count > 1 || sources.count > 1 {
                    cells.append(Table.Cell("\(source.topic) (\(name))", .bold))
                }
                if dropped > 0 { cells.append(Table.Cell("\(dropped) of them dropped by this tool", .yellow)) }
                table.row(cells)
            }
            lines += table.lines(width: Console.width)
            if options.json {
                for line in lines { output.line(line) }
                output.flush()
            } else {
                live.show(lines.isEmpty ? ["nothing yet"] : lines, &output)
            }
        }

        var reported: UInt64 = 0
        func total() -> UInt64 { meters.values.reduce(0) { $0 &+ $1.count } }
        try Listening(tool: tool, topics: options.topics, limits: options.limits).run { delivery in
            let source = Source(topic: delivery.topic, bootID: delivery.header.bootID)
            // Restarting publishers must not exhaust the memory.
            if meters.count > 4096 { meters.removeAll() }
            meters[source, default: TopicMeter(window: options.window)].take(delivery)
        } tick: { elapsed in
            guard elapsed >= nextReport else { return }
            nextReport = elapsed.rounded(.down) + 1
            reported = total()
            if reported > 0 || Console.isTerminal { try report() }
        }
        if total() > reported { try report() }
    }

    private func document(_ source: Source, _ name: String, _ meter: TopicMeter, _ dropped: UInt64) throws -> String {
        struct Document: Encodable {
            var topic: String
            var publisher: String
            var count: UInt64
            var lost: UInt64
            var dropped_here: UInt64
            var figures: [String: Double]
        }
        return try navbus.json(
            Document(
                topic: source.topic, publisher: name, count: meter.count, lost: meter.lost, dropped_here: dropped,
                figures: figures(meter).filter { $0.value.isFinite }))
    }
}

/// `navbus topic hz`.
struct TopicHz: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hz",
        abstract: "Print rate and losses of topics every second until Ctrl-C; messages are counted, not decoded.")

    @OptionGroup var options: MeasureOptions

    func run() throws {
        try Measurement(options: options) { meter in
            let spread = meter.intervals
            guard !spread.isEmpty else { return ["- Hz", ""] }
            return [
                "\(Format.decimal(1 / spread.mean, 2)) Hz",
                "interval min \(Format.seconds(spread.min)), max \(Format.seconds(spread.max)), "
                    + "std \(Format.seconds(spread.deviation))",
            ]
        } figures: { meter in
            let spread = meter.intervals
            return [
                "rate_hz": spread.isEmpty ? .nan : 1 / spread.mean, "interval_min_s": spread.min,
                "interval_max_s": spread.max, "interval_std_s": spread.isEmpty ? .nan : spread.deviation,
            ]
        }.run()
    }
}

/// `navbus topic bw`.
struct TopicBandwidth: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bw", abstract: "Print the bytes per second and the message sizes of topics every second.")

    @OptionGroup var options: MeasureOptions

    func run() throws {
        try Measurement(options: options) { meter in
            let sizes = meter.sizes
            let rate = meter.bytesPerSecond.map { Format.bytes($0) + "/s" } ?? "-"
            return [
                rate,
                "size min \(Format.bytes(sizes.min)), mean \(Format.bytes(sizes.mean)), "
                    + "max \(Format.bytes(sizes.max))",
            ]
        } figures: { meter in
            let sizes = meter.sizes
            return [
                "bytes_per_s": meter.bytesPerSecond ?? .nan, "size_min": sizes.min, "size_mean": sizes.mean,
                "size_max": sizes.max,
            ]
        }.run()
    }
}

/// `navbus topic delay`.
struct TopicDelay: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delay",
        abstract: "Print the latency from a message's stamp to its arrival every second; both clocks must agree.")

    @OptionGroup var options: MeasureOptions

    /// The largest plausible delay; a larger one is due to another clock: a bag, simulated time, or an unsynchronised host.
    private static let plausible = 3600.0

    func run() throws {
        try Measurement(options: options) { meter in
            let delays = meter.delays
            var cells = [0.5, 0.9, 0.99].map { share in
                "p\(Int(share * 100)) \(Format.seconds(delays.percentile(share)))"
            }
            cells.append("max \(Format.seconds(delays.max))")
            if delays.min < 0 {
                cells.append("clocks disagree: \(Format.seconds(-delays.min)) from the future")
            } else if delays.min > Self.plausible {
                cells.append("stamps of another time: from a bag or simulated")
            }
            return cells
        } figures: { meter in
            let delays = meter.delays
            return [
                "delay_min_s": delays.min, "delay_p50_s": delays.percentile(0.5),
                "delay_p90_s": delays.percentile(0.9), "delay_p99_s": delays.percentile(0.99),
                "delay_max_s": delays.max,
            ]
        }.run()
    }
}
