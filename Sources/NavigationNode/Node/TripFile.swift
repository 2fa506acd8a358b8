import Foundation
package import NavBus
import NavDigest
package import NavGeo
package import NavKit
package import NavMessages
import NavStorage
import Synchronization

/// The file that saves a trip for the next run of the node.
///
/// It holds the line `navbus-trip FORM SHA256 LENGTH`, followed by the message ``SavedTrip``. A separate thread replaces it atomically, so
/// that a slow disk blocks nothing. A file that is incomplete or of another format version is ignored.
package final class TripFile: Sendable {
    private struct State: Sendable {
        /// The next state to write, nil for no trip, with its number.
        var next: (trip: SavedTrip?, number: UInt64)?
        var last: UInt64 = 0
        /// The number of the last state whose writing succeeded or failed.
        var done: UInt64 = 0
        var problem: String?
        var isStopped = false
    }

    /// The version of the file's format.
    private static let form = "1"
    /// The largest message, bytes; a larger one is written without its route.
    private static let largest = 32 << 20
    /// The longest first line, bytes.
    private static let longestLine = 128

    private let path: String
    private let state = Mutex(State())
    private let pending = DispatchSemaphore(value: 0)
    private let finished = DispatchSemaphore(value: 0)
    private let waker: Waker

    /// A file at a path; `waker` wakes the node after each write.
    package init(path: String, waker: Waker) {
        self.path = path.hasPrefix("/") ? path : Files.workingDirectory + "/" + path
        self.waker = waker
        let thread = Thread { [self] in
            Thread.current.name = "trip"
            work()
        }
        thread.start()
    }

    /// Loads the saved trip; nil when there is none.
    ///
    /// - Parameters:
    ///   - maximumAge: The age above which a trip is not resumed, seconds; 0 for no limit.
    ///   - now: The time of day. If it is before the file's time, as with a clock that is not set yet, no trip is too
    ///     old.
    /// - Throws: ``NodeError`` for a file that cannot be read, holds no trip, or holds one that is too old.
    package func load(maximumAge: Double, now: NavGeo.Timestamp) throws(NodeError) -> SavedTrip? {
        guard let status = Files.status(path) else { return nil }
        let age = now.seconds(since: NavGeo.Timestamp(nanoseconds: status.modified))
        guard maximumAge == 0 || age <= maximumAge else {
            throw NodeError(
                .invalid,
                "the trip in '\(path)' is not resumed: it was saved \(Self.words(age)) ago, more than "
                    + "state.max_age_s (\(Int(maximumAge)) s)")
        }
        let bytes: [UInt8]
        do throws(StoreError) {
            bytes = try Files.read(path, limit: Int64(Self.largest + Self.longestLine))
        } catch {
            throw NodeError(.invalid, error.description)
        }
        return try Self.trip(bytes, path)
    }

    /// Returns a time in the largest unit of which it has at least two.
    private static func words(_ seconds: Double) -> String {
        switch seconds {
        case ..<120: "\(Int(seconds)) s"
        case ..<7_200: "\(Int(seconds / 60)) min"
        default: "\(Int(seconds / 3_600)) h"
        }
    }

    package static func trip(_ bytes: [UInt8], _ path: String) throws(NodeError) -> SavedTrip {
        func refusal(_ what: String) -> NodeError {
            NodeError(.invalid, "trip file '\(path)' \(what); it is ignored, and the next trip replaces it")
        }
        guard let end = bytes.prefix(Self.longestLine).firstIndex(of: UInt8(ascii: "\n")) else {
            throw refusal("has no valid header")
        }
        let line = String(decoding: bytes[..<end], as: UTF8.self).split(separator: " ")
        guard line.count == 4, line[0] == "navbus-trip" else { throw refusal("has no valid header") }
        guard line[1] == Self.form else { throw refusal("has format version \(line[1].prefix(20)), not \(Self.form)") }
        let payload = Array(bytes[(end + 1)...])
        guard Int(line[3]) == payload.count, ContentHash(of: payload)?.hexadecimal == String(line[2]) else {
            throw refusal("is incomplete or damaged")
        }
        do throws(MessageError) {
            return try SavedTrip(decoding: payload, limit: Self.largest)
        } catch {
            throw refusal("cannot be decoded: \(error)")
        }
    }

    package static func bytes(_ trip: SavedTrip) throws(NodeError) -> [UInt8] {
        var trip = trip
        var payload = trip.encoded()
        if payload.count > Self.largest {
            trip.route = nil
            payload = trip.encoded()
        }
        guard let hash = ContentHash(of: payload) else { throw NodeError(.system, ContentHash.refusal) }
        return Array("navbus-trip \(Self.form) \(hash.hexadecimal) \(payload.count)\n".utf8) + payload
    }

    /// Replaces the saved trip, nil for none; returns the number that ``done`` reaches once it is on disk.
    package func keep(_ trip: SavedTrip?) -> UInt64 {
        defer { pending.signal() }
        return state.withLock { state in
            state.last += 1
            state.next = (trip, state.last)
            return state.last
        }
    }

    /// The number of the last state whose writing succeeded or failed.
    package var done: UInt64 { state.withLock(\.done) }

    /// The reason why the last trip is not saved; nil when it is.
    package var problem: String? { state.withLock(\.problem) }

    /// Ends the thread once everything is written.
    package func stop() {
        state.withLock { $0.isStopped = true }
        pending.signal()
        finished.wait()
    }

    private func work() {
        while true {
            pending.wait()
            let (next, isStopped) = state.withLock { state in
                defer { state.next = nil }
                return (state.next, state.isStopped)
            }
            if let next {
                let problem = write(next.trip)
                state.withLock { ($0.done, $0.problem) = (next.number, problem) }
                waker.wake()
            }
            if isStopped { break }
        }
        finished.signal()
    }

    private func write(_ trip: SavedTrip?) -> String? {
        do {
            if let trip {
                try Files.replace(path, with: try Self.bytes(trip), by: path + ".part")
            } else if Files.remove(path) {
                try Files.syncDirectory(Files.parent(path))
            }
            return nil
        } catch let error as StoreError {
            return error.description
        } catch {
            return "\(error)"
        }
    }
}
