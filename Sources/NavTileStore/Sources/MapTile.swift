import NavDigest
import NavGeo
package import NavHTTP
package import NavTileCache

/// Makes a checked tile of a map from bytes of any source.
package enum MapTile {
    /// A tile as it is to be stored.
    ///
    /// - Parameters:
    ///   - packing: how the source says that it is packed; what begins like a packed vector tile is taken as one.
    ///   - form: what it must look like.
    ///   - place: which tile of which source, for messages.
    package static func part(
        _ bytes: [UInt8], packing: Packing?, form: TileForm, limit: Int,
        place: @autoclosure () -> String
    ) throws(TileSourceError) -> FetchedPart {
        let packing = Self.packing(of: bytes, packing, form)
        if let packing {
            // What cannot be unpacked, and what would fill a reader's memory, is found here and not in the vehicle.
            let inner: [UInt8]
            do throws(Unpacker.Failure) {
                inner = try Unpacker.unpack(bytes, packing, limit: limit)
            } catch {
                throw switch error {
                case .tooLarge:
                    TileSourceError(.tooLarge, "\(place()) has more than \(limit) bytes when unpacked: refused")
                case .damaged: TileSourceError(.malformed, "\(place()) cannot be unpacked")
                case .truncated: TileSourceError(.truncated, "\(place()) ends too early")
                }
            }
            if let fault = inner.withUnsafeBytes(form.fault) { throw malformed(place(), fault) }
        } else if let fault = bytes.withUnsafeBytes(form.fault) {
            throw malformed(place(), fault)
        }
        guard let hash = ContentHash(of: bytes) else {
            throw TileSourceError.unhashed(place())
        }
        return FetchedPart(
            .body, data: bytes, hash: hash, contentEncoding: packing?.rawValue, mediaType: form.mediaType)
    }

    /// Returns the packing of a tile: as its source says, or by its first bytes where that is allowed.
    static func packing(of bytes: [UInt8], _ declared: Packing?, _ form: TileForm) -> Packing? {
        declared ?? (form == .vector || form == .unknown ? Packing(magic: bytes) : nil)
    }

    private static func malformed(_ place: @autoclosure () -> String, _ fault: String) -> TileSourceError {
        TileSourceError(.malformed, "\(place()) is no tile: \(fault)")
    }
}
