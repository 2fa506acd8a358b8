/// A header by which a server knows its customers, kept in a file.
///
/// The file is read again when it has changed. Its content is shown to nobody but the server.
package struct TileCredential: Sendable, Hashable {
    package var header: String
    /// The prefix of the file's content, such as `Bearer `.
    package var prefix: String
    /// The file: one line of printable ASCII; spaces and line ends around it do not count.
    package var file: String

    /// A header with the content of a file.
    package init(header: String, file: String, prefix: String = "") {
        self.header = header
        self.file = file
        self.prefix = prefix
    }

    /// `Authorization: Bearer` and the content of a file.
    package static func bearer(file: String) -> TileCredential {
        TileCredential(header: "Authorization", file: file, prefix: "Bearer ")
    }
}
