import NavGeo
import Synchronization

/// Road tiles of a static HTTP server.
final class WebFolderSource: ReceivingSource {
    private struct Known: Sendable {
        var list: RoadList
        var validators: Validators
        /// When the list was asked for last.
        var asked: Duration
    }

    let tileset: String
    let domain = TileDomain.navigation
    let place: String
    let isRemote = true
    let knowsSizes = true

    private let base: WebAddress
    private let client: WebClient
    private let limits: TransferLimits
    private let storesAnyway: Bool
    private let known = Mutex<Known?>(nil)
    private let clock = DownloadClock.system

    /// A list that was asked for less than this ago is not asked for again because a tile does not fit it.
    private static let patience = Duration.seconds(5)

    init(_ configuration: TileSourceConfiguration, _ base: WebAddress) throws(TileSourceError) {
        tileset = configuration.tileset
        self.base = base
        place = base.description
        limits = configuration.limits
        storesAnyway = configuration.storesAnyway
        client = try WebClient(configuration, address: base)
    }

    var executor: (any TaskExecutor)? { client.executor }

    func close() async { await client.close() }

    func edition(known caller: Validators?) async throws(TileSourceError) -> EditionAnswer {
        let current = try await refresh()
        if let caller, let etag = caller.etag, etag == current.validators.etag {
            return .notModified(current.validators)
        }
        return .edition(current.list.edition, current.validators)
    }

    /// Asks for the list, or whether the one here holds on.
    private func refresh() async throws(TileSourceError) -> Known {
        let before = known.withLock { $0 }
        let address = base.appending("tileset.json")
        var question = WebQuestion(address, limit: Int(limits.listBytes))
        question.headers = WebStatus.conditions(before?.validators) + [("Accept-Encoding", "gzip, zstd, deflate")]
        question.needsLength = true
        let reply = try await client.ask(question)
        var current: Known
        switch WebStatus(reply, address) {
        case .content:
            let list = try RoadList(reply.body, tileset: tileset, place: address.description, limits: limits)
            current = Known(list: list, validators: reply.validators(), asked: clock.now())
        case .notModified:
            guard let before else {
                throw TileSourceError(.malformed, "'\(address)' has not changed, says its server, which was not asked")
            }
            current = before
            current.validators = reply.validators(known: before.validators)
            current.asked = clock.now()
        case .absent:
            throw TileSourceError(
                .missing, "there is no '\(address)': the address must be the folder that 'navbus map build' has made")
        case .failure(let error): throw error.ofEdition
        }
        known.withLock { $0 = current }
        return current
    }

    func receive(
        _ tile: TileID, edition: String?, known caller: Validators?, meter: TransferMeter?
    ) async throws(TileSourceError) -> TileArrival {
        let current: Known
        if let here = known.withLock({ $0 }) { current = here } else { current = try await refresh() }
        try check(edition, current)
        guard let listed = current.list.tile(tile) else { return .answer(.absent(Validators())) }
        var answer = FetchedTile(
            TileAddress(tileset, tile), edition: current.list.edition.version, parts: [], validators: Validators())
        var isStorable = true
        for part in listed.parts {
            let address = base.appending(RoadList.path(tile, part.part))
            var question = WebQuestion(address, limit: Int(part.size))
            question.expected = Int(part.size)
            question.hashes = true
            question.headers = [("Accept-Encoding", "gzip, zstd, deflate")]
            if part.part == .body { question.headers += WebStatus.conditions(caller) }
            let reply: WebReply
            do throws(TileSourceError) {
                reply = try await client.ask(question, meter: meter)
            } catch {
                // Larger than listed: another edition, perhaps.
                guard error.code == .tooLarge else { throw error }
                throw await mismatch(TileSourceError(.mismatch, error.message), current)
            }
            switch WebStatus(reply, address) {
            case .content: break
            case .notModified where part.part == .body && caller != nil:
                return .answer(.notModified(reply.validators(known: caller)))
            case .notModified:
                throw TileSourceError(.malformed, "'\(address)' has not changed, says its server, which was not asked")
            case .absent:
                throw await mismatch(
                    TileSourceError(.mismatch, "there is no '\(address)', which the server's list names"), current)
            case .failure(let error): throw error
            }
            guard reply.body.count == Int(part.size), let hash = reply.hash, hash == part.hash else {
                throw await mismatch(
                    TileSourceError(
                        .mismatch,
                        "'\(address)' has \(reply.body.count) bytes that are not those that the server's list names"),
                    current)
            }
            let freshness = reply.freshness
            isStorable = isStorable && freshness.isStorable
            if part.part == .body { answer.validators = reply.validators(freshness) }
            answer.parts.append(FetchedPart(part.part, data: reply.body, hash: hash))
        }
        // A tile of an edition never changes, whatever its server says of its age.
        answer.validators.expires = nil
        return .answer(isStorable || storesAnyway ? .fetched(answer) : .unstorable(answer))
    }

    private func check(_ edition: String?, _ current: Known) throws(TileSourceError) {
        guard let edition, edition != current.list.edition.version else { return }
        throw TileSourceError(
            .editionChanged,
            "'\(place)' has the map version \(current.list.edition.version), not \(edition) any more: ask for its list")
    }

    /// What to say of a tile that does not fit the list: perhaps the list is not the newest.
    private func mismatch(_ error: TileSourceError, _ current: Known) async -> TileSourceError {
        let asked = known.withLock { $0?.asked } ?? current.asked
        guard clock.now() - asked > Self.patience else { return error }
        guard let newest = try? await refresh() else { return error }
        do throws(TileSourceError) {
            try check(current.list.edition.version, newest)
            return error
        } catch {
            return error
        }
    }

    func size(of tile: TileID) async throws(TileSourceError) -> TileSize {
        let current: Known
        if let here = known.withLock({ $0 }) { current = here } else { current = try await refresh() }
        return current.list.tile(tile).map { .bytes($0.size) } ?? .absent
    }
}
