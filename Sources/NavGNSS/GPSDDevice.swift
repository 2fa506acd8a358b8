internal import NavMessages

/// The reports of one device since its last TPV.
struct GPSDDevice: Sendable {
    /// The time for which a SKY report applies to later TPVs, in ns: gpsd sends one per second, or every five seconds with slow
    /// receivers.
    private static let skyLifetime: Int64 = 10 * UTC.nanosecondsPerSecond

    let name: String?

    private struct Sky {
        var time: Int64?
        var used: UInt32?
        var visible: UInt32?
        var hdop: Double?
        var vdop: Double?
        var pdop: Double?
    }

    private var sky: Sky?
    private var noise: (time: Int64?, north: Double, east: Double, up: Double?)?
    private var heading: Double?

    init(name: String?) { self.name = name }

    mutating func takeSky(_ report: JSONValue) {
        var sky = Sky(time: Self.time(report))
        sky.hdop = Self.dilution(report, "hdop")
        sky.vdop = Self.dilution(report, "vdop")
        sky.pdop = Self.dilution(report, "pdop")
        sky.used = report.natural("uSat").flatMap(UInt32.init(exactly:))
        sky.visible = report.natural("nSat").flatMap(UInt32.init(exactly:))
        // Before release 3.22 the satellites must be counted.
        if case .array(let satellites) = report["satellites"] {
            if sky.visible == nil { sky.visible = UInt32(exactly: satellites.count) }
            if sky.used == nil {
                let used = satellites.filter { if case .bool(true) = $0["used"] { true } else { false } }
                sky.used = UInt32(exactly: used.count)
            }
        } else if sky.used == nil, sky.hdop == nil, sky.visible == nil {
            return
        }
        self.sky = sky
    }

    mutating func takeNoise(_ report: JSONValue) {
        guard let north = Self.deviation(report, "lat"), let east = Self.deviation(report, "lon") else { return }
        noise = (Self.time(report), north, east, Self.deviation(report, "alt"))
    }

    mutating func takeAttitude(_ report: JSONValue) {
        heading = report.number("heading").flatMap(bearingRadians(degrees:))
    }

    mutating func fix(_ report: JSONValue, _ rejections: inout RejectionCounts) -> GnssFix {
        var fix = GnssFix()
        fix.source = name
        let time = Self.time(report)
        fix.timestamp = time.map { .utc(nanoseconds: $0) }
        if time == nil, report["time"] != nil { rejections.count(.badTime) }
        addSky(to: &fix, at: time)
        fix.heading = heading
        heading = nil
        if let jamming = report.natural("jam"), jamming <= 255 {
            fix.metadata.append(KeyValue(key: "gpsd.jam", value: String(jamming)))
        }
        let mode = report.natural("mode") ?? 0
        fix.fixType = Self.fixType(mode: mode, status: report.natural("status"))
        defer { noise = nil }
        guard mode != 1 else { return fix }
        addPosition(report, to: &fix, &rejections)
        addVelocity(report, to: &fix)
        addErrors(report, to: &fix)
        if let noise, noise.time == nil || time == nil || noise.time == time {
            fix.horizontalAccuracyM = Accuracy.radius68(sigmaNorth: noise.north, sigmaEast: noise.east)
            if let up = noise.up {
                fix.verticalAccuracyM = up
                fix.positionCovariance = Accuracy.diagonal(east: noise.east, north: noise.north, up: up)
                fix.positionCovarianceType = .diagonalKnown
            }
        }
        return fix
    }

    private func addSky(to fix: inout GnssFix, at time: Int64?) {
        guard let sky else { return }
        if let skyTime = sky.time, let time {
            let (age, overflow) = time.subtractingReportingOverflow(skyTime)
            guard !overflow, (-Self.skyLifetime...Self.skyLifetime).contains(age) else { return }
        }
        fix.satellitesUsed = sky.used
        fix.satellitesVisible = sky.visible
        fix.hdop = sky.hdop
        fix.vdop = sky.vdop
        fix.pdop = sky.pdop
    }

    private func addPosition(_ report: JSONValue, to fix: inout GnssFix, _ rejections: inout RejectionCounts) {
        if let latitude = report.number("lat"), let longitude = report.number("lon") {
            if (-90...90).contains(latitude), (-180...180).contains(longitude) {
                fix.latitude = latitude
                fix.longitude = longitude
            } else {
                rejections.count(.outOfRange)
            }
        }
        // "alt" is deprecated since 3.20; before, it was above mean sea level.
        if let ellipsoid = report.number("altHAE") {
            fix.altitude = ellipsoid
            fix.altitudeDatum = .ellipsoid
        } else if let level = report.number("altMSL") ?? report.number("alt") {
            fix.altitude = level
            fix.altitudeDatum = .meanSeaLevel
        }
        fix.geoidSeparationM = report.number("geoidSep")
        fix.differentialAgeS = report.number("dgpsAge").flatMap { $0 >= 0 ? $0 : nil }
    }

    private func addVelocity(_ report: JSONValue, to fix: inout GnssFix) {
        fix.speed = report.number("speed").flatMap { $0 >= 0 ? $0 : nil }
        fix.course = report.number("track").flatMap(bearingRadians(degrees:))
        fix.velocityEastMps = report.number("velE")
        fix.velocityNorthMps = report.number("velN")
        fix.velocityUpMps = report.number("velD").map { -$0 } ?? report.number("climb")
    }

    /// Adds the error estimates, taken as standard deviations, and as 68 % in the plane.
    ///
    /// Since 3.20 gpsd declares their confidence level unknown: values computed by the daemon from the dilutions are 95 %
    /// values, and values from a receiver are passed through, usually 68 %. At worst the accuracy is understated 1.6 to 2
    /// times.
    private func addErrors(_ report: JSONValue, to fix: inout GnssFix) {
        fix.horizontalAccuracyM = Self.deviation(report, "eph")
        fix.verticalAccuracyM = Self.deviation(report, "epv")
        fix.speedAccuracyMps = Self.deviation(report, "eps")
        fix.courseAccuracyRad = Self.deviation(report, "epd").map { $0 * .pi / 180 }
        if fix.horizontalAccuracyM == nil, let east = Self.deviation(report, "epx"),
            let north = Self.deviation(report, "epy")
        {
            fix.horizontalAccuracyM = Accuracy.radius68(sigmaNorth: north, sigmaEast: east)
        }
    }

    /// Returns the fix type of a mode: 0 not seen, 1 none, 2 two dimensions, 3 three; and a status: 2 differential, 3 RTK
    /// fixed, 4 RTK float, 5 dead reckoning, 6 GNSS and dead reckoning, 7 surveyed, 8 simulated.
    private static func fixType(mode: Int, status: Int?) -> FixType? {
        guard mode >= 2 else { return mode == 1 ? .noFix : nil }
        switch status {
        case 2: return .differential
        case 3: return .rtkFixed
        case 4: return .rtkFloat
        case 5: return .deadReckoning
        case 6: return .gnssDeadReckoning
        case 7: return .manual
        case 8: return .simulated
        default: return mode == 2 ? .twoD : .threeD
        }
    }

    private static func time(_ report: JSONValue) -> Int64? {
        report.string("time").flatMap { UTC.iso8601(Array($0.utf8)[...]) }
    }

    private static func dilution(_ report: JSONValue, _ key: String) -> Double? {
        report.number(key).flatMap { $0 > 0 && $0 < 99 ? $0 : nil }
    }

    private static func deviation(_ report: JSONValue, _ key: String) -> Double? {
        report.number(key).flatMap { $0 >= 0 ? $0 : nil }
    }
}
