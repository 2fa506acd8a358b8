/// An error of the store.
package struct StoreError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, Hashable, CaseIterable {
        /// Another process owns the folder.
        case busy
        /// The folder, or the named item, does not exist.
        case missing
        /// The folder or the disk is read-only.
        case readOnly
        /// The disk, or this user's quota, is full.
        case diskFull
        /// The index was written by a newer program.
        case newerSchema
        /// The index is damaged; the next opening moves it aside and rebuilds it.
        case corruptIndex
        /// A stored file is damaged; it is no longer served.
        case corruptObject
        /// An argument is invalid: a name, a tile without its ranks, an edition that was never added.
        case invalid
        /// The request would break something in use: an edition with pinned tiles, a region that lacks tiles.
        case inUse
        /// This machine lacks the memory or open files for a check, whose result is therefore unknown.
        case exhausted
        case closed
        /// Any other failure of a disk or of SQLite.
        case system
    }

    package let code: Code
    /// A one-line description of what failed, where, and what to do.
    package let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
