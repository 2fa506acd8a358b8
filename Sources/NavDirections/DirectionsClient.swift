import Foundation
package import NavHTTP

/// The HTTP client of the provider, which follows no redirects, because they would forward the token.
struct DirectionsClient: Sendable {
    private let http: HTTPClient
    private let maximumBytes: Int

    init(_ configuration: DirectionsConfiguration, for address: HTTPAddress) throws(DirectionsError) {
        var rules = HTTPConfiguration()
        rules.limits.connectTimeout = configuration.attemptTimeout
        rules.limits.idleTimeout = configuration.attemptTimeout
        rules.limits.totalTimeout = configuration.attemptTimeout
        rules.limits.slowestRate = 0
        rules.limits.redirects = 0
        rules.proxy = configuration.proxy.isEmpty ? nil : configuration.proxy
        rules.authorities = configuration.authorities.isEmpty ? nil : configuration.authorities
        do throws(HTTPError) {
            http = try HTTPClient(rules, for: address)
        } catch {
            throw DirectionsError(error)
        }
        maximumBytes = configuration.maximumBytes
    }

    /// Sends a request once.
    ///
    /// - Parameter timeout: seconds for the answer.
    func ask(_ question: DirectionsRequest, timeout: Double) async throws(DirectionsError) -> DirectionsReply {
        guard let address = HTTPAddress(question.url) else {
            throw DirectionsError(.invalidInput, "the request is too long for a URL; use fewer waypoints")
        }
        var request = HTTPRequest(address, limit: maximumBytes)
        request.headers = [("Accept", "application/json")]
        if let bearer = question.bearer { request.credential = ("Authorization", "Bearer \(bearer)") }
        if let body = question.body {
            request.method = .post(Array(body.utf8))
            request.headers.append(("Content-Type", "application/json"))
        }
        request.timeout = timeout
        request.readsFailures = true
        // The path reveals where the user drives.
        request.hidesPath = true
        do throws(HTTPError) {
            let response = try await http.ask(request)
            return DirectionsReply(
                status: response.status, body: Data(response.body), retryAfter: response.retryAfter)
        } catch {
            throw DirectionsError(error)
        }
    }
}

extension DirectionsError {
    /// Creates the provider's failure for an HTTP error; codes without a counterpart become ``Code/unreachable``.
    package init(_ error: HTTPError) {
        let advice = error.code == .tooLarge ? "; directions.max_bytes is the limit" : ""
        self.init(Code(rawValue: error.code.rawValue) ?? .unreachable, "the provider: \(error.message)\(advice)")
    }
}
