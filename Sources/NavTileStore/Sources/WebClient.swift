import CCurl
import NavDigest
import NavGeo
import Synchronization

/// What is asked of a server.
struct WebQuestion: Sendable {
    enum Method: Sendable {
        case get
        case head
    }

    var address: WebAddress
    var method = Method.get
    var headers: [(name: String, value: String)] = []
    /// Most bytes of the body, unpacked where it is unpacked.
    var limit: Int
    /// How many bytes the body will have, to make room for them; any other number is an error of the caller.
    var expected: Int?
    /// Whether a packed body stays packed; it is then unpacked for a check only.
    var keepsPacked = false
    /// Whether the body must say how long it is, so that half of it cannot pass for a whole.
    var needsLength = false
    /// Whether the body's hash is wanted.
    var hashes = false

    init(_ address: WebAddress, limit: Int) {
        self.address = address
        self.limit = limit
    }
}

/// What a server answered.
struct WebReply: Sendable {
    var status: Int
    let headers: WebHeaders
    /// The body of an answer 200 or 206; empty for all others.
    var body: [UInt8] = []
    /// The hash of ``body``, if it was wanted.
    var hash: ContentHash?
    /// How the body is packed; nil when it is not.
    var packing: Packing?
    var received: Timestamp
    var delay: Double

    /// The first header of a name.
    func header(_ name: String) -> String? { headers.first(name) }

    /// Validators and whether it may be stored.
    var freshness: Freshness {
        Freshness(
            cacheControl: headers.all("Cache-Control"), age: headers.first("Age"),
            expires: headers.first("Expires"), date: headers.first("Date"), received: received, delay: delay)
    }

    /// What the headers say about how to ask again; what they leave out is as it was.
    func validators(_ freshness: Freshness? = nil, known: Validators? = nil) -> Validators {
        Validators(
            etag: headers.first("ETag") ?? known?.etag,
            lastModified: headers.first("Last-Modified") ?? known?.lastModified,
            expires: (freshness ?? self.freshness).expires)
    }
}

/// Questions over HTTP: answers of bounded size in bounded time, or why not.
///
/// TLS certificates are verified. Redirections are followed by ``WebAddress/redirected(to:allowedHosts:)``; the credential
/// goes to the origin that it is for and nowhere else.
final class WebClient: Sendable {
    private let driver: WebDriver
    private let origin: WebAddress.Origin
    private let basic: String?
    private let credential: CredentialFile?
    private let allowedHosts: [String]
    private let limits: TransferLimits
    private let authorities: String?
    private let library: WebLibrary
    private let clock = DownloadClock.system
    private let now: @Sendable () -> Timestamp
    private let isClosed = Atomic(false)

    init(_ configuration: TileSourceConfiguration, address: WebAddress) throws(TileSourceError) {
        limits = configuration.limits
        origin = address.origin
        basic = address.basic
        allowedHosts = configuration.allowedHosts
        authorities = configuration.authorities
        now = configuration.now
        library = configuration.library
        if let fault = library.fault(address) { throw fault }
        if let credential = configuration.credential {
            self.credential = try CredentialFile(credential, note: configuration.note)
            if !address.origin.isSecure, !Self.isLoopback(address.origin.host) {
                configuration.note("the credential for '\(address)' goes over the network unencrypted: use https")
            }
        } else {
            credential = nil
        }
        driver = try WebDriver(
            WebManners(
                connectTimeout: limits.connectTimeout, authorities: configuration.authorities,
                hasTLS: library.hasTLS), limits,
            concurrency: min(max(configuration.concurrency, 1), 64))
    }

    deinit { driver.end() }

    /// Where tasks ask best.
    var executor: any TaskExecutor { driver }

    /// Ends all connections.
    func close() async {
        isClosed.store(true, ordering: .relaxed)
        await driver.ended()
    }

