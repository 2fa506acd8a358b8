import NavGeo
import NavKit
import NavMatching
import NavMessages
import NavRecording
import NavReplay
import NavWire
import NavigationNode
import Testing

/// Conversion of fixes between the bus and the core.
struct FixConversionTests {
    @Test func coreFixesSurviveTheRoundTrip() throws {
        for type in FixType.allCases where type != .noFix {
            let fix = Fix(
                stamp: Timestamp(nanoseconds: 1_767_258_000_123_456_789),
                coordinate: Coordinate(latitude: -33.5, longitude: 179.999), horizontalSigma: 2.5, speed: 13.25,
                course: 6.25, heading: 0.5, hdop: 0.9, altitude: -12, type: type, sequence: 7)
            #expect(Fix(GnssFix(fix), sequence: 7) == fix)
        }
    }

    @Test func unknownValuesStayAbsent() throws {
        let bare = Fix(
            stamp: Timestamp(nanoseconds: 5), coordinate: Coordinate(latitude: .nan, longitude: .nan), type: .noFix)
        let message = GnssFix(bare)
        #expect(message == GnssFix(timestamp: NavMessages.Timestamp(nanoseconds: 5), fixType: .noFix))
        let back = try #require(Fix(message, sequence: nil))
        #expect(!back.isUsable && back.type == .noFix && back.sequence == nil)
        #expect(back.horizontalSigma == nil && back.speed == nil && back.course == nil && back.altitude == nil)

        // A position alone is valid, with an unknown fix type.
        let place = try #require(Fix(GnssFix(latitude: 1, longitude: 2, timestamp: .init(nanoseconds: 0)), sequence: 1))
        #expect(place.isUsable && place.type == .unknown)
        // A latitude or longitude alone is not a position.
        let half = try #require(Fix(GnssFix(latitude: 1, timestamp: .init(nanoseconds: 0)), sequence: 1))
        #expect(!half.isUsable)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, -1e9, 1e300])
    func outOfRangeValuesBecomeUnknown(value: Double) throws {
        let fix = try #require(
            Fix(
                GnssFix(
                    latitude: 1, longitude: 2, altitude: value, timestamp: .init(nanoseconds: 0), heading: value,
                    speed: value, course: value, hdop: value, horizontalAccuracyM: value), sequence: 1))
        #expect(fix.heading == nil && fix.course == nil)
        let others = [fix.altitude, fix.speed, fix.hdop, fix.horizontalSigma, fix.protectionLevel]
        #expect(others.allSatisfy { $0.map { $0.isFinite && $0 >= 0 } ?? true })
        let back = GnssFix(fix)
        #expect(
            back.course == nil
                && [back.speed, back.horizontalAccuracyM, back.altitude].allSatisfy { $0?.isFinite ?? true })
    }

    @Test(arguments: [Int64.min, -1_500_000_001, -1, 0, 1, .max])
    func everyStampSurvivesTheRoundTrip(nanoseconds: Int64) throws {
        let fix = Fix(
            stamp: Timestamp(nanoseconds: nanoseconds), coordinate: Coordinate(latitude: 0, longitude: 0))
        #expect(Fix(GnssFix(fix), sequence: nil)?.stamp.nanoseconds == nanoseconds)
    }

    @Test func messageWithoutTimeIsNotAFix() {
        #expect(Fix(GnssFix(latitude: 1, longitude: 2), sequence: 1) == nil)
        let impossible = NavMessages.Timestamp(seconds: 1, nanos: 2_000_000_000)
        #expect(Fix(GnssFix(latitude: 1, longitude: 2, timestamp: impossible), sequence: 1) == nil)
        let beyond = NavMessages.Timestamp(seconds: .max, nanos: 0)
        #expect(Fix(GnssFix(latitude: 1, longitude: 2, timestamp: beyond), sequence: 1) == nil)
    }

    /// The σ per axis is the root of the mean of the east and north variances.
    @Test func covarianceTakesPrecedenceOverAccuracy() {
        var message = GnssFix(latitude: 1, longitude: 2, timestamp: .init(nanoseconds: 0), horizontalAccuracyM: 9)
        func sigma() -> Double? { Fix(message, sequence: nil)?.horizontalSigma }
        #expect(sigma() == 9)
        message.positionCovariance = [1, 0, 0, 0, 7, 0, 0, 0, 25]
        #expect(sigma() == 9, "a covariance of unknown type")
        message.positionCovarianceType = .diagonalKnown
        #expect(sigma() == 2)
        message.positionCovariance = [1, 0, 0, 0]
        #expect(sigma() == 9, "a covariance with four of nine values")
        for bad in [Double.nan, -9, .infinity] {
            message.positionCovariance = [bad, 0, 0, 0, bad, 0, 0, 0, 1]
            #expect(sigma() == 9, "a variance of \(bad)")
        }
    }

    @Test func missingSpeedAndCourseAreDerivedFromVelocity() throws {
        var message = GnssFix(latitude: 1, longitude: 2, timestamp: .init(nanoseconds: 0))
        message.velocityEastMps = 3
        message.velocityNorthMps = -3
        let fix = try #require(Fix(message, sequence: nil))
        #expect(abs((fix.speed ?? 0) - 18.0.squareRoot()) < 1e-9)
        #expect(abs((fix.course ?? 0) - 0.75 * .pi) < 0.01)
        message.speed = 1
        message.course = 2
        let told = try #require(Fix(message, sequence: nil))
        #expect(told.speed == 1 && told.course == 2)
        (message.velocityEastMps, message.velocityNorthMps, message.speed, message.course) = (0, 0, nil, nil)
        let standing = try #require(Fix(message, sequence: nil))
        #expect(standing.speed == 0 && standing.course == nil)
    }

    @Test func anglesBeyondATurnAreUnknown() {
        func course(_ angle: Double) -> Double? {
            let message = GnssFix(latitude: 1, longitude: 2, timestamp: .init(nanoseconds: 0), course: angle)
            return Fix(message, sequence: nil)?.course
        }
        for angle in [0, 1, 6.29, -1, -2 * .pi] { #expect(course(angle) == angle) }
        for angle in [7, 10, 25, 325, -7, 1e300, .infinity, .nan] { #expect(course(angle) == nil, "\(angle)") }
    }

    @Test func valuesOutOfRangeAreReported() {
        var message = GnssFix(latitude: 1, longitude: 2, timestamp: .init(nanoseconds: 0), speed: 3, course: 6.29)
        (message.hdop, message.horizontalAccuracyM, message.heading) = (0, 0, .nan)
        #expect(message.fieldDefect == nil)
        message.horizontalAccuracyM = -4
        #expect(message.fieldDefect?.description == "horizontal_accuracy_m -4.0 (m, 0 or more)")
        message.speed = -3
        #expect(message.fieldDefect?.description == "speed -3.0 (m/s, 0 or more)")
        message.course = 325
        #expect(message.fieldDefect?.description == "course 325.0 (radians, 0 to 2 pi)")
        for unknown in [Double.nan, .infinity] {
            let message = GnssFix(
                altitude: unknown, heading: unknown, speed: unknown, course: unknown, hdop: unknown,
                horizontalAccuracyM: unknown)
            #expect(message.fieldDefect == nil)
        }
    }

    @Test func impossibleUncertaintiesAreReported() {
        func defect(
            _ covariance: [Double], _ type: PositionCovarianceType? = .known, velocity: [Double] = []
        ) -> String? {
            var message = GnssFix(latitude: 1, longitude: 2, timestamp: .init(nanoseconds: 0))
            (message.positionCovariance, message.positionCovarianceType) = (covariance, type)
            message.velocityCovariance = velocity
            return message.fieldDefect?.description
        }
        let usual: [Double] = [4, -1, 0, -1, 9, 0, 0, 0, 16]
        #expect(
            defect([]) == nil && defect(usual, velocity: usual) == nil && defect(Array(repeating: 0, count: 9)) == nil)
        // Values that mean "unknown", and values that this covariance type leaves out.
        #expect(defect([.nan, .nan, 0, .nan, .infinity, 0, 0, 0, .nan]) == nil)
        #expect(defect([-1, 0, 0, 0, 0, 0, 0, 0, 0], .unspecified) == nil)
        #expect(defect([-1, 0, 0, 0, 0, 0, 0, 0, 0], nil) == nil)
        let tilted: [Double] = [1, 5_000, 0, 5_000, 1, 0, 0, 0, 1]
        #expect(defect(tilted, .diagonalKnown) == nil)
        #expect(defect(tilted) == "position_covariance[1] 5000.0 (at most the root of both variances' product)")
        #expect(defect(Array(usual.dropLast())) == "size of position_covariance 8.0 (9 values or none)")
        #expect(defect([4, 0, 0, 0, -9, 0, 0, 0, 1]) == "position_covariance[4] -9.0 (a variance, 0 or more)")
        #expect(defect(usual, velocity: [1]) == "size of velocity_covariance 1.0 (9 values or none)")
        var message = GnssFix(latitude: 1, longitude: 2, headingVariance: -1)
        #expect(message.fieldDefect?.name == "heading_variance")
        (message.headingVariance, message.speedAccuracyMps) = (.nan, -1)
        #expect(message.fieldDefect?.description == "speed_accuracy_mps -1.0 (m/s, 0 or more)")
    }

    @Test func unusedOdometryIsReported() {
        #expect(VehicleOdometry(stampNs: 1, speedMps: 0, yawRateRadps: .nan).fieldDefect == nil)
        #expect(VehicleOdometry(stampNs: 1, yawRateRadps: -1, standstill: true).fieldDefect == nil)
        let names = [
            VehicleOdometry(speedMps: 5), VehicleOdometry(stampNs: 1, speedMps: -5),
            VehicleOdometry(stampNs: 1, speedMps: .nan), VehicleOdometry(stampNs: 1, speedMps: 5, yawRateRadps: 40),
        ].map { $0.fieldDefect?.name }
        #expect(names == ["stamp_ns", "speed_mps", "speed_mps", "yaw_rate_radps"])
        #expect(VehicleOdometry(speedMps: 5).dated(by: 7).stampNs == 7)
        #expect(VehicleOdometry(stampNs: 1).dated(by: 7).stampNs == 1 && VehicleOdometry().dated(by: 0).stampNs == nil)
    }

    @Test func extremeNumbersDoNotTrap() {
        let numbers = [Double.nan, .infinity, -.infinity, .greatestFiniteMagnitude, -1e300, .leastNonzeroMagnitude, 0]
        for value in numbers {
            var message = GnssFix(
                latitude: value, longitude: value, altitude: value, timestamp: .init(nanoseconds: 0), heading: value,
                hdop: value, horizontalAccuracyM: value)
            message.velocityEastMps = value
            message.velocityNorthMps = -value
            message.positionCovarianceType = .known
            message.positionCovariance = Array(repeating: value, count: 9)
            let fix = Fix(message, sequence: .max)
            #expect(fix != nil)
            if let fix, !value.isFinite || abs(value) > 90 { #expect(!fix.isUsable) }
        }
    }
}
