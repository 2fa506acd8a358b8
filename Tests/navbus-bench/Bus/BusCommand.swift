import ArgumentParser
import Foundation
import NavBench
import NavKit

/// The command `navbus-bench bus`.
struct BusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bus", abstract: "Measure the bus against plain C on libzmq.",
        discussion: """
            Latencies are in microseconds: round trips, and one-way times (oneway) by the shared clock; back to back, or \
            paced at 1 kHz. A ratio is our figure divided by the peer's: lower is better for latencies, higher for rates.
            """)

    /// The parts of the suite. `tail` compares the paced round trip of navbus under several scheduler settings with
    /// that of C libzmq under the default settings.
    enum Part: String, CaseIterable, ExpressibleByArgument {
        case pubsub, throughput, rpc, fanout, tail
    }

    @OptionGroup var options: SuiteOptions

    @Option(help: ArgumentHelp("Parts of the suite, of pubsub,throughput,rpc,fanout,tail.", valueName: "parts"))
    var only = "pubsub,throughput,rpc,fanout"

    @Option(
        help:
            "CPU pinning: none, one (the first CPU for all processes) or split (one CPU for each process)."
    )
    var pin = Scheduling.Pinning.none

    @Option(
        help: ArgumentHelp(
            "Run all processes under SCHED_RR with this priority, 1 to 99 (needs CAP_SYS_NICE); 0 for the kernel's default.",
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
                throw NodeError(.usage, "'\(word)' is not a part of the suite; available: \(known)")
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
