public import NavGeo

extension Coordinate {
    /// A position from `LAT,LON` in degrees; nil for anything else.
    public init?(text: String) {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map {
            Double($0.trimmingPrefix(while: { $0 == " " }))
        }
        guard parts.count == 2, let latitude = parts[0], let longitude = parts[1] else { return nil }
        self.init(latitude: latitude, longitude: longitude)
        guard isValid else { return nil }
    }

    /// `LAT,LON` in degrees.
    public var text: String { "\(latitude),\(longitude)" }
}
