/// Something that is not as it should be in a store.
public struct CheckFinding: Sendable, Hashable, CustomStringConvertible {
    /// The kind of a finding.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
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

    /// What kind.
    public var kind: Kind
    /// Where, relative to the store's folder, or a name.
    public var subject: String
    /// What, in a few words.
    public var detail: String
    /// Whether it was put right.
    public var isRepaired: Bool

    package init(kind: Kind, subject: String, detail: String, isRepaired: Bool) {
        self.kind = kind
        self.subject = subject
        self.detail = detail
        self.isRepaired = isRepaired
    }

    /// Kind, place and what is wrong there.
    public var description: String { "\(kind.rawValue): \(subject): \(detail)\(isRepaired ? " (repaired)" : "")" }
}
