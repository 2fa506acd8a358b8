internal import Glibc

/// Conversions between measures of accuracy.
package enum Accuracy {
    /// The radius that holds 68 % of a two-dimensional normal distribution with equal deviations, in these deviations: 1.51.
    ///
    /// The square of the distance has a chi-square distribution with two degrees of freedom, P = 1 - exp(-r² / 2σ²) (Abramowitz and
    /// Stegun 26.4), so that r² = -2 ln(1 - 0.68) σ². The root of σ_N² + σ_E², 1.41 deviations, which some tools call accuracy, holds 63 %.
    private static let radiusOfSigma = (-2 * log(1 - 0.68)).squareRoot()

    /// Returns the radius that holds 68 % of a two-dimensional normal distribution.
    ///
    /// It is exact for equal deviations. Unequal deviations are replaced by their root mean square.
    package static func radius68(sigmaNorth: Double, sigmaEast: Double) -> Double {
        radiusOfSigma * ((sigmaNorth * sigmaNorth + sigmaEast * sigmaEast) / 2).squareRoot()
    }

    /// Returns the standard deviation of each axis from the radius that holds 68 %: the inverse of ``radius68(sigmaNorth:sigmaEast:)``.
    package static func sigma(radius68 radius: Double) -> Double { radius / radiusOfSigma }

    /// Returns a diagonal covariance: nine values, east, north, up, row-major, in m^2.
    static func diagonal(east: Double, north: Double, up: Double) -> [Double] {
        [east * east, 0, 0, 0, north * north, 0, 0, 0, up * up]
    }
}
