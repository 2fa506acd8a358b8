import Glibc
import NavGeo
public import NavMap

/// The costs of edges and turns for a vehicle: seconds for the clock, penalties for the choice.
public struct CostModel: Sendable, Hashable {
    public var profile: VehicleProfile

    /// Seconds that entering private or destination-only ground, by a road or a gate, costs the choice, not the clock: enough to keep through
    /// traffic out, finite so that addresses there can be reached.
    public static let restrictedEntryPenalty = 450.0
    /// The factor by which an avoided road costs more.
    public static let avoidanceFactor = 8.0
    /// The factor by which a track for farms and forests costs more where no tag admits the public: who has a place
    /// there drives the last metres on it, not kilometres through the forest.
    public static let trackFactor = 4.0
    /// Seconds for a U-turn (OSRM's car profile uses 20).
    public static let uTurnDuration = 20.0
    /// Seconds lost on average at traffic signals (OSRM's car profile uses 2).
    public static let signalDuration = 2.0
    /// Seconds that a toll booth or gate takes.
    public static let boothDuration = 15.0

    /// The speed of the slowest vehicle, m/s: it keeps times finite.
    static let slowestSpeed = 0.01

    public init(profile: VehicleProfile = VehicleProfile()) { self.profile = profile }

    /// Seconds that driving `length` metres of an edge takes in free traffic.
    public func duration(length: Double, traits: EdgeTraits, edgeLength: Double) -> Double {
        if traits.roadClass == .ferry, let crossing = traits.crossingTime, edgeLength > 0 {
            return Double(crossing) * length / edgeLength
        }
        var speed = min(traits.freeFlowSpeed, profile.maximumSpeed)
        if profile.kind == .truck, let limit = traits.truckSpeedLimit { speed = min(speed, limit) }
        return length / max(Double(speed), CostModel.slowestSpeed)
    }

    /// Seconds that turning by an angle takes where roads meet.
    ///
    /// A sigmoid of the angle, gentle turns near 0 s and sharp ones near 7.5 s, with turns across the oncoming traffic
    /// slightly dearer: the shape and numbers of OSRM's car profile, which fitted it to drives.
    ///
    /// - Parameter angle: radians, clockwise positive.
    public static func turnDuration(angle: Double, leftHandTraffic: Bool) -> Double {
        let towardsOncoming = leftHandTraffic ? angle > 0 : angle < 0
        let bias = towardsOncoming ? 1 / 1.075 : 1.075
        return 7.5 / (1 + exp(-((13 / bias) * abs(angle) / .pi - 6.5 * bias)))
    }
}
