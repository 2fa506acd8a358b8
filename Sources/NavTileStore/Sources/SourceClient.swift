package import NavHTTP
import NavTileCache
import Synchronization

/// The HTTP client of a tile source, which adds the source's credential to requests for the source's own origin.
final class SourceClient: Sendable {
    private let http: HTTPClient
    private let origin: HTTPAddress.Origin
    private let basic: String?
    private let credential: CredentialFile?

    init(_ configuration: TileSourceConfiguration, address: HTTPAddress) throws(TileSourceError) {
        origin = address.origin
        basic = address.basic
        if let credential = configuration.credential {
            self.credential = try CredentialFile(credential, note: configuration.note)
            if !origin.isSecure, !origin.isLoopback {
                configuration.note("the credential for '\(address)' is sent unencrypted; use https")
            }
        } else {
            credential = nil
        }
        var rules = HTTPConfiguration()
        rules.limits = configuration.limits.http
        rules.concurrency = configuration.concurrency
        rules.authorities = configuration.authorities
        rules.allowedHosts = configuration.allowedHosts
        rules.now = configuration.now
        rules.library = configuration.library
        do throws(HTTPError) {
            http = try HTTPClient(rules, for: address)
        } catch {
            throw TileSourceError(error)
        }
    }

    /// The executor on which tiles are received.
    var executor: any TaskExecutor { http.executor }

    func close() async { await http.close() }

    /// Sends a request and reads its answer; throws unless the answer is a file or its absence.
    ///
    /// - Parameters:
    ///   - known: the validators of the caller's copy, for a conditional request; nil to get the file unconditionally.
    ///   - isRange: whether a part of the file is requested, which stays compressed.
    func ask(
        _ request: HTTPRequest, known: Validators? = nil, isRange: Bool = false, meter: TransferMeter? = nil
    ) async throws(TileSourceError) -> SourceAnswer {
        var request = request
        request.headers += Self.conditions(known)
        if !isRange { request.headers.append(("Accept-Encoding", "gzip, zstd, deflate")) }
        if request.address.origin == origin {
            if let credential {
                request.credential = (credential.credential.header, try credential.value())
            } else if let basic {
                request.credential = ("Authorization", basic)
            }
        }
        let response: HTTPResponse
        do throws(HTTPError) {
            response = try await http.ask(request, meter: meter)
        } catch {
            throw TileSourceError(error)
        }
        switch response.status {
        case 200: return .content(response)
        case 206 where isRange: return .content(response)
        case 204, 404, 410: return .absent(response)
        case 304:
            guard known == nil else { return .notModified(response) }
            throw Self.unexpectedNotModified(request.address)
        case 416 where isRange:
            throw TileSourceError(.editionChanged, "'\(request.address)' has become shorter (HTTP 416)")
        default: throw Self.failure(response, request.address)
        }
    }

    /// Returns the error for a server that answers an unconditional request with "not modified".
    static func unexpectedNotModified(_ address: HTTPAddress) -> TileSourceError {
        TileSourceError(.malformed, "the server of '\(address)' sent HTTP 304 for an unconditional request")
    }

    private static func failure(_ response: HTTPResponse, _ address: HTTPAddress) -> TileSourceError {
        let (status, retryAfter) = (response.status, response.retryAfter)
        return switch status {
        case 401, 403:
            TileSourceError(
                .unauthorized,
                "the server of '\(address)' denied access (HTTP \(status)); check the source's credential")
        case 429:
            TileSourceError(
                .rateLimited, "the server of '\(address)' limits the request rate (HTTP 429)", retryAfter: retryAfter)
        case 408, 425, 500...599:
            TileSourceError(.server, "the server of '\(address)' failed (HTTP \(status))", retryAfter: retryAfter)
        case 412: TileSourceError(.editionChanged, "'\(address)' has changed since its edition was read")
        case 400...499:
            TileSourceError(.refused, "the server of '\(address)' rejected the request (HTTP \(status))")
        default:
            TileSourceError(.malformed, "the server of '\(address)' sent an unexpected response (HTTP \(status))")
        }
    }

    /// Returns the header fields of a conditional request.
    private static func conditions(_ known: Validators?) -> [(name: String, value: String)] {
        let isSound = { (text: String) in
            (1...512).contains(text.utf8.count) && text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7f }
        }
        if let etag = known?.etag, isSound(etag) { return [("If-None-Match", etag)] }
        if let date = known?.lastModified, isSound(date) { return [("If-Modified-Since", date)] }
        return []
    }
}

/// A server's answer to a request for a file.
enum SourceAnswer: Sendable {
    case content(HTTPResponse)
    case notModified(HTTPResponse)
    case absent(HTTPResponse)
}

extension TileSourceError {
    /// The failure of a tile source for an HTTP error; each code has a counterpart of the same name.
    package init(_ error: HTTPError) {
        self.init(Code(rawValue: error.code.rawValue) ?? .unreachable, error.message)
    }
}

extension HTTPResponse {
    var freshness: Freshness {
        Freshness(
            cacheControl: headers.all("Cache-Control"), age: headers.first("Age"),
            expires: headers.first("Expires"), date: headers.first("Date"), received: received, delay: delay)
    }

    /// Returns the validators of its headers; missing ones are taken from `known`.
    func validators(_ freshness: Freshness? = nil, known: Validators? = nil) -> Validators {
        Validators(
            etag: headers.first("ETag") ?? known?.etag,
            lastModified: headers.first("Last-Modified") ?? known?.lastModified,
            expires: (freshness ?? self.freshness).expires)
    }
}
