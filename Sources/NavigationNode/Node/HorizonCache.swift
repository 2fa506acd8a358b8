import NavGuidance
import NavMap
import NavMatching
import NavMessages
import NavNavigator
import NavPositioning
import NavRouting
import NavWire

/// The published horizon, kept until the vehicle enters another edge, or the route, the map, the configuration or a time-dependent rule
/// changes.
struct HorizonCache {
    /// The input of a horizon, except the vehicle's place on the edge.
    private struct Basis: Equatable {
        var edge: EdgeKey?
        var planChanges: Int
        var isFollowing: Bool
        var map: UInt64
        var keys: HorizonKeys
        /// The time-dependent rules that hold for the vehicle.
        var rules = ConditionSet.none
    }

    private var basis: Basis?
    /// The local time for which the basis' rules were determined.
    private var time: LocalTime?
    private var junctions: JunctionModel?
    private var horizon: NavGuidance.Horizon?
    /// The published offset.
    private var offset = 0.0

    private static func basis(_ encoder: PublicationEncoder, _ keys: HorizonKeys) -> Basis {
        Basis(
            edge: road(encoder)?.edgeKey, planChanges: encoder.planChanges, isFollowing: isFollowing(encoder),
            map: encoder.map.number, keys: keys)
    }

    /// Returns the vehicle's position on a road, from which a horizon can extend.
    private static func road(_ encoder: PublicationEncoder) -> NavMatching.MatchedPosition.RoadPosition? {
        encoder.vehiclePosition?.road.flatMap { $0.isAgainst ? nil : $0 }
    }

    private static func isFollowing(_ encoder: PublicationEncoder) -> Bool {
        switch encoder.state?.guidance {
        case .initialized?, .tracking?, .uncertain?: encoder.plan != nil
        default: false
        }
    }

    /// Returns the horizon to publish now; nil while the published one is valid. The context is requested only for a publication.
    mutating func update(
        _ encoder: PublicationEncoder, _ keys: HorizonKeys, context: () -> EventContext
    ) -> OutgoingMessage? {
        if junctions?.graph !== encoder.map.graph { junctions = nil }
        guard keys.isEnabled, encoder.vehiclePosition != nil else { return nil }
        var now = Self.basis(encoder, keys)
        guard basis != nil || now.edge != nil else { return nil }
        now.rules = rules(encoder, now)
        let place = Self.road(encoder)?.offset
        if now != basis {
            // The horizon extends equally far beyond the end of the edge wherever the vehicle is on it.
            var extent = keys.extent
            extent.length += Self.rest(encoder)
            horizon = makeHorizon(encoder, extent)
        } else {
            guard let place, abs(place - offset) >= keys.updateDistance else { return nil }
            horizon?.offset = place
        }
        (basis, offset) = (now, place ?? 0)
        let origin = context()
        let message = NavMessages.Horizon(horizon, context: origin, mapVersion: encoder.map.graph.mapVersion)
        return OutgoingMessage(Topics.horizon, origin.stamp, message)
    }

    /// Returns the time-dependent rules that hold. A local time has the resolution of minutes, so they are determined once a minute.
    private mutating func rules(_ encoder: PublicationEncoder, _ now: Basis) -> ConditionSet {
        let present = Self.localTime(encoder)
        if let basis, present == time, basis.map == now.map, basis.planChanges == now.planChanges { return basis.rules }
        time = present
        return encoder.map.turns.conditions(for: encoder.vehicle, at: present)
    }

    /// Returns the local time at the last position; nil when the offset is unknown.
    private static func localTime(_ encoder: PublicationEncoder) -> LocalTime? {
        encoder.vehiclePosition.flatMap { encoder.localTime(at: $0.stamp) }
    }

    /// Returns the metres to the end of the edge.
    private static func rest(_ encoder: PublicationEncoder) -> Double {
        guard let road = road(encoder), let edge = encoder.map.graph.edge(road.edgeKey) else { return 0 }
        return max(Double(encoder.map.graph.edgeLengths[edge.index]) - road.offset, 0)
    }

    /// Returns the horizon at the last position; nil where the vehicle is on no road, or on one that is no longer loaded.
    mutating func makeHorizon(_ encoder: PublicationEncoder, _ extent: HorizonExtent) -> NavGuidance.Horizon? {
        let map = encoder.map
        guard let road = Self.road(encoder), let edge = map.graph.edge(road.edgeKey),
            map.graph.wayID(of: edge) == road.wayID
        else { return nil }
        var route: HorizonRoute?
        if Self.isFollowing(encoder), let plan = encoder.plan, plan.route.mapVersion == map.graph.mapVersion {
            route = HorizonRoute(
                plan.route, plan.guidance, edge: road.edgeKey, near: encoder.progress?.distanceTraveledM ?? plan.offset)
        }
        let builder = HorizonBuilder(
            metric: map.metric, live: map.router.metric,
            vehicle: encoder.vehicle, junctions: junctions, at: Self.localTime(encoder))
        junctions = builder.junctions
        return builder.horizon(
            on: edge, at: road.offset, after: encoder.approach.flatMap { map.graph.edge($0) }, along: route,
            extent: extent)
    }
}
