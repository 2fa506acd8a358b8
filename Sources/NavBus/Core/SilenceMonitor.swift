/// A detector of live publishers whose messages do not arrive.
///
/// Silence alone proves nothing, because a publisher may have nothing to publish. Therefore a subscriber probes after an
/// interval of silence: it subscribes to a topic of its own that every publisher answers at once (``Probe``). A publisher
/// that neither answers nor publishes anything within ``answerNanoseconds`` is reconnected to. It may be stopped or busy,
/// so further reconnections follow after pauses that double up to ``longestPauseNanoseconds``.
package struct SilenceMonitor {
    /// The time a publisher has to answer: two seconds.
    package static let answerNanoseconds: Int64 = 2_000_000_000
    /// The longest pause between two reconnections to a publisher: a minute.
    package static let longestPauseNanoseconds: Int64 = 60_000_000_000
    /// The lateness beyond which a step assumes that its own process stalled, and judges no publisher: one second.
    static let tolerance: Int64 = 1_000_000_000

    /// The subscriber's next action.
    package enum Step: Equatable {
        /// Do nothing before ``next``.
        case wait
        case probe
        /// End the probe and reconnect to the publishers with these boot ids.
        case finish(reconnect: [UInt64])
    }

    private struct Publisher {
        var progress: UInt64
        var pause: Int64
        /// The earliest time of the next reconnection.
        var notBefore: Int64 = .min
    }

    private let interval: Int64
    private var publishers: [UInt64: Publisher] = [:]
    private var suspects: [UInt64] = []

    /// The time when ``step(_:publishers:answered:)`` is due, in monotonic nanoseconds; `.max` without publishers.
    package private(set) var next: Int64 = .max

    /// Creates a monitor that checks every `interval` nanoseconds.
    package init(interval: Int64) { self.interval = interval }

    /// Schedules the first check, unless one is due already.
    ///
    /// Call it whenever a publisher becomes connected, also when it returns before it was retired; without the call no check takes place.
    package mutating func arm(_ now: Int64) {
        // An earlier time would shorten the answer time of a running probe.
        if next == .max { next = now + interval }
    }

    /// Checks which publishers were heard; call it when the socket has been drained.
    ///
    /// - Parameters:
    ///   - heard: boot ids of the publishers that answer probes, each with a number that changes with every message.
    ///   - answered: boot ids of the publishers that have answered the probe.
    package mutating func step(
        _ now: Int64, heard: [(bootID: UInt64, progress: UInt64)], answered: Set<UInt64>
    ) -> Step {
        guard now >= next else { return .wait }
        let isStalled = now - next > Self.tolerance
        let silent = heard.filter { publishers[$0.bootID]?.progress == $0.progress }.map(\.bootID)
        var known: [UInt64: Publisher] = [:]
        for (bootID, progress) in heard {
            var publisher = publishers[bootID] ?? Publisher(progress: progress, pause: interval)
            if publisher.progress != progress || answered.contains(bootID) { publisher.pause = interval }
            publisher.progress = progress
            known[bootID] = publisher
        }
        publishers = known
        let accused = suspects
        suspects = []
        next = heard.isEmpty ? .max : now + interval
        if !accused.isEmpty {
            guard !isStalled else { return .finish(reconnect: []) }
            let deaf = accused.filter { silent.contains($0) && !answered.contains($0) }
            for bootID in deaf {
                guard var publisher = publishers[bootID] else { continue }
                publisher.notBefore = now + publisher.pause
                publisher.pause = min(publisher.pause * 2, Self.longestPauseNanoseconds)
                publishers[bootID] = publisher
            }
            return .finish(reconnect: deaf)
        }
        guard !isStalled else { return .wait }
        suspects = silent.filter { (publishers[$0]?.notBefore ?? .min) <= now }
        guard !suspects.isEmpty else { return .wait }
        next = now + Self.answerNanoseconds
        return .probe
    }
}

/// The topics by which a subscriber tests whether messages of its publishers arrive.
///
/// A publisher whose announcement contains `"answers_probes": true` answers a subscription to a topic below ``prefix``
/// with one message on that topic: a header with its boot id and sequence 1, and an empty payload.
enum Probe {
    static let prefix = Array("/bus/probe/".utf8)
    /// The longest probe topic that is answered, in bytes.
    static let maximumSize = 64

    /// Returns the topic frame of a subscriber's probe.
    static func key(bootID: UInt64, number: UInt64) -> [UInt8] {
        prefix + Array("\(String(bootID, radix: 16))/\(number)".utf8) + [0]
    }

    /// Returns the topic frame of a subscription request, nil unless it is a probe's.
    static func key(inSubscription frame: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard frame.first == 1, frame.count <= maximumSize, frame.last == 0,
            frame.dropFirst().starts(with: prefix)
        else { return nil }
        return UnsafeRawBufferPointer(rebasing: frame.dropFirst())
    }
}
