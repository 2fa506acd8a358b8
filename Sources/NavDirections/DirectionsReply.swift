package import Foundation
import NavRemote

/// An HTTP answer as far as it matters.
package struct DirectionsReply: Sendable {
    /// HTTP status.
    var status: Int
    /// `Retry-After`; nil without.
    var retryAfter: String?
    /// `Date`; nil without.
    var date: String?
    /// `Location`; nil without.
    var location: String?
    /// What was sent.
    var body: Data

    package init(status: Int, body: Data, retryAfter: String? = nil, date: String? = nil, location: String? = nil) {
        self.status = status
        self.body = body
        self.retryAfter = retryAfter
        self.date = date
        self.location = location
    }

    /// Why there is no route in it; nil when there should be one.
    package var failure: DirectionsError? {
        if (300..<400).contains(status) {
            return DirectionsError(
                .redirected,
                "the provider sends to another address (HTTP \(status)\(place)): name the right one in the configuration"
            )
        }
        let document = try? JSONDecoder().decode(FailureDocument.self, from: body)
        let said = document?.message ?? document?.text
        if let code = document?.code, let failure = Self.failure(code, said) {
            // Whoever is told to slow down is told by the status.
            if status != 429 { return failure }
        }
        switch status {
        case 200:
            return document?.number == nil ? nil : failure(number: document?.number, said)
        case 401, 403:
            return DirectionsError(
                .unauthorized,
                "the provider refuses the token (HTTP \(status))\(Self.quoted(said)): check the token file")
        case 408, 504:
            return DirectionsError(.timedOut, "the provider ran out of time (HTTP \(status))", retryAfter: wait)
        case 429:
            return DirectionsError(
                .rateLimited, "the provider has had too many requests (HTTP 429)\(Self.quoted(said))", retryAfter: wait)
        case 500...:
            return DirectionsError(
                .server, "the provider failed (HTTP \(status))\(Self.quoted(said))", retryAfter: wait)
        case 400..<500:
            return failure(number: document?.number, said)
                ?? DirectionsError(
                    .invalidInput,
                    "the provider refuses the request (HTTP \(status))\(Self.quoted(said)): check url, "
                        + "dialect and profile")
        default: return DirectionsError(.malformed, "the provider answers with HTTP \(status)")
        }
    }

    /// The host that a redirection names, for people.
    private var place: String {
        guard let location, let host = URLComponents(string: location)?.host else { return "" }
        return ", \(Self.clipped(host))"
    }

    // MARK: Codes

    /// What a code of OSRM's interface means; nil for `Ok` and for codes that are unknown.
    private static func failure(_ code: String, _ message: String?) -> DirectionsError? {
        switch code {
        case "NoRoute", "NoTrips", "NoMatch":
            DirectionsError(.noRoute, "the provider knows no way between the places")
        case "NoSegment": DirectionsError(.noSegment, "the provider knows no road near a place\(quoted(message))")
        case "InvalidInput", "InvalidQuery", "InvalidUrl", "InvalidValue", "InvalidOptions", "InvalidService",
            "InvalidVersion", "TooBig", "NotImplemented", "ProfileNotFound", "DistanceExceeded", "NotFound",
            "DisabledDataset", "BreakageDistanceExceeded", "PerimeterExceeded":
            DirectionsError(.invalidInput, "the provider refuses the request (\(code))\(quoted(message))")
        case "Forbidden", "NotAuthorized", "NotAuthorizedInvalidToken", "NotAuthorizedNoToken":
            DirectionsError(.unauthorized, "the provider refuses the token (\(code)): check the token file")
        default: nil
        }
    }

    /// What Valhalla's numbers mean (its `exception.h`): 171 no road near, 44x no path, 1xx the request.
    private func failure(number: Int?, _ text: String?) -> DirectionsError? {
        guard let number else { return nil }
        switch number {
        case 170, 171: return DirectionsError(.noSegment, "the provider knows no road near a place\(Self.quoted(text))")
        case 440...449: return DirectionsError(.noRoute, "the provider knows no way between the places")
        case 299, 399, 499, 599, 199:
            return DirectionsError(.server, "the provider failed (\(number))\(Self.quoted(text))")
        default:
            return DirectionsError(.invalidInput, "the provider refuses the request (\(number))\(Self.quoted(text))")
        }
    }

    /// What a provider says, as much as fits a line of a log, without control characters.
    private static func quoted(_ text: String?) -> String {
        guard let text, !text.isEmpty else { return "" }
        return ": \(clipped(text))"
    }

    private static func clipped(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.prefix(200).map { $0.properties.generalCategory == .control ? " " : $0 }))
    }

    // MARK: Retry-After

    /// The longest wait that is believed, seconds: a day.
    static let longestWait = 86_400.0

    /// Seconds that the provider asks to be left alone; a date counts from the provider's own clock.
    var wait: Double? {
        HTTPTime.retryAfter(retryAfter, date: date, now: nil).map { min($0, Self.longestWait) }
    }
}