    /// Asks, following redirections, and reads the body of an answer 200 or 206.
    func ask(
        _ question: WebQuestion, meter: TransferMeter? = nil
    ) async throws(TileSourceError) -> WebReply {
        var question = question
        var redirects = 0
        var pace = TransferPace(at: clock.now())
        while true {
            if isClosed.load(ordering: .relaxed) { throw Self.closed }
            let exchange = WebExchange(
                question, lines: try lines(question), pace: pace, meter: meter, now: now)
            let outcome = await carryOut(exchange)
            let reply = try await reply(exchange, outcome).get()
            guard [301, 302, 303, 307, 308].contains(reply.status) else { return reply }
            guard redirects < limits.redirects else {
                throw TileSourceError(
                    .redirected, "'\(question.address)' is redirected more than \(limits.redirects) times: a loop?")
            }
            redirects += 1
            pace = exchange.pace
            let location = reply.header("Location") ?? ""
            question.address = try question.address.redirected(to: location, allowedHosts: allowedHosts).get()
        }
    }

    /// The head's fields, besides those that libcurl adds: Host, Accept and User-Agent.
    private func lines(_ question: WebQuestion) throws(TileSourceError) -> [String] {
        var lines = question.headers.map { "\($0.name): \($0.value)" }
        if question.address.origin == origin {
            if let credential {
                lines.append("\(credential.credential.header): \(try credential.value())")
            } else if let basic {
                lines.append("Authorization: \(basic)")
            }
        }
        return lines
    }

    private func carryOut(_ exchange: WebExchange) async -> WebExchange.Outcome {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                exchange.continuation = continuation
                driver.submit(exchange)
            }
        } onCancel: {
            driver.cancel(exchange)
        }
    }

    /// What came of it; a large body is unpacked where it keeps no other answer waiting.
    private func reply(_ exchange: WebExchange, _ outcome: WebExchange.Outcome) async -> Result<
        WebReply, TileSourceError
    > {
        let take = { @Sendable [self] in Result { () throws(TileSourceError) in try answer(exchange, outcome) } }
        guard exchange.isLarge else { return take() }
        return await withTaskExecutorPreference(globalConcurrentExecutor) { take() }
    }

    private static let closed = TileSourceError(.closed, "the source is closed")

    private static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host == "[::1]" || host.hasPrefix("127.")
    }

    private func answer(
        _ exchange: WebExchange, _ outcome: WebExchange.Outcome
    ) throws(TileSourceError) -> WebReply {
        let address = exchange.question.address
        switch outcome {
        case .answered:
            if let reply = try exchange.answer(isWhole: true) { return reply }
            throw TileSourceError(.malformed, "the answer of '\(address)' has no head")
        case .failed(let code, let reason):
            if let reply = try exchange.answer(isWhole: false) { return reply }
            throw failure(CURLcode(code), reason, address)
        case .late(.idle), .late(.total):
            throw TileSourceError(.timedOut, "'\(address)' has not answered in time")
        case .late(.slow):
            throw TileSourceError(
                .tooSlow, "'\(address)' sends less than \(limits.slowestRate) bytes a second: broken off")
        case .cancelled:
            throw isClosed.load(ordering: .relaxed)
                ? Self.closed : TileSourceError(.cancelled, "the question for '\(address)' was taken back")
        case .closed: throw Self.closed
        }
    }

    /// What an error of libcurl means for the caller.
    private func failure(_ code: CURLcode, _ reason: String, _ address: WebAddress) -> TileSourceError {
        if code == CURLE_UNSUPPORTED_PROTOCOL, let fault = library.fault(address) { return fault }
        switch code {
        case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT:
            return TileSourceError(.system, "'\(address)' cannot be asked, libcurl says: \(reason)")
        case CURLE_OPERATION_TIMEDOUT:
            return TileSourceError(.timedOut, "'\(address)' has not answered in time: \(reason)")
        case CURLE_PARTIAL_FILE:
            return TileSourceError(.truncated, "the answer of '\(address)' ended too early")
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR:
            return TileSourceError(.unreachable, "the server of '\(address)' closed the connection: \(reason)")
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_CONTENT_ENCODING, CURLE_HTTP2:
            return TileSourceError(.malformed, "the answer of '\(address)' is no HTTP: \(reason)")
        case CURLE_SSL_CACERT_BADFILE:
            return TileSourceError(
                .configuration,
                "the certificates in '\(authorities ?? "the machine's store")' cannot be read: are they there, in PEM?")
        case CURLE_PEER_FAILED_VERIFICATION:
            return TileSourceError(.unreachable, "the server of '\(address)' cannot show who it is: \(reason)")
        default:
            return TileSourceError(.unreachable, "the server of '\(address)' cannot be reached: \(reason)")
        }
    }
}
