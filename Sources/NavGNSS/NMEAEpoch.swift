internal import Glibc
internal import NavMessages

/// The sentences of one measurement time, as far as they have come.
struct NMEAEpoch: Sendable {
    /// Kinds of sentences that say whether there is a solution.
    enum Solution: UInt8, Comparable {
        case gll, rmc, gns, gga

        static func < (a: Solution, b: Solution) -> Bool { a.rawValue < b.rawValue }
    }

    /// UTC time of the day in ns, as the sentences carry it.
    var nanosecondOfDay: Int64?
    /// Days since 1970-01-01, where a sentence carries a date.
    var days: Int64?
    /// Sentences that may occur once in an epoch, by talker and kind.
    var seen: [UInt64] = []
    var isValid = false
    var isVoid = false
    private var position: (latitude: Double, longitude: Double, from: Solution)?
    /// Quality indicator of GGA, 0 to 9.
    var quality: Int?
    /// Mode indicators of RMC, GNS, GLL or VTG, best first in `modeOrder`.
    var mode: UInt8?
    /// Largest navigation mode of GSA: 1 none, 2 two dimensions, 3 three.
    var dimensions: Int?
    var altitude: Double?
    var geoidSeparation: Double?
    var satellitesUsed: Int?
    var satellitesListed = 0
    /// Satellites in view by talker; the largest number that a talker told.
    private var visible: [(talker: UInt16, count: Int)] = []
    var hdop: Double?
    var vdop: Double?
    var pdop: Double?
    var speed: Double?
    var course: Double?
    var heading: Double?
    var differentialAge: Double?
    /// Standard deviations of latitude, longitude and altitude in m.
    var sigma: (north: Double, east: Double, up: Double?)?
    var integrity: IntegrityStatus?

    /// Whether any sentence told if there is a solution.
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

    /// Keeps the mode indicator that says most: a correction over plain autonomous.
    mutating func setMode(_ indicator: UInt8) {
        let order = Array("NASMEPDFR".utf8)
        let rank = order.firstIndex(of: indicator) ?? -1
        if rank > (mode.flatMap { order.firstIndex(of: $0) } ?? -1) { mode = indicator }
    }

    /// The fix that the epoch amounts to, without its stamp.
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

/// Conversions between measures of accuracy.
enum Accuracy {
    /// Radius that holds 68 % of a two-dimensional normal distribution, exact for equal deviations: a Rayleigh
    /// quantile, `sqrt(-2 ln 0.32) = 1.51` deviations. For unequal ones their root mean square is taken.
    static func radius68(sigmaNorth: Double, sigmaEast: Double) -> Double {
        (-log(0.32) * (sigmaNorth * sigmaNorth + sigmaEast * sigmaEast)).squareRoot()
    }

    /// Nine values, east, north, up, row-major, in m^2.
    static func diagonal(east: Double, north: Double, up: Double) -> [Double] {
        [east * east, 0, 0, 0, north * north, 0, 0, 0, up * up]
    }
}
