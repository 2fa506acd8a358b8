/// The speed limit of a road for one vehicle.
public struct SpeedLimit: Sendable, Hashable {
    /// The origin of a speed limit.
    public enum Source: Sendable, Hashable, CaseIterable {
        /// The road is tagged with it.
        case signed
        /// The general rule of the country.
        case implied
        case unknown
    }

    /// m/s; nil where it is unknown or there is none.
    public let speed: Float?
    /// Whether it is known that there is none.
    public let isUnlimited: Bool
    public let source: Source

    public static let unknown = SpeedLimit(speed: nil, isUnlimited: false, source: .unknown)

    init(speed: Float?, isUnlimited: Bool, source: Source) {
        self.speed = speed
        self.isUnlimited = isUnlimited
        self.source = source
    }

    /// The limit that binds a vehicle on a road.
    ///
    /// Goods vehicles keep the lower of their own limit and that of all vehicles. The general rules for motorways and roads
    /// like them are those for cars; goods vehicles have lower ones, which the map does not know.
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
