import Glibc

/// The clock that a measurement goes by.
struct Stopwatch {
    /// Whether it is the time that this thread has had a processor, which other work on the machine disturbs least;
    /// else it is the wall's.
    let countsProcessorTime: Bool

    init(processorTime: Bool) { countsProcessorTime = processorTime }

    /// Nanoseconds since some moment.
    func now() -> Int64 {
        var time = timespec()
        clock_gettime(countsProcessorTime ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
