internal import Glibc
internal import Synchronization

extension HostConfiguration {
    /// The peers that did not answer, each with the reason if it refused this host; nil when it was silent.
    package typealias Unanswered = [(endpoint: TCPEndpoint, refusal: String?)]

    /// The reasons of the peers that refused this host, by endpoint.
    private final class Refusals: Sendable {
        private let reasons = Mutex<[String: String]>([:])

        func note(_ event: HostEvent) {
            guard case .peerRefused(let endpoint, let reason) = event else { return }
            reasons.withLock { $0[endpoint] = reason }
        }

        func reason(of endpoint: TCPEndpoint) -> String? { reasons.withLock { $0[endpoint.description] } }
    }

    /// Requests the peers' announcements, without joining the bus.
    ///
    /// - Parameter timeout: the longest wait for an answer; peers that have not answered by then are reported as
    ///   problems.
    public func inspect(timeout: Duration = .seconds(2)) throws(BusError) -> RegistrySnapshot {
        let (nodes, unanswered) = try ask(timeout: timeout)
        return RegistrySnapshot(
            nodes: nodes,
            problems: unanswered.map { peer in
                peer.refusal.map { HostEvent.peerRefused(endpoint: peer.endpoint.description, reason: $0).description }
                    ?? "the peer at \(peer.endpoint) does not answer: check that it is running and that the keys are right"
            })
    }

    /// Requests the peers' announcements; returns them, and the peers that did not answer.
    package func ask(
        timeout: Duration = .seconds(2)
    ) throws(BusError) -> (nodes: [Announcement], unanswered: Unanswered) {
        try check()
        let refusals = Refusals()
        var hosts = self
        hosts.onEvent = { refusals.note($0) }
        let configuration = BusConfiguration(directory: try BusDirectory(path: "/"))
        let context: ZeroMQContext
        do throws(ZeroMQError) {
            context = try ZeroMQContext()
        } catch {
            throw error.asBusError
        }
        let poller = try Poller()
        let peers = PeerTable(in: context, bootID: 0, configuration, hosts)
        peers.attach(poller, tag: 0)
        defer { peers.close() }
        try peers.lookAround()
        let deadline = Clocks.monotonic() + timeout.boundedNanoseconds
        while true {
            let now = Clocks.monotonic()
            do throws(ZeroMQError) {
                var budget = 4096
                repeat { try peers.run(now, &budget, nil) } while peers.isDirty && budget > 0
            } catch {
                throw error.asBusError
            }
            // A peer that refused is not contacted again for two seconds.
            let isEnded = peers.absentees.allSatisfy { refusals.reason(of: $0) != nil }
            if isEnded || now >= deadline { break }
            var entry = pollfd(fd: poller.fileDescriptor, events: Int16(POLLIN), revents: 0)
            let wait = max(0, min(deadline, peers.nextTick) - now)
            _ = Glibc.poll(&entry, 1, Int32(clamping: wait / 1_000_000 + 1))
        }
        return (
            peers.announcements(excluding: []), peers.absentees.map { ($0, refusals.reason(of: $0)) }
        )
    }
}
