internal import Glibc
internal import NavMessages

/// The sentences of one measurement time that have arrived so far.
struct NMEAEpoch: Sendable {
    /// The kinds of sentences that state whether there is a solution.
    enum Solution: UInt8, Comparable {
        case gll, rmc, gns, gga

        static func < (a: Solution, b: Solution) -> Bool { a.rawValue < b.rawValue }
    }

    /// The UTC time of day in ns, as in the sentences.
    var nanosecondOfDay: Int64?
    /// The days since 1970-01-01, if a sentence carries a date.
    var days: Int64?
    /// The sentences seen that occur only once in an epoch, by talker and kind.
    var seen: [UInt64] = []
    var isValid = false
    var isVoid = false
    private var position: (latitude: Double, longitude: Double, from: Solution)?
    /// Quality indicator of GGA, 0 to 9.
    var quality: Int?
    /// The best mode indicator of RMC, GNS, GLL or VTG; see ``setMode(_:)``.
    var mode: UInt8?
    /// The largest navigation mode of GSA: 1 none, 2 two dimensions, 3 three.
    var dimensions: Int?
    var altitude: Double?
    var geoidSeparation: Double?
    var satellitesUsed: Int?
    var satellitesListed = 0
    /// The satellites in view by talker: the largest number that each talker reported.
    private var visible: [(talker: UInt16, count: Int)] = []
    var hdop: Double?
    var vdop: Double?
    var pdop: Double?
    var speed: Double?
    var course: Double?
    var heading: Double?
    var differentialAge: Double?
    /// The standard deviations of latitude, longitude and altitude in m.
    var sigma: (north: Double, east: Double, up: Double?)?
    var integrity: IntegrityStatus?

    /// Whether any sentence states whether there is a solution.
    var hasSolution: Bool { isValid || isVoid }

    mutating func setPosition(_ latitude: Double, _ longitude: Double, from kind: Solution) {
        if let position, position.from >= kind { return }
        position = (latitude, longitude, kind)
    }

    mutating func setVisible(_ count: Int, talker: UInt16) {
        if let at = visible.firstIndex(where: { $0.talker == talker }) {
            visible[at].count = max(visible[at].count, count)
        } else if visible.count < 16 {
            visible.append((talker, count))
        }
    }

    /// Keeps the most informative mode indicator: a correction rather than plain autonomous.
    mutating func setMode(_ indicator: UInt8) {
        let order = Array("NASMEPDFR".utf8)
        let rank = order.firstIndex(of: indicator) ?? -1
        if rank > (mode.flatMap { order.firstIndex(of: $0) } ?? -1) { mode = indicator }
    }

    /// Returns the fix of the epoch, without its stamp.
    func fix() -> GnssFix {
        var fix = GnssFix()
        let satellites = satellitesUsed ?? (satellitesListed > 0 ? satellitesListed : nil)
        fix.satellitesUsed = satellites.flatMap(UInt32.init(exactly:))
        if !visible.isEmpty { fix.satellitesVisible = UInt32(exactly: visible.reduce(0) { $0 &+ $1.count }) }
        fix.hdop = hdop
        fix.vdop = vdop
        fix.pdop = pdop
        fix.heading = heading
        fix.integrity = integrity
        guard !isVoid else {
            fix.fixType = .noFix
            return fix
        }
        fix.fixType = fixType
        fix.latitude = position?.latitude
        fix.longitude = position?.longitude
        if let altitude {
            fix.altitude = altitude
            fix.altitudeDatum = .meanSeaLevel
        }
        fix.geoidSeparationM = geoidSeparation
        fix.speed = speed
        fix.course = course
        fix.differentialAgeS = differentialAge
        if let sigma {
            fix.horizontalAccuracyM = Accuracy.radius68(sigmaNorth: sigma.north, sigmaEast: sigma.east)
            fix.verticalAccuracyM = sigma.up
            if let up = sigma.up {
                fix.positionCovariance = Accuracy.diagonal(east: sigma.east, north: sigma.north, up: up)
                fix.positionCovarianceType = .diagonalKnown
            }
        }
        return fix
    }

    private var fixType: FixType {
        switch quality {
        case 2, 9: return .differential
        case 4: return .rtkFixed
        case 5: return .rtkFloat
        case 6: return .deadReckoning
        case 7: return .manual
        case 8: return .simulated
        default: break
        }
        switch mode {
        case UInt8(ascii: "D"): return .differential
        case UInt8(ascii: "E"): return .deadReckoning
        case UInt8(ascii: "F"): return .rtkFloat
        case UInt8(ascii: "R"): return .rtkFixed
        case UInt8(ascii: "M"): return .manual
        case UInt8(ascii: "S"): return .simulated
        default: break
        }
        if let dimensions, dimensions > 1 { return dimensions == 3 ? .threeD : .twoD }
        return altitude == nil ? .twoD : .threeD
    }
}
