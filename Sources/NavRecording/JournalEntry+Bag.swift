package import NavBag
package import NavMessages

extension JournalEntry {
    /// The topic of the journal.
    package static let topic = Topics.journal.name

    /// Reads an entry of a bag.
    package init(_ message: BagMessage) throws(BagError) {
        do {
            self = try JournalEntry(decoding: Array(message.data), limit: 64 << 20)
        } catch {
            throw BagError(.malformed, "an entry of the journal cannot be read: \(error)")
        }
    }
}
