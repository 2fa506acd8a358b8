/// The settings of a process between its fork and its exec. A setting that is not given stays as it is for the launcher.
public struct ProcessSettings: Sendable, Equatable {
    /// Processors are numbered below this.
    public static let maximumCPUs = 1024

    /// The kernel's scheduling policy (sched(7)).
    public enum Scheduler: Sendable, Equatable {
        /// `SCHED_OTHER`: fair shares, by niceness.
        case other
        /// `SCHED_BATCH`: fair shares, for work that nobody waits for.
        case batch
        /// `SCHED_IDLE`: only what nobody else wants.
        case idle
        /// `SCHED_FIFO`: before all of a lower priority, until it waits; priority 1 to 99.
        case fifo(Int)
        /// `SCHED_RR`: as FIFO, and equal priorities take turns; priority 1 to 99.
        case roundRobin(Int)
    }

    public enum Limit: Sendable, Equatable {
        case unlimited
        /// In the unit of the resource.
        case value(UInt64)
    }

    /// Processors it may run on, ascending, each once (`sched_setaffinity`); empty: as the launcher.
    public var cpus: [Int]
    /// Niceness from -20, the most favoured, to 19 (`setpriority`).
    public var nice: Int?
    /// Scheduling policy (`sched_setscheduler`).
    public var scheduler: Scheduler?
    /// Largest core file in bytes (`RLIMIT_CORE`).
    public var coreLimit: Limit?
    /// Most memory of its own in bytes, heaps and private mappings (`RLIMIT_DATA`); mapped files do not count.
    public var memoryLimit: Limit?
    /// Most open descriptors (`RLIMIT_NOFILE`).
    public var openFiles: Limit?

    /// Settings; what is left out stays as it is.
    public init(
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

    /// Each setting as the launch file writes it.
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

    /// `other`, `batch`, `idle`, `fifo:PRIORITY` or `rr:PRIORITY`; nil for anything else.
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

    /// `unlimited`, or a whole number with an optional `K`, `M` or `G` (powers of 1024); nil for anything else.
    init?(_ text: String) {
        if text == "unlimited" {
            self = .unlimited
            return
        }
        let factors: [Character: UInt64] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30]
        let factor = text.last.flatMap { factors[$0] }
        guard let number = UInt64(factor == nil ? text[...] : text.dropLast()) else { return nil }
        let (value, overflow) = number.multipliedReportingOverflow(by: factor ?? 1)
        // The kernel takes the largest number for no limit.
        guard !overflow, value < UInt64.max else { return nil }
        self = .value(value)
    }
}

/// The processors of `0-2,5`, ascending and each once; nil when it is not such a list.
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

/// Ascending processors as `cpuList` reads them: `0-2,5`.
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
