internal import CZeroMQ
internal import Glibc
internal import Synchronization

/// The thread that answers ZeroMQ's authentication requests and counts connections.
///
/// It is a separate thread so that others can connect while the node computes, and so that the sockets' monitor events
/// never pile up, however fast unknown hosts connect.
final class AuthenticatorThread: Sendable {
    private let authenticator: Mutex<Authenticator>
    private let stop: Waker
    private let onEvent: (@Sendable (HostEvent) -> Void)?
    private let thread = Mutex<pthread_t?>(nil)

    /// Sockets handed from the node's thread to this one.
    private final class Handover: @unchecked Sendable {
        // Unchecked: the creating thread drops it when the new one starts, which orders their memory.
        let owner: AuthenticatorThread
        let admission: ZeroMQSocket?
        let monitors: [ZeroMQSocket]
        let allowed: AllowedKeys

        init(
            _ owner: AuthenticatorThread, _ admission: ZeroMQSocket?, _ monitors: [ZeroMQSocket], _ allowed: AllowedKeys
        ) {
            (self.owner, self.admission, self.monitors, self.allowed) = (owner, admission, monitors, allowed)
        }
    }

    /// Starts the thread.
    ///
    /// - Parameter admission: the REP socket at ZAP's endpoint, nil when the network is insecure.
    init(
        allowed: AllowedKeys, admission: ZeroMQSocket?, monitors: [ZeroMQSocket],
        onEvent: (@Sendable (HostEvent) -> Void)?
    ) throws(BusError) {
        authenticator = Mutex(Authenticator(allowed: allowed.keys))
        stop = try Waker()
        self.onEvent = onEvent
        let handover = Unmanaged.passRetained(Handover(self, admission, monitors, allowed))
        // Signals are delivered to the program's other threads.
        var (all, before) = (sigset_t(), sigset_t())
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        var made = pthread_t()
        let code = pthread_create(
            &made, nil,
            { pointer in
                guard let pointer else { return nil }
                let handover = Unmanaged<Handover>.fromOpaque(pointer).takeRetainedValue()
                handover.owner.run(handover)
                return nil
            }, handover.toOpaque())
        pthread_sigmask(SIG_SETMASK, &before, nil)
        guard code == 0 else {
            handover.release()
            throw BusError(.transport, "cannot start a thread: \(FileSystem.reason(code))")
        }
        let started = made
        thread.withLock { $0 = started }
    }

    var statistics: HostStatistics { authenticator.withLock { $0.statistics } }

    /// Ends the thread and waits for it; the sockets whose authentication it handles must be closed before.
    func end() {
        guard let running = thread.withLock({ $0.take() }) else { return }
        stop.wake()
        pthread_join(running, nil)
    }

    private func run(_ handover: Handover) {
        let sockets = [handover.admission].compactMap { $0 } + handover.monitors
        var items = sockets.map { zmq_pollitem_t(socket: $0.handle, fd: 0, events: Int16(ZMQ_POLLIN), revents: 0) }
        var allowed = handover.allowed
        items.append(zmq_pollitem_t(socket: nil, fd: stop.fileDescriptor, events: Int16(ZMQ_POLLIN), revents: 0))
        while items[items.count - 1].revents == 0 {
            // With signals blocked here, only the end of the context makes this fail.
            guard zmq_poll(&items, Int32(items.count), -1) >= 0 else { return }
            do throws(ZeroMQError) {
                // Monitor events are handled first, so that a connection is counted before its key is checked.
                for monitor in handover.monitors { try take(monitor) }
                if let admission = handover.admission { try answer(admission, &allowed) }
            } catch {
                return
            }
        }
    }

    private func take(_ monitor: ZeroMQSocket) throws(ZeroMQError) {
        while let frames = try monitor.receiveFrames(limit: 2) {
            guard let report = MonitorEvent(frames) else { continue }
            var event: HostEvent?
            switch report.event {
            case ZMQ_EVENT_ACCEPTED: authenticator.withLock { $0.accepted() }
            case ZMQ_EVENT_HANDSHAKE_SUCCEEDED: authenticator.withLock { $0.admitted() }
            case ZMQ_EVENT_DISCONNECTED:
                event = authenticator.withLock { $0.disconnected(from: report.endpoint, now: Clocks.monotonic()) }
            default: break
            }
            if let event { onEvent?(event) }
        }
    }

    private func answer(_ admission: ZeroMQSocket, _ allowed: inout AllowedKeys) throws(ZeroMQError) {
        while let request = try admission.receiveFrames(limit: Authenticator.maximumFrames) {
            let now = Clocks.monotonic()
            // Outside the lock, so that a slow disk does not hold up the node.
            if let event = allowed.refresh(now: now) { onEvent?(event) }
            let keys = allowed.keys
            let verdict = authenticator.withLock { authenticator in
                authenticator.allowed = keys
                return authenticator.authenticate(request, now: now)
            }
            admission.sendFrames(verdict.reply)
            if let event = verdict.event { onEvent?(event) }
        }
    }
}
