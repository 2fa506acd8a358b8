import ArgumentParser
import Foundation
import NavBench
import NavKit

/// `navbus-bench bus`.
struct BusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bus", abstract: "Measure the bus beside plain C on libzmq.",
        discussion: """
            Latencies are in microseconds: round trips, and one way (oneway) by the clock both processes share; as fast \
            as answers come, or paced at 1 kHz. A ratio is ours over the peer's: of a latency less is better, of a rate \
            more.
            """)

    /// The parts of the suite; `tail` compares our paced round trip under settings of the scheduler with C libzmq's
    /// under none.
    enum Part: String, CaseIterable, ExpressibleByArgument {
        case pubsub, throughput, rpc, fanout, tail
    }

    @OptionGroup var options: SuiteOptions

    @Option(help: ArgumentHelp("Parts of the suite, of pubsub,throughput,rpc,fanout,tail.", valueName: "parts"))
    var only = "pubsub,throughput,rpc,fanout"

    @Option(
        help:
            "Processors: none leaves it to the kernel, one takes the first for all, split one for each process in turn."
    )
    var pin = Scheduling.Pinning.none

    @Option(
        help: ArgumentHelp(
            "Run all processes under SCHED_RR with this priority, 1 to 99, which takes CAP_SYS_NICE; 0 for the kernel's default.",
            valueName: "priority"))
    var realtime = 0

    func validate() throws {
        guard (0...99).contains(realtime) else { throw ValidationError("--realtime takes 0 to 99, not \(realtime).") }
    }

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
            suite = try BusSuite(
                folder: folder, scheduling: Scheduling(pin: pin, realtime: realtime), isQuick: options.quick)
        } catch {
            throw NodeError(.system, "\(error)")
        }
        let comparisons = Part.allCases.filter(parts.contains).flatMap(suite.comparisons)
        try Report(options: options, peers: suite.peers).run(comparisons)
    }
}
