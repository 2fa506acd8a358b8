package import NavConfig
package import NavDirections

/// The configuration of the online route provider. Without an address there is none, and all routes are found on board.
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
        return try OnlineRouteProvider(directions, token: AccessToken.read(file: tokenFile, environment: environment))
    }

    package static var keys: [ConfigKey<OnlineRoutingKeys>] {
        [
            .string(
                "directions.url", \.directions.url,
                "Address of an online provider of routes, such as https://HOST; empty finds all routes on board."),
            .text(
                "directions.dialect", \.directions.dialect, range: "osrm | mapbox | valhalla",
                "How the provider is spoken to.", parse: { DirectionsConfiguration.Dialect(rawValue: $0) },
                format: { $0.rawValue }),
            .string(
                "directions.profile", \.directions.profile,
                "The provider's profile or costing; empty is driving, mapbox/driving-traffic, or auto and truck."),
            .string(
                "directions.token_file", \.tokenFile,
                "File with the access token; empty takes the variable NAVBUS_DIRECTIONS_TOKEN, or none."),
            .integer(
                "directions.deadline_ms", \.directions.deadlineMilliseconds, in: 50...60_000,
                "How long an answer is waited for before the route is found on board, milliseconds."),
            .integer(
                "directions.attempt_ms", \.directions.attemptMilliseconds, in: 50...60_000,
                "How long one attempt may take, milliseconds."),
            .integer(
                "directions.retries", \.directions.retries, in: 0...10,
                "How often an attempt is repeated that failed for a reason that passes."),
            .integer(
                "directions.backoff_first_ms", \.directions.firstPauseMilliseconds, in: 0...60_000,
                "Pause before the first repetition, milliseconds; it doubles, and is drawn from its upper half."),
            .integer(
                "directions.backoff_max_ms", \.directions.longestPauseMilliseconds, in: 0...60_000,
                "Longest pause between attempts, milliseconds."),
            .integer(
                "directions.max_bytes", \.directions.maximumBytes, in: 1_024...268_435_456,
                "Largest answer that is read, bytes."),
            .integer(
                "directions.alternatives", \.directions.alternatives, in: 0...3, "How many alternatives are asked for."),
            .string(
                "directions.language", \.directions.language,
                "Language of the provider's names, such as en; empty for its own."),
            .flag(
                "directions.steps", \.directions.includesSteps,
                "Whether the provider's steps are asked for; instructions are made on board all the same."),
            .flag(
                "directions.depart_at", \.directions.sendsDeparture,
                "Whether the time of departure is sent; without it the provider takes now."),
            .string("directions.proxy", \.directions.proxy, "HTTP proxy, HOST:PORT; empty for none."),
            .string(
                "directions.ca_file", \.directions.authorities,
                "File of certificates (PEM) of a private authority, which alone then vouch for the provider; empty trusts "
                    + "those of the machine."),
            .integer(
                "directions.rest_after", \.directions.failuresToRest, in: 1...100,
                "Failures in a row after which the provider is left alone."),
            .number(
                "directions.rest_first_s", \.directions.firstRest, in: 0.1...3_600,
                "How long it is left alone at first, seconds; twice as long after each trial that fails."),
            .number(
                "directions.rest_max_s", \.directions.longestRest, in: 0.1...86_400,
                "How long it is left alone at most, seconds."),
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
