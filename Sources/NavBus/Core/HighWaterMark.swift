/// How many messages may wait in one connection, so that their bytes stay bounded as well as their number.
///
/// ZeroMQ bounds a queue by messages alone: a thousand of 100 kB are 100 MB for each stopped peer. The mark starts at
/// the configured number and is halved while that many of the largest message seen would exceed the limit in bytes;
/// it never rises again, so it changes a few times in a node's life.
package struct HighWaterMark {
    /// The fewest messages that may wait, whatever their size.
    package static let least: Int32 = 4

    /// The mark now, in messages.
    package private(set) var messages: Int32
    private let maximumBytes: Int
    /// The largest payload for which the mark holds, in bytes.
    private var ceiling: Int

    /// A mark of `messages` while they are small, and about `maximumBytes` when they are large.
    package init(messages: Int32, maximumBytes: Int) {
        self.messages = messages
        self.maximumBytes = maximumBytes
        ceiling = maximumBytes / Int(max(1, messages))
    }

    /// Sees a payload of `size` bytes.
    ///
    /// - Returns: true when the mark was lowered.
    @inline(__always)
    package mutating func observe(_ size: Int) -> Bool {
        size > ceiling && lower(size)
    }

    @inline(never)
    private mutating func lower(_ size: Int) -> Bool {
        let before = messages
        while size > ceiling, messages > Self.least {
            messages = max(Self.least, messages / 2)
            ceiling = maximumBytes / Int(messages)
        }
        if messages <= Self.least { ceiling = .max }
        return messages < before
    }
}
