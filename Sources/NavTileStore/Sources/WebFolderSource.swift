import NavGeo
import NavHTTP
import NavTileCache
import Synchronization

/// The road tiles of a static HTTP server.
final class WebFolderSource: TileSource {
    private struct Known: Sendable {
        var list: RoadList
        var validators: Validators
        /// The moment of the last request for the list.
        var asked: Duration
        /// The age below which the list is not requested again for a tile that does not match it.
        var patience = WebFolderSource.firstPatience
    }

    let tileset: String
    let place: String
    let isRemote = true
    let knowsSizes = true

    private let base: HTTPAddress
    private let client: SourceClient
    private let limits: TransferLimits
    private let storesAnyway: Bool
    private let known = Mutex<Known?>(nil)

    /// The initial and the longest patience; it doubles each time the list turns out to be unchanged, which means that
    /// the tiles are damaged.
    private static let firstPatience = Duration.seconds(5)
    private static let longestPatience = Duration.seconds(300)

    init(_ configuration: TileSourceConfiguration, _ base: HTTPAddress) throws(TileSourceError) {
        tileset = configuration.tileset
        self.base = base
        place = base.description
        limits = configuration.limits
        storesAnyway = configuration.storesAnyway
        client = try SourceClient(configuration, address: base)
    }

    var executor: (any TaskExecutor)? { client.executor }

    func close() async { await client.close() }

    func edition(known caller: Validators?) async throws(TileSourceError) -> EditionAnswer {
        let current = try await refresh(isWhole: caller == nil)
        return EditionAnswer(current.list.edition, current.validators, known: caller)
    }

    /// Requests the list, or a confirmation that the current one is still valid.
    ///
    /// - Parameters:
    ///   - isWhole: whether the list is requested unconditionally.
    ///   - hasMisfit: whether a tile did not match the list.
    private func refresh(isWhole: Bool, hasMisfit: Bool = false) async throws(TileSourceError) -> Known {
        let before = known.withLock { $0 }
        let address = base.appending("tileset.json")
        var request = HTTPRequest(address, limit: Int(limits.listBytes))
        request.needsLength = true
        let answer: SourceAnswer
        do throws(TileSourceError) {
            answer = try await client.ask(request, known: isWhole ? nil : before?.validators.identifying)
        } catch {
            throw error.ofEdition
        }
        var current: Known
        switch answer {
        case .content(let response):
            let list = try RoadList(response.body, tileset: tileset, place: address.description, limits: limits)
            current = Known(list: list, validators: response.validators(), asked: Monotonic.now())
            if let before, hasMisfit, before.list.edition == list.edition {
                current.patience = min(before.patience * 2, Self.longestPatience)
            }
        case .notModified(let response):
            guard let before else { throw SourceClient.unexpectedNotModified(address) }
            current = before
            current.validators = response.validators(known: before.validators)
            current.asked = Monotonic.now()
        case .absent:
            throw TileSourceError(
                .missing, "'\(address)' was not found; the source must be a folder written by 'navbus map build'")
        }
        known.withLock { $0 = current }
        return current
    }

    func receive(
        _ tile: TileID, edition: String?, known caller: Validators?, meter: TransferMeter?
    ) async throws(TileSourceError) -> TileArrival {
        let current: Known
        if let here = known.withLock({ $0 }) { current = here } else { current = try await refresh(isWhole: false) }
        try check(edition, current)
        guard let listed = current.list.tile(tile) else { return .answer(.absent(Validators())) }
        var answer = FetchedTile(
            TileAddress(tileset, tile), edition: current.list.edition.version, parts: [], validators: Validators())
        var isStorable = true
        for part in listed.parts {
            let address = base.appending(StoreFolder.viewFile(tile, part.part))
            var request = HTTPRequest(address, limit: Int(part.size))
            request.expected = Int(part.size)
            request.hashes = true
            let received: SourceAnswer
            do throws(TileSourceError) {
                received = try await client.ask(request, known: part.part == .body ? caller : nil, meter: meter)
            } catch {
                // A tile that is larger than listed may be of another edition.
                guard error.code == .tooLarge else { throw error }
                throw await mismatch(TileSourceError(.mismatch, error.message), current)
            }
            let response: HTTPResponse
            switch received {
            case .content(let content): response = content
            case .notModified(let response): return .answer(.notModified(response.validators(known: caller)))
            case .absent:
                throw await mismatch(
                    TileSourceError(.mismatch, "'\(address)' is in the server's list but was not found"), current)
            }
            guard response.body.count == Int(part.size), let hash = response.hash, hash == part.hash else {
                throw await mismatch(
                    TileSourceError(
                        .mismatch,
                        "'\(address)' has \(response.body.count) bytes that do not match the server's list"),
                    current)
            }
            let freshness = response.freshness
            isStorable = isStorable && freshness.isStorable
            if part.part == .body { answer.validators = response.validators(freshness) }
            answer.parts.append(FetchedPart(part.part, data: response.body, hash: hash))
        }
        // A tile of an edition never changes, regardless of the expiry that its server states.
        answer.validators.expires = nil
        return .answer(isStorable || storesAnyway ? .fetched(answer) : .unstorable(answer))
    }

    private func check(_ edition: String?, _ current: Known) throws(TileSourceError) {
        guard let edition, edition != current.list.edition.version else { return }
        throw TileSourceError(
            .editionChanged,
            "'\(place)' now has map version \(current.list.edition.version), not \(edition); read its list again")
    }

    /// Returns the error of a tile that does not match the list, after checking whether the list is outdated.
    private func mismatch(_ error: TileSourceError, _ current: Known) async -> TileSourceError {
        let now = Monotonic.now()
        // Of several concurrent tiles that do not match, only the first requests the list.
        let isDue = known.withLock { known in
            guard let last = known else { return true }
            guard now - last.asked > last.patience else { return false }
            known?.asked = now
            return true
        }
        let newest = isDue ? try? await refresh(isWhole: true, hasMisfit: true) : known.withLock { $0 }
        guard let newest else { return error }
        do throws(TileSourceError) {
            try check(current.list.edition.version, newest)
            return error
        } catch {
            return error
        }
    }

    func size(of tile: TileID) async throws(TileSourceError) -> TileSize {
        let current: Known
        if let here = known.withLock({ $0 }) { current = here } else { current = try await refresh(isWhole: false) }
        return current.list.tile(tile).map { .bytes($0.size) } ?? .absent
    }
}
