/// A position on the WGS 84 ellipsoid, in degrees.
public struct Coordinate: Sendable, Hashable {
    /// Geodetic latitude in degrees, north positive, −90…90.
    public var latitude: Double
    /// Longitude in degrees, east positive, −180…180.
    public var longitude: Double

    /// Creates a coordinate from degrees. Values are kept as given; see ``isValid``.
    @inlinable
    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }

    /// Creates a coordinate from unvalidated degrees; nil when one is unknown, not finite or out of range.
    package init?(ifValid latitude: Double?, _ longitude: Double?) {
        guard let latitude, let longitude else { return nil }
        self.init(latitude: latitude, longitude: longitude)
        guard isValid else { return nil }
    }

    /// Whether both values are finite and inside their ranges.
    @inlinable
    public var isValid: Bool { abs(latitude) <= 90 && abs(longitude) <= 180 }
}

/// A position in OpenStreetMap's fixed-point form: units of 1e-7 degrees (about a centimetre).
public struct FixedCoordinate: Sendable, Hashable {
    /// Latitude in 1e-7 degrees.
    public var latitudeE7: Int32
    /// Longitude in 1e-7 degrees.
    public var longitudeE7: Int32

    /// Creates a position from 1e-7 degrees.
    @inlinable
    public init(latitudeE7: Int32, longitudeE7: Int32) {
        self.latitudeE7 = latitudeE7
        self.longitudeE7 = longitudeE7
    }

    /// Creates the nearest fixed-point position, clamping values that are not finite or out of range.
    @inlinable
    public init(_ coordinate: Coordinate) {
        latitudeE7 = FixedCoordinate.clamped(coordinate.latitude, limit: 90)
        longitudeE7 = FixedCoordinate.clamped(coordinate.longitude, limit: 180)
    }

    @inlinable
    static func clamped(_ degrees: Double, limit: Double) -> Int32 {
        guard degrees == degrees else { return 0 }
        return Int32((min(max(degrees, -limit), limit) * 1e7).rounded())
    }

    /// The same position in degrees.
    @inlinable
    public var coordinate: Coordinate {
        Coordinate(latitude: Double(latitudeE7) * 1e-7, longitude: Double(longitudeE7) * 1e-7)
    }
}
