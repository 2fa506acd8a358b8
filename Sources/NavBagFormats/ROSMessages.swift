import NavBag

/// The encoding of ROS messages: CDR of either byte order (ROS 2), or ROS 1's packed form.
package enum ROSEncoding: Sendable, Equatable {
    case cdr, ros1

    /// Creates the encoding from its name; nil when it is not supported.
    package init?(_ name: String) {
        switch name {
        case "cdr": self = .cdr
        case "ros1": self = .ros1
        default: return nil
        }
    }
}

/// A reader of the fields of a ROS message; every read is bounds-checked.
struct ROSCursor {
    private let bytes: ArraySlice<UInt8>
    private let encoding: ROSEncoding
    /// The offset from which alignment is counted.
    private let origin: Int
    private var position: Int
    private var isBigEndian = false

    init(_ bytes: ArraySlice<UInt8>, _ encoding: ROSEncoding) throws(BagError) {
        (self.bytes, self.encoding) = (bytes, encoding)
        (origin, position) = (bytes.startIndex + (encoding == .cdr ? 4 : 0), bytes.startIndex)
        guard encoding == .cdr else { return }
        guard bytes.count >= 4, bytes[position] == 0, bytes[position + 1] <= 1 else {
            throw BagError(.malformed, "a message is not in plain CDR: its encapsulation is not supported")
        }
        isBigEndian = bytes[position + 1] == 0
        position = origin
    }

    private mutating func load<T: FixedWidthInteger>(_ type: T.Type) throws(BagError) -> T {
        let size = MemoryLayout<T>.size
        if encoding == .cdr { position += (size - (position - origin) % size) % size }
        guard bytes.endIndex - position >= size else {
            throw BagError(.malformed, "a message ends inside a field")
        }
        defer { position += size }
        var value: T = 0
        for offset in 0..<size {
            value |=
                T(truncatingIfNeeded: bytes[position + offset]) << T((isBigEndian ? size - 1 - offset : offset) * 8)
        }
        return value
    }

    mutating func int8() throws(BagError) -> Int8 { Int8(bitPattern: try load(UInt8.self)) }
    mutating func uint8() throws(BagError) -> UInt8 { try load(UInt8.self) }
    mutating func uint16() throws(BagError) -> UInt16 { try load(UInt16.self) }
    mutating func uint32() throws(BagError) -> UInt32 { try load(UInt32.self) }
    mutating func double() throws(BagError) -> Double { Double(bitPattern: try load(UInt64.self)) }

    mutating func doubles(_ count: Int) throws(BagError) -> [Double] {
        var values: [Double] = []
        for _ in 0..<count { values.append(try double()) }
        return values
    }

    mutating func string() throws(BagError) -> String {
        let length = Int(try uint32())
        guard length <= bytes.endIndex - position else {
            throw BagError(.malformed, "a message ends inside a string")
        }
        defer { position += length }
        // In CDR the length includes the terminating zero.
        return String(decoding: bytes[position..<position + length].prefix { $0 != 0 }.prefix(1_024), as: UTF8.self)
    }
}

/// A writer of the fields of a ROS 2 message as little-endian CDR.
struct CDRWriter {
    private(set) var bytes: [UInt8] = [0, 1, 0, 0]

    mutating func add<T: FixedWidthInteger>(_ value: T) {
        let size = MemoryLayout<T>.size
        while (bytes.count - 4) % size != 0 { bytes.append(0) }
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func add(_ value: Double) { add(value.bitPattern) }

    mutating func add(_ text: String) {
        add(UInt32(clamping: text.utf8.count + 1))
        bytes += Array(text.utf8) + [0]
    }

    mutating func add(_ header: ROSHeader) {
        let (seconds, nanoseconds) = header.stamp.quotientAndRemainder(dividingBy: 1_000_000_000)
        add(Int32(clamping: nanoseconds < 0 ? seconds - 1 : seconds))
        add(UInt32(clamping: nanoseconds < 0 ? nanoseconds + 1_000_000_000 : nanoseconds))
        add(header.frame)
    }
}

/// `std_msgs/Header`.
struct ROSHeader: Equatable {
    /// ns since the Unix epoch.
    var stamp: Int64
    var frame: String

    /// Whether the publisher has set the stamp.
    var isStamped: Bool { stamp > 0 }

    init(stamp: Int64, frame: String) { (self.stamp, self.frame) = (stamp, frame) }

