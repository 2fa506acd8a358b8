package import Foundation

package struct DirectionsReply: Sendable {
    var status: Int
    /// The delay that the provider requests before the next attempt, seconds; nil when it requests none.
    var retryAfter: Double?
    var body: Data

    package init(status: Int, body: Data, retryAfter: Double? = nil) {
        self.status = status
        self.body = body
        // The wait that the provider requests is honoured up to a day.
        self.retryAfter = retryAfter.map { min($0, 86_400) }
    }

    /// The reason why the reply has no route; nil when it should have a route.
    package var failure: DirectionsError? {
        let document = try? JSONDecoder().decode(FailureDocument.self, from: body)
        let reason = document?.message ?? document?.text
        if let code = document?.code, let failure = Self.failure(code, reason) {
            // Rate limiting is signalled by the status.
            if status != 429 { return failure }
        }
        switch status {
        case 200:
            return document?.number == nil ? nil : failure(number: document?.number, reason)
        case 300..<400:
            return DirectionsError(
                .redirected, "the provider redirects (HTTP \(status)); configure the final URL")
        case 401, 403:
            return DirectionsError(
                .unauthorized,
                "the provider rejected the token (HTTP \(status))\(Self.quoted(reason)); check the token file")
        case 408, 504:
            return DirectionsError(.timedOut, "the provider timed out (HTTP \(status))", retryAfter: retryAfter)
        case 429:
            return DirectionsError(
                .rateLimited, "the provider limits the request rate (HTTP 429)\(Self.quoted(reason))",
                retryAfter: retryAfter)
        case 500...:
            return DirectionsError(
                .server, "the provider failed (HTTP \(status))\(Self.quoted(reason))", retryAfter: retryAfter)
        case 400..<500:
            return failure(number: document?.number, reason)
                ?? DirectionsError(
                    .invalidInput,
                    "the provider rejected the request (HTTP \(status))\(Self.quoted(reason)); check url, "
                        + "dialect and profile")
        default: return DirectionsError(.malformed, "the provider sent an unexpected response (HTTP \(status))")
        }
    }

    // MARK: Codes

    /// Returns the failure for an OSRM code; nil for `Ok` and for unknown codes.
    private static func failure(_ code: String, _ message: String?) -> DirectionsError? {
        switch code {
        case "NoRoute", "NoTrips", "NoMatch":
            DirectionsError(.noRoute, "the provider found no route between the waypoints")
        case "NoSegment": DirectionsError(.noSegment, "the provider found no road near a place\(quoted(message))")
        case "InvalidInput", "InvalidQuery", "InvalidUrl", "InvalidValue", "InvalidOptions", "InvalidService",
            "InvalidVersion", "TooBig", "NotImplemented", "ProfileNotFound", "DistanceExceeded", "NotFound",
            "DisabledDataset", "BreakageDistanceExceeded", "PerimeterExceeded":
            DirectionsError(.invalidInput, "the provider rejected the request (\(code))\(quoted(message))")
        case "Forbidden", "NotAuthorized", "NotAuthorizedInvalidToken", "NotAuthorizedNoToken":
            DirectionsError(.unauthorized, "the provider rejected the token (\(code)); check the token file")
        default: nil
        }
    }

    /// Returns the failure for a Valhalla error code (its `exception.h`): 171 no road near, 44x no path, 1xx the
    /// request.
    private func failure(number: Int?, _ text: String?) -> DirectionsError? {
        guard let number else { return nil }
        switch number {
        case 170, 171: return DirectionsError(.noSegment, "the provider found no road near a place\(Self.quoted(text))")
        case 440...449: return DirectionsError(.noRoute, "the provider found no route between the waypoints")
        case 299, 399, 499, 599, 199:
            return DirectionsError(.server, "the provider failed (\(number))\(Self.quoted(text))")
        default:
            return DirectionsError(.invalidInput, "the provider rejected the request (\(number))\(Self.quoted(text))")
        }
    }

    /// Quotes a provider's text, cut to fit a log line and without control characters.
    private static func quoted(_ text: String?) -> String {
        guard let text, !text.isEmpty else { return "" }
        let scalars = text.unicodeScalars.prefix(200).map { $0.properties.generalCategory == .control ? " " : $0 }
        return ": \(String(String.UnicodeScalarView(scalars)))"
    }
}
