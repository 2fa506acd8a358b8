/// Something that is not as it should be in a store.
package struct CheckFinding: Sendable, Hashable, CustomStringConvertible {
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// SQLite finds the index damaged.
        case index
        /// The index names a file that is not there.
        case missingObject
        /// A file has another size than the index says.
        case wrongSize
        /// A file's content does not hash to its name.
        case wrongHash
        /// A file that no tile has.
        case orphan
        /// Something else lies where only the store writes.
        case foreign
        /// A count of the index differs from what it counts.
        case count
        /// A tile on board is not in the folder for mapping, or another one is.
        case view
        /// `current` names another edition than the one in use.
        case current
        /// A region that is complete lacks tiles.
        case region
    }

    package var kind: Kind
    /// The path relative to the store's folder, or a name.
    package var subject: String
    /// The fault in a few words.
    package var detail: String
    /// Whether it was put right.
    package var isRepaired: Bool

    package init(kind: Kind, subject: String, detail: String, isRepaired: Bool) {
        self.kind = kind
        self.subject = subject
        self.detail = detail
        self.isRepaired = isRepaired
    }

    /// Kind, place and what is wrong there.
    package var description: String { "\(kind.rawValue): \(subject): \(detail)\(isRepaired ? " (repaired)" : "")" }
}
