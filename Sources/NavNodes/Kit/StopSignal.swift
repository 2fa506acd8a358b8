import Dispatch
import Glibc
public import NavBus
import Synchronization

/// Turns SIGINT and SIGTERM into a flag that a node's loop looks at, and wakes the loop.
public final class StopSignal: Sendable {
    private let flag = Atomic<Bool>(false)
    private let sources: Mutex<[any DispatchSourceSignal]>

    /// Starts to listen; the signals no longer end the process by themselves.
    public init(waking waker: Waker?) {
        sources = Mutex([])
        for number in [SIGINT, SIGTERM] {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { [weak self] in
                self?.flag.store(true, ordering: .relaxed)
                waker?.wake()
            }
            source.resume()
            sources.withLock { $0.append(source) }
        }
    }

    /// Whether a signal has arrived, or ``stop()`` was called.
    public var isStopped: Bool { flag.load(ordering: .relaxed) }

    /// Asks the loop to end.
    public func stop() { flag.store(true, ordering: .relaxed) }
}
