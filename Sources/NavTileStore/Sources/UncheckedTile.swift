import NavDigest
import NavGeo
package import NavHTTP
package import NavTileCache

/// A map tile as received, not yet checked.
///
/// Decompression takes up to three times the processor time of receiving, so other threads do it.
package struct UncheckedTile: Sendable {
    private let address: TileAddress
    private let edition: String
    let bytes: [UInt8]
    private let packing: Packing?
    private let form: TileForm
    private let limit: Int
    private let validators: Validators
    private let isStorable: Bool
    private let place: @Sendable () -> String

    /// - Parameters:
    ///   - declared: the compression that its source declares; without one, vector tiles are detected by their first
    ///     bytes.
    ///   - form: the format to check.
    ///   - limit: the maximum size when decompressed, bytes.
    ///   - isStorable: whether it may be stored.
    ///   - place: the tile and its source, for messages.
    package init(
        _ address: TileAddress, edition: String, bytes: [UInt8], packing declared: Packing?, form: TileForm,
        limit: Int, validators: Validators, isStorable: Bool = true, place: @escaping @Sendable () -> String
    ) {
        self.address = address
        self.edition = edition
        self.bytes = bytes
        packing = declared ?? (form == .vector || form == .unknown ? Packing(magic: bytes) : nil)
        self.form = form
        self.limit = limit
        self.validators = validators
        self.isStorable = isStorable
        self.place = place
    }

    /// Returns the tile unchecked if its check takes long, else the checked answer.
    package func arrival() throws(TileSourceError) -> TileArrival {
        packing != nil ? .unchecked(self) : .answer(try checked())
    }

    /// Returns the checked tile, or throws the fault found.
    package func checked() throws(TileSourceError) -> TileAnswer {
        // Damaged tiles and decompression bombs are detected here, before they reach a reader.
        if let fault = try unpacked().withUnsafeBytes(form.fault) {
            throw TileSourceError(.malformed, "\(place()) is not a valid tile: \(fault)")
        }
        guard let hash = ContentHash(of: bytes) else { throw TileSourceError.unhashed(place()) }
        let part = FetchedPart(
            .body, data: bytes, hash: hash, contentEncoding: packing?.rawValue, mediaType: form.mediaType)
        let tile = FetchedTile(address, edition: edition, parts: [part], validators: validators)
        return isStorable ? .fetched(tile) : .unstorable(tile)
    }

    private func unpacked() throws(TileSourceError) -> [UInt8] {
        guard let packing else { return bytes }
        do throws(Unpacker.Failure) {
            return try Unpacker.unpack(bytes, packing, limit: limit)
        } catch {
            throw switch error {
            case .tooLarge:
                TileSourceError(.tooLarge, "\(place()) exceeds \(limit) bytes when decompressed")
            case .damaged: TileSourceError(.malformed, "\(place()) cannot be decompressed")
            case .truncated: TileSourceError(.truncated, "\(place()) is truncated")
            }
        }
    }
}

/// The outcome of a request for a tile.
package enum TileArrival: Sendable {
    case answer(TileAnswer)
    case unchecked(UncheckedTile)

    package func checked() throws(TileSourceError) -> TileAnswer {
        switch self {
        case .answer(let answer): answer
        case .unchecked(let tile): try tile.checked()
        }
    }
}