    init(_ cursor: inout ROSCursor, _ encoding: ROSEncoding) throws(BagError) {
        if encoding == .ros1 { _ = try cursor.uint32() }
        let seconds = try cursor.uint32()
        let nanoseconds = try cursor.uint32()
        let whole = encoding == .ros1 ? Int64(seconds) : Int64(Int32(bitPattern: seconds))
        stamp = whole * 1_000_000_000 + Int64(nanoseconds)
        frame = try cursor.string()
    }
}

/// `sensor_msgs/NavSatFix`.
struct ROSNavSatFix: Equatable {
    var header: ROSHeader
    /// -1 no fix, 0 fix, 1 with satellite-based, 2 with ground-based augmentation.
    var status: Int8
    var service: UInt16
    var latitude: Double
    var longitude: Double
    var altitude: Double
    /// m², east, north, up.
    var covariance: [Double]
    var covarianceType: UInt8
}

/// The velocity and rate of turn of a `TwistStamped`, `Odometry` or `Imu`; a value is nil when it is missing or unknown.
struct ROSMotion: Equatable {
    var header: ROSHeader
    /// m/s, in the frame.
    var linear: (x: Double, y: Double, z: Double)?
    /// m/s.
    var linearSigma: Double?
    /// rad/s about the vertical axis, positive to the left.
    var yawRate: Double?
    var yawRateSigma: Double?
    /// m/s², forwards.
    var acceleration: Double?

    static func == (left: ROSMotion, right: ROSMotion) -> Bool {
        left.header == right.header && left.linear?.x == right.linear?.x && left.linear?.y == right.linear?.y
            && left.linear?.z == right.linear?.z && left.yawRate == right.yawRate
            && left.linearSigma == right.linearSigma && left.yawRateSigma == right.yawRateSigma
            && left.acceleration == right.acceleration
    }
}

/// A ROS message of a supported type.
enum ROSMessage: Equatable {
    case fix(ROSNavSatFix)
    /// A velocity in its header's frame.
    case twist(ROSMotion)
    /// Motion of the vehicle: odometry or an inertial sensor.
    case motion(ROSMotion)

    /// The supported types, in ROS 1 notation.
    static let types = [
        "sensor_msgs/NavSatFix", "geometry_msgs/TwistStamped", "nav_msgs/Odometry", "sensor_msgs/Imu",
    ]

    /// Returns the name of a type in ROS 1 notation: `sensor_msgs/msg/Imu` is `sensor_msgs/Imu`.
    static func shortName(_ type: String) -> String { type.replacing("/msg/", with: "/") }

    /// Reads a message; nil when its type is not supported.
    init?(_ bytes: ArraySlice<UInt8>, type: String, _ encoding: ROSEncoding) throws(BagError) {
        guard Self.types.contains(type) else { return nil }
        var cursor = try ROSCursor(bytes, encoding)
        let header = try ROSHeader(&cursor, encoding)
        switch type {
        case "sensor_msgs/NavSatFix":
            self = .fix(
                ROSNavSatFix(
                    header: header, status: try cursor.int8(), service: try cursor.uint16(),
                    latitude: try cursor.double(), longitude: try cursor.double(), altitude: try cursor.double(),
                    covariance: try cursor.doubles(9), covarianceType: try cursor.uint8()))
        case "geometry_msgs/TwistStamped":
            var motion = ROSMotion(header: header)
            motion.takeTwist(try cursor.doubles(6))
            self = .twist(motion)
        case "nav_msgs/Odometry":
            var motion = ROSMotion(header: header)
            _ = try cursor.string()
            _ = try cursor.doubles(7 + 36)
            motion.takeTwist(try cursor.doubles(6))
            let covariance = try cursor.doubles(36)
            motion.linearSigma = Self.sigma(covariance[0])
            motion.yawRateSigma = Self.sigma(covariance[35])
            self = .motion(motion)
        default:
            var motion = ROSMotion(header: header)
            _ = try cursor.doubles(4 + 9)
            let turn = try cursor.doubles(3)
            let turnCovariance = try cursor.doubles(9)
            let acceleration = try cursor.doubles(3)
            let accelerationCovariance = try cursor.doubles(9)
            // -1 marks a missing measurement.
            if turnCovariance[0] != -1, turn[2].isFinite { motion.yawRate = turn[2] }
            motion.yawRateSigma = motion.yawRate == nil ? nil : Self.sigma(turnCovariance[8])
            if accelerationCovariance[0] != -1, acceleration[0].isFinite { motion.acceleration = acceleration[0] }
            self = .motion(motion)
        }
    }

    private static func sigma(_ variance: Double) -> Double? {
        variance > 0 && variance.isFinite ? variance.squareRoot() : nil
    }
}

extension ROSMotion {
    fileprivate mutating func takeTwist(_ values: [Double]) {
        if values[0].isFinite, values[1].isFinite, values[2].isFinite { linear = (values[0], values[1], values[2]) }
        if values[5].isFinite { yawRate = values[5] }
    }
}
