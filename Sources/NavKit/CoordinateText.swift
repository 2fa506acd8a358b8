public import NavGeo

extension Coordinate {
    /// Parses a position in the form `LAT,LON`, in degrees; nil for any other text.
    public init?(text: String) {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map {
            Double($0.trimmingPrefix(while: { $0 == " " }))
        }
        guard parts.count == 2, let latitude = parts[0], let longitude = parts[1] else { return nil }
        self.init(latitude: latitude, longitude: longitude)
        guard isValid else { return nil }
    }

    /// The position as `LAT,LON`, in degrees.
    public var text: String { "\(latitude),\(longitude)" }
}
