/// An error of a map build: what failed, where, and what to do.
package struct MapBuildError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: Sendable, Equatable {
        /// The input cannot be opened or read.
        case unreadable
        /// The input is not an OSM PBF file.
        case notOSM
        /// The input ends inside a block.
        case truncated
        /// The input needs a feature that this reader lacks.
        case unsupported
        /// A block is larger than the format allows.
        case blobTooLarge
        /// A block's bytes contradict the format.
        case malformed
        /// The output directory contains something other than a tileset.
        case outputExists
        /// The output cannot be written.
        case unwritable
        case noRoads
        /// The map does not fit the tile format.
        case tooLarge
        /// The system cannot compute hashes, usually for lack of memory.
        case unhashed
    }

    package let code: Code
    package let path: String
    /// The offset in the file, in bytes; nil if the error has no offset.
    package let offset: Int?
    package let reason: String
    package let advice: String

    package init(_ code: Code, path: String, offset: Int? = nil, reason: String, advice: String) {
        self.code = code
        self.path = path
        self.offset = offset
        self.reason = reason
        self.advice = advice
    }

    /// One line: file, place, reason, advice.
    package var description: String {
        let place = offset.map { " at byte \($0)" } ?? ""
        return "\(path): \(reason)\(place). \(advice)."
    }
}
