import Foundation

/// An address of HTTP, taken apart: what is sent where, and what may be shown.
package struct WebAddress: Sendable, Hashable, CustomStringConvertible {
    /// What tells one server from another: nothing that was meant for one goes to another.
    package struct Origin: Sendable, Hashable {
        package let isSecure: Bool
        package let host: String
        package let port: Int
        /// The beginning of all its addresses.
        fileprivate let head: String

        init(isSecure: Bool, host: String, port: Int) {
            self.isSecure = isSecure
            self.host = host
            self.port = port
            let isUsual = port == (isSecure ? 443 : 80)
            head = (isSecure ? "https://" : "http://") + host + (isUsual ? "" : ":\(port)")
        }
    }

    package var origin: Origin
    /// Path and query, beginning with `/`.
    package var target: String
    /// The user and password of the address, as HTTP's Basic authentication sends them.
    package var basic: String?

    /// An address; nil for what is none of `http:` or `https:`, or could be read in two ways.
    package init?(_ text: String) {
        guard text.utf8.count <= 8_192, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\\") })
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

    /// The address of another target at the same server; nil for one that is no part of an address.
    package init?(_ server: WebAddress, target: String) {
        guard target.utf8.count <= 8_192, target.utf8.first == UInt8(ascii: "/"),
            target.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\\") && $0 != UInt8(ascii: "#") })
        else { return nil }
        origin = server.origin
        basic = server.basic
        self.target = target
    }

    /// Of letters of any case the same one.
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

    /// The address that a reference on this page means; nil for what is none of HTTP.
    package func resolving(_ reference: String) -> WebAddress? {
        let text: String
        if reference.hasPrefix("//") {
            text = (origin.isSecure ? "https:" : "http:") + reference
        } else if reference.hasPrefix("/") {
            text = origin.head + reference
        } else if let colon = reference.firstIndex(of: ":"), reference[..<colon].allSatisfy(\.isLetter) {
            text = reference
        } else {
            let path = target.prefix { $0 != "?" }
            let folder = path[...(path.lastIndex(of: "/") ?? path.startIndex)]
            text = origin.head + (reference.hasPrefix("?") ? String(path) : String(folder)) + reference
        }
        return WebAddress(text)
    }

    /// The address with more at the end of its path, in place of any query.
    package func appending(_ path: String) -> WebAddress {
        var address = self
        let folder = target.prefix { $0 != "?" }
        address.target = (folder.hasSuffix("/") ? String(folder) : folder + "/") + path
        return address
    }

    /// The address as it is asked for: without user and password.
    package var text: String { origin.head + target }

    /// The address as it may be shown: without user, password and query.
    package var description: String { origin.head + target.prefix { $0 != "?" } }

    /// Where a redirection leads, or why it is not followed.
    ///
    /// To the same origin, or from https to https at a host that the configuration allows; never from https to http.
    package func redirected(to location: String, allowedHosts: [String]) -> Result<WebAddress, TileSourceError> {
        guard var next = resolving(location) else {
            return .failure(TileSourceError(.redirected, "'\(self)' leads to no address of HTTP: not followed"))
        }
        // A user and a password that a server puts there are not ours.
        next.basic = nil
        guard next.origin != origin else { return .success(next) }
        let isAllowed = allowedHosts.contains { $0.lowercased() == next.origin.host }
        guard origin.isSecure, next.origin.isSecure, isAllowed else {
            return .failure(
                TileSourceError(
                    .redirected,
                    "'\(self)' leads to '\(next.origin.head)': not followed; name the host in the source's allowed hosts (https "
                        + "only), or ask there in the first place"))
        }
        return .success(next)
    }
}
