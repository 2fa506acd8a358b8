import Glibc
import NavGeo
public import NavMap

/// The costs of edges and turns for a vehicle: durations, which count as travel time, and penalties, which affect only
/// the choice of route.
public struct CostModel: Sendable, Hashable {
    public var profile: VehicleProfile

    /// The penalty for entering private or destination-only ground by a road or a gate, seconds.
    ///
    /// It affects the choice of route, not the travel time. It keeps through traffic out, and is finite so that
    /// addresses there can be reached.
    public static let restrictedEntryPenalty = 450.0
    /// The cost factor of an avoided road.
    public static let avoidanceFactor = 8.0
    /// The cost factor of a track for farms and forests that no tag opens to the public.
    ///
    /// A driver with a destination there uses it for the last metres, not for kilometres through the forest.
    public static let trackFactor = 4.0
    /// Seconds for a U-turn (OSRM's car profile uses 20).
    public static let uTurnDuration = 20.0
    /// Seconds lost on average at traffic signals (OSRM's car profile uses 2).
    public static let signalDuration = 2.0
    /// Seconds at a toll booth or gate.
    public static let boothDuration = 15.0

    /// The lower bound of speeds, m/s, which keeps times finite.
    static let slowestSpeed = 0.01

    public init(profile: VehicleProfile = VehicleProfile()) { self.profile = profile }

    /// Returns the seconds to drive `length` metres of an edge in free flow.
    public func duration(length: Double, traits: EdgeTraits, edgeLength: Double) -> Double {
        if traits.roadClass == .ferry, let crossing = traits.crossingTime, edgeLength > 0 {
            return Double(crossing) * length / edgeLength
        }
        var speed = min(traits.freeFlowSpeed, profile.maximumSpeed)
        if profile.kind == .truck, let limit = traits.truckSpeedLimit { speed = min(speed, limit) }
        return length / max(Double(speed), CostModel.slowestSpeed)
    }

    /// Returns the seconds that turning by an angle takes at a junction.
    ///
    /// A sigmoid of the angle, near 0 s for gentle turns and near 7.5 s for sharp ones, with turns across oncoming
    /// traffic slightly slower. Shape and numbers are those of OSRM's car profile, which were fitted to drives.
    ///
    /// - Parameter angle: Radians, clockwise positive.
    public static func turnDuration(angle: Double, leftHandTraffic: Bool) -> Double {
        let towardsOncoming = leftHandTraffic ? angle > 0 : angle < 0
        let bias = towardsOncoming ? 1 / 1.075 : 1.075
        return 7.5 / (1 + exp(-((13 / bias) * abs(angle) / .pi - 6.5 * bias)))
    }
}
