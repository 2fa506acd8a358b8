import NavGeo
import Synchronization

/// Tiles of a map by an address with their numbers, or by a TileJSON that holds such an address.
final class TemplateSource: ReceivingSource {
    private struct Known: Sendable {
        /// Where the tiles are.
        var server: WebAddress
        /// Of path and query.
        var template: TileTemplate
        var edition: TilesetEdition
        var form: TileForm
        var validators: Validators
    }

    let tileset: String
    let domain = TileDomain.maps
    let place: String
    let isRemote = true
    let knowsSizes = false

    private let client: WebClient
    private let configuration: TileSourceConfiguration
    /// Where the TileJSON is; nil when the template was configured.
    private let description: WebAddress?
    private let origin: WebAddress
    private let known: Mutex<Known?>

    /// A source by a configured template.
    init(_ configuration: TileSourceConfiguration, template text: String) throws(TileSourceError) {
        guard let origin = WebAddress(text) else {
            throw TileSourceError(.configuration, "an address of tiles must begin with http:// or https:// and a host")
        }
        // The user and password of the address are sent as a header and left out of it.
        let template = try TileTemplate(origin.target, ratio: configuration.pixelRatio)
        tileset = configuration.tileset
        place = origin.description
        self.configuration = configuration
        description = nil
        self.origin = origin
        let form = TileForm(format: template.fileExtension ?? "")
        let edition = TilesetEdition(
            tileset: configuration.tileset, domain: .maps, version: "", zooms: configuration.zooms,
            mediaType: form.mediaType)
        known = Mutex(Known(server: origin, template: template, edition: edition, form: form, validators: Validators()))
        client = try WebClient(configuration, address: origin)
    }

    /// A source by a TileJSON.
    init(_ configuration: TileSourceConfiguration, description: WebAddress) throws(TileSourceError) {
        tileset = configuration.tileset
        place = description.description
        self.configuration = configuration
        self.description = description
        origin = description
        known = Mutex(nil)
        client = try WebClient(configuration, address: description)
    }

    var executor: (any TaskExecutor)? { client.executor }

    func close() async { await client.close() }

    func edition(known caller: Validators?) async throws(TileSourceError) -> EditionAnswer {
        let current = try await refresh()
        if let caller, let etag = caller.etag, etag == current.validators.etag {
            return .notModified(current.validators)
        }
        return .edition(current.edition, current.validators)
    }

    private func refresh() async throws(TileSourceError) -> Known {
        let before = known.withLock { $0 }
        guard let description else {
            if let before { return before }
            throw TileSourceError(.configuration, "'\(place)' has no template")
        }
        var question = WebQuestion(description, limit: 1 << 20)
        question.headers = WebStatus.conditions(before?.validators) + [("Accept-Encoding", "gzip, zstd, deflate")]
        let reply = try await client.ask(question)
        var current: Known
        switch WebStatus(reply, description) {
        case .content: current = try read(reply, description)
        case .notModified:
            guard let before else {
                throw TileSourceError(.malformed, "'\(place)' has not changed, says its server, which was not asked")
            }
            current = before
            current.validators = reply.validators(known: before.validators)
        case .absent: throw TileSourceError(.missing, "there is no TileJSON at '\(place)'")
        case .failure(let error): throw error
        }
        known.withLock { $0 = current }
        return current
    }

