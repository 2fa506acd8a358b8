import NavDigest
import AsyncHTTPClient
import NIOCore
import NIOHTTP1
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
    let headers: HTTPHeaders
    /// The body of an answer 200 or 206; empty for all others.
    var body: [UInt8] = []
    /// The hash of ``body``, if it was wanted.
    var hash: ContentHash?
    /// How the body is packed; nil when it is not.
    var packing: Packing?
    var received: Timestamp
    var delay: Double

    /// The first header of a name.
    func header(_ name: String) -> String? { headers.first(name: name) }

    /// Validators and whether it may be stored.
    var freshness: Freshness {
        Freshness(
            cacheControl: headers["Cache-Control"], age: headers.first(name: "Age"),
            expires: headers.first(name: "Expires"), date: headers.first(name: "Date"), received: received, delay: delay
        )
    }

    /// What the headers say about how to ask again; what they leave out is as it was.
    func validators(_ freshness: Freshness? = nil, known: Validators? = nil) -> Validators {
        Validators(
            etag: headers.first(name: "ETag") ?? known?.etag,
            lastModified: headers.first(name: "Last-Modified") ?? known?.lastModified,
            expires: (freshness ?? self.freshness).expires)
    }
}

/// Questions over HTTP: answers of bounded size in bounded time, or why not.
///
/// TLS certificates are verified. Redirections are followed by ``WebAddress/redirected(to:allowedHosts:)``; the credential
/// goes to the origin that it is for and nowhere else.
final class WebClient: Sendable {
    private let http: HTTPClient
    private let origin: WebAddress.Origin
    private let basic: String?
    private let credential: CredentialFile?
    private let allowedHosts: [String]
    private let limits: TransferLimits
    private let watch: TransferWatch
    private let now: @Sendable () -> Timestamp
    private let isClosed = Atomic(false)

