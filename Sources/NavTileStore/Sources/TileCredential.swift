/// A header that authenticates the client to a server, with its value kept in a file.
///
/// The file is reread when it changes. Its content is sent only to the server and never displayed.
package struct TileCredential: Sendable, Hashable {
    package var header: String
    /// The prefix of the header's value, such as `Bearer `.
    package var prefix: String
    /// The path of the file: one line of printable ASCII; surrounding white space is ignored.
    package var file: String

    /// A header whose value is the content of a file.
    package init(header: String, file: String, prefix: String = "") {
        self.header = header
        self.file = file
        self.prefix = prefix
    }

    /// Returns `Authorization: Bearer` with the content of a file.
    package static func bearer(file: String) -> TileCredential {
        TileCredential(header: "Authorization", file: file, prefix: "Bearer ")
    }
}
