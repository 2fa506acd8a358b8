import NavBus
import Glibc

/// The processor time and memory that this process uses.
package struct ProcessUsage {
    private var lastTime = Clocks.monotonic()
    private var lastProcessor = Clocks.processor()

    package init() {}

    /// Returns the processor time per elapsed time since the last call; 1 is one core.
    package mutating func load() -> Double {
        let (now, used) = (Clocks.monotonic(), Clocks.processor())
        defer { (lastTime, lastProcessor) = (now, used) }
        return now > lastTime ? Double(used - lastProcessor) / Double(now - lastTime) : 0
    }

    /// Returns the resident memory, in bytes; nil where the kernel does not report it (proc_pid_statm(5): the second number, in pages).
    package static func residentBytes() -> UInt64? {
        let file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        let bytes = [UInt8](unsafeUninitializedCapacity: 128) { buffer, count in
            count = max(0, read(file, buffer.baseAddress, buffer.count))
        }
        let words = bytes.split(separator: UInt8(ascii: " "))
        guard words.count > 1, let pages = UInt64(String(decoding: words[1], as: UTF8.self)) else { return nil }
        let (size, overflow) = pages.multipliedReportingOverflow(by: UInt64(max(1, sysconf(Int32(_SC_PAGESIZE)))))
        return overflow ? nil : size
    }
}
