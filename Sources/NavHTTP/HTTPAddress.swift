import Foundation

/// An HTTP URL in parts: the server, the request target, and the text for messages.
package struct HTTPAddress: Sendable, Hashable, CustomStringConvertible {
    /// The identity of a server; data for one server is never sent to another.
    package struct Origin: Sendable, Hashable {
        package let isSecure: Bool
        package let host: String
        package let port: Int
        /// The common prefix of its addresses, such as `https://host:8443`.
        package let text: String

        init(isSecure: Bool, host: String, port: Int) {
            self.isSecure = isSecure
            self.host = host
            self.port = port
            let isUsual = port == (isSecure ? 443 : 80)
            text = (isSecure ? "https://" : "http://") + host + (isUsual ? "" : ":\(port)")
        }

        /// Whether requests to it stay on this machine.
        package var isLoopback: Bool {
            let isIPv4 = host.hasPrefix("127.") && host.allSatisfy { $0 == "." || ("0"..."9").contains($0) }
            return isIPv4 || host == "localhost" || host == "[::1]"
        }
    }

    package var origin: Origin
    /// Path and query, beginning with `/`.
    package var target: String
    /// The user and password of the address as the value of an `Authorization` header; nil without.
    package var basic: String?

    /// The most bytes of an address.
    private static let longest = 65_536

    /// Parses an `http:` or `https:` URL; nil for anything else, and for an ambiguous one.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.longest,
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\\") })
        else { return nil }
        let isSecure = text.utf8.prefix(8).elementsEqual("https://".utf8, by: Self.isSameLetter)
        guard isSecure || text.utf8.prefix(7).elementsEqual("http://".utf8, by: Self.isSameLetter) else { return nil }
        let rest = text.dropFirst(isSecure ? 8 : 7)
        let end = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
        var authority = rest[..<end]
        if let at = authority.lastIndex(of: "@") {
            let user = authority[..<at].removingPercentEncoding ?? String(authority[..<at])
            basic = "Basic " + Data(user.utf8).base64EncodedString()
            authority = authority[authority.index(after: at)...]
        }
        guard let place = Self.place(authority, isSecure: isSecure) else { return nil }
        origin = Origin(isSecure: isSecure, host: place.host, port: place.port)
        let tail = rest[end...].prefix { $0 != "#" }
        target = tail.hasPrefix("/") ? String(tail) : "/" + tail
    }

    /// The address of another target at the same server; nil when the target is malformed.
    package init?(_ server: HTTPAddress, target: String) {
        guard target.utf8.count <= Self.longest, target.utf8.first == UInt8(ascii: "/"),
            target.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\\") && $0 != UInt8(ascii: "#") })
        else { return nil }
        origin = server.origin
        basic = server.basic
        self.target = target
    }

    /// Whether two ASCII letters differ at most in their case.
    private static func isSameLetter(_ left: UInt8, _ right: UInt8) -> Bool { left == right || left | 0x20 == right }

    private static func place(_ authority: Substring, isSecure: Bool) -> (host: String, port: Int)? {
        var host = authority
        var port = isSecure ? 443 : 80
        let isNumeric = authority.hasPrefix("[")
        if let colon = authority.lastIndex(of: ":"), !isNumeric || authority[..<colon].hasSuffix("]") {
            guard let number = UInt16(authority[authority.index(after: colon)...]), number > 0 else { return nil }
            port = Int(number)
            host = authority[..<colon]
        }
        let inner = isNumeric ? host.dropFirst().dropLast() : host
        let allowed = isNumeric ? "0123456789abcdefABCDEF:." : "abcdefghijklmnopqrstuvwxyz0123456789.-_"
        guard !inner.isEmpty, !isNumeric || host.hasSuffix("]"),
            inner.lowercased().allSatisfy({ allowed.contains($0) })
        else { return nil }
        return (host.lowercased(), port)
    }

    /// Resolves a reference in a document at this address; nil when it does not lead to an HTTP address.
    package func resolving(_ reference: String) -> HTTPAddress? {
        let text: String
        if reference.hasPrefix("//") {
            text = (origin.isSecure ? "https:" : "http:") + reference
        } else if reference.hasPrefix("/") {
            text = origin.text + reference
        } else if let colon = reference.firstIndex(of: ":"), reference[..<colon].allSatisfy(\.isLetter) {
            text = reference
        } else {
            let path = target.prefix { $0 != "?" }
            let folder = path[...(path.lastIndex(of: "/") ?? path.startIndex)]
            text = origin.text + (reference.hasPrefix("?") ? String(path) : String(folder)) + reference
        }
        return HTTPAddress(text)
    }

    /// Returns the address with `path` appended to its path and without its query.
    package func appending(_ path: String) -> HTTPAddress {
        var address = self
        let folder = target.prefix { $0 != "?" }
        address.target = (folder.hasSuffix("/") ? String(folder) : folder + "/") + path
        return address
    }

    /// The address as requested, without user and password.
    package var text: String { origin.text + target }

    /// The address as shown in messages, without user, password and query.
    package var description: String { origin.text + target.prefix { $0 != "?" } }

    /// Returns the target of a redirect.
    ///
    /// Allowed are targets of the same origin, and from https to https at a host that the configuration allows.
    /// Anything else fails with ``HTTPError/Code/redirected``, also from https to http.
    package func redirected(to location: String, allowedHosts: [String]) throws(HTTPError) -> HTTPAddress {
        guard var next = resolving(location) else {
            throw HTTPError(.redirected, "'\(self)' redirects to a URL that is not HTTP; not followed")
        }
        // A user and a password that a server puts into a redirect are ignored.
        next.basic = nil
        guard next.origin != origin else { return next }
        let isAllowed = allowedHosts.contains { $0.lowercased() == next.origin.host }
        guard origin.isSecure, next.origin.isSecure, isAllowed else {
            throw HTTPError(
                .redirected,
                "'\(self)' redirects to '\(next.origin.text)'; not followed: allow its host (https only), or configure "
                    + "the final URL")
        }
        return next
    }
}
