import Foundation
import NavBag
import NavBagFormats
import NavMessages
import Testing

/// ROS messages converted to messages of navbus.
struct ImportTests {
    private static let fixType = "sensor_msgs/msg/NavSatFix"
    private static let twistType = "geometry_msgs/msg/TwistStamped"

    private func odometry(_ records: [Record]) throws -> [VehicleOdometry] {
        try records.filter { $0.channel.topic == "/vehicle/odometry" }.map {
            try VehicleOdometry(decoding: Array($0.data))
        }
    }

    private func fixes(_ records: [Record]) throws -> [GnssFix] {
        try records.filter { $0.channel.topic == "/gnss/fix" }.map { try GnssFix(decoding: Array($0.data)) }
    }

    @Test(arguments: [("cdr", false), ("cdr", true), ("ros1", false)])
    func aFixIsTheSameInEveryEncoding(encoding: String, bigEndian: Bool) throws {
        let data = ROSBytes.fix(1_700_000_000, 60.25, frame: "gps0", cdr: encoding == "cdr", bigEndian: bigEndian)
        let found = try fixes(drain(ROSImport(Listed([("/fix", Self.fixType, data)], encoding: encoding))).records)
        let expected = GnssFix(
            latitude: 60.25, longitude: 24.5, altitude: 12.25, positionCovariance: [4, 0, 0, 0, 4, 0, 0, 0, 9],
            positionCovarianceType: .diagonalKnown,
            timestamp: Timestamp(seconds: 1_700_000_000, nanos: 250_000_000), frameId: "gps0",
            altitudeDatum: .ellipsoid)
        #expect(found == [expected])
    }

    @Test(arguments: [true, false])
    func velocityInTheFrameOfTheFixBelongsToIt(velocityFirst: Bool) throws {
        let fix = { (n: UInt32) in ("/fix", Self.fixType, ROSBytes.fix(n, 60, cdr: true)) }
        let velocity = { (n: UInt32) in
            ("/vel", Self.twistType, ROSBytes.twist(n, [3, -4, 0, 0, 0, 0], frame: "gps", cdr: true))
        }
        let messages = (1...3).flatMap { velocityFirst ? [velocity($0), fix($0)] : [fix($0), velocity($0)] }
        let (records, failures) = drain(ROSImport(Listed(messages)))
        let found = try fixes(records)
        #expect(failures == 0 && records.count == 3 && found.map { $0.timestamp?.seconds } == [1, 2, 3])
        #expect(found.allSatisfy { $0.speed == 5 && $0.velocityEastMps == 3 && $0.velocityNorthMps == -4 })
        #expect(found.allSatisfy { abs(($0.course ?? 0) - atan2(3, -4)) < 1e-12 })
    }

    @Test func otherVelocitiesAreOdometry() throws {
        var imu = ROSBytes(cdr: true)
        imu.header(9, 0, "imu")
        imu.add([0, 0, 0, 1] + [Double](repeating: 0, count: 9) + [0, 0, 0.25] + [0, 0, 0, 0, 0, 0, 0, 0, 0.01])
        imu.add([1.5, 0, 9.8] + [-1] + [Double](repeating: 0, count: 8))
        var odometry = ROSBytes(cdr: true)
        odometry.header(10, 0, "odom")
        odometry.add("base_link")
        odometry.add([Double](repeating: 0, count: 43) + [-2, 0, 0, 0, 0, 0.5])
        odometry.add([0.04] + [Double](repeating: 0, count: 34) + [0.09])
        let (records, _) = drain(
            ROSImport(
                Listed([
                    ("/vel", Self.twistType, ROSBytes.twist(8, [7, 0, 0, 0, 0, -0.1], frame: "base_link", cdr: true)),
                    ("/fix", Self.fixType, ROSBytes.fix(8, 60, cdr: true)),
                    ("/imu", "sensor_msgs/msg/Imu", imu.message),
                    ("/odom", "nav_msgs/msg/Odometry", odometry.message),
                    ("/chatter", "std_msgs/msg/String", [0, 1, 0, 0, 0]),
                ])))
        let found = try self.odometry(records)
        #expect(found.count == 3)
        #expect(found.first?.speedMps == 7 && found.first?.yawRateRadps == -0.1)
        #expect(found[1].speedMps == nil && found[1].yawRateRadps == 0.25 && found[1].yawRateSigmaRadps == 0.1)
        #expect(found[1].accelerationMps2 == nil, "a covariance of -1 means no measurement")
        #expect(found[2].speedMps == 2 && found[2].reverse == true && found[2].speedSigmaMps == 0.2)
        #expect(found[2].yawRateSigmaRadps == 0.3)
    }

