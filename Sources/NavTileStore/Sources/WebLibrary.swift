import CCurl
import Glibc

/// What libcurl of this machine can do. What it cannot is said when a source is opened: asking again later would help
/// nobody.
package struct WebLibrary: Sendable {
    /// Its version.
    package var version: String
    /// Whether it was built with TLS.
    package var hasTLS: Bool

    /// A library as it would be.
    package init(version: String, hasTLS: Bool) {
        self.version = version
        self.hasTLS = hasTLS
    }

    /// The one that this program runs with.
    package static let present: WebLibrary = {
        guard let info = navbus_curl_version()?.pointee else {
            return WebLibrary(version: "of no version", hasTLS: false)
        }
        return WebLibrary(
            version: info.version.map { String(cString: $0) } ?? "of no version",
            hasTLS: Int(info.features) & Int(CURL_VERSION_SSL) != 0)
    }()

    /// Why a server cannot be asked with it; nil when it can.
    func fault(_ address: WebAddress) -> TileSourceError? {
        guard address.origin.isSecure, !hasTLS else { return nil }
        return TileSourceError(
            .configuration,
            "'\(address)' needs TLS, and libcurl \(version) of this machine was built without it: install one with TLS, "
                + "or use an address of http:")
    }

    /// Fails where libcurl did not take an option: what it cannot take now it can never.
    static func require(_ option: CURLoption, _ code: CURLcode) throws(TileSourceError) {
        guard code != CURLE_OK else { return }
        guard code != CURLE_OUT_OF_MEMORY else { throw exhausted("take an option") }
        let name = curl_easy_option_by_id(option)?.pointee.name.map { String(cString: $0) } ?? "\(option.rawValue)"
        let isOwners = option == CURLOPT_CAINFO || option == CURLOPT_CAPATH
        throw TileSourceError(
            .configuration,
            "libcurl \(present.version) of this machine refuses CURLOPT_\(name) (\(String(cString: curl_easy_strerror(code)))): "
                + (isOwners
                    ? "name a file of certificates (PEM) that it can take, or install another libcurl"
                    : "install another libcurl, one with HTTP and TLS"))
    }

    /// What is wrong where libcurl has not got what it needs to begin.
    static func exhausted(_ what: String) -> TileSourceError {
        let reason = errno == 0 ? "no memory, or no more open files (ulimit -n)" : String(cString: strerror(errno))
        return TileSourceError(.system, "libcurl cannot \(what): \(reason); look at what this machine's processes use")
    }
}
