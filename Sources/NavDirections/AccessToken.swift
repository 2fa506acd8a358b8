import Foundation

/// A provider's access token, whose value is never printed.
package struct AccessToken: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    let value: String

    /// The longest token, bytes.
    static let longest = 4_096

    /// Creates a token; surrounding white space is ignored.
    package init(_ text: String) throws(DirectionsError) {
        let value = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !value.isEmpty, value.utf8.count <= Self.longest, value.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
            throw DirectionsError(
                .configuration, "the token must be 1 to \(Self.longest) printable ASCII characters without spaces")
        }
        self.value = value
    }

    /// Reads the token from a file, or else from the variable `NAVBUS_DIRECTIONS_TOKEN`; nil when neither is given.
    ///
    /// - Parameter file: a path; empty for none.
    package static func read(file: String, environment: [String: String]) throws(DirectionsError) -> AccessToken? {
        if file.isEmpty {
            guard let text = environment["NAVBUS_DIRECTIONS_TOKEN"] else { return nil }
            return try AccessToken(text)
        }
        guard let handle = FileHandle(forReadingAtPath: file), let data = try? handle.read(upToCount: longest + 2)
        else {
            throw DirectionsError(
                .configuration, "cannot read the token file '\(file)'; check that it exists and is readable")
        }
        guard let text = String(bytes: data, encoding: .utf8) else {
            throw DirectionsError(.configuration, "the token file '\(file)' is not UTF-8 text")
        }
        return try AccessToken(text)
    }

    /// A placeholder instead of the token.
    package var description: String { "(a token)" }
    /// A placeholder instead of the token.
    package var debugDescription: String { description }
}