    init(_ configuration: TileSourceConfiguration, address: WebAddress) throws(TileSourceError) {
        limits = configuration.limits
        origin = address.origin
        basic = address.basic
        allowedHosts = configuration.allowedHosts
        now = configuration.now
        watch = TransferWatch(limits)
        if let credential = configuration.credential {
            self.credential = try CredentialFile(credential, note: configuration.note)
            if !address.origin.isSecure, !Self.isLoopback(address.origin.host) {
                configuration.note("the credential for '\(address)' goes over the network unencrypted: use https")
            }
        } else {
            credential = nil
        }
        var settings = HTTPClient.Configuration()
        settings.redirectConfiguration = .disallow
        settings.timeout.connect = .nanoseconds(Int64(limits.connectTimeout * 1e9))
        // A refused connection is told at once instead of being tried again until the deadline.
        settings.connectionPool.retryConnectionEstablishment = false
        settings.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = min(max(configuration.concurrency, 1), 64)
        settings.httpVersion = .http1Only
        // Bombs are counted while they are unpacked, which is done here.
        settings.decompression = .disabled
        // Nobody looks at spans of single tiles.
        settings.tracing.tracer = nil
        // All on one loop: what comes in is hashed where it arrives.
        http = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup.any(), configuration: settings)
    }

    deinit {
        if !isClosed.load(ordering: .relaxed) { http.shutdown { _ in } }
    }

    /// Ends all connections.
    func close() async {
        guard !isClosed.exchange(true, ordering: .relaxed) else { return }
        try? await http.shutdown()
    }

    /// Asks, following redirections, and reads the body of an answer 200 or 206.
    func ask(
        _ question: WebQuestion, meter: TransferMeter? = nil
    ) async throws(TileSourceError) -> WebReply {
        if isClosed.load(ordering: .relaxed) { throw Self.closed }
        let transfer = Transfer(at: watch.now)
        watch.add(transfer)
        defer { watch.remove(transfer) }
        return try await follow(question, transfer, meter)
    }

    private func follow(
        _ question: WebQuestion, _ transfer: Transfer, _ meter: TransferMeter?
    ) async throws(TileSourceError) -> WebReply {
        var question = question
        var redirects = 0
        while true {
            let reply: WebReply
            do {
                reply = try await exchange(question, transfer, meter)
            } catch {
                throw meaning(of: error, question.address, transfer)
            }
            guard [301, 302, 303, 307, 308].contains(reply.status) else { return reply }
            guard redirects < limits.redirects else {
                throw TileSourceError(
                    .redirected, "'\(question.address)' is redirected more than \(limits.redirects) times: a loop?")
            }
            redirects += 1
            let location = reply.headers.first(name: "Location") ?? ""
            question.address = try question.address.redirected(to: location, allowedHosts: allowedHosts).get()
        }
    }

    private func request(_ question: WebQuestion) throws -> HTTPClient.Request {
        var request = try HTTPClient.Request(
            url: question.address.text, method: question.method == .head ? .HEAD : .GET)
        request.headers.reserveCapacity(question.headers.count + 4)
        request.headers.add(name: "User-Agent", value: "navbus")
        for header in question.headers { request.headers.add(name: header.name, value: header.value) }
        if question.address.origin == origin {
            if let credential {
                request.headers.add(name: credential.credential.header, value: try credential.value())
            } else if let basic {
                request.headers.add(name: "Authorization", value: basic)
            }
        }
        return request
    }

    private func exchange(
        _ question: WebQuestion, _ transfer: Transfer, _ meter: TransferMeter?
    ) async throws -> WebReply {
        let reception = WebReception(question, transfer, watch: watch, meter: meter, now: now)
        let task = http.execute(request: try request(question), delegate: reception)
        transfer.run { task.cancel() }
        return try await withTaskCancellationHandler {
            do {
                return try await task.futureResult.get()
            } catch {
                guard let reply = reception.reply(despite: error) else { throw error }
                return reply
            }
        } onCancel: {
            task.cancel()
        }
    }

    private static let closed = TileSourceError(.closed, "the source is closed")

    private static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host == "[::1]" || host.hasPrefix("127.")
    }

    /// What went wrong, for the caller.
    private func meaning(of error: any Error, _ address: WebAddress, _ transfer: Transfer) -> TileSourceError {
        switch transfer.fault {
        case .idle, .total:
            return TileSourceError(.timedOut, "'\(address)' has not answered in time")
        case .slow:
            return TileSourceError(
                .tooSlow, "'\(address)' sends less than \(limits.slowestRate) bytes a second: broken off")
        case nil: break
        }
        if isClosed.load(ordering: .relaxed) { return Self.closed }
        if Task.isCancelled { return TileSourceError(.cancelled, "the question for '\(address)' was taken back") }
        switch error {
        case let error as TileSourceError: return error
        case let error as HTTPClientError:
            switch error {
            case .connectTimeout, .readTimeout, .writeTimeout, .deadlineExceeded, .getConnectionFromPoolTimeout,
                .tlsHandshakeTimeout, .httpProxyHandshakeTimeout:
                return TileSourceError(.timedOut, "'\(address)' has not answered in time")
            case .cancelled: return TileSourceError(.cancelled, "the question for '\(address)' was taken back")
            case .remoteConnectionClosed:
                return TileSourceError(.unreachable, "the server of '\(address)' closed the connection")
            default:
                return TileSourceError(
                    .unreachable, "the server of '\(address)' cannot be reached: \(error.shortDescription)")
            }
        case HTTPParserError.invalidEOFState:
            return TileSourceError(.truncated, "the answer of '\(address)' ended too early")
        case let error as HTTPParserError:
            return TileSourceError(.malformed, "the answer of '\(address)' is no HTTP: \(error)")
        default:
            return TileSourceError(
                .unreachable, "the server of '\(address)' cannot be reached: \(String("\(error)".prefix(200)))")
        }
    }
}
