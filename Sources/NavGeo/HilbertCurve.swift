/// An order of places in which neighbours are near: a Hilbert curve over the whole world, a centimetre fine.
public enum HilbertCurve {
    /// The place of a position along the curve: what is near on the curve is near on the ground.
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
