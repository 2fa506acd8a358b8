package import NavGeo

/// The last message of one topic of one run of a publisher.
package struct LockstepPoint: Sendable, Hashable {
    package var topic: String
    package var bootID: UInt64
    package var sequence: UInt64
    /// The publisher's name, the same in every run.
    package var publisher: String

    package init(topic: String, bootID: UInt64, sequence: UInt64, publisher: String) {
        (self.topic, self.bootID, self.sequence, self.publisher) = (topic, bootID, sequence, publisher)
    }
}

package struct LockstepRequest: Sendable, Hashable {
    /// The kind of barrier, as in `navbus.v1.BarrierPhase`.
    package enum Phase: Sendable, Hashable {
        case plain, begin, wave, end
    }

    package var phase: Phase
    /// The boot id of the player.
    package var session: UInt64
    package var points: [LockstepPoint]
    package var time: SimulatedTime?
    package var epoch: UInt32

    package init(
        _ phase: Phase, session: UInt64, points: [LockstepPoint] = [], time: SimulatedTime? = nil, epoch: UInt32 = 0
    ) {
        (self.phase, self.session, self.points, self.time, self.epoch) = (phase, session, points, time, epoch)
    }
}

/// A node's side of lockstep playback: the messages to hold, and the order in which barriers release them.
///
/// Outside a playback, messages pass. From BEGIN on, messages of the publishers named in it are held until a wave names
/// them. They are then released publisher by publisher in order of name, and for each publisher in the order of
/// publication, so the order of arrival on different sockets does not matter. The tracker uses no socket, clock or
/// message type, and sends no answers itself: the shell calls ``next(isIdle:now:isSubscribed:)`` and acts on the result
/// until it is ``Action/wait``.
package struct BarrierTracker<Content> {
    package enum Action {
        /// Advance the node's time to this, running timers.
        case setTime(SimulatedTime, epoch: UInt32)
        case handle(Content)
        /// Answer the open request, which has been completed.
        case answer
        /// Wait for messages, for the node's work, or for a request.
        case wait
    }

    /// A reason for refusing a request.
    package enum Refusal: Error, Hashable {
        /// Another barrier of this node is open.
        case busy
        /// The node takes part in another player's playback.
        case otherSession(UInt64)
        /// A wave or an end arrived without a begin.
        case noSession
    }

    /// The most messages that are held; further ones count as lost.
    package static var capacity: Int { 65_536 }

    private struct Key: Hashable {
        let bootID: UInt64
        let topic: String
    }

    private struct Held {
        let topic: String
        let sequence: UInt64
        let content: Content
    }

    private var members: [UInt64: String] = [:]
    private var held: [UInt64: [Held]] = [:]
    private var heldCount = 0
    private var received: [Key: UInt64] = [:]
    private var released: [Key: UInt64] = [:]
    private var request: LockstepRequest?
    private var isReleased = false
    private var queue: [Content] = []
    private var queueStart = 0

    /// The boot id of the player whose playback the node takes part in.
    package private(set) var session: UInt64?
    /// The number of messages of the playback that were lost.
    package private(set) var lost: UInt64 = 0

    package init() {}

    package var isOpen: Bool { request != nil }

    // MARK: Messages

    /// Records a message that arrived; returns it when it must be handled at once.
    package mutating func take(_ content: Content, topic: String, bootID: UInt64, sequence: UInt64) -> Content? {
        let key = Key(bootID: bootID, topic: topic)
        guard session != nil, members[bootID] != nil else {
            // Restarted publishers leave old entries; a barrier concerns only the current publishers.
            if received.count >= Self.capacity, session == nil { received = [:] }
            if received.count < Self.capacity { received[key] = max(received[key] ?? 0, sequence) }
            return content
        }
        let last = received[key] ?? released[key] ?? 0
        if sequence > last {
            lost &+= sequence - last - 1
            received[key] = sequence
        }
        // A message published before the playback began does not belong to it.
        if sequence <= released[key] ?? 0 { return content }
        guard heldCount < Self.capacity else {
            lost &+= 1
            return nil
        }
        heldCount += 1
        held[bootID, default: []].append(Held(topic: topic, sequence: sequence, content: content))
        return nil
    }

    // MARK: Requests

    /// Opens a barrier; the answer follows later, see ``Action/answer``.
    package mutating func open(_ request: LockstepRequest) throws(Refusal) {
        guard self.request == nil else { throw .busy }
        if request.phase != .plain, let session, session != request.session { throw .otherSession(session) }
        switch request.phase {
        case .plain: break
        case .begin:
            session = request.session
            (members, lost) = ([:], 0)
            for point in request.points {
                members[point.bootID] = point.publisher
                let key = Key(bootID: point.bootID, topic: point.topic)
                released[key] = point.sequence
                received[key] = max(received[key] ?? 0, point.sequence)
            }
        case .wave, .end: guard session != nil else { throw .noSession }
        }
        self.request = request
        isReleased = false
    }

    /// Cancels the open barrier, whose answer is no longer needed.
    ///
    /// The messages that it released are still handled.
    package mutating func cancel() { request = nil }

    /// Leaves the playback of a player that has exited; all held messages are handled, in order.
    package mutating func leave() {
        guard session != nil else { return }
        release { _, _ in true }
        (session, request, members, released) = (nil, nil, [:], [:])
    }

    // MARK: What to do

    /// Returns the next action.
    ///
    /// - Parameters:
    ///   - isIdle: whether the node has no unfinished work caused by messages or timers.
    ///   - now: the node's time.
    ///   - isSubscribed: whether the node expects messages on a topic.
    package mutating func next(
        isIdle: Bool, now: SimulatedTime?, isSubscribed: (String) -> Bool
    ) -> Action {
        guard isIdle else { return .wait }
        if queueStart < queue.count {
            queueStart += 1
            return .handle(queue[queueStart - 1])
        }
        (queue, queueStart) = ([], 0)
        guard let request else { return .wait }
        if isReleased || request.phase == .begin { return finish(request) }
        for point in request.points where isSubscribed(point.topic) {
            let key = Key(bootID: point.bootID, topic: point.topic)
            guard received[key] ?? 0 >= point.sequence else { return .wait }
        }
        if request.phase == .plain {
            // Nothing is held here: received messages have been handled, and `/clock` drives the time.
            if let time = request.time, now.map({ $0 < time }) ?? true { return .wait }
            return finish(request)
        }
        isReleased = true
        for point in request.points {
            let key = Key(bootID: point.bootID, topic: point.topic)
            released[key] = max(released[key] ?? 0, point.sequence)
        }
        let released = released
        release { bootID, message in
            request.phase == .end || message.sequence <= released[Key(bootID: bootID, topic: message.topic)] ?? 0
        }
        if let time = request.time { return .setTime(time, epoch: request.epoch) }
        return next(isIdle: true, now: now, isSubscribed: isSubscribed)
    }

    private mutating func finish(_ request: LockstepRequest) -> Action {
        self.request = nil
        if request.phase == .end { (session, members, released) = (nil, [:], [:]) }
        return .answer
    }

    /// Moves the messages that may pass into the queue.
    private mutating func release(_ mayPass: (UInt64, Held) -> Bool) {
        for bootID in held.keys.sorted(by: { (members[$0] ?? "", $0) < (members[$1] ?? "", $1) }) {
            var kept: [Held] = []
            for message in held[bootID] ?? [] {
                if mayPass(bootID, message) { queue.append(message.content) } else { kept.append(message) }
            }
            heldCount -= (held[bootID]?.count ?? 0) - kept.count
            held[bootID] = kept.isEmpty ? nil : kept
        }
    }
}
