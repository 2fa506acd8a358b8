import NavDigest
import NavGeo
package import NavHTTP
package import NavTileCache

/// A tile of a map as its bytes came in, which nobody has looked at yet.
///
/// To unpack one takes the processor up to three times as long as to receive it: who receives leaves that to others.
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
    ///   - declared: the packing by its source; what begins like a packed vector tile is taken as one.
    ///   - form: what it must look like.
    ///   - limit: most bytes, unpacked.
    ///   - isStorable: whether it may be kept.
    ///   - place: which tile of which source, for messages.
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

    /// Itself when it takes long to check it, else what it is worth.
    package func arrival() throws(TileSourceError) -> TileArrival {
        packing != nil ? .unchecked(self) : .answer(try checked())
    }

    /// The tile, or what is wrong with it.
    package func checked() throws(TileSourceError) -> TileAnswer {
        // What cannot be unpacked, and what would fill a reader's memory, is found here and not in the vehicle.
        if let fault = try unpacked().withUnsafeBytes(form.fault) {
            throw TileSourceError(.malformed, "\(place()) is no tile: \(fault)")
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
                TileSourceError(.tooLarge, "\(place()) has more than \(limit) bytes when unpacked: refused")
            case .damaged: TileSourceError(.malformed, "\(place()) cannot be unpacked")
            case .truncated: TileSourceError(.truncated, "\(place()) ends too early")
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
