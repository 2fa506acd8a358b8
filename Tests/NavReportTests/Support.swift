import NavGeo

/// Returns a place in degrees; the schema has a type of the same name.
func place(_ latitude: Double, _ longitude: Double) -> Coordinate {
    Coordinate(latitude: latitude, longitude: longitude)
}
