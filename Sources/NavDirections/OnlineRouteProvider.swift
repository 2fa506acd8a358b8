import Foundation
package import NavMatching
import NavRemote
package import NavRouting
import Synchronization

/// The routes of an online provider, mapped onto the on-board map.
package struct OnlineRoutes: Sendable, Equatable {
    /// The provider's best route, followed by the alternatives that are on the map.
    package var routes: [MappedRoute]
    /// The number of attempts, at least 1.
    package var attempts: Int
    /// The body of the answer, as received.
    package var body: [UInt8]

    /// Decodes a recorded answer; the same request on an equal router gives the same routes.
    package init(body: [UInt8], of request: RouteRequest, on router: Router) throws(DirectionsError) {
        let answer = try ProviderAnswer(DirectionsReply(status: 200, body: Data(body)), to: request)
        try self.init(answer, request, router, attempts: 1)
    }

    /// Maps a provider's routes and keeps those on the map; throws if the best one is not.
    fileprivate init(
        _ answer: ProviderAnswer, _ request: RouteRequest, _ router: Router, attempts: Int
    ) throws(DirectionsError) {
        self.attempts = attempts
        body = answer.body
        let mapping = RouteMapping(router)
        routes = []
        for (number, route) in answer.routes.enumerated() {
            if Task.isCancelled { throw DirectionsError(.cancelled, "the request was cancelled") }
            do {
                routes.append(try mapping.map(route, for: request))
            } catch {
                guard number == 0 else { continue }
                throw DirectionsError(
                    .unmapped, "the provider's route is not used: \(error.message)", missingTiles: error.missingTiles)
            }
        }
    }
}

/// A successfully decoded answer.
private struct ProviderAnswer {
    let routes: [ProvidedRoute]
    let body: [UInt8]

    init(_ reply: DirectionsReply, to request: RouteRequest) throws(DirectionsError) {
        routes = try ResponseDecoder(request: request).routes(reply)
        body = Array(reply.body)
    }
}

