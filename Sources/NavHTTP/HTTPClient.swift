import CCurl
import Glibc
package import NavGeo
import Synchronization

/// The settings of a client.
package struct HTTPConfiguration: Sendable {
    /// The limits of time and rate.
    package var limits = HTTPLimits()
    /// The most concurrent requests, each with its own connection, 1 to 64.
    package var concurrency = 6
    /// A file of the trusted certificates (PEM), which replace those of the machine; nil to use the machine's.
    package var authorities: String?
    /// `HOST:PORT` of an HTTP proxy, nil for none; environment variables are never read.
    package var proxy: String?
    /// Hosts that a redirect from https to https may lead to, besides the request's own origin.
    package var allowedHosts: [String] = []
    /// The wall clock, for ``HTTPResponse/received``.
    package var now = HTTPConfiguration.wallClock
    package var library = CurlLibrary.present

    package init() {}

    package static let wallClock: @Sendable () -> Timestamp = {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }
}

/// The limits of time and rate of an answer.
package struct HTTPLimits: Sendable, Hashable {
    /// Seconds to open a connection.
    package var connectTimeout = 10.0
    /// Seconds until the head of an answer, and between two parts of its body.
    package var idleTimeout = 15.0
    /// Seconds for one answer in total, excluding pauses by a ``TransferMeter``.
    package var totalTimeout = 300.0
    /// The minimum rate over ``slowestWindow``, bytes per second; 0 for no limit.
    package var slowestRate = 512.0
    /// Seconds over which ``slowestRate`` is measured.
    package var slowestWindow = 20.0
    /// The most redirects in a row; 0 to follow none.
    package var redirects = 5

    package init() {}
}

