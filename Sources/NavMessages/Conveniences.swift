extension Polyline {
    /// The number of points.
    public var count: Int { min(latDeltasE7.count, lonDeltasE7.count) }

    /// Creates a line through points in degrees; coordinates that are out of range or not finite are clamped.
    public init(_ points: some Sequence<(latitude: Double, longitude: Double)>) {
        self.init()
        latDeltasE7.reserveCapacity(points.underestimatedCount)
        lonDeltasE7.reserveCapacity(points.underestimatedCount)
        var last: (lat: Int32, lon: Int32) = (0, 0)
        for point in points {
            let lat = Self.fixed(point.latitude, limit: 90)
            let lon = Self.fixed(point.longitude, limit: 180)
            latDeltasE7.append(lat &- last.lat)
            lonDeltasE7.append(lon &- last.lon)
            last = (lat, lon)
        }
    }

    /// Returns the points in degrees; surplus deltas in one of the columns are ignored.
    public func coordinates() -> [(latitude: Double, longitude: Double)] {
        var out: [(latitude: Double, longitude: Double)] = []
        out.reserveCapacity(count)
        var lat: Int32 = 0
        var lon: Int32 = 0
        for index in 0..<count {
            lat &+= latDeltasE7[index]
            lon &+= lonDeltasE7[index]
            out.append((Double(lat) / 1e7, Double(lon) / 1e7))
        }
        return out
    }

    private static func fixed(_ degrees: Double, limit: Double) -> Int32 {
        guard degrees.isFinite else { return 0 }
        return Int32((min(max(degrees, -limit), limit) * 1e7).rounded())
    }
}

extension Timestamp {
    /// Creates a point in time from nanoseconds since the Unix epoch, UTC.
    public init(nanoseconds: Int64) {
        var (seconds, nanos) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        if nanos < 0 {
            seconds -= 1
            nanos += 1_000_000_000
        }
        self.init(seconds: seconds, nanos: Int32(nanos))
    }

    /// The nanoseconds since the Unix epoch, UTC; `nil` before 1677, after 2262, or when `nanos` is out of range.
    public var nanoseconds: Int64? {
        guard (0..<1_000_000_000).contains(nanos) else { return nil }
        // Counting back from the next second keeps the earliest time representable.
        let back = seconds < 0 && nanos > 0
        let (scaled, overflow) = (back ? seconds + 1 : seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, carry) = scaled.addingReportingOverflow(Int64(nanos) - (back ? 1_000_000_000 : 0))
        return overflow || carry ? nil : sum
    }
}

extension GnssFix {
    /// The time of validity in ns since the Unix epoch, UTC; `nil` when unknown or out of range.
    public var stampNs: Int64? {
        get { timestamp?.nanoseconds }
        set { timestamp = newValue.map { Timestamp(nanoseconds: $0) } }
    }

    /// The name of the receiver: the frame of its antenna, otherwise its source; empty when the fix has neither.
    package var receiverName: String { frameId ?? source ?? "" }

    /// Returns the fix; if it has no time, with the time of its message's header, ns since the Unix epoch.
    public func dated(by headerStamp: Int64) -> GnssFix {
        guard timestamp == nil, headerStamp > 0 else { return self }
        var fix = self
        fix.stampNs = headerStamp
        return fix
    }
}

extension VehicleOdometry {
    /// Returns the odometry; if it has no time, with the time of its message's header, ns since the Unix epoch.
    public func dated(by headerStamp: Int64) -> VehicleOdometry {
        guard stampNs == nil, headerStamp > 0 else { return self }
        var odometry = self
        odometry.stampNs = headerStamp
        return odometry
    }
}
