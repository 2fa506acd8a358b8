package import NavMessages
import NavPositioning

/// A missing or out-of-range value of a message, which is not used.
package struct FieldDefect: Sendable, Hashable, CustomStringConvertible {
    /// The field's name in the schema.
    package var name: String
    /// The value; nil when the field is missing.
    package var value: Double?
    /// The unit and the accepted values.
    package var allowed: String

    /// The defect in words, for example `course 325.0 (radians, 0 to 2 pi)`.
    package var description: String { (value.map { "\(name) \($0)" } ?? "no \(name)") + " (\(allowed))" }
}

extension Double {
    /// The largest accepted angle, radians: a full turn plus half a degree, for publishers that round.
    private static let greatestAngle = 2 * .pi + 0.01

    /// Returns the number; nil when it is not finite or is below `least`.
    func known(from least: Double) -> Double? { isFinite && self >= least ? self : nil }

    /// The angle, radians; nil beyond a full turn, which suggests degrees.
    var knownAngle: Double? { abs(self) <= Self.greatestAngle ? self : nil }
}

extension NavMessages.GnssFix {
    /// The lowest accepted altitude, m.
    static let leastAltitude = -20_000.0

    /// The first number that is out of its field's range and therefore not used; NaN and infinity stand for an unknown value.
    package var fieldDefect: FieldDefect? {
        func low(_ name: String, _ value: Double?, from least: Double = 0, _ allowed: String) -> FieldDefect? {
            guard let value, value.isFinite, value.known(from: least) == nil else { return nil }
            return FieldDefect(name: name, value: value, allowed: allowed)
        }
        func turned(_ name: String, _ value: Double?) -> FieldDefect? {
            guard let value, value.isFinite, value.knownAngle == nil else { return nil }
            return FieldDefect(name: name, value: value, allowed: "radians, 0 to 2 pi")
        }
        return turned("course", course) ?? turned("heading", heading) ?? low("speed", speed, "m/s, 0 or more")
            ?? low("horizontal_accuracy_m", horizontalSigma, "m, 0 or more") ?? low("hdop", hdop, "0 or more")
            ?? low("altitude", altitude, from: Self.leastAltitude, "m, -20000 or more")
            ?? low("horizontal_protection_level_m", horizontalProtectionLevelM, "m, 0 or more")
            ?? uncertaintyDefect
    }

    /// The first defect of the values that state the uncertainty of other values.
    private var uncertaintyDefect: FieldDefect? {
        let values: [(name: String, value: Double?, unit: String)] = [
            ("heading_variance", headingVariance, "rad^2"), ("vertical_accuracy_m", verticalAccuracyM, "m"),
            ("speed_accuracy_mps", speedAccuracyMps, "m/s"), ("course_accuracy_rad", courseAccuracyRad, "rad"),
            ("vertical_protection_level_m", verticalProtectionLevelM, "m"),
        ]
        for (name, value, unit) in values {
            guard let value, value.isFinite, value < 0 else { continue }
            return FieldDefect(name: name, value: value, allowed: "\(unit), 0 or more")
        }
        return Self.covarianceDefect(
            "position_covariance", positionCovariance, isKnown: hasPositionCovariance,
            isWhole: positionCovarianceType != .diagonalKnown)
            ?? Self.covarianceDefect("velocity_covariance", velocityCovariance, isKnown: true, isWhole: true)
    }

    /// Returns the first defect of a matrix of three axes.
    ///
    /// - Parameters:
    ///   - isKnown: Whether its values are meaningful.
    ///   - isWhole: Whether the off-diagonal values are meaningful.
    private static func covarianceDefect(
        _ name: String, _ matrix: [Double], isKnown: Bool, isWhole: Bool
    ) -> FieldDefect? {
        guard !matrix.isEmpty else { return nil }
        guard matrix.count == 9 else {
            return FieldDefect(name: "size of \(name)", value: Double(matrix.count), allowed: "9 values or none")
        }
        guard isKnown else { return nil }
        for index in [0, 4, 8] where matrix[index].isFinite && matrix[index] < 0 {
            return FieldDefect(name: "\(name)[\(index)]", value: matrix[index], allowed: "a variance, 0 or more")
        }
        guard isWhole else { return nil }
        for index in matrix.indices where matrix[index].isFinite {
            let (row, column) = (index / 3, index % 3)
            // Some publishers round; NaN and infinity compare as false.
            let most = (matrix[row * 4] * matrix[column * 4]).squareRoot() * 1.001 + 1e-6
            if abs(matrix[index]) > most {
                return FieldDefect(
                    name: "\(name)[\(index)]", value: matrix[index],
                    allowed: "at most the root of both variances' product")
            }
        }
        return nil
    }
}

extension VehicleOdometry {
    /// The first value that is missing or out of its field's range, so that the value or the whole message is not used.
    package var fieldDefect: FieldDefect? {
        guard stampNs != nil else { return FieldDefect(name: "stamp_ns", allowed: "in the message or its header") }
        if let speedMps, !(0..<Odometry.maximumSpeed).contains(speedMps) {
            return FieldDefect(
                name: "speed_mps", value: speedMps, allowed: "m/s, 0 to 150; reverse states the direction")
        }
        // A vehicle without a gyroscope may send NaN.
        if let yawRateRadps, abs(yawRateRadps) >= Odometry.maximumTurnRate {
            return FieldDefect(name: "yaw_rate_radps", value: yawRateRadps, allowed: "rad/s, -5 to 5")
        }
        return nil
    }
}