/// An HTTP client over libcurl, which returns an answer of limited size in limited time, or a typed failure.
///
/// Servers must present a certificate issued by a trusted authority. Redirects are followed as
/// ``HTTPAddress/redirected(to:allowedHosts:)`` allows; a credential goes only to its own origin. Requests are not
/// retried: ``NavRemote`` decides about retries.
package final class HTTPClient: Sendable {
    private let thread: CurlThread
    private let configuration: HTTPConfiguration
    private let isClosed = Atomic(false)

    /// - Parameter address: an address that will be requested, so that a libcurl without TLS fails here.
    package init(_ configuration: HTTPConfiguration, for address: HTTPAddress) throws(HTTPError) {
        if let fault = configuration.library.fault(address) { throw fault }
        self.configuration = configuration
        thread = try CurlThread(configuration)
    }

    deinit { thread.end() }

    /// The thread that receives answers; a task that runs on it needs no thread switch between an answer and the next
    /// request.
    package var executor: any TaskExecutor { thread }

    /// Closes all connections; running requests fail with ``HTTPError/Code/closed``.
    package func close() async {
        isClosed.store(true, ordering: .relaxed)
        await thread.ended()
    }

    /// Sends a request, follows redirects, and reads the body.
    ///
    /// - Parameter meter: counts received bytes and may pause the transfer; nil for full speed.
    package func ask(_ request: HTTPRequest, meter: TransferMeter? = nil) async throws(HTTPError) -> HTTPResponse {
        var request = request
        var limits = configuration.limits
        if let timeout = request.timeout { limits.totalTimeout = min(timeout, limits.totalTimeout) }
        var pace = TransferPace(limits, at: Monotonic.now())
        let (origin, credential) = (request.address.origin, request.credential)
        var redirects = 0
        while true {
            if isClosed.load(ordering: .relaxed) { throw closed(request) }
            let exchange = HTTPExchange(request, pace: pace, meter: meter, now: configuration.now)
            let outcome = await carryOut(exchange)
            let response = try await response(exchange, outcome).get()
            guard [301, 302, 303, 307, 308].contains(response.status) else { return response }
            guard let location = response.header("Location"), !location.isEmpty else {
                throw HTTPError(
                    .redirected,
                    "'\(request.label)' is redirected (HTTP \(response.status)) without a Location; configure the "
                        + "final URL")
            }
            guard redirects < limits.redirects else { throw redirected(request, location) }
            redirects += 1
            pace = exchange.pace
            let next = try request.address.redirected(to: location, allowedHosts: configuration.allowedHosts)
            request.address = next
            // The credential is sent only to its own origin, even after a redirect through another server.
            request.credential = next.origin == origin ? credential : nil
        }
    }

    private func carryOut(_ exchange: HTTPExchange) async -> HTTPExchange.Outcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                exchange.continuation = continuation
                thread.submit(exchange)
            }
        } onCancel: {
            thread.cancel(exchange)
        }
    }

    /// Returns the answer; a large body is unpacked on another thread, where it delays no other answer.
    private func response(
        _ exchange: HTTPExchange, _ outcome: HTTPExchange.Outcome
    ) async -> Result<HTTPResponse, HTTPError> {
        let take = { @Sendable [self] in Result { () throws(HTTPError) in try answer(exchange, outcome) } }
        guard exchange.isLarge else { return take() }
        return await withTaskExecutorPreference(globalConcurrentExecutor) { take() }
    }

    private func redirected(_ request: HTTPRequest, _ location: String) -> HTTPError {
        if configuration.limits.redirects > 0 {
            return HTTPError(
                .redirected,
                "'\(request.label)' redirects more than \(configuration.limits.redirects) times, perhaps in a loop")
        }
        let target = request.address.resolving(location).map { "'\($0.origin.text)'" } ?? "a URL that is not HTTP"
        return HTTPError(
            .redirected, "'\(request.label)' redirects to \(target); not followed: configure the final URL")
    }

    private func closed(_ request: HTTPRequest) -> HTTPError {
        HTTPError(.closed, "the request for '\(request.label)' was not sent because its client is closed")
    }

    private func answer(
        _ exchange: HTTPExchange, _ outcome: HTTPExchange.Outcome
    ) throws(HTTPError) -> HTTPResponse {
        let label = exchange.request.label
        switch outcome {
        case .answered:
            if let response = try exchange.answer(isWhole: true) { return response }
            throw HTTPError(.malformed, "the response from '\(label)' has no headers")
        case .failed(let code, let reason):
            if let response = try exchange.answer(isWhole: false) { return response }
            throw failure(CURLcode(code), reason, exchange.request)
        case .late(let fault):
            let limits = exchange.pace.limits
            switch fault {
            case .idle:
                throw HTTPError(.timedOut, "'\(label)' sent nothing for \(Self.rounded(limits.idleTimeout)) s")
            case .total:
                throw HTTPError(.timedOut, "'\(label)' did not answer within \(Self.rounded(limits.totalTimeout)) s")
            case .slow:
                throw HTTPError(
                    .tooSlow, "'\(label)' sends less than \(limits.slowestRate) bytes per second; aborted")
            }
        case .cancelled:
            throw isClosed.load(ordering: .relaxed)
                ? closed(exchange.request) : HTTPError(.cancelled, "the request for '\(label)' was cancelled")
        case .closed: throw closed(exchange.request)
        }
    }

    private static func rounded(_ seconds: Double) -> Double { (seconds * 100).rounded() / 100 }

    /// Returns the failure for an error of libcurl.
    private func failure(_ code: CURLcode, _ reason: String, _ request: HTTPRequest) -> HTTPError {
        if code == CURLE_UNSUPPORTED_PROTOCOL, let fault = configuration.library.fault(request.address) { return fault }
        let label = request.label
        switch code {
        case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT:
            return HTTPError(.system, "libcurl cannot send the request for '\(label)': \(reason)")
        case CURLE_OPERATION_TIMEDOUT:
            return HTTPError(.timedOut, "'\(label)' timed out: \(reason)")
        case CURLE_PARTIAL_FILE:
            return HTTPError(.truncated, "the response from '\(label)' is truncated")
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR:
            return HTTPError(.unreachable, "the server of '\(label)' closed the connection: \(reason)")
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING, CURLE_HTTP2:
            return HTTPError(.malformed, "the response from '\(label)' is not HTTP: \(reason)")
        case CURLE_SSL_CACERT_BADFILE:
            return HTTPError(
                .configuration,
                "cannot read the certificates in '\(configuration.authorities ?? "the machine's store")'; provide them in PEM"
            )
        case CURLE_PEER_FAILED_VERIFICATION:
            return HTTPError(.unreachable, "the certificate of the server of '\(label)' cannot be verified: \(reason)")
        default:
            return HTTPError(.unreachable, "the server of '\(label)' is unreachable: \(reason)")
        }
    }
}
