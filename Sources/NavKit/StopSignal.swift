internal import CProcess
// A dispatch source may be used from any thread; the overlay does not say so yet.
@preconcurrency import Dispatch
public import Glibc
public import NavBus
import Synchronization

/// Turns SIGINT and SIGTERM into a flag that a node's loop looks at, and wakes the loop.
public final class StopSignal: Sendable {
    private final class Flag: Sendable {
        let value = Atomic<Bool>(false)
    }

    private let flag = Flag()
    private let source: (any DispatchSourceRead)?

    /// Starts to listen; the signals no longer end the process by themselves. One that comes while a node starts is not lost.
    public init(_ signals: [Int32] = [SIGINT, SIGTERM], waking waker: Waker? = nil) {
        let counter = signals.isEmpty ? -1 : cprocess_watch_signals(signals, Int32(signals.count))
        guard counter >= 0 else {
            // Without a descriptor for it a signal ends the process, as it does by itself.
            source = nil
            return
        }
        let source = DispatchSource.makeReadSource(fileDescriptor: counter, queue: .global())
        source.setEventHandler { [flag] in
            flag.value.store(true, ordering: .relaxed)
            waker?.wake()
            // The first signal decides. The counter is not read, so the source would fire again and again.
            source.cancel()
        }
        source.resume()
        self.source = source
    }

    /// Does what a signal does.
    public func stop() { flag.value.store(true, ordering: .relaxed) }

    /// Whether a signal has arrived.
    public var isStopped: Bool { flag.value.load(ordering: .relaxed) }
}
