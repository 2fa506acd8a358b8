/// The speed limit of a road for one vehicle.
public struct SpeedLimit: Sendable, Hashable {
    /// The origin of a speed limit.
    public enum Source: Sendable, Hashable, CaseIterable {
        /// Tagged on the road.
        case signed
        /// Implied by the general rule of the country.
        case implied
        case unknown
    }

    /// The limit, m/s; nil when it is unknown or unlimited.
    public let speed: Float?
    /// Whether the road is known to have no limit.
    public let isUnlimited: Bool
    public let source: Source

    public static let unknown = SpeedLimit(speed: nil, isUnlimited: false, source: .unknown)

    init(speed: Float?, isUnlimited: Bool, source: Source) {
        self.speed = speed
        self.isUnlimited = isUnlimited
        self.source = source
    }

    /// Determines the limit that applies to a vehicle on a road.
    ///
    /// Goods vehicles keep the lower of their own limit and the limit for all vehicles. The map's general limits for
    /// motorways and motorroads are those for cars; the lower limits for goods vehicles are unknown.
    init(
        general: Float?, truck: Float?, flags: RoadFlags, roadClass: RoadClass, vehicle: VehicleAccess
    ) {
        let isTruck = !vehicle.contains(.car)
        if isTruck, let truck {
            self.init(speed: min(general ?? truck, truck), isUnlimited: false, source: .signed)
        } else if flags.contains(.taggedSpeedLimit), let general {
            self.init(speed: general, isUnlimited: false, source: .signed)
        } else if isTruck, general == nil || roadClass == .motorway || flags.contains(.motorroad) {
            self = .unknown
        } else if general == nil, flags.contains(.unlimitedSpeed) {
            self.init(speed: nil, isUnlimited: true, source: flags.contains(.taggedSpeedLimit) ? .signed : .implied)
        } else {
            self.init(speed: general, isUnlimited: false, source: general == nil ? .unknown : .implied)
        }
    }
}

extension EdgeTraits {
    public func limit(for vehicle: VehicleAccess) -> SpeedLimit {
        SpeedLimit(
            general: speedLimit, truck: truckSpeedLimit, flags: flags, roadClass: roadClass, vehicle: vehicle)
    }
}

extension RoadAttributes {
    public func limit(for vehicle: VehicleAccess) -> SpeedLimit {
        SpeedLimit(
            general: speedLimit, truck: truckSpeedLimit, flags: flags, roadClass: roadClass, vehicle: vehicle)
    }
}
