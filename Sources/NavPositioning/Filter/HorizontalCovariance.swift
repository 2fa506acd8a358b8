import Glibc

/// Covariance of a horizontal position, m².
public struct HorizontalCovariance: Sendable, Hashable {
    public var east: Double
    public var north: Double
    /// Covariance of both.
    public var eastNorth: Double

    /// Standard deviation in a direction, radians clockwise from north; metres.
    public func sigma(along bearing: Double) -> Double {
        let (sine, cosine) = (sin(bearing), cos(bearing))
        return max(east * sine * sine + 2 * eastNorth * sine * cosine + north * cosine * cosine, 0).squareRoot()
    }

    /// Standard deviation across a direction, metres.
    public func sigma(across bearing: Double) -> Double { sigma(along: bearing + .pi / 2) }

    /// Root of the mean variance of both axes, metres: what a fix has for its accuracy.
    public var perAxis: Double { max((east + north) / 2, 0).squareRoot() }
}
