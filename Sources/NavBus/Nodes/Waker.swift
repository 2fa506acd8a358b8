internal import CZeroMQ
internal import Glibc

/// A handle that ends a node's wait in ``Bus/poll(timeout:)`` from another thread.
///
/// A wake is remembered: a poll that starts later returns at once when nothing is queued. A waker may outlive its node.
public final class Waker: Sendable {
    private let file: FileDescriptor

    package init() throws(BusError) {
        // The eventfd flags EFD_CLOEXEC and EFD_NONBLOCK have these values by definition.
        let descriptor = eventfd(0, O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw BusError(.transport, "cannot create an eventfd: \(FileSystem.reason()); raise the open-file limit")
        }
        file = FileDescriptor(descriptor)
    }

    /// Wakes the node; never blocks, and is safe in a signal handler.
    public func wake() {
        var one: UInt64 = 1
        _ = write(file.rawValue, &one, MemoryLayout<UInt64>.size)
    }

    /// Readable after ``wake()``.
    var fileDescriptor: Int32 { file.rawValue }

    /// Clears the wakes so far and returns whether there was one.
    package func reset() -> Bool {
        var count: UInt64 = 0
        return read(file.rawValue, &count, MemoryLayout<UInt64>.size) > 0
    }
}
