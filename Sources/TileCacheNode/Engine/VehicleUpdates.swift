import NavWire
package import NavBus
import NavGeo
import NavMessages
package import NavTileCache

/// The updates of the vehicle since the last call; only the newest of each kind is kept.
package struct VehicleUpdates: Sendable {
    /// Position, progress and guidance.
    package var update = VehicleUpdate()
    /// The last message of `/nav/route`, not yet decoded.
    private(set) var route: Payload?
    /// The last message of `/nav/alternatives`, not yet decoded.
    var alternatives: Payload?

    package init() {}

    var isEmpty: Bool {
        update.position == nil && update.progress == nil && route == nil && alternatives == nil
            && update.isGuided == nil
    }

    /// Takes a message of `/nav/route`.
    package mutating func take(route payload: Payload) {
        route = payload
        // A previously reported end of guidance belongs to the former route.
        update.isGuided = nil
    }

    /// Decodes the messages.
    ///
    /// - Parameter problem: called for each message that cannot be decoded.
    package func read(_ problem: (String) -> Void) -> VehicleUpdate {
        var update = update
        if let payload = route, let message = Self.read(payload, Topics.route, problem) {
            update.route = VehicleUpdate.Route(id: message.routeId, corners: message.geometry?.corners ?? [])
        }
        if let payload = alternatives,
            let message = Self.read(payload, Topics.alternatives, problem),
            message.error == nil || !message.alternatives.isEmpty
        {
            update.alternatives = VehicleUpdate.Alternatives(
                route: message.routeId, lines: message.alternatives.compactMap(Self.line))
        }
        return update
    }

    private static func line(_ alternative: Alternative) -> PlannedLine? {
        guard let line = alternative.route?.geometry?.corners, line.count >= 2 else { return nil }
        let polyline = NavGeo.Polyline(line)
        let point = Int(alternative.forkPoint ?? 0)
        let own = polyline.cumulativeLengths.indices.contains(point) ? polyline.cumulativeLengths[point] : 0
        let fork = alternative.forkOffsetM.flatMap { $0.isFinite ? max($0, 0) : nil } ?? own
        return PlannedLine(polyline, fork: fork, ownFork: own)
    }

    private static func read<Content: Message>(
        _ payload: Payload, _ topic: Topic<Content>, _ problem: (String) -> Void
    ) -> Content? {
        do throws(MessageError) {
            return try payload.withUnsafeBytes { bytes throws(MessageError) in
                try Content(decoding: bytes, limit: topic.entry.maxSize)
            }
        } catch {
            problem("a message on \(topic.name) cannot be decoded: \(error)")
            return nil
        }
    }
}
