import ArgumentParser
import Foundation

/// The kernel's scheduling of the processes of a measurement, the same for both sides.
///
/// Settings are inherited by all threads of a process, including libzmq's.
struct Scheduling {
    /// The processors on which processes run.
    enum Pinning: String, CaseIterable, ExpressibleByArgument {
        /// Processors chosen by the kernel.
        case none
        /// The first processor for all processes.
        case one
        /// One processor for each process, in turn.
        case split
    }

    var pin = Pinning.none
    /// The priority under `SCHED_RR`; 0 for the default policy.
    var realtime = 0
    /// The niceness; below 0 only with privileges.
    var nice = 0

    /// Returns the command prefix of the `index`-th process.
    func prefix(_ index: Int) -> [String] {
        var words: [String] = []
        if realtime > 0 { words += ["/usr/bin/chrt", "-r", "\(realtime)"] }
        if nice != 0 { words += ["/usr/bin/nice", "-n", "\(nice)"] }
        switch pin {
        case .none: break
        case .one: words += ["/usr/bin/taskset", "-c", "0"]
        case .split:
            words += ["/usr/bin/taskset", "-c", "\(index % ProcessInfo.processInfo.activeProcessorCount)"]
        }
        return words
    }

    /// A description for the report's header.
    var description: String {
        "processors \(pin.rawValue), " + (realtime > 0 ? "SCHED_RR \(realtime)" : "default policy")
    }

    /// The settings compared in the suite's tail, by name; the first is the default again, which shows random
    /// variation.
    static let variants: [(name: String, scheduling: Scheduling)] = [
        ("default", Scheduling()),
        ("nice", Scheduling(nice: -20)),
        ("split", Scheduling(pin: .split)),
        ("one-cpu", Scheduling(pin: .one)),
        ("round-robin", Scheduling(realtime: 10)),
        ("round-robin-one-cpu", Scheduling(pin: .one, realtime: 10)),
    ]
}
