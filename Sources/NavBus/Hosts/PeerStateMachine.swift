/// The state of one node of another host: whether it is present, its boot id, and its announcement.
///
/// It has no socket.
///
/// It sends requests until the node answers, then continues them as heartbeats; a node silent for ``silenceNanoseconds``
/// is absent until it answers again. Its announcements are parsed here as hostile input.
package struct PeerStateMachine {
    /// The interval of heartbeats to a node that is present: 400 ms.
    package static let heartbeatNanoseconds: Int64 = 400_000_000
    /// The longest time without an answer before a present node counts as absent: 1.25 s, three heartbeats.
    package static let silenceNanoseconds: Int64 = 1_250_000_000
    /// The interval of requests to an absent node while nothing happens on its connection: one second.
    package static let searchNanoseconds: Int64 = 1_000_000_000
    /// The shortest pause between two requests to an absent node: 5 ms.
    package static let attemptNanoseconds: Int64 = 5_000_000
    /// The shortest pause between parsing two announcements: 20 ms, because parsing is costly.
    package static let readingNanoseconds: Int64 = 20_000_000

    /// The pause before a new request for an announcement that came too soon to be parsed: 110 ms, just over the interval
    /// at which a node repeats its announcement.
    package static let secondLookNanoseconds = AnnouncementFollowers.repetitionNanoseconds + 10_000_000

    package enum Effect: Hashable {
        /// Send a request that names the known announcement.
        case ask(bootID: UInt64, revision: UInt64)
        /// The node appeared, changed or left.
        case changed
        case report(HostEvent)
    }

    private enum State {
        case absent(askedAt: Int64)
        case present(Announcement, revision: UInt64, receivedAt: Int64, askedAt: Int64)
    }

    private let endpoint: TCPEndpoint
    private var state = State.absent(askedAt: .min / 2)
    private var readAt: Int64 = .min / 2
    private var reports = ReportLimiter<String>()
    /// The latest time at which ``tick(now:)`` must be called.
    package private(set) var nextTick: Int64 = 0
    /// The number of malformed announcements.
    package private(set) var malformed: UInt64 = 0

    package init(endpoint: TCPEndpoint) { self.endpoint = endpoint }

    /// The node's announcement, nil while it is absent.
    package var announcement: Announcement? {
        if case .present(let announcement, _, _, _) = state { return announcement }
        return nil
    }

    /// Handles a change of the connection or the passing of time.
    package mutating func tick(now: Int64) -> [Effect] {
        switch state {
        case .absent(let askedAt):
            guard now - askedAt >= Self.attemptNanoseconds else {
                // The connection may just have been established, so the next request follows soon rather than after a
                // second.
                nextTick = askedAt + Self.attemptNanoseconds
                return []
            }
            state = .absent(askedAt: now)
            nextTick = now + Self.searchNanoseconds
            return [.ask(bootID: 0, revision: 0)]
        case .present(let announcement, let revision, let receivedAt, let askedAt):
            if now - receivedAt >= Self.silenceNanoseconds {
                return lose("it has not answered for over a second", now)
            }
            let isDue = now - askedAt >= Self.heartbeatNanoseconds
            let asked = isDue ? now : askedAt
            state = .present(announcement, revision: revision, receivedAt: receivedAt, askedAt: asked)
            nextTick = min(asked + Self.heartbeatNanoseconds, receivedAt + Self.silenceNanoseconds)
            return isDue ? [.ask(bootID: announcement.bootID, revision: revision)] : []
        }
    }

    /// Records that some message of the node arrived.
    package mutating func noteMessage(now: Int64) {
        guard case .present(let announcement, let revision, _, let askedAt) = state else { return }
        state = .present(announcement, revision: revision, receivedAt: now, askedAt: askedAt)
    }

    /// Handles the node's announcement, or an empty heartbeat.
    package mutating func announced(
        _ json: UnsafeRawBufferPointer, bootID: UInt64, revision: UInt64, now: Int64
    ) -> [Effect] {
        guard json.count > 0 else { return [] }
        guard now - readAt >= Self.readingNanoseconds else {
            askAgain(at: now + Self.secondLookNanoseconds)
            return []
        }
        readAt = now
        let announcement: Announcement
        do throws(BusError) {
            guard json.count <= Announcement.maximumSize else {
                throw BusError(.registry, "its announcement has \(json.count) bytes, over the limit")
            }
            announcement = try Announcement(json: [UInt8](json), peer: endpoint)
            guard announcement.bootID == bootID else {
                throw BusError(.registry, "its announcement and its message are of different runs")
            }
        } catch {
            malformed += 1
            return report(.peerRefused(endpoint: endpoint.description, reason: error.description), now)
        }
        var effects: [Effect] = []
        if self.announcement?.bootID != bootID {
            effects.append(
                .report(.peerFound(endpoint: endpoint.description, node: announcement.node, bootID: bootID)))
        }
        if self.announcement != announcement { effects.append(.changed) }
        state = .present(announcement, revision: revision, receivedAt: now, askedAt: now)
        nextTick = now + Self.heartbeatNanoseconds
        return effects
    }

    private mutating func askAgain(at time: Int64) {
        switch state {
        case .absent: state = .absent(askedAt: time - Self.searchNanoseconds)
        case .present(let announcement, let revision, let receivedAt, _):
            state = .present(
                announcement, revision: revision, receivedAt: receivedAt, askedAt: time - Self.heartbeatNanoseconds)
        }
        nextTick = min(nextTick, time)
    }

    /// Handles the node's goodbye.
    package mutating func left(now: Int64) -> [Effect] { lose("it shut down", now) }

    package mutating func handshakeFailed(_ reason: String, now: Int64) -> [Effect] {
        report(.peerRefused(endpoint: endpoint.description, reason: reason), now)
    }

    private mutating func lose(_ reason: String, _ now: Int64) -> [Effect] {
        guard case .present(let announcement, _, _, _) = state else { return [] }
        state = .absent(askedAt: now)
        nextTick = now + Self.searchNanoseconds
        let lost = HostEvent.peerLost(endpoint: endpoint.description, node: announcement.node, reason: reason)
        return [.changed, .report(lost)]
    }

    private mutating func report(_ event: HostEvent, _ now: Int64) -> [Effect] {
        reports.mayReport(event.description, now) ? [.report(event)] : []
    }
}
