import CCurl
import Glibc

/// The capabilities of a libcurl.
///
/// A client that needs a missing capability fails on creation, because no later attempt would succeed.
package struct CurlLibrary: Sendable {
    package var version: String
    package var hasTLS: Bool

    package init(version: String, hasTLS: Bool) {
        self.version = version
        self.hasTLS = hasTLS
    }

    /// Whether libcurl's global state is initialised, which happens once in a process, before any other call of
    /// libcurl.
    static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// The library that this program runs with.
    package static let present: CurlLibrary = {
        guard isReady, let info = navbus_curl_version()?.pointee else {
            return CurlLibrary(version: "(unknown version)", hasTLS: false)
        }
        return CurlLibrary(
            version: info.version.map { String(cString: $0) } ?? "(unknown version)",
            hasTLS: Int(info.features) & Int(CURL_VERSION_SSL) != 0)
    }()

    /// Returns the error for a server that this libcurl cannot reach; nil when it can.
    func fault(_ address: HTTPAddress) -> HTTPError? {
        guard address.origin.isSecure, !hasTLS else { return nil }
        return HTTPError(
            .configuration,
            "'\(address)' needs TLS, but libcurl \(version) of this machine was built without it; install one with "
                + "TLS, or use an http: URL")
    }

    /// Throws when libcurl refuses an option.
    static func require(_ option: CURLoption, _ code: CURLcode) throws(HTTPError) {
        guard code != CURLE_OK else { return }
        guard code != CURLE_OUT_OF_MEMORY else { throw exhausted("set an option") }
        let name = curl_easy_option_by_id(option)?.pointee.name.map { String(cString: $0) } ?? "\(option.rawValue)"
        let isOwners = option == CURLOPT_CAINFO || option == CURLOPT_CAPATH
        throw HTTPError(
            .configuration,
            "libcurl \(present.version) of this machine rejects CURLOPT_\(name) (\(String(cString: curl_easy_strerror(code)))); "
                + (isOwners
                    ? "configure a readable PEM file of certificates, or install another libcurl"
                    : "install a libcurl with HTTP and TLS"))
    }

    /// Returns the error for a libcurl that lacks the memory or open files to start.
    static func exhausted(_ what: String) -> HTTPError {
        let reason = errno == 0 ? "out of memory or open files (ulimit -n)" : String(cString: strerror(errno))
        return HTTPError(.system, "libcurl cannot \(what): \(reason); check this machine's memory and open files")
    }
}
