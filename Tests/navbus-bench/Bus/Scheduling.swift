import ArgumentParser
import Foundation

/// The kernel's scheduling of the processes of a measurement, the same for both sides.
///
/// Settings are inherited by all threads of a process, including libzmq's.
struct Scheduling {
    /// The processors on which processes run.
    enum Pinning: String, CaseIterable, ExpressibleByArgument {
        /// The processors that the kernel chooses.
        case none
        /// All on the first processor.
        case one
        /// Each on one processor, in turn.
        case split
    }

    var pin = Pinning.none
    /// Priority under `SCHED_RR`, 0 for the default policy.
    var realtime = 0
    /// Niceness; below 0 only with privileges.
    var nice = 0

    /// The prefix of the command of the `index`-th process.
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

    /// A description for the head of a report.
    var description: String {
        "processors \(pin.rawValue), " + (realtime > 0 ? "SCHED_RR \(realtime)" : "default policy")
    }

    /// The settings compared in the suite's tail, by name; the first is the default, to show random variation.
    static let variants: [(name: String, scheduling: Scheduling)] = [
        ("default", Scheduling()),
        ("nice", Scheduling(nice: -20)),
        ("split", Scheduling(pin: .split)),
        ("one-cpu", Scheduling(pin: .one)),
        ("round-robin", Scheduling(realtime: 10)),
        ("round-robin-one-cpu", Scheduling(pin: .one, realtime: 10)),
    ]
}
