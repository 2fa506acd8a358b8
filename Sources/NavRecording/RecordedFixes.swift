package import NavBag
package import NavKit
package import NavMessages

/// The recorded fixes of a trace, in the order in which they arrived.
///
/// The fixes of a long bag are reread each time they are needed, since each takes about a kilobyte of memory.
package struct RecordedFixes: Sendable {
    /// The maximum number of a bag's fixes kept in memory.
    package static let mostKept = 50_000
    /// The largest encoded fix, bytes.
    private static let largest = 16 << 10

    package let count: Int
    private let kept: [GnssFix]
    /// The bag to read instead, and its channels with fixes.
    private let bag: (path: String, channels: Set<UInt16>)?

    /// Whether any fix has a time, which is always the case in a bag.
    package var haveTimes: Bool { kept.isEmpty || kept.contains { $0.stampNs != nil } }

    package init(_ fixes: [GnssFix]) { (count, kept, bag) = (fixes.count, fixes, nil) }

    init(bag path: String, channels: Set<UInt16>, count: Int) {
        (self.count, kept, bag) = (count, [], (path, channels))
    }

    /// Returns the fix in a message of a bag, stamped with the message's time if it has no stamp; nil when it cannot be read.
    static func fix(_ message: BagMessage) -> GnssFix? {
        try? GnssFix(decoding: Array(message.data), limit: largest).dated(by: Int64(clamping: message.publishTime))
    }

    /// A reader of the fixes from the first one.
    package struct Reader {
        private var kept: IndexingIterator<[GnssFix]>
        private let channels: Set<UInt16>
        private var cursor: MessageCursor<BagFile>?

        package init(_ fixes: RecordedFixes) throws(BagError) {
            (kept, channels) = (fixes.kept.makeIterator(), fixes.bag?.channels ?? [])
            guard let bag = fixes.bag else { return }
            cursor = try BagReader(path: bag.path).messages(BagQuery(topics: [Topics.gnssFix.name]))
        }

        /// Returns the next fix; nil after the last.
        package mutating func next() throws(BagError) -> GnssFix? {
            guard cursor != nil else { return kept.next() }
            while let message = try cursor?.next() {
                if channels.contains(message.channelID), let fix = RecordedFixes.fix(message) { return fix }
            }
            return nil
        }
    }

    /// Calls `body` with each fix.
    package func forEach(_ body: (GnssFix) -> Void) throws(NodeError) {
        do throws(BagError) {
            var reader = try Reader(self)
            while let fix = try reader.next() { body(fix) }
        } catch {
            throw NodeError(.invalid, bag.map { error.description(of: $0.path) } ?? error.description)
        }
    }
}
