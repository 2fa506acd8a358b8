package import NavMessages
import NavPositioning

/// A value of a message that is not used, because it is missing or out of its range.
package struct FieldDefect: Sendable, Hashable, CustomStringConvertible {
    /// The field's name in the schema.
    package var name: String
    /// The value; nil when the field is missing.
    package var value: Double?
    /// The unit and the values that are used.
    package var allowed: String

    /// The defect in words, for example `course 325.0 (radians, 0 to 2 pi)`.
    package var description: String { (value.map { "\(name) \($0)" } ?? "no \(name)") + " (\(allowed))" }
}

extension Double {
    /// The greatest angle in use, radians: a full turn and half a degree, for publishers that round.
    private static let greatestAngle = 2 * .pi + 0.01

    /// Returns the number; nil when it is not finite or below the least possible value.
    func known(from least: Double) -> Double? { isFinite && self >= least ? self : nil }

    /// The angle, radians; nil beyond a full turn, as angles in degrees are.
    var knownAngle: Double? { abs(self) <= Self.greatestAngle ? self : nil }
}

extension NavMessages.GnssFix {
    /// The least altitude in use, m.
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
    }
}

extension VehicleOdometry {
    /// The first value that is missing or out of its field's range, so that it or all of the message is not used.
    package var fieldDefect: FieldDefect? {
        guard stampNs != nil else { return FieldDefect(name: "stamp_ns", allowed: "in the message or its header") }
        if let speedMps, !(0..<Odometry.maximumSpeed).contains(speedMps) {
            return FieldDefect(
                name: "speed_mps", value: speedMps, allowed: "m/s, 0 to 150; reverse gives the direction")
        }
        // A vehicle without a gyroscope may send NaN.
        if let yawRateRadps, abs(yawRateRadps) >= Odometry.maximumTurnRate {
            return FieldDefect(name: "yaw_rate_radps", value: yawRateRadps, allowed: "rad/s, -5 to 5")
        }
        return nil
    }
}
