import NavGeo
import NavHTTP
import NavTileCache
import Synchronization

/// The map tiles at a URL template, or at the template in a TileJSON.
final class TemplateSource: TileSource {
    private struct Known: Sendable {
        var server: HTTPAddress
        /// The template of path and query.
        var template: TileTemplate
        var edition: TilesetEdition
        var form: TileForm
        var validators: Validators
    }

    let tileset: String
    let place: String
    let isRemote = true
    let knowsSizes = false

    private let client: SourceClient
    private let configuration: TileSourceConfiguration
    /// The address of the TileJSON; nil when the template was configured directly.
    private let description: HTTPAddress?
    private let known: Mutex<Known?>

    init(_ configuration: TileSourceConfiguration, template text: String) throws(TileSourceError) {
        guard let origin = HTTPAddress(text) else {
            throw TileSourceError(.configuration, "a tile URL must begin with http:// or https:// and a host")
        }
        // The user and password in the address are sent as a header and removed from it.
        let template = try TileTemplate(origin.target, ratio: configuration.pixelRatio)
        tileset = configuration.tileset
        place = origin.description
        self.configuration = configuration
        description = nil
        let form = TileForm(format: template.fileExtension ?? "")
        let edition = TilesetEdition(
            tileset: configuration.tileset, domain: .maps, version: "", zooms: configuration.zooms,
            mediaType: form.mediaType)
        known = Mutex(Known(server: origin, template: template, edition: edition, form: form, validators: Validators()))
        client = try SourceClient(configuration, address: origin)
    }

    init(_ configuration: TileSourceConfiguration, description: HTTPAddress) throws(TileSourceError) {
        tileset = configuration.tileset
        place = description.description
        self.configuration = configuration
        self.description = description
        known = Mutex(nil)
        client = try SourceClient(configuration, address: description)
    }

    var executor: (any TaskExecutor)? { client.executor }

    func close() async { await client.close() }

    func edition(known caller: Validators?) async throws(TileSourceError) -> EditionAnswer {
        let current = try await refresh(isWhole: caller == nil)
        return EditionAnswer(current.edition, current.validators, known: caller)
    }

    /// - Parameter isWhole: whether the description is requested unconditionally.
    private func refresh(isWhole: Bool) async throws(TileSourceError) -> Known {
        let before = known.withLock { $0 }
        guard let description else {
            if let before { return before }
            throw TileSourceError(.configuration, "'\(place)' has no template")
        }
        var current: Known
        let request = HTTPRequest(description, limit: 1 << 20)
        switch try await client.ask(request, known: isWhole ? nil : before?.validators.identifying) {
        case .content(let response): current = try read(response, description)
        case .notModified(let response):
            guard let before else { throw SourceClient.unexpectedNotModified(description) }
            current = before
            current.validators = response.validators(known: before.validators)
        case .absent: throw TileSourceError(.missing, "no TileJSON was found at '\(place)'")
        }
        known.withLock { $0 = current }
        return current
    }

    private func read(_ response: HTTPResponse, _ description: HTTPAddress) throws(TileSourceError) -> Known {
        guard let json = TileJSON(response.body), let text = json.template, let zooms = json.zooms else {
            throw TileSourceError(.malformed, "'\(place)' is not a TileJSON with a tile URL and zoom levels")
        }
        // A tile URL in a TileJSON is followed like a redirect, only to allowed hosts.
        guard let address = description.resolving(text) else {
            throw TileSourceError(.redirected, "the tile URL in the TileJSON '\(place)' is not an HTTP URL")
        }
        do throws(HTTPError) {
            _ = try description.redirected(to: text, allowedHosts: configuration.allowedHosts)
        } catch {
            throw TileSourceError(error)
        }
        let template: TileTemplate
        do throws(TileSourceError) {
            template = try TileTemplate(
                address.target, ratio: configuration.pixelRatio, isFromSouth: json.isFromSouth)
        } catch {
            throw TileSourceError(.malformed, "the TileJSON '\(place)': \(error)")
        }
        let form = json.form == .unknown ? TileForm(format: template.fileExtension ?? "") : json.form
        let edition = TilesetEdition(
            tileset: tileset, domain: .maps, version: "", zooms: zooms, bounds: json.bounds, document: response.body,
            attribution: json.attribution, mediaType: form.mediaType)
        return Known(
            server: address, template: template, edition: edition, form: form, validators: response.validators())
    }

    private func address(_ tile: TileID, _ current: Known) throws(TileSourceError) -> HTTPAddress {
        guard let address = HTTPAddress(current.server, target: current.template.text(tile)) else {
            throw TileSourceError(.configuration, "'\(place)' gives no valid URL for tile \(tile)")
        }
        return address
    }

    private func current() async throws(TileSourceError) -> Known {
        if let here = known.withLock({ $0 }) { return here }
        return try await refresh(isWhole: false)
    }

    func receive(
        _ tile: TileID, edition: String?, known caller: Validators?, meter: TransferMeter?
    ) async throws(TileSourceError) -> TileArrival {
        let current = try await current()
        guard edition == nil || edition == "" else {
            throw TileSourceError(.editionChanged, "'\(place)' has no editions; request its tiles without one")
        }
        guard current.edition.zooms.contains(tile.zoom) else { return .answer(.absent(Validators())) }
        let address = try address(tile, current)
        var request = HTTPRequest(address, limit: Int(configuration.limits.tileBytes))
        request.keepsPacked = true
        request.needsLength = true
        let response: HTTPResponse
        switch try await client.ask(request, known: caller, meter: meter) {
        case .content(let content): response = content
        case .notModified(let response): return .answer(.notModified(response.validators(known: caller)))
        case .absent(let response): return .answer(.absent(Validators(expires: response.freshness.expires)))
        }
        let declared = response.header("Content-Type") ?? ""
        guard !declared.utf8.prefix(9).elementsEqual("text/html".utf8, by: { $0 | 0x20 == $1 | 0x20 }) else {
            throw TileSourceError(.malformed, "'\(address)' is an HTML page, not a tile")
        }
        let freshness = response.freshness
        let form = current.form == .unknown ? TileForm(mediaType: declared) : current.form
        return try UncheckedTile(
            TileAddress(tileset, tile), edition: "", bytes: response.body, packing: response.packing, form: form,
            limit: Int(configuration.limits.tileBytes), validators: response.validators(freshness),
            isStorable: freshness.isStorable || configuration.storesAnyway, place: { "'\(address)'" }
        ).arrival()
    }

    func size(of tile: TileID) async throws(TileSourceError) -> TileSize {
        let current = try await current()
        guard current.edition.zooms.contains(tile.zoom) else { return .absent }
        let address = try address(tile, current)
        var request = HTTPRequest(address, limit: 65_536)
        request.method = .head
        let answer: SourceAnswer
        do throws(TileSourceError) {
            answer = try await client.ask(request)
        } catch {
            // Some servers do not support HEAD.
            guard error.code == .refused else { throw error }
            return .unknown
        }
        switch answer {
        case .content(let response):
            guard let length = response.header("Content-Length").flatMap({ Int64($0) }), length >= 0 else {
                return .unknown
            }
            // A tile that is too large will be rejected on arrival, and takes no space.
            return length <= configuration.limits.tileBytes ? .bytes(length) : .absent
        case .absent: return .absent
        case .notModified: return .unknown
        }
    }
}
