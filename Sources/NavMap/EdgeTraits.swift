/// The properties of an edge that route searches read.
public struct EdgeTraits: Sendable {
    /// Rank in the network.
    public var roadClass: RoadClass
    public var flags: RoadFlags
    public var access: VehicleAccess
    /// Expected free-flow speed, m/s, above 0.
    public var freeFlowSpeed: Float
    /// Limit, m/s; nil when unknown or unlimited.
    public var speedLimit: Float?
    /// A ferry's crossing time, seconds.
    public var crossingTime: Float?
    /// Limit for goods vehicles, m/s; nil when no separate limit is posted.
    public var truckSpeedLimit: Float?
    /// Maximum height, metres; nil without a limit.
    public var maximumHeight: Float?
    /// Maximum width, metres; nil without a limit.
    public var maximumWidth: Float?
    /// Maximum length, metres; nil without a limit.
    public var maximumLength: Float?
    /// Maximum weight, tonnes; nil without a limit.
    public var maximumWeight: Float?
    /// Maximum axle load, tonnes; nil without a limit.
    public var maximumAxleLoad: Float?

    init(_ record: AttributeRecord) {
        func limit(_ value: Float) -> Float? { value > 0 ? value : nil }
        roadClass = RoadClass(rawValue: record.roadClass) ?? .service
        flags = RoadFlags(rawValue: record.flags)
        access = VehicleAccess(rawValue: record.access)
        freeFlowSpeed = record.freeFlowSpeed
        speedLimit = limit(record.speedLimit)
        crossingTime = limit(record.crossingTime)
        truckSpeedLimit = limit(record.truckSpeedLimit)
        maximumHeight = limit(record.maximumHeight)
        maximumWidth = limit(record.maximumWidth)
        maximumLength = limit(record.maximumLength)
        maximumWeight = limit(record.maximumWeight)
        maximumAxleLoad = limit(record.maximumAxleLoad)
    }
}
