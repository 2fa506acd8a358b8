import NavGeo

extension LocalFrame {
    /// Returns the metres between two positions near the frame's origin, without the trigonometry of ``Geodesy``:
    /// within 0.1 % at 5 km.
    @inline(__always)
    func distance(_ first: Coordinate, _ second: Coordinate) -> Double {
        let north = (second.latitude - first.latitude) * metresPerDegreeLatitude
        let east = Geodesy.wrappedLongitude(second.longitude - first.longitude) * metresPerDegreeLongitude
        return (north * north + east * east).squareRoot()
    }
}
