import NavHTTP

/// The configuration of an online provider: its address, its dialect and the limits of a request.
package struct DirectionsConfiguration: Sendable, Hashable {
    package enum Dialect: String, Sendable, CaseIterable {
        /// OSRM's HTTP API v1, whose answers contain the OSM nodes that map routes onto edges.
        case osrm
        /// Mapbox Directions v5: OSRM's response format, with traffic.
        case mapbox
        /// Valhalla's `/route` with `format=osrm`.
        case valhalla
    }

    /// The provider's address without the dialect's part: `https://host`, with a port and a path if necessary; empty
    /// for none.
    package var url = ""
    /// The provider's protocol.
    package var dialect = Dialect.osrm
    /// The profile of OSRM or Mapbox, or the costing of Valhalla; empty for the dialect's default for the vehicle kind.
    package var profile = ""
    /// The total time limit of a request, seconds, 0.05 ... 60.
    package var deadline = 3.0
    /// The time limit of one attempt, seconds, 0.05 ... 60.
    package var attemptTimeout = 2.0
    /// The number of retries after a transient failure, 0 ... 10.
    package var retries = 2
    /// The pause before the first retry, seconds, 0 ... 60.
    ///
    /// Each further pause is twice as long, and every pause is drawn at random from its upper half.
    package var firstPause = 0.2
    /// The longest pause, seconds, 0 ... 60.
    package var longestPause = 2.0
    /// The largest answer, bytes, 1 KiB ... 256 MiB; compression is not requested.
    ///
    /// A route of 500 km with its annotations takes about 2 MB.
    package var maximumBytes = 8 << 20
    /// The number of alternatives to request, 0 ... 3.
    package var alternatives = 0
    /// The language of names, an IETF tag; empty for the provider's default.
    package var language = ""
    /// Whether the provider's steps are requested; guidance is computed on board, so they only enlarge the answer.
    package var includesSteps = false
    /// Whether a request's departure time is sent; without it the provider assumes now.
    package var sendsDeparture = false
    /// `HOST:PORT` of an HTTP proxy, empty for none; environment variables are not read.
    package var proxy = ""
    /// A PEM file with the only trusted certificates; empty to trust the system's.
    package var authorities = ""
    /// The number of consecutive failures that open the circuit breaker, 1 ... 100.
    package var failuresToOpen = 3
    /// The time for which the circuit breaker first opens, seconds, 0.1 ... 3,600; it doubles after each failed trial.
    package var firstOpenTime = 5.0
    /// The longest time for which the circuit breaker opens, seconds.
    package var longestOpenTime = 300.0

    package init() {}

    package var isEnabled: Bool { !url.isEmpty }

    /// The provider's address; nil when it is malformed.
    var address: HTTPAddress? { HTTPAddress(url) }

    /// Returns the reason why the configuration is invalid; nil when it is valid.
    ///
    /// - Parameter hasToken: whether each request carries an access token.
    func fault(hasToken: Bool) -> String? {
        guard !url.contains(where: { "?#@".contains($0) }) else {
            return "directions.url has a query, a fragment or a user: use https://HOST without them"
        }
        guard let origin = address?.origin else {
            return "directions.url: '\(url)' is not a valid URL: use https://HOST or http://HOST:PORT"
        }
        if hasToken, !origin.isSecure, !origin.isLoopback {
            return "directions.url: the token is not sent over plain http: use https, or no token"
        }
        if dialect == .mapbox, !hasToken {
            return "directions.dialect: Mapbox needs a token: set directions.token_file"
        }
        let hasPort = proxy.contains(":") && !proxy.hasSuffix("]")
        if !proxy.isEmpty,
            !hasPort || proxy.contains(where: { "/?#@".contains($0) })
                || HTTPAddress("http://" + proxy) == nil
        {
            return "directions.proxy: '\(proxy)' is not a valid proxy: use HOST:PORT"
        }
        let isPlain = { (text: String, more: String) in
            text.utf8.count <= 100
                && text.unicodeScalars.allSatisfy { scalar in
                    scalar.isASCII && scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
                        || more.unicodeScalars.contains(scalar)
                }
        }
        guard isPlain(profile, "_-/"), !profile.contains("//") else {
            return "directions.profile: '\(profile)' is not a valid profile: use letters, digits, '_', '-' and '/'"
        }
        guard isPlain(language, "-") else {
            return "directions.language: '\(language)' is not a valid language tag: use a tag such as en or pt-BR"
        }
        let ranges: [(String, Double, ClosedRange<Double>)] = [
            ("deadline", deadline, 0.05...60), ("attemptTimeout", attemptTimeout, 0.05...60),
            ("retries", Double(retries), 0...10), ("firstPause", firstPause, 0...60),
            ("longestPause", longestPause, 0...60), ("alternatives", Double(alternatives), 0...3),
            ("maximumBytes", Double(maximumBytes), 1_024...Double(256 << 20)),
            ("failuresToOpen", Double(failuresToOpen), 1...100), ("firstOpenTime", firstOpenTime, 0.1...3_600),
            ("longestOpenTime", longestOpenTime, 0.1...86_400),
        ]
        for (name, value, range) in ranges where !range.contains(value) {
            return "\(name) is not within \(range.lowerBound) ... \(range.upperBound)"
        }
        return nil
    }
}
