import NavBag

/// A message of a bag with its recorded payload.
package struct RecordedMessage: Equatable {
    /// The topic of its channel.
    package var topic: String
    /// The time at which it was recorded, ns.
    package var logTime: UInt64
    package var data: [UInt8]
}

/// Returns every message of the bag at `path`, in file order.
///
/// - Throws: `BagError` if the bag cannot be read.
package func content(of path: String) throws -> [RecordedMessage] {
    let reader = try BagReader(path: path)
    var cursor = reader.messages()
    var messages: [RecordedMessage] = []
    while let message = try cursor.next() {
        let channel = reader.index.channels.first { $0.id == message.channelID }
        messages.append(
            RecordedMessage(topic: channel?.topic ?? "?", logTime: message.logTime, data: Array(message.data)))
    }
    return messages
}
