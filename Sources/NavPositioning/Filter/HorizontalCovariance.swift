import Glibc

/// Covariance of a horizontal position, m².
public struct HorizontalCovariance: Sendable, Hashable {
    public var east: Double
    public var north: Double
    /// Covariance of east and north.
    public var eastNorth: Double

    /// Returns the standard deviation in a direction, radians clockwise from north; metres.
    public func sigma(along bearing: Double) -> Double {
        let (sine, cosine) = (sin(bearing), cos(bearing))
        return max(east * sine * sine + 2 * eastNorth * sine * cosine + north * cosine * cosine, 0).squareRoot()
    }

    /// Returns the standard deviation across a direction, metres.
    public func sigma(across bearing: Double) -> Double { sigma(along: bearing + .pi / 2) }

    /// Square root of the mean variance of both axes, metres: the form in which fixes state their accuracy.
    public var perAxis: Double { max((east + north) / 2, 0).squareRoot() }
}