    private func read(_ reply: WebReply, _ description: WebAddress) throws(TileSourceError) -> Known {
        guard let json = TileJSON(reply.body), let text = json.template, let zooms = json.zooms else {
            throw TileSourceError(.malformed, "'\(place)' is no TileJSON with an address of tiles and zoom levels")
        }
        // What a TileJSON names is followed like a redirection: nowhere that was not allowed.
        guard let address = description.resolving(text) else {
            throw TileSourceError(.redirected, "the TileJSON '\(place)' names tiles that are at no address of HTTP")
        }
        _ = try description.redirected(to: text, allowedHosts: configuration.allowedHosts).get()
        let template: TileTemplate
        do throws(TileSourceError) {
            template = try TileTemplate(
                address.target, ratio: configuration.pixelRatio, isFromSouth: json.isFromSouth)
        } catch {
            throw TileSourceError(.malformed, "the TileJSON '\(place)': \(error)")
        }
        let form = json.form == .unknown ? TileForm(format: template.fileExtension ?? "") : json.form
        let edition = TilesetEdition(
            tileset: tileset, domain: .maps, version: "", zooms: zooms, bounds: json.bounds, document: reply.body,
            attribution: json.attribution, mediaType: form.mediaType)
        return Known(server: address, template: template, edition: edition, form: form, validators: reply.validators())
    }

    private func address(_ tile: TileID, _ current: Known) throws(TileSourceError) -> WebAddress {
        guard let address = WebAddress(current.server, target: current.template.text(tile)) else {
            throw TileSourceError(.configuration, "'\(place)' gives no address for the tile \(tile)")
        }
        return address
    }

    private func current() async throws(TileSourceError) -> Known {
        if let here = known.withLock({ $0 }) { return here }
        return try await refresh()
    }

    func receive(
        _ tile: TileID, edition: String?, known caller: Validators?, meter: TransferMeter?
    ) async throws(TileSourceError) -> TileArrival {
        let current = try await current()
        guard edition == nil || edition == "" else {
            throw TileSourceError(.editionChanged, "'\(place)' has no editions: ask for what it has")
        }
        guard current.edition.zooms.contains(tile.zoom) else { return .answer(.absent(Validators())) }
        let address = try address(tile, current)
        var question = WebQuestion(address, limit: Int(configuration.limits.tileBytes))
        question.headers = WebStatus.conditions(caller) + [("Accept-Encoding", "gzip, zstd, deflate")]
        question.keepsPacked = true
        question.needsLength = true
        let reply = try await client.ask(question, meter: meter)
        switch WebStatus(reply, address) {
        case .content: break
        case .notModified:
            guard let caller else {
                throw TileSourceError(.malformed, "'\(address)' has not changed, says its server, which was not asked")
            }
            return .answer(.notModified(reply.validators(known: caller)))
        case .absent: return .answer(.absent(Validators(expires: reply.freshness.expires)))
        case .failure(let error): throw error
        }
        let declared = reply.header("Content-Type") ?? ""
        guard !declared.utf8.prefix(9).elementsEqual("text/html".utf8, by: { $0 | 0x20 == $1 | 0x20 }) else {
            throw TileSourceError(.malformed, "'\(address)' is a page, not a tile")
        }
        let freshness = reply.freshness
        let form = current.form == .unknown ? TileForm(mediaType: declared) : current.form
        return try UncheckedTile(
            TileAddress(tileset, tile), edition: "", bytes: reply.body, packing: reply.packing, form: form,
            limit: Int(configuration.limits.tileBytes), validators: reply.validators(freshness),
            isStorable: freshness.isStorable || configuration.storesAnyway, place: { "'\(address)'" }
        ).arrival()
    }

    func size(of tile: TileID) async throws(TileSourceError) -> TileSize {
        let current = try await current()
        guard current.edition.zooms.contains(tile.zoom) else { return .absent }
        let address = try address(tile, current)
        var question = WebQuestion(address, limit: 65_536)
        question.method = .head
        question.headers = [("Accept-Encoding", "gzip, zstd, deflate")]
        let reply = try await client.ask(question)
        switch WebStatus(reply, address) {
        case .content:
            guard let length = reply.header("Content-Length").flatMap({ Int64($0) }), length >= 0 else {
                return .unknown
            }
            // What is too large is refused when it comes, and takes no room.
            return length <= configuration.limits.tileBytes ? .bytes(length) : .absent
        case .absent: return .absent
        case .notModified: return .unknown
        // Some servers know no HEAD.
        case .failure(let error) where error.code == .refused: return .unknown
        case .failure(let error): throw error
        }
    }
}
