/// The settings applied to a process between fork and exec; those not given are inherited from the launcher.
package struct ProcessSettings: Sendable, Equatable {
    /// The exclusive upper bound of processor numbers.
    package static let maximumCPUs = 1024

    /// The kernel's scheduling policy (sched(7)).
    package enum Scheduler: Sendable, Equatable {
        /// `SCHED_OTHER`: fair shares, by niceness.
        case other
        /// `SCHED_BATCH`: fair shares, for non-interactive work.
        case batch
        /// `SCHED_IDLE`: only otherwise idle processor time.
        case idle
        /// `SCHED_FIFO`: takes precedence over all lower priorities until it waits; priority 1 to 99.
        case fifo(Int)
        /// `SCHED_RR`: as FIFO, but equal priorities take turns; priority 1 to 99.
        case roundRobin(Int)
    }

    package enum Limit: Sendable, Equatable {
        case unlimited
        /// A number in the unit of the resource.
        case value(UInt64)
    }

    /// The processors it may run on, ascending and unique (`sched_setaffinity`); if empty, the launcher's.
    package var cpus: [Int]
    /// Niceness from -20, the most favoured, to 19 (`setpriority`).
    package var nice: Int?
    /// Scheduling policy (`sched_setscheduler`).
    package var scheduler: Scheduler?
    /// Largest core file in bytes (`RLIMIT_CORE`).
    package var coreLimit: Limit?
    /// The limit of private memory, heap and private mappings, in bytes (`RLIMIT_DATA`); mapped files do not count.
    package var memoryLimit: Limit?
    /// Most open descriptors (`RLIMIT_NOFILE`).
    package var openFiles: Limit?

    /// Creates settings; those omitted are inherited from the launcher.
    package init(
        cpus: [Int] = [], nice: Int? = nil, scheduler: Scheduler? = nil, coreLimit: Limit? = nil,
        memoryLimit: Limit? = nil, openFiles: Limit? = nil
    ) {
        self.cpus = cpus
        self.nice = nice
        self.scheduler = scheduler
        self.coreLimit = coreLimit
        self.memoryLimit = memoryLimit
        self.openFiles = openFiles
    }

    /// The given settings, each in the notation of the launch file.
    var details: [String] {
        var lines: [String] = []
        if !cpus.isEmpty { lines.append("cpus \(cpuText(cpus))") }
        if let nice { lines.append("nice \(nice)") }
        if let scheduler { lines.append("scheduler \(scheduler.text)") }
        for (name, limit) in [("core_limit", coreLimit), ("memory_limit", memoryLimit), ("open_files", openFiles)] {
            if let limit { lines.append("\(name) \(limit.text)") }
        }
        return lines
    }
}

extension ProcessSettings.Scheduler {
    fileprivate var text: String {
        switch self {
        case .other: return "other"
        case .batch: return "batch"
        case .idle: return "idle"
        case .fifo(let priority): return "fifo:\(priority)"
        case .roundRobin(let priority): return "rr:\(priority)"
        }
    }

    /// Parses `other`, `batch`, `idle`, `fifo:PRIORITY` or `rr:PRIORITY`; nil for anything else.
    init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let priority = parts.count == 2 ? Int(parts[1]).flatMap { (1...99).contains($0) ? $0 : nil } : nil
        switch (parts.first, parts.count, priority) {
        case ("other", 1, _): self = .other
        case ("batch", 1, _): self = .batch
        case ("idle", 1, _): self = .idle
        case ("fifo", 2, let priority?): self = .fifo(priority)
        case ("rr", 2, let priority?): self = .roundRobin(priority)
        default: return nil
        }
    }
}

extension ProcessSettings.Limit {
    fileprivate var text: String {
        switch self {
        case .unlimited: return "unlimited"
        case .value(let value): return String(value)
        }
    }

    /// Parses `unlimited`, or a whole number with an optional `K`, `M` or `G` (powers of 1024); nil for anything else.
    init?(_ text: String) {
        if text == "unlimited" {
            self = .unlimited
            return
        }
        let factors: [Character: UInt64] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30]
        let factor = text.last.flatMap { factors[$0] }
        guard let number = UInt64(factor == nil ? text[...] : text.dropLast()) else { return nil }
        let (value, overflow) = number.multipliedReportingOverflow(by: factor ?? 1)
        // The kernel treats the largest number as no limit.
        guard !overflow, value < UInt64.max else { return nil }
        self = .value(value)
    }
}

/// Parses a list of processors such as `0-2,5`, returned ascending and unique; nil when the list is malformed.
func cpuList(_ text: String) -> [Int]? {
    var cpus: Set<Int> = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
        let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { word -> Int? in
            Int(word.drop { $0 == " " })
        }
        guard ends.count <= 2, let first = ends.first ?? nil, let last = ends.last ?? nil, first <= last, first >= 0,
            last < ProcessSettings.maximumCPUs
        else { return nil }
        cpus.formUnion(first...last)
    }
    return cpus.isEmpty ? nil : cpus.sorted()
}

/// Formats ascending processors in the form that `cpuList` parses: `0-2,5`.
func cpuText(_ cpus: [Int]) -> String {
    var runs: [ClosedRange<Int>] = []
    for cpu in cpus {
        if let last = runs.last, last.upperBound + 1 == cpu {
            runs[runs.count - 1] = last.lowerBound...cpu
        } else {
            runs.append(cpu...cpu)
        }
    }
    return runs.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: ",")
}
