package import NavGeo
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
    ///   - packing: how the source says that it is packed.
    ///   - form: what it must look like.
    ///   - limit: most bytes, unpacked.
    ///   - isStorable: whether it may be kept.
    ///   - place: which tile of which source, for messages.
    package init(
        _ address: TileAddress, edition: String, bytes: [UInt8], packing: Packing?, form: TileForm, limit: Int,
        validators: Validators, isStorable: Bool = true, place: @escaping @Sendable () -> String
    ) {
        self.address = address
        self.edition = edition
        self.bytes = bytes
        self.packing = packing
        self.form = form
        self.limit = limit
        self.validators = validators
        self.isStorable = isStorable
        self.place = place
    }

    /// Itself when it takes long to check it, else what it is worth.
    package func arrival() throws(TileSourceError) -> TileArrival {
        MapTile.packing(of: bytes, packing, form) != nil ? .unchecked(self) : .answer(try checked())
    }

    package func checked() throws(TileSourceError) -> TileAnswer {
        let part = try MapTile.part(bytes, packing: packing, form: form, limit: limit, place: place())
        let tile = FetchedTile(address, edition: edition, parts: [part], validators: validators)
        return isStorable ? .fetched(tile) : .unstorable(tile)
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

/// A source whose tiles are best received on a thread of its own; it may leave the check to another.
package protocol ReceivingSource: TileSource {
    /// That thread; nil for any.
    var executor: (any TaskExecutor)? { get }

    /// Asks as ``TileSource/fetch(_:edition:known:meter:)`` does, and hands on what came as it came.
    func receive(
        _ tile: TileID, edition: String?, known: Validators?, meter: TransferMeter?
    ) async throws(TileSourceError) -> TileArrival
}

extension ReceivingSource {
    package func fetch(
        _ tile: TileID, edition: String?, known: Validators?, meter: TransferMeter?
    ) async throws(TileSourceError) -> TileAnswer {
        try await receive(tile, edition: edition, known: known, meter: meter).checked()
    }
}
