import Glibc

/// The clock of a measurement.
struct Stopwatch {
    /// Whether the processor time of this thread is measured, which other work on the machine affects least, instead of
    /// elapsed time.
    let countsProcessorTime: Bool

    init(processorTime: Bool) { countsProcessorTime = processorTime }

    /// Returns nanoseconds since an arbitrary start.
    func now() -> Int64 {
        var time = timespec()
        clock_gettime(countsProcessorTime ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