/// An online source of routes, disabled unless configured and never the only source.
///
/// A request ends within the deadline, with routes on the on-board map or with a typed failure, after which the caller routes on board. A
/// provider that fails repeatedly is paused, so that no caller waits for it. Then a single trial request is admitted, and the first answer
/// ends the pause.
package struct OnlineRouteProvider: Sendable {
    /// The state shared by copies.
    private final class Core: Sendable {
        let configuration: DirectionsConfiguration
        let token: AccessToken?
        let client: DirectionsClient
        let policy: RetryPolicy
        let breaker: Mutex<CircuitBreaker>
        let random: Mutex<any RandomNumberGenerator & Sendable>
        let start = ContinuousClock.now

        init(
            _ configuration: DirectionsConfiguration, _ token: AccessToken?, _ client: DirectionsClient,
            _ random: any RandomNumberGenerator & Sendable
        ) {
            self.configuration = configuration
            self.token = token
            self.client = client
            policy = RetryPolicy(
                retries: configuration.retries,
                backoff: Backoff(first: configuration.firstPause, longest: configuration.longestPause))
            breaker = Mutex(
                CircuitBreaker(
                    failuresToOpen: configuration.failuresToOpen, firstOpenTime: .seconds(configuration.firstOpenTime),
                    longestOpenTime: .seconds(configuration.longestOpenTime),
                    longestRetryAfter: .seconds(configuration.longestOpenTime)))
            self.random = Mutex(random)
        }

        /// The time since the provider was created.
        var now: Duration { ContinuousClock.now - start }

        /// Begins a request; returns the error while the provider is paused.
        func admit() -> DirectionsError? {
            let now = now
            return breaker.withLock { breaker in
                guard let rest = breaker.remainingPause(at: now) else {
                    breaker.noteRequest(at: now)
                    return nil
                }
                return DirectionsError(
                    .paused, "the provider is paused after repeated failures: \(breaker.reason ?? "")",
                    retryAfter: rest.inSeconds)
            }
        }

        func pause(after error: DirectionsError, attempt: Int, remaining: Double) -> Double? {
            guard error.isTransient else { return nil }
            return policy.pause(
                afterAttempt: attempt, retryAfter: error.retryAfter, remaining: remaining,
                chance: random.withLock { Double($0.next() >> 11) * 0x1p-53 })
        }
    }

    private let core: Core

    /// Creates a provider with a configuration.
    ///
    /// - Parameters:
    ///   - token: sent with each request; nil for a provider that needs none.
    ///   - random: the random generator for the jitter of pauses.
    package init(
        _ configuration: DirectionsConfiguration, token: AccessToken? = nil,
        random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) throws(DirectionsError) {
        let fault = configuration.fault(hasToken: token != nil)
        guard fault == nil, let address = configuration.address else {
            throw DirectionsError(.configuration, fault ?? "the provider's URL is missing")
        }
        core = Core(configuration, token, try DirectionsClient(configuration, for: address), random)
    }

    /// The seconds until the provider is contacted again after failures; nil when it may be contacted now.
    package var rest: Double? { core.breaker.withLock { $0.remainingPause(at: core.now) }.map(\.inSeconds) }

    /// Returns the provider's routes for a request, on a router's map.
    ///
    /// - Parameters:
    ///   - router: the router; routes must be legal for its map, vehicle and traffic.
    ///   - deadline: the seconds that the caller can wait, limited by the configured deadline. Mapping the route to the
    ///     map takes extra time: milliseconds with node ids, up to a second for 500 km without.
    package func routes(
        _ request: RouteRequest, on router: Router, deadline: Double? = nil
    ) async throws(DirectionsError) -> OnlineRoutes {
        let question = try DirectionsRequest(
            request, vehicle: router.metric.model.profile, core.configuration, token: core.token)
        if let pause = core.admit() { throw pause }
        let limit = min(deadline.map { $0.isFinite ? max($0, 0) : 0 } ?? .infinity, core.configuration.deadline)
        let answer: ProviderAnswer
        var attempts = 0
        do {
            answer = try await ask(question, request, limit: limit, &attempts)
            core.breaker.withLock { $0.noteAnswer() }
        } catch {
            note(error)
            throw error
        }
        return try OnlineRoutes(answer, request, router, attempts: attempts)
    }

    /// Sends attempts until an answer arrives, a retry is pointless, or the deadline passes.
    private func ask(
        _ question: DirectionsRequest, _ request: RouteRequest, limit: Double, _ attempts: inout Int
    ) async throws(DirectionsError) -> ProviderAnswer {
        let end = core.now + .seconds(limit)
        while true {
            let remaining = (end - core.now).inSeconds
            attempts += 1
            do throws(DirectionsError) {
                guard remaining > 0 else {
                    throw DirectionsError(.timedOut, "the deadline of the request has passed")
                }
                let timeout = min(remaining, core.configuration.attemptTimeout)
                let reply = try await core.client.ask(question, timeout: timeout)
                return try ProviderAnswer(reply, to: request)
            } catch {
                let left = (end - core.now).inSeconds
                guard let pause = core.pause(after: error, attempt: attempts - 1, remaining: left) else { throw error }
                do {
                    try await Task.sleep(for: .seconds(pause))
                } catch {
                    throw DirectionsError(.cancelled, "the request was cancelled")
                }
            }
        }
    }

    private func note(_ error: DirectionsError) {
        let now = core.now
        core.breaker.withLock { breaker in
            if error.blamesProvider {
                // A rejected token remains rejected until it is replaced.
                let wait = error.code == .unauthorized ? core.configuration.longestOpenTime : error.retryAfter
                breaker.noteFailure(error.message, at: now, atLeast: wait.map { .seconds($0) })
            } else if error.code == .cancelled {
                breaker.noteNothing(at: now)
            } else {
                breaker.noteAnswer()
            }
        }
    }
}

extension Duration {
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
