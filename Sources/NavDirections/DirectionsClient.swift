import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// One question over HTTP: an answer of bounded size in bounded time, or why not.
///
/// TLS certificates are verified; redirections are not followed, since the token would go along; a refused connection is
/// told at once instead of being tried again until the deadline.
struct DirectionsClient: Sendable {
    private let http: HTTPClient
    private let maximumBytes: Int

    init(_ configuration: DirectionsConfiguration) {
        var settings = HTTPClient.Configuration()
        settings.redirectConfiguration = .disallow
        settings.timeout = HTTPClient.Configuration.Timeout(
            connect: .nanoseconds(Int64(min(configuration.attemptTimeout, configuration.deadline) * 1e9)))
        settings.connectionPool.retryConnectionEstablishment = false
        settings.httpVersion = .http1Only
        settings.proxy = configuration.proxyAddress.map { .server(host: $0.host, port: $0.port) }
        http = HTTPClient(configuration: settings)
        maximumBytes = configuration.maximumBytes
    }

    /// Asks, and waits no longer than some seconds.
    func ask(_ question: DirectionsQuestion, timeout: Double) async throws(DirectionsError) -> DirectionsReply {
        do {
            return try await withThrowingTaskGroup(of: DirectionsReply.self) { group in
                group.addTask { try await exchange(question, timeout: timeout) }
                group.addTask {
                    try await Task.sleep(for: .seconds(timeout))
                    throw DirectionsError(.timedOut, "the provider has not answered within \(Self.rounded(timeout)) s")
                }
                defer { group.cancelAll() }
                guard let reply = try await group.next() else { throw CancellationError() }
                return reply
            }
        } catch {
            if Task.isCancelled { throw DirectionsError(.cancelled, "the question was taken back") }
            throw Self.meaning(of: error, timeout: timeout)
        }
    }

    private func exchange(_ question: DirectionsQuestion, timeout: Double) async throws -> DirectionsReply {
        var request = HTTPClientRequest(url: question.url)
        request.headers.add(name: "Accept", value: "application/json")
        request.headers.add(name: "User-Agent", value: "navbus")
        if let bearer = question.bearer { request.headers.add(name: "Authorization", value: "Bearer \(bearer)") }
        if let body = question.body {
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(string: body))
        }
        let response = try await http.execute(request, timeout: .nanoseconds(Int64(timeout * 1e9)))
        // Nobody reads what comes with a redirection.
        let isRead = !(300..<400).contains(Int(response.status.code))
        if isRead, let length = response.headers.first(name: "Content-Length").flatMap(Int.init), length > maximumBytes
        {
            throw NIOTooManyBytesError(maxBytes: maximumBytes)
        }
        let body = isRead ? try await response.body.collect(upTo: maximumBytes) : ByteBuffer()
        return DirectionsReply(
            status: Int(response.status.code), body: Data(body.readableBytesView),
            retryAfter: response.headers.first(name: "Retry-After"), date: response.headers.first(name: "Date"),
            location: response.headers.first(name: "Location"))
    }

    /// Ends all connections.
    func shutdown() async { try? await http.shutdown() }

    /// Begins to end all connections.
    func beginShutdown() { http.shutdown { _ in } }

    private static func rounded(_ seconds: Double) -> String { String(format: "%.3g", seconds) }

    /// What went wrong, for the caller. None of these errors holds the address with its token.
    private static func meaning(of error: any Error, timeout: Double) -> DirectionsError {
        switch error {
        case let error as DirectionsError: return error
        case is NIOTooManyBytesError:
            return DirectionsError(.tooLarge, "the provider's answer is larger than directions.max_bytes allows")
        case let error as HTTPClientError:
            switch error {
            case .connectTimeout, .readTimeout, .writeTimeout, .deadlineExceeded, .getConnectionFromPoolTimeout,
                .tlsHandshakeTimeout, .httpProxyHandshakeTimeout:
                return DirectionsError(.timedOut, "the provider has not answered within \(rounded(timeout)) s")
            case .cancelled: return DirectionsError(.cancelled, "the question was taken back")
            case .remoteConnectionClosed: return DirectionsError(.unreachable, "the provider closed the connection")
            case .invalidURL, .emptyHost, .emptyScheme:
                return DirectionsError(.configuration, "the provider's address is none: look at directions.url")
            default: return DirectionsError(.unreachable, "the provider cannot be reached: \(error.shortDescription)")
            }
        case is HTTPParserError:
            return DirectionsError(.malformed, "the provider's answer is no HTTP, or ends too early")
        case is CancellationError: return DirectionsError(.cancelled, "the question was taken back")
        default:
            let text = String("\(error)".prefix(200))
            return DirectionsError(.unreachable, "the provider cannot be reached: \(text)")
        }
    }
}
