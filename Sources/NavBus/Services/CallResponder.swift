internal import Glibc
internal import Synchronization

/// A handle that answers one call from any thread; it wakes the node, whose loop sends the answers.
public struct CallResponder: Sendable {
    private let channel: ResponderChannel

    init(_ channel: ResponderChannel) { self.channel = channel }

    /// Whether the call is over, so that a worker may stop.
    public var isCancelled: Bool { channel.isOver }

    /// Sends one message of a stream.
    ///
    /// - Returns: false when it was not sent: the call is over, or has no credit (see ``waitForCredit(timeout:)``).
    @discardableResult
    public func send(_ bytes: [UInt8]) -> Bool { channel.send(bytes) }

    /// Blocks the calling thread, which must not be the node's, until a message may be sent.
    ///
    /// - Returns: false on timeout or when the call is over.
    public func waitForCredit(timeout: Duration) -> Bool { channel.waitForCredit(timeout.boundedNanoseconds) }

    /// Answers a unary call, or ends a stream with one more message; has no effect when the call is over.
    public func finish(_ bytes: [UInt8]) { channel.finish(.response(bytes)) }

    /// Ends the call without a message; has no effect when the call is over.
    public func finish(_ status: CallStatus) { channel.finish(.status(status)) }
}

enum ResponderAnswer: Sendable {
    case message([UInt8])
    case response([UInt8])
    case status(CallStatus)
}

/// The state shared by a call's worker and its node.
///
/// Unchecked: the state is accessed only under the mutex, which must be a POSIX one for the condition variable.
final class ResponderChannel: @unchecked Sendable {
    private let serial: UInt64
    private let mailbox: ResponderMailbox?
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    /// The messages that the node may still send; `queued` counts those on their way to the node.
    private var credit: Int
    private var queued = 0
    private var hasEnded = false

    init(_ serial: UInt64, _ mailbox: ResponderMailbox?, credit: Int) {
        (self.serial, self.mailbox, self.credit) = (serial, mailbox, credit)
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    // MARK: The worker's side

    var isOver: Bool { locked { hasEnded } }

    func send(_ bytes: [UInt8]) -> Bool {
        let isTaken = locked {
            guard !hasEnded, queued < credit else { return false }
            queued += 1
            return true
        }
        if isTaken { mailbox?.put(serial, .message(bytes)) }
        return isTaken
    }

    func finish(_ answer: ResponderAnswer) {
        if !isOver { mailbox?.put(serial, answer) }
    }

    func waitForCredit(_ nanoseconds: Int64) -> Bool {
        let due = Clocks.monotonic() &+ nanoseconds
        var until = timespec(tv_sec: Int(due / 1_000_000_000), tv_nsec: Int(due % 1_000_000_000))
        return locked {
            while !hasEnded, queued >= credit {
                if pthread_cond_timedwait(condition, mutex, &until) == ETIMEDOUT { break }
            }
            return !hasEnded && queued < credit
        }
    }

    // MARK: The node's side

    func creditChanged(_ now: Int) {
        locked {
            credit = now
            pthread_cond_broadcast(condition)
        }
    }

    /// Records that the node sent a message and has `credit` for further ones.
    func messageLeft(credit now: Int) {
        locked {
            queued -= 1
            credit = now
            if queued < credit { pthread_cond_broadcast(condition) }
        }
    }

    func callEnded() {
        locked {
            hasEnded = true
            pthread_cond_broadcast(condition)
        }
    }
}

/// The answers on their way from other threads to the node's thread.
final class ResponderMailbox: Sendable {
    private let answers = Mutex<[(serial: UInt64, answer: ResponderAnswer)]>([])
    private let waker: Waker

    init(_ waker: Waker) { self.waker = waker }

    func put(_ serial: UInt64, _ answer: ResponderAnswer) {
        let wasEmpty = answers.withLock { waiting in
            defer { waiting.append((serial, answer)) }
            return waiting.isEmpty
        }
        if wasEmpty { waker.wake() }
    }

    func take() -> [(serial: UInt64, answer: ResponderAnswer)] {
        answers.withLock { waiting in
            if waiting.isEmpty { return [] }
            defer { waiting = [] }
            return waiting
        }
    }
}
