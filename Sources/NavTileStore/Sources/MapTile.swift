package import NavDigest
import NavGeo

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
        place: @autoclosure () -> String, hash known: ContentHash? = nil
    ) throws(TileSourceError) -> FetchedPart {
        let packing = packing ?? (form == .vector || form == .unknown ? Packing(magic: bytes) : nil)
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
        guard let hash = known ?? ContentHash(of: bytes) else {
            throw TileSourceError.unhashed(place())
        }
        return FetchedPart(
            .body, data: bytes, hash: hash, contentEncoding: packing?.rawValue, mediaType: form.mediaType)
    }

    private static func malformed(_ place: @autoclosure () -> String, _ fault: String) -> TileSourceError {
        TileSourceError(.malformed, "\(place()) is no tile: \(fault)")
    }
}
