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
    private let sources: [any DispatchSourceSignal]

    /// Starts to listen; the signals no longer end the process by themselves.
    public init(_ signals: [Int32] = [SIGINT, SIGTERM], waking waker: Waker? = nil) {
        sources = signals.map { [flag] number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                flag.value.store(true, ordering: .relaxed)
                waker?.wake()
            }
            source.resume()
            return source
        }
    }

    /// Does what a signal does.
    public func stop() { flag.value.store(true, ordering: .relaxed) }

    /// Whether a signal has arrived.
    public var isStopped: Bool { flag.value.load(ordering: .relaxed) }
}
