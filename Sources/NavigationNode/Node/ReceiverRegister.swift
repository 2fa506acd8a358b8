import NavPositioning
import NavWire
import NavGeo
import NavMatching
package import NavMessages

/// The receivers of fixes: their names, their numbers in the core, the time of their last fixes, and the one in use.
///
/// Preferred receivers have the lowest numbers, in configured order; the others are numbered at their first fix.
package struct ReceiverRegister {
    private struct Receiver {
        var name: String
        /// The time of the last fix.
        var heard: NavGeo.Timestamp?
    }

    /// The most receivers with their own numbers; any others share the last one.
    static let most = 8
    /// The maximum number of preferred receivers: as many as are compared.
    static let mostPreferred = 4

    private let preferred: Int
    private var receivers: [Receiver]
    private var newest: NavGeo.Timestamp?
    /// The number of the receiver in use; nil before the first.
    private(set) var active: UInt8?
    private(set) var switches = 0

    /// A register in which the preferred receivers are already numbered.
    package init(preferred names: [String]) {
        preferred = names.count
        receivers = names.map { Receiver(name: $0) }
    }

    var names: [String] { receivers.map(\.name) }

    /// Returns the number of a message's receiver, identified by its frame, otherwise by its source.
    package mutating func number(of message: NavMessages.GnssFix) -> UInt8 {
        let name = message.receiverName
        if let number = receivers.firstIndex(where: { $0.name == name }) { return UInt8(number) }
        guard receivers.count < Self.most else { return UInt8(Self.most) }
        receivers.append(Receiver(name: name))
        return UInt8(receivers.count - 1)
    }

    /// Records a fix before the core handles it.
    mutating func note(_ fix: Fix) {
        let number = Int(fix.receiver)
        guard receivers.indices.contains(number) else { return }
        receivers[number].heard = fix.stamp
        newest = fix.stamp
    }

    /// Continues after the clock was set: receivers not heard since keep the duration of their silence.
    mutating func moveClock(from old: NavGeo.Timestamp, to new: NavGeo.Timestamp) {
        for index in receivers.indices {
            guard let heard = receivers[index].heard, abs(heard.seconds(since: old)) < abs(heard.seconds(since: new))
            else { continue }
            receivers[index].heard = heard.advanced(bySeconds: new.seconds(since: old))
        }
    }

    /// Returns the selection of the first receiver in use; nil when there was one already.
    mutating func begin(with number: UInt8) -> ReceiverSelection? {
        guard active == nil else { return nil }
        active = number
        return selection(of: number, instead: nil, .first)
    }

    /// Returns the selection after a change of receiver.
    mutating func note(_ change: ReceiverChange) -> ReceiverSelection {
        active = change.new
        switches += 1
        return selection(of: change.new, instead: change.old, ReceiverSelectionReason(change.reason))
    }

    private func selection(
        of new: UInt8, instead old: UInt8?, _ reason: ReceiverSelectionReason
    ) -> ReceiverSelection {
        ReceiverSelection(
            receiver: name(of: new), previous: old.map(name(of:)), reason: reason, receivers: names)
    }

    private func name(of number: UInt8) -> String {
        receivers.indices.contains(Int(number)) ? receivers[Int(number)].name : "others"
    }

    struct Silent: Equatable {
        var name: String
        /// Seconds since its last fix; nil before the first.
        var seconds: Double?
    }

    /// The silence after which one of several receivers counts as missing, and the time for which a non-preferred one is reported,
    /// seconds.
    private static let (silence, memory) = (2.5, 60.0)

    /// Receivers that are silent while others are heard.
    var silent: [Silent] {
        guard let newest else { return [] }
        return receivers.enumerated().compactMap { number, receiver in
            guard let heard = receiver.heard else {
                return number < preferred ? Silent(name: receiver.name, seconds: nil) : nil
            }
            let seconds = newest.seconds(since: heard)
            guard seconds > Self.silence, number < preferred || seconds < Self.memory else { return nil }
            return Silent(name: receiver.name, seconds: seconds)
        }
    }
}
