package import NavGeo
package import NavMessages
package import NavRouting

/// The speeds of a message on `/traffic/speeds`, for the router.
package struct TrafficUpdate: Sendable {
    /// The message without its speeds.
    package var header: TrafficSpeeds
    package var speeds: ContiguousArray<NavRouting.TrafficSpeed> = []
    /// The number of speeds that lack a node, or are neither closed nor above 0.
    package var unusableCount = 0

    /// Whether it replaces all earlier traffic.
    package var replacesAll: Bool { header.replacesAll ?? false }

    /// Returns the moment of measurement, or `now` if the message does not state it; nil for a file, which has no age.
    package func stamp(at now: NavGeo.Timestamp) -> NavGeo.Timestamp? {
        if let stamp = header.stampNs { return NavGeo.Timestamp(nanoseconds: stamp) }
        return header.provider == Self.fileProvider || speeds.isEmpty ? nil : now
    }

    private static let fileProvider = "file"

    /// Decodes a message's bytes; takes some milliseconds for a city.
    package init(decoding bytes: UnsafeRawBufferPointer, limit: Int) throws(MessageError) {
        // A well-formed speed takes some 30 bytes.
        var speeds: ContiguousArray<NavRouting.TrafficSpeed> = []
        speeds.reserveCapacity(bytes.count / 28)
        var unusable = 0
        header = try TrafficSpeeds.read(bytes, limit: limit) { message in
            if let speed = NavRouting.TrafficSpeed(message) { speeds.append(speed) } else { unusable += 1 }
        }
        self.speeds = speeds
        unusableCount = unusable
    }

    package init(_ message: TrafficSpeeds) {
        header = message
        header.speeds = []
        for speed in message.speeds {
            if let speed = NavRouting.TrafficSpeed(speed) { speeds.append(speed) } else { unusableCount += 1 }
        }
    }

    /// Creates the speeds of a file, which replace all earlier traffic.
    package init(ofFile speeds: ContiguousArray<NavRouting.TrafficSpeed>) {
        header = TrafficSpeeds(provider: Self.fileProvider, replacesAll: true)
        self.speeds = speeds
    }
}

extension NavRouting.TrafficSpeed {
    /// Creates the speed of a message; nil when it lacks a node, or is neither closed nor above 0.
    @inline(__always)
    package init?(_ message: NavMessages.TrafficSpeed) {
        guard let from = message.fromNode, let to = message.toNode else { return nil }
        let isClosed = message.closed ?? false
        guard isClosed || message.speedMps ?? 0 > 0 else { return nil }
        self.init(
            wayID: message.wayId, fromNodeID: from, toNodeID: to, speed: isClosed ? 0 : message.speedMps ?? 0,
            validUntil: message.validUntilNs.map { NavGeo.Timestamp(nanoseconds: $0) })
    }
}
