/// Angle arithmetic. Headings and courses are radians clockwise from true north.
public enum Angle {
    /// Radians per degree.
    public static let radiansPerDegree = Double.pi / 180

    /// Returns `degrees` in radians.
    @inlinable
    public static func radians(_ degrees: Double) -> Double { degrees * radiansPerDegree }

    /// Returns `radians` in degrees.
    @inlinable
    public static func degrees(_ radians: Double) -> Double { radians / radiansPerDegree }

    /// Returns the same direction in 0 ..< 2π; 0 for a value that is not finite.
    @inlinable
    public static func normalised(_ radians: Double) -> Double {
        guard radians.isFinite else { return 0 }
        let turn = 2 * Double.pi
        let remainder = abs(radians) < turn ? radians : radians.truncatingRemainder(dividingBy: turn)
        let positive = remainder < 0 ? remainder + turn : remainder
        return positive >= turn ? 0 : positive
    }

    /// Returns the signed turn from `first` to `second` in −π ... π, clockwise positive.
    @inlinable
    public static func difference(from first: Double, to second: Double) -> Double {
        let turn = normalised(second - first)
        return turn > Double.pi ? turn - 2 * Double.pi : turn
    }

    /// Returns the unsigned angle between two directions in 0 ... π.
    @inlinable
    public static func separation(_ first: Double, _ second: Double) -> Double {
        abs(difference(from: first, to: second))
    }
}
