package import NavBag
package import NavMessages

extension JournalEntry {
    package static let topic = Topics.journal.name

    package init(_ message: BagMessage) throws(BagError) {
        do {
            self = try JournalEntry(decoding: Array(message.data), limit: 64 << 20)
        } catch {
            throw BagError(.malformed, "a journal entry cannot be read: \(error)")
        }
    }
}
