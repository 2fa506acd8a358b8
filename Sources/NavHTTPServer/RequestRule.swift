import Glibc
import NIOHTTP1

/// A rule that accepts or refuses requests by their Host and Origin.
///
/// In a browser, any page can send requests here. Origin names the page's site. Host names this server, or another site whose
/// name resolves to this machine (DNS rebinding). So a request is accepted only if Host is an address or the name of this
/// machine, and Origin is absent (a program), the same host, a trusted origin, or, on a loopback-only server, a page of this
/// machine.
struct RequestRule: Sendable {
    var isLoopback: Bool
    /// Additional trusted origins.
    var origins: Set<String>

    /// Returns the reason for refusing a request; nil when it is accepted.
    func refusal(of head: HTTPRequestHead) -> String? {
        let hosts = head.headers["host"]
        guard hosts.count == 1, let host = Self.host(hosts[0]) else { return "exactly one Host header is required" }
        guard isOwn(host) else {
            return "'\(host.prefix(80))' is not a name of this machine; use "
                + (isLoopback ? "localhost" : "its IP address")
        }
        let given = head.headers["origin"]
        guard let origin = given.first else { return nil }
        if given.count == 1, origins.contains(origin) { return nil }
        guard given.count == 1, let scheme = origin.firstRange(of: "://"),
            let from = Self.host(String(origin[scheme.upperBound...])),
            from == host || (isLoopback && ListenAddress.isLoopback(from))
        else { return "pages of '\(origin.prefix(80))' may not send requests here" }
        return nil
    }

    private func isOwn(_ host: String) -> Bool {
        if ListenAddress.isLoopback(host) { return true }
        guard !isLoopback else { return false }
        var address = in6_addr()
        if inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1 { return true }
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, 255) == 0 else { return false }
        let name = String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).lowercased()
        return !name.isEmpty && (host == name || host == name + ".local")
    }

    /// Returns the host of HOST or HOST:PORT in lower case, an IPv6 address without brackets; nil for anything else.
    static func host(_ text: String) -> String? {
        let text = text.lowercased()
        var name = Substring(text)
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            let rest = text[text.index(after: end)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
            name = text[..<end].dropFirst()
        } else if let colon = text.firstIndex(of: ":") {
            name = text[..<colon]
        }
        return name.isEmpty ? nil : String(name)
    }
}
