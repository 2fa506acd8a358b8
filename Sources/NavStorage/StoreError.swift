/// The reason why the tile store could not do something.
package struct StoreError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// Another process owns the folder.
        case busy
        /// The folder, or what was named, is not there.
        case missing
        /// The folder or the disk may only be read.
        case readOnly
        /// The disk, or what this user may have of it, is full.
        case diskFull
        /// The index was written by a newer program.
        case newerSchema
        /// The index is damaged; the next opening sets it aside and makes it anew.
        case corruptIndex
        /// A stored file is not what it was; it is no longer offered.
        case corruptObject
        /// An argument makes no sense: a name, a tile without its ranks, an edition that was never added.
        case invalid
        /// The request would break what is in use: an edition with pinned tiles, a region that lacks tiles.
        case inUse
        /// This machine has no memory or no open files left to look with: nothing is known of what was to be looked at.
        case exhausted
        case closed
        /// The system refused: another failure of a disk or of SQLite.
        case system
    }

    package let code: Code
    /// A description of what failed, where, and what to do, in one line.
    package let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
