package import NavGeo

/// Google's encoded polyline algorithm with six decimals.
package enum EncodedPolyline {
    /// Decodes the points of a line; nil when the text is malformed, leaves the Earth, or has too many points.
    package static func decode(_ text: String, maximumPoints: Int) -> [Coordinate]? {
        var points: [Coordinate] = []
        var bytes = text.utf8.makeIterator()
        var (latitude, longitude) = (Int64(0), Int64(0))
        points.reserveCapacity(min(text.utf8.count / 4, maximumPoints))
        while true {
            switch number(&bytes) {
            case .end: return points
            case .malformed: return nil
            case .value(let change): latitude += change
            }
            guard case .value(let change) = number(&bytes) else { return nil }
            longitude += change
            let point = Coordinate(latitude: Double(latitude) / 1e6, longitude: Double(longitude) / 1e6)
            guard point.isValid, points.count < maximumPoints else { return nil }
            points.append(point)
        }
    }

    private enum Number {
        case value(Int64)
        case end
        case malformed
    }

    /// Decodes the next number: groups of five bits, least significant first, with a sixth bit on each but the last;
    /// the lowest bit is the sign.
    private static func number(_ bytes: inout String.UTF8View.Iterator) -> Number {
        var value: UInt64 = 0
        for group in 0..<maximumGroups {
            guard let byte = bytes.next() else { return group == 0 ? .end : .malformed }
            guard (63...126).contains(byte) else { return .malformed }
            let bits = UInt64(byte - 63)
            value |= (bits & 0x1f) << UInt64(5 * group)
            if bits & 0x20 == 0 {
                let half = Int64(value >> 1)
                return .value(value & 1 == 0 ? half : -half - 1)
            }
        }
        return .malformed
    }

    /// The most groups: 360 degrees in millionths take 30 bits.
    private static let maximumGroups = 7
}
