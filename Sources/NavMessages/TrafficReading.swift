extension TrafficSpeeds {
    /// Reads a message speed by speed, without building a list: a city has hundreds of thousands of speeds.
    ///
    /// Unlike ``init(decoding:limit:)``, it does not detect errors inside unknown fields, and refuses flags of another wire type.
    ///
    /// - Parameter each: Called with each speed, in order; discard the speeds if reading fails later.
    /// - Returns: The message without its speeds.
    package static func read(
        _ bytes: UnsafeRawBufferPointer, limit: Int, each: (TrafficSpeed) -> Void
    ) throws(MessageError) -> TrafficSpeeds {
        guard bytes.count <= limit else { throw .tooLarge(type: fullName, size: bytes.count, limit: limit) }
        let malformed = MessageError.malformed(type: fullName, size: bytes.count)
        var message = TrafficSpeeds()
        var cursor = WireCursor(bytes, 0..<bytes.count)
        while !cursor.isAtEnd {
            guard let (number, shape) = cursor.tag() else { throw malformed }
            switch (number, shape) {
            case (4, .bytes):
                guard let range = cursor.range(), let speed = TrafficSpeed(WireCursor(bytes, range)) else {
                    throw malformed
                }
                each(speed)
            case (1, .fixed64):
                guard let value = cursor.fixed64() else { throw malformed }
                message.stampNs = Int64(bitPattern: value)
            case (2, .bytes):
                guard let value = cursor.string(), !value.utf8.contains(0) else {
                    throw .invalidString(field: "navbus.v1.TrafficSpeeds.provider")
                }
                message.provider = value
            case (3, .varint):
                guard let value = cursor.varint() else { throw malformed }
                message.replacesAll = value != 0
            case (1...4, _): throw malformed
            default: guard cursor.value(shape) != nil else { throw malformed }
            }
        }
        return message
    }
}

extension TrafficSpeed {
    /// Reads the fields of a cursor up to its end; nil when they are malformed.
    @inline(__always)
    fileprivate init?(_ start: WireCursor) {
        self.init()
        var cursor = start
        while !cursor.isAtEnd {
            guard let (number, shape) = cursor.tag() else { return nil }
            switch (number, shape) {
            case (1, .varint):
                guard let value = cursor.varint() else { return nil }
                wayId = Int64(bitPattern: value)
            case (2, .varint):
                guard let value = cursor.varint() else { return nil }
                fromNode = Int64(bitPattern: value)
            case (3, .varint):
                guard let value = cursor.varint() else { return nil }
                toNode = Int64(bitPattern: value)
            case (4, .fixed64):
                guard let value = cursor.fixed64() else { return nil }
                speedMps = Double(bitPattern: value)
            case (5, .varint):
                guard let value = cursor.varint() else { return nil }
                closed = value != 0
            case (6, .fixed64):
                guard let value = cursor.fixed64() else { return nil }
                validUntilNs = Int64(bitPattern: value)
            case (1...6, _): return nil
            default: guard cursor.value(shape) != nil else { return nil }
            }
        }
    }
}
