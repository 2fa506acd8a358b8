/// Returns an angle normalised to 0 ..< 360.
func circle(_ degrees: Double) -> Double {
    let rest = abs(degrees) < 360 ? degrees : withoutTurns(degrees)
    return rest < 0 ? rest + 360 : rest
}

/// Returns the remainder of an angle beyond whole turns.
///
/// Not inlined, since the compiler would compute the slow remainder for the many angles that do not need it, too.
@inline(never) func withoutTurns(_ degrees: Double) -> Double { degrees.truncatingRemainder(dividingBy: 360) }

/// Returns the turn from one direction to another, degrees, clockwise positive, −180 ... 180.
func difference(_ first: Double, _ second: Double) -> Double {
    let turn = circle(second - first)
    return turn > 180 ? turn - 360 : turn
}
