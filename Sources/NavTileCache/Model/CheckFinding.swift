/// A fault that a check has found in a store.
package struct CheckFinding: Sendable, Hashable, CustomStringConvertible {
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// SQLite reports that the index is damaged.
        case index
        /// A file that the index names is missing.
        case missingObject
        /// The size of a file differs from the index.
        case wrongSize
        /// The content of a file does not match the hash in its name.
        case wrongHash
        /// A file that no tile uses.
        case orphan
        /// A foreign file in a folder reserved for the store.
        case foreign
        /// A count in the index differs from the number of counted entries.
        case count
        /// A tile on board is missing from the folder for mapping, or another tile is in its place.
        case view
        /// `current` points to an edition other than the one in use.
        case current
        /// A complete region lacks tiles.
        case region
    }

    package var kind: Kind
    /// The path relative to the store's folder, or the name of the subject.
    package var subject: String
    /// The fault in a few words.
    package var detail: String
    /// Whether the fault was repaired.
    package var isRepaired: Bool

    package init(kind: Kind, subject: String, detail: String, isRepaired: Bool) {
        self.kind = kind
        self.subject = subject
        self.detail = detail
        self.isRepaired = isRepaired
    }

    /// The kind, subject and detail of the fault.
    package var description: String { "\(kind.rawValue): \(subject): \(detail)\(isRepaired ? " (repaired)" : "")" }
}
