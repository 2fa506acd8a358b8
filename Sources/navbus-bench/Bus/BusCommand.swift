import ArgumentParser
import Foundation
import NavBench
import NavNodes

/// `navbus-bench bus`.
struct BusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bus", abstract: "Measure the bus beside plain C on libzmq.",
        discussion: """
            Latencies are in microseconds: round trips, and one way (oneway) by the clock both processes share; as fast \
            as answers come, or paced at 1 kHz. A ratio is ours over the peer's: of a latency less is better, of a rate \
            more.
            """)

    /// The parts of the suite; `tail` compares thread settings of the C program with its defaults.
    enum Part: String, CaseIterable, ExpressibleByArgument {
        case pubsub, throughput, rpc, fanout, tail
    }

    /// Where processes may run, the same for both sides.
    enum Pinning: String, CaseIterable, ExpressibleByArgument {
        case none, one, split
    }

    @OptionGroup var options: SuiteOptions

    @Option(help: ArgumentHelp("Parts of the suite, of pubsub,throughput,rpc,fanout,tail.", valueName: "parts"))
    var only = "pubsub,throughput,rpc,fanout"

    @Option(
        help:
            "Processors: none leaves it to the kernel, one takes the first for all, split one for each process in turn."
    )
    var pin = Pinning.none

    func run() throws {
        var parts: [Part] = []
        for word in only.split(separator: ",") {
            guard let part = Part(rawValue: String(word)) else {
                let known = Part.allCases.map(\.rawValue).joined(separator: ", ")
                throw NodeError(.usage, "'\(word)' is no part of the suite; there are \(known)")
            }
            parts.append(part)
        }
        let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path
        let suite: BusSuite
        do {
            suite = try BusSuite(folder: folder, pin: pin, isQuick: options.quick)
        } catch {
            throw NodeError(.system, "\(error)")
        }
        let comparisons = Part.allCases.filter(parts.contains).flatMap(suite.comparisons)
        try Report(options: options, peers: suite.peers).run(comparisons)
    }
}
