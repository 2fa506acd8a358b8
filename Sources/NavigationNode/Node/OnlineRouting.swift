import Foundation
package import NavConfig
package import NavDirections

/// The configuration of the online route provider. Without an address, there is no provider, and all routes are found
/// on board.
package struct OnlineRoutingKeys: NodeConfiguration, Equatable {
    package var directions = DirectionsConfiguration()
    /// The file that holds the access token; empty for the variable `NAVBUS_DIRECTIONS_TOKEN`, if set.
    package var tokenFile = ""

    package init() {}

    /// Creates the provider; nil without an address.
    ///
    /// - Parameter environment: The environment, which may hold the token.
    package func provider(environment: [String: String]) throws(DirectionsError) -> OnlineRouteProvider? {
        guard directions.isEnabled else { return nil }
        guard directions.authorities.isEmpty || FileManager.default.isReadableFile(atPath: directions.authorities)
        else {
            throw DirectionsError(
                .configuration,
                "cannot read the certificates '\(directions.authorities)' (directions.ca_file); check that the file exists and "
                    + "is readable")
        }
        return try OnlineRouteProvider(directions, token: AccessToken.read(file: tokenFile, environment: environment))
    }

    package static var keys: [ConfigKey<OnlineRoutingKeys>] {
        [
            .string(
                "directions.url", \.directions.url,
                "URL of the online route provider, such as https://HOST; empty computes all routes on board."),
            .text(
                "directions.dialect", \.directions.dialect, range: "osrm | mapbox | valhalla",
                "API of the provider.", parse: { DirectionsConfiguration.Dialect(rawValue: $0) },
                format: { $0.rawValue }),
            .string(
                "directions.profile", \.directions.profile,
                "The provider's profile or costing; empty for driving, mapbox/driving-traffic, or auto and truck."),
            .string(
                "directions.token_file", \.tokenFile,
                "File with the access token; empty uses the variable NAVBUS_DIRECTIONS_TOKEN, if set."),
            .integer(
                "directions.deadline_ms", \.directions.deadlineMilliseconds, in: 50...60_000,
                "Time limit for an answer, after which the route is computed on board, milliseconds."),
            .integer(
                "directions.attempt_ms", \.directions.attemptMilliseconds, in: 50...60_000,
                "Time limit for one attempt, milliseconds."),
            .integer(
                "directions.retries", \.directions.retries, in: 0...10,
                "Greatest number of retries after transient failures."),
            .integer(
                "directions.backoff_first_ms", \.directions.firstPauseMilliseconds, in: 0...60_000,
                "Pause before the first retry, milliseconds; it doubles with each, less up to half at random."
            ),
            .integer(
                "directions.backoff_max_ms", \.directions.longestPauseMilliseconds, in: 0...60_000,
                "Longest pause between attempts, milliseconds."),
            .integer(
                "directions.max_bytes", \.directions.maximumBytes, in: 1_024...268_435_456,
                "Greatest size of an answer, bytes."),
            .integer(
                "directions.alternatives", \.directions.alternatives, in: 0...3,
                "Number of alternatives to request; the node uses only the best route and finds alternatives on board."),
            .string(
                "directions.language", \.directions.language,
                "Language to request, such as en; empty for its default. Instructions are worded on board."),
            .flag(
                "directions.steps", \.directions.includesSteps,
                "Whether the provider's steps are requested; instructions are generated on board in any case."),
            .flag(
                "directions.depart_at", \.directions.sendsDeparture,
                "Whether the time of departure is sent; without it the provider assumes now."),
            .string("directions.proxy", \.directions.proxy, "HTTP proxy, HOST:PORT; empty for none."),
            .string(
                "directions.ca_file", \.directions.authorities,
                "File of CA certificates (PEM) of a private authority, which alone are then trusted; empty trusts the "
                    + "system's certificates."),
            .integer(
                "directions.rest_after", \.directions.failuresToOpen, in: 1...100,
                "Consecutive failures after which the provider is not called for a while."),
            .number(
                "directions.rest_first_s", \.directions.firstOpenTime, in: 0.1...3_600,
                "First pause after such failures, seconds; it doubles after each failed trial."),
            .number(
                "directions.rest_max_s", \.directions.longestOpenTime, in: 0.1...86_400,
                "Longest such pause, seconds."),
        ]
    }
}

extension DirectionsConfiguration {
    fileprivate var deadlineMilliseconds: Int {
        get { milliseconds(deadline) }
        set { deadline = Double(newValue) / 1_000 }
    }
    fileprivate var attemptMilliseconds: Int {
        get { milliseconds(attemptTimeout) }
        set { attemptTimeout = Double(newValue) / 1_000 }
    }
    fileprivate var firstPauseMilliseconds: Int {
        get { milliseconds(firstPause) }
        set { firstPause = Double(newValue) / 1_000 }
    }
    fileprivate var longestPauseMilliseconds: Int {
        get { milliseconds(longestPause) }
        set { longestPause = Double(newValue) / 1_000 }
    }

    /// Returns whole milliseconds; 0 for an invalid time.
    private func milliseconds(_ seconds: Double) -> Int { Int(exactly: (seconds * 1_000).rounded()) ?? 0 }
}
