internal import CProcess
// A dispatch source may be used from any thread, but the overlay does not declare it Sendable yet.
@preconcurrency import Dispatch
public import Glibc
public import NavBus
import Synchronization

/// A flag set by SIGINT and SIGTERM that a node's loop checks; a signal also wakes the loop.
public final class StopSignal: Sendable {
    private final class Flag: Sendable {
        let value = Atomic<Bool>(false)
    }

    private let flag = Flag()
    private let source: (any DispatchSourceRead)?

    /// Starts listening; the signals no longer end the process.
    ///
    /// A signal that arrives while a node starts is not lost.
    public init(_ signals: [Int32] = [SIGINT, SIGTERM], waking waker: Waker? = nil) {
        let counter = signals.isEmpty ? -1 : cprocess_watch_signals(signals, Int32(signals.count))
        guard counter >= 0 else {
            // Without a descriptor, signals keep their default action and end the process.
            source = nil
            return
        }
        let source = DispatchSource.makeReadSource(fileDescriptor: counter, queue: .global())
        source.setEventHandler { [flag] in
            flag.value.store(true, ordering: .relaxed)
            waker?.wake()
            // Only the first signal matters. The descriptor is never read, so the source would fire continuously.
            source.cancel()
        }
        source.resume()
        self.source = source
    }

    /// Sets the flag without a signal.
    public func stop() { flag.value.store(true, ordering: .relaxed) }

    /// Whether a signal has arrived or ``stop()`` was called.
    public var isStopped: Bool { flag.value.load(ordering: .relaxed) }
}
