/// A Hilbert curve over the whole world with centimetre resolution, which orders positions by locality.
public enum HilbertCurve {
    /// Returns a position's index on the curve; positions near on the curve are near on the ground.
    ///
    /// Hamilton's bitwise form of Hilbert's construction over the two 32-bit coordinates.
    public static func index(of position: FixedCoordinate) -> UInt64 {
        var x = UInt32(bitPattern: position.longitudeE7) ^ 0x8000_0000
        var y = UInt32(bitPattern: position.latitudeE7) ^ 0x8000_0000
        var index: UInt64 = 0
        var bit = UInt32(1) << 31
        while bit > 0 {
            let right: UInt32 = x & bit == 0 ? 0 : 1
            let upper: UInt32 = y & bit == 0 ? 0 : 1
            index = index << 2 | UInt64((3 * right) ^ upper)
            if upper == 0 {
                if right == 1 {
                    x = ~x
                    y = ~y
                }
                swap(&x, &y)
            }
            bit >>= 1
        }
        return index
    }
}
