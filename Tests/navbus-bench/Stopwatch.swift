import Glibc

/// The clock of a measurement.
struct Stopwatch {
    /// Whether it measures the processor time of this thread, which is least disturbed by other work on the machine;
    /// otherwise it measures the elapsed time.
    let countsProcessorTime: Bool

    init(processorTime: Bool) { countsProcessorTime = processorTime }

    /// Nanoseconds since an arbitrary moment.
    func now() -> Int64 {
        var time = timespec()
        clock_gettime(countsProcessorTime ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
