public import NavGeo

/// A constraint of the position filter by the road graph: the vehicle is on a road.
public struct RoadConstraint: Sendable, Hashable {
    /// A point of the road beside the vehicle.
    public var coordinate: Coordinate
    /// Direction of the road there, radians clockwise from north.
    public var bearing: Double
    /// Standard deviation of the distance between the vehicle and the road's centreline, metres.
    public var crossSigma: Double
    /// Standard deviation of the angle between the vehicle's direction and the road's, radians.
    public var bearingSigma: Double

    public init(coordinate: Coordinate, bearing: Double, crossSigma: Double, bearingSigma: Double) {
        self.coordinate = coordinate
        self.bearing = bearing
        self.crossSigma = crossSigma
        self.bearingSigma = bearingSigma
    }
}
