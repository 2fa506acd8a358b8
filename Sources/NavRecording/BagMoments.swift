import NavKit
import NavBag

/// The messages of a bag, split into moments.
///
/// A moment consists of consecutive messages with the same log time. The number of messages per topic is limited by the shortest queue of a
/// subscriber; more messages are split into several moments.
struct BagMoments {
    /// The maximum number of messages of one topic in a moment: half of the shortest queue of the catalogue.
    static let longest = 8
    /// The maximum number of messages of a moment, well below the capacity of a subscriber's socket.
    static let largest = 256

    private var cursor: MessageCursor<BagFile>
    private var ahead: BagMessage?
    private let isWanted: (UInt16) -> Bool

    init(_ cursor: MessageCursor<BagFile>, isWanted: @escaping (UInt16) -> Bool) {
        self.cursor = cursor
        self.isWanted = isWanted
    }

    /// Returns the messages of the next moment in bag order; nil after the last.
    mutating func next() throws(BagError) -> [BagMessage]? {
        guard let first = try take() else { return nil }
        var messages = [first]
        var counts = [first.channelID: 1]
        while messages.count < Self.largest, let message = try take() {
            guard message.logTime == first.logTime, counts[message.channelID] ?? 0 < Self.longest else {
                ahead = message
                break
            }
            counts[message.channelID, default: 0] += 1
            messages.append(message)
        }
        return messages
    }

    private mutating func take() throws(BagError) -> BagMessage? {
        if let message = ahead {
            ahead = nil
            return message
        }
        while let message = try cursor.next() {
            if isWanted(message.channelID) { return message }
        }
        return nil
    }
}
