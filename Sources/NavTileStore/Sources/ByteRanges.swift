import NavGeo
import NavHTTP
import NavTileCache

/// The identity of one state of an archive.
struct ArchiveState: Sendable, Hashable {
    /// The total size, bytes.
    var size: UInt64
    /// A tag that distinguishes this state from others: an ETag, a date, or a file's time; empty when there is none.
    var tag: String
    /// The validators for a conditional request about this state.
    var validators = Validators()
}

/// A source of byte ranges: a local file, or a file on a server.
protocol ByteRanges: Sendable {
    /// The executor that reads should preferably run on; nil when any will do.
    var executor: (any TaskExecutor)? { get }

    /// Returns up to `count` bytes from the beginning, and the state they belong to; nil when it has not changed since
    /// `known`.
    func begin(
        _ count: Int, known: Validators?
    ) async throws(TileSourceError) -> (bytes: [UInt8], state: ArchiveState)?

    /// Returns some bytes of a state; fails with ``TileSourceError/Code/editionChanged`` when it has changed.
    func read(
        _ offset: UInt64, _ count: Int, of state: ArchiveState, meter: TransferMeter?
    ) async throws(TileSourceError) -> [UInt8]

    func close() async
}

final class FileRanges: ByteRanges {
    private let path: String
    private let work = BlockingWork("navbus.tiles.pmtiles")

    init(_ path: String) { self.path = path }

    var executor: (any TaskExecutor)? { nil }

    func close() async {}

    func begin(
        _ count: Int, known: Validators?
    ) async throws(TileSourceError) -> (bytes: [UInt8], state: ArchiveState)? {
        try await work.run { [self] () throws(TileSourceError) in
            let handle = try open()
            let tag = handle.stamp.tag
            if known?.etag == tag { return nil }
            let state = ArchiveState(
                size: UInt64(handle.stamp.size), tag: tag, validators: Validators(etag: tag))
            return (try handle.read(at: 0, count: min(count, Int(handle.stamp.size))), state)
        }
    }

    func read(
        _ offset: UInt64, _ count: Int, of state: ArchiveState, meter: TransferMeter?
    ) async throws(TileSourceError) -> [UInt8] {
        try await work.run { [self] () throws(TileSourceError) in
            let handle = try open()
            guard handle.stamp.tag == state.tag, let offset = Int64(exactly: offset) else {
                throw TileSourceError(.editionChanged, "'\(path)' has changed since its edition was read")
            }
            return try handle.read(at: offset, count: count)
        }
    }

    private func open() throws(TileSourceError) -> LocalFile.Handle {
        guard let handle = try LocalFile.Handle(path) else {
            throw TileSourceError(.missing, "'\(path)' does not exist")
        }
        return handle
    }
}

/// A file on a server that supports range requests.
final class WebRanges: ByteRanges {
    private let address: HTTPAddress
    private let client: SourceClient

    init(_ configuration: TileSourceConfiguration, _ address: HTTPAddress) throws(TileSourceError) {
        self.address = address
        client = try SourceClient(configuration, address: address)
    }

    var executor: (any TaskExecutor)? { client.executor }

    func close() async { await client.close() }

    func begin(
        _ count: Int, known: Validators?
    ) async throws(TileSourceError) -> (bytes: [UInt8], state: ArchiveState)? {
        var request = HTTPRequest(address, limit: count)
        request.headers = [("Range", "bytes=0-\(count - 1)")]
        request.needsLength = true
        guard let response = try await ask(request, known: known) else { return nil }
        let (first, last, size) = try range(response)
        guard first == 0, last == min(UInt64(count), size) - 1, response.body.count == Int(last) + 1 else {
            throw TileSourceError(.malformed, "the server of '\(address)' sent another byte range than requested")
        }
        let validators = response.validators()
        let tag = validators.etag ?? validators.lastModified ?? ""
        return (response.body, ArchiveState(size: size, tag: tag, validators: validators))
    }

    func read(
        _ offset: UInt64, _ count: Int, of state: ArchiveState, meter: TransferMeter?
    ) async throws(TileSourceError) -> [UInt8] {
        guard count > 0 else { return [] }
        let end = offset + UInt64(count) - 1
        var request = HTTPRequest(address, limit: count)
        request.headers = [("Range", "bytes=\(offset)-\(end)")]
        request.expected = count
        request.needsLength = true
        // A weak ETag does not promise equal bytes (RFC 9110, 13.1.1).
        if let etag = state.validators.etag, !etag.hasPrefix("W/") {
            request.headers.append(("If-Match", etag))
        } else if let date = state.validators.lastModified {
            request.headers.append(("If-Unmodified-Since", date))
        }
        guard let response = try await ask(request, meter: meter) else {
            throw SourceClient.unexpectedNotModified(address)
        }
        let tag = response.header("ETag") ?? response.header("Last-Modified") ?? ""
        let (first, last, size) = try range(response)
        guard tag == state.tag, size == state.size else {
            throw TileSourceError(.editionChanged, "'\(address)' has changed since its edition was read")
        }
        guard first == offset, last == end, response.body.count == count else {
            throw TileSourceError(.malformed, "the server of '\(address)' sent another byte range than requested")
        }
        return response.body
    }

    /// Returns the answer with a range; nil when the file has not changed.
    private func ask(
        _ request: HTTPRequest, known: Validators? = nil, meter: TransferMeter? = nil
    ) async throws(TileSourceError) -> HTTPResponse? {
        let answer: SourceAnswer
        do throws(TileSourceError) {
            answer = try await client.ask(request, known: known, isRange: true, meter: meter)
        } catch {
            // The server sent the whole archive instead of a range.
            guard error.code == .tooLarge else { throw error }
            throw noRanges
        }
        switch answer {
        case .content(let response) where response.status == 206: return response
        case .content: throw noRanges
        case .notModified: return nil
        case .absent: throw TileSourceError(.missing, "'\(address)' was not found")
        }
    }

    private var noRanges: TileSourceError {
        TileSourceError(
            .configuration,
            "the server of '\(address)' does not support range requests (HTTP 200 for Range); PMTiles need them")
    }

    /// Returns the first byte, the last byte and the size of the whole file.
    private func range(_ response: HTTPResponse) throws(TileSourceError) -> (UInt64, UInt64, UInt64) {
        let pieces = (response.header("Content-Range") ?? "").split { $0 == " " || $0 == "-" || $0 == "/" }
        guard response.status == 206, pieces.count == 4, pieces[0].lowercased() == "bytes",
            let first = UInt64(pieces[1]),
            let last = UInt64(pieces[2]), let size = UInt64(pieces[3]), first <= last, last < size,
            size <= UInt64(Int64.max)
        else {
            throw TileSourceError(.malformed, "the response for '\(address)' has no valid Content-Range")
        }
        return (first, last, size)
    }
}