    @Test func messagesWithoutAStampGetTheTimeOfTheirRecording() throws {
        var imu = ROSBytes(cdr: true)
        imu.header(0, 0, "imu")
        imu.add([0, 0, 0, 1] + [Double](repeating: 0, count: 9) + [0, 0, 0.25] + [Double](repeating: 0, count: 9))
        imu.add([Double](repeating: 0, count: 12))
        let messages = [
            ("/fix", Self.fixType, ROSBytes.fix(0, 60, nanoseconds: 0, cdr: true)),
            ("/imu", "sensor_msgs/msg/Imu", imu.message),
        ]
        let (records, _) = drain(ROSImport(Listed(messages)))
        #expect(try fixes(records).map(\.timestamp) == [nil] && odometry(records).map(\.stampNs) == [nil])
        #expect(records.map(\.publishTime) == [0, 1])
    }

    @Test func matchedPositionsOfANodeAreNotFixes() throws {
        let importing = ROSImport(
            Listed([
                ("/fix", Self.fixType, ROSBytes.fix(1, 60, cdr: true)),
                ("/nav/position", Self.fixType, ROSBytes.fix(1, 61, frame: "map_matched", cdr: true)),
            ]))
        let found = try fixes(drain(importing).records)
        #expect(found.map(\.latitude) == [60])
        #expect(
            importing.tally.lines == [
                "/fix: 1 messages became /gnss/fix of the receiver 'gps'",
                "left out: 1 messages of /nav/position (matched positions of a navigation node, not fixes of a receiver)",
            ])
    }

    @Test func receiversOfOneFrameAreNamedByTopic() throws {
        let messages = (1...3 as ClosedRange<UInt32>).flatMap { second in
            [
                ("/front/fix", Self.fixType, ROSBytes.fix(second, 60, cdr: true)),
                ("/front/vel", Self.twistType, ROSBytes.twist(second, [3, 4, 0, 0, 0, 0], frame: "gps", cdr: true)),
                ("/rear/fix", Self.fixType, ROSBytes.fix(second, 61, cdr: true)),
                ("/roof/fix", Self.fixType, ROSBytes.fix(second, 62, frame: "roof", cdr: true)),
            ]
        }
        let importing = ROSImport(Listed(messages))
        let found = try fixes(drain(importing).records)
        #expect(found.map(\.frameId) == Array(repeating: ["gps", nil, "roof"], count: 3).flatMap { $0 })
        #expect(found.map(\.source) == Array(repeating: [nil, "/rear/fix", nil], count: 3).flatMap { $0 })
        #expect(found.map(\.speed) == Array(repeating: [5, nil, nil], count: 3).flatMap { $0 })
        #expect(
            importing.tally.lines == [
                "/front/fix: 3 messages became /gnss/fix of the receiver 'gps'",
                "/front/vel: 3 messages became velocities of the fixes",
                "/rear/fix: 3 messages became /gnss/fix of the receiver '/rear/fix'",
                "/roof/fix: 3 messages became /gnss/fix of the receiver 'roof'",
            ])
    }

    /// Each letter is a message: f and v are a receiver's fix and velocity, r is another receiver's fix, w is odometry.
    @Test(arguments: ["fvr", "frv", "rfv", "rvf", "vfr", "vrf", "wvrf", "vwrf", "frwv"], ["gps", "rear"])
    func velocityBelongsToItsFixInAnyOrder(order: String, rearFrame: String) throws {
        let messages = (1...3 as ClosedRange<UInt32>).flatMap { second in
            order.map { letter in
                switch letter {
                case "f": ("/gps/fix", Self.fixType, ROSBytes.fix(second, 60, cdr: true))
                case "r": ("/rear/fix", Self.fixType, ROSBytes.fix(second + 100, 61, frame: rearFrame, cdr: true))
                case "v":
                    ("/vel", Self.twistType, ROSBytes.twist(second, [3, -4, 0, 0, 0, 0], frame: "gps", cdr: true))
                default:
                    ("/wheels", Self.twistType, ROSBytes.twist(second, [7, 0, 0, 0, 0, 0], frame: "base", cdr: true))
                }
            }
        }
        let (records, failures) = drain(ROSImport(Listed(messages)))
        let found = try fixes(records)
        #expect(failures == 0 && found.count == 6)
        #expect(found.filter { $0.latitude == 60 }.map(\.speed) == [5, 5, 5])
        #expect(found.filter { $0.latitude == 61 }.map(\.speed) == [nil, nil, nil])
        #expect(try odometry(records).map(\.speedMps) == (order.contains("w") ? [7, 7, 7] : []))
        #expect(records.map(\.logTime) == records.map(\.logTime).sorted())
    }

    @Test func everyMessageIsCountedOnce() throws {
        let twist = { (second: UInt32, frame: String) in
            ROSBytes.twist(second, [3, 4, 0, 0, 0, 0], frame: frame, cdr: true)
        }
        let importing = ROSImport(
            Listed([
                ("/fix", Self.fixType, ROSBytes.fix(1, 60, cdr: true)),
                // Velocities whose fix does not arrive, in the middle and at the end.
                ("/vel", Self.twistType, twist(2, "gps")), ("/fix", Self.fixType, ROSBytes.fix(3, 60, cdr: true)),
                ("/vel", Self.twistType, twist(3, "gps")), ("/wheels", Self.twistType, twist(3, "base_link")),
                ("/vel", Self.twistType, twist(4, "gps")), ("/vel", Self.twistType, twist(5, "gps")),
            ]))
        let (records, failures) = drain(importing)
        #expect(failures == 0 && records.count == 3)
        #expect(
            importing.tally.lines == [
                "/fix: 2 messages became /gnss/fix of the receiver 'gps'",
                "/vel: 1 messages became velocities of the fixes",
                "/wheels: 1 messages became /vehicle/odometry",
                "left out: 3 messages of /vel (velocities without a fix of their time)",
            ])
    }

    @Test func messagesOfUnknownTypesAreCountedByTopic() throws {
        var importing = ROSImport(
            Listed((0..<5).map { _ in ("/chatter", "std_msgs/msg/String", [0, 1, 0, 0, 0] as [UInt8]) }))
        #expect(try importing.next() == nil)
        #expect(importing.tally.leftOut == ["/chatter (std_msgs/msg/String)": 5])
    }

    @Test func aDamagedMessageIsAnErrorOrAFix() throws {
        let whole = ROSBytes.fix(1_700_000_000, 60.25, cdr: true)
        for length in 0..<whole.count {
            let result = drain(ROSImport(Listed([("/fix", Self.fixType, Array(whole.prefix(length)))])))
            #expect(result.failures == 1 && result.records.isEmpty, "cut at \(length)")
        }
        for place in whole.indices {
            for value in [0, 1, 0x7f, 0x80, 0xff] as [UInt8] {
                var bytes = whole
                bytes[place] = value
                let result = drain(ROSImport(Listed([("/fix", Self.fixType, bytes)])))
                #expect(result.failures + result.records.count == 1)
                for fix in try fixes(result.records) {
                    #expect(abs(fix.latitude ?? 0) <= 90 && abs(fix.longitude ?? 0) <= 180)
                    #expect(fix.positionCovariance.allSatisfy { $0.isFinite })
                }
            }
        }
    }
}
