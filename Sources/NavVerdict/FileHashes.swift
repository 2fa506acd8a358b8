/// An index of file hashes, each valid while its file is unchanged, similar to the index of git.
package struct FileHashes: Sendable {
    /// The attributes by which a changed file is detected.
    ///
    /// As in git, the device number is not included: for a network file system it differs between mounts and hosts.
    package struct Attributes: Sendable, Equatable {
        package var size: Int64
        /// The time of the last change of the content, ns since 1970.
        package var modified: Int64
        /// The time of the last change of content or inode, ns since 1970. Programs cannot set it; some file systems do not have it.
        package var changed: Int64
        package var inode: UInt64

        package init(size: Int64, modified: Int64, changed: Int64, inode: UInt64) {
            (self.size, self.modified, self.changed, self.inode) = (size, modified, changed, inode)
        }
    }

    private struct Known {
        var attributes: Attributes
        var hash: String
    }

    /// The time after which a further change gets another timestamp, ns: file systems store times in steps of up to 2 s.
    private static let settling: Int64 = 2_000_000_000

    private var files: [String: Known] = [:]
    /// Whether hashes were added that are not in the text that was read.
    package private(set) var hasNews = false

    package init() {}

    /// Reads an index from a text and skips malformed lines.
    package init(text: String) {
        let text = Array(text.utf8)
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let fields = line.split(separator: UInt8(ascii: "\t"), maxSplits: 5).map {
                String(decoding: $0, as: UTF8.self)
            }
            guard fields.count == 6, let size = Int64(fields[0]), let modified = Int64(fields[1]),
                let changed = Int64(fields[2]), let inode = UInt64(fields[3])
            else { continue }
            files[fields[5]] = Known(
                attributes: Attributes(size: size, modified: modified, changed: changed, inode: inode), hash: fields[4])
        }
    }

    /// The index as text, one line for each file.
    package var text: String {
        files.sorted { $0.key < $1.key }.map { path, known in
            let attributes = known.attributes
            return
                "\(attributes.size)\t\(attributes.modified)\t\(attributes.changed)\t\(attributes.inode)\t\(known.hash)\t\(path)\n"
        }.joined()
    }

    /// Returns the hash of a file's content; nil when it is unknown or the file has changed.
    package func hash(of path: String, _ attributes: Attributes) -> String? {
        guard let known = files[path], known.attributes == attributes else { return nil }
        return known.hash
    }

    /// Stores the hash of a file's content unless the file changed so recently that a further change could have the same timestamp.
    ///
    /// - Parameters:
    ///   - attributes: the attributes before the content was read.
    ///   - now: a time before the attributes were read, ns since 1970.
    package mutating func note(_ hash: String, of path: String, _ attributes: Attributes, at now: Int64) {
        guard attributes.changed < now &- Self.settling else { return }
        files[path] = Known(attributes: attributes, hash: hash)
        hasNews = true
    }

    /// Adds the hashes of another index; existing hashes take precedence.
    package mutating func add(_ other: FileHashes) { files.merge(other.files) { own, _ in own } }

    /// Removes the files whose paths do not satisfy a condition.
    package mutating func keep(where isKept: (String) -> Bool) { files = files.filter { isKept($0.key) } }
}
