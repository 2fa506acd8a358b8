import Foundation
package import NavBag
import NavGNSS
import NavMessages

/// A writer of a ROS 2 bag: a folder with an MCAP file and its `metadata.yaml`, as expected by rosbag2 and its readers.
///
/// Fixes are `sensor_msgs/msg/NavSatFix` on `/fix`, with their velocity to the east and north as `TwistStamped` on `/vel`.
/// `/nav/position` is a `NavSatFix` and keeps its name; `/vehicle/odometry` is a `TwistStamped` in the frame `base_link`.
package struct ROS2Export {
    /// The frame of matched positions, which distinguishes them from fixes.
    static let matchedFrame = "map_matched"
    private static let fixSchema = "sensor_msgs/msg/NavSatFix"
    private static let twistSchema = "geometry_msgs/msg/TwistStamped"

    private var writer: BagWriter
    private let folder: String
    private let fileName: String
    private var channels: [String: (id: UInt16, type: String, count: Int)] = [:]

    /// Returns the file name of a bag from the name of its folder.
    package static func fileName(named name: String) -> String { name + "_0.mcap" }

    /// Creates the folder, which must not exist.
    ///
    /// - Parameter name: The folder's final name; nil for its current name.
    package init(folder: String, name: String? = nil) throws(BagError) {
        self.folder = folder
        fileName = Self.fileName(named: name ?? (folder as NSString).lastPathComponent)
        guard mkdir(folder, 0o755) == 0 else {
            throw BagError(.io, "cannot create the folder '\(folder)': \(String(cString: strerror(errno)))")
        }
        var options = BagWriteOptions()
        options.profile = "ros2"
        writer = try BagWriter(path: folder + "/" + fileName, durable: true, options: options)
    }

    /// The counts of converted and dropped messages of navbus.
    package let tally = ConversionTally()

    package var messageCount: UInt64 { writer.statistics.messageCount }

    /// Adds a message of navbus; drops a message without a counterpart.
    package mutating func write(_ record: Record) throws(BagError) {
        if try !add(record) { tally.leaveOut(record.channel.topic) }
    }

    /// Adds a message of navbus; returns false when it has no counterpart.
    private mutating func add(_ record: Record) throws(BagError) -> Bool {
        let bytes = Array(record.data)
        switch record.channel.schemaName {
        case GnssFix.fullName:
            guard let fix = try? GnssFix(decoding: bytes) else { return false }
            let header = ROSHeader(
                stamp: fix.utcNanoseconds ?? Int64(clamping: record.publishTime),
                frame: fix.receiverName.isEmpty ? "gnss" : fix.receiverName)
            try write(ROSNavSatFix(fix, header).cdr, Self.fixSchema, "/fix", record)
            if let velocity = fix.velocity {
                try write(Self.twist(header, velocity, yawRate: 0), Self.twistSchema, "/vel", record)
            }
        case MatchedPosition.fullName:
            guard let position = try? MatchedPosition(decoding: bytes), let matched = position.matched,
                matched.latitude != nil
            else { return false }
            // The accuracy of a pose is a standard deviation, that of a fix a radius.
            let fix = GnssFix(
                latitude: matched.latitude, longitude: matched.longitude, altitude: matched.altitudeM,
                horizontalAccuracyM: matched.horizontalAccuracyM.map {
                    Accuracy.radius68(sigmaNorth: $0, sigmaEast: $0)
                })
            let stamp = position.stampNs ?? Int64(clamping: record.publishTime)
            let message = ROSNavSatFix(fix, ROSHeader(stamp: stamp, frame: Self.matchedFrame))
            try write(message.cdr, Self.fixSchema, record.channel.topic, record)
        case VehicleOdometry.fullName:
            guard let odometry = try? VehicleOdometry(decoding: bytes) else { return false }
            let header = ROSHeader(
                stamp: odometry.stampNs ?? Int64(clamping: record.publishTime), frame: "base_link")
            let speed = odometry.speedMps.map { odometry.reverse == true ? -$0 : $0 }
            let twist = Self.twist(header, (speed ?? .nan, 0), yawRate: odometry.yawRateRadps ?? .nan)
            try write(twist, Self.twistSchema, record.channel.topic, record)
        default: return false
        }
        return true
    }

    /// Returns a text quoted for YAML and JSON.
    private static func quoted(_ text: String) -> String {
        let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").filter { !$0.isNewline }
        return "\"\(escaped)\""
    }

    private static func twist(_ header: ROSHeader, _ velocity: (x: Double, y: Double), yawRate: Double) -> [UInt8] {
        var writer = CDRWriter()
        writer.add(header)
        for value in [velocity.x, velocity.y, 0, 0, 0, yawRate] { writer.add(value) }
        return writer.bytes
    }

    private mutating func write(_ data: [UInt8], _ type: String, _ topic: String, _ record: Record) throws(BagError) {
        if channels[topic] == nil {
            let definition = type == Self.fixSchema ? Self.fixDefinition : Self.twistDefinition
            let id = try writer.addChannel(
                topic: topic, schemaName: type, schemaEncoding: "ros2msg", schemaData: Array(definition.utf8),
                messageEncoding: "cdr", metadata: ["offered_qos_profiles": ""])
            channels[topic] = (id, type, 0)
        }
        guard let channel = channels[topic] else { return }
        channels[topic]?.count += 1
        tally.convert(record.channel.topic, to: "\(topic) (\(type))")
        try writer.write(
            channel: channel.id, sequence: record.sequence, logTime: record.logTime, publishTime: record.publishTime,
            data: data)
    }

    package mutating func close() throws(BagError) {
        try writer.close()
        let statistics = writer.statistics
        let duration = statistics.endTime - statistics.startTime
        var lines = [
            "rosbag2_bagfile_information:", "  version: 5", "  storage_identifier: mcap", "  duration:",
            "    nanoseconds: \(duration)", "  starting_time:",
            "    nanoseconds_since_epoch: \(statistics.startTime)", "  message_count: \(statistics.messageCount)",
            "  topics_with_message_count:\(channels.isEmpty ? " []" : "")",
        ]
        for (topic, channel) in channels.sorted(by: { $0.key < $1.key }) {
            lines += [
                "    - topic_metadata:", "        name: \(Self.quoted(topic))", "        type: \(channel.type)",
                "        serialization_format: cdr", "        offered_qos_profiles: \"\"",
                "      message_count: \(channel.count)",
            ]
        }
        lines += [
            "  compression_format: \"\"", "  compression_mode: \"\"", "  relative_file_paths:",
            "    - \(Self.quoted(fileName))",
            "  files:", "    - path: \(Self.quoted(fileName))", "      starting_time:",
            "        nanoseconds_since_epoch: \(statistics.startTime)", "      duration:",
            "        nanoseconds: \(duration)", "      message_count: \(statistics.messageCount)", "",
        ]
        do {
            try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: folder + "/metadata.yaml"))
        } catch {
            throw BagError(.io, "cannot write '\(folder)/metadata.yaml': \(error.localizedDescription)")
        }
    }
}

extension ROSNavSatFix {
    init(_ fix: GnssFix, _ header: ROSHeader) {
        let isFix = fix.latitude != nil && fix.longitude != nil
        let isAugmented = [FixType.differential, .rtkFloat, .rtkFixed].contains(fix.fixType ?? .unspecified)
        self.init(
            header: header, status: isFix ? (isAugmented ? 2 : 0) : -1, service: 1, latitude: fix.latitude ?? .nan,
            longitude: fix.longitude ?? .nan, altitude: fix.ellipsoidalAltitude ?? .nan,
            covariance: [Double](repeating: 0, count: 9), covarianceType: 0)
        if fix.positionCovariance.count == 9 {
            covariance = fix.positionCovariance
            covarianceType = UInt8(clamping: fix.positionCovarianceType?.rawValue ?? 0)
        } else if let radius = fix.horizontalAccuracyM {
            let sigma = Accuracy.sigma(radius68: radius)
            let variance = sigma * sigma
            let vertical = fix.verticalAccuracyM.map { $0 * $0 } ?? 4 * variance
            (covariance[0], covariance[4], covariance[8]) = (variance, variance, vertical)
            covarianceType = 1
        }
    }

    var cdr: [UInt8] {
        var writer = CDRWriter()
        writer.add(header)
        writer.add(status)
        writer.add(service)
        for value in [latitude, longitude, altitude] + covariance { writer.add(value) }
        writer.add(covarianceType)
        return writer.bytes
    }
}

extension GnssFix {
    /// The altitude above mean sea level, metres, as in GPX; the altitude above the ellipsoid if the geoid's height is unknown.
    var elevation: Double? {
        guard altitudeDatum == .ellipsoid, let altitude, let geoidSeparationM else { return altitude }
        return altitude - geoidSeparationM
    }

    /// The altitude above the ellipsoid, metres, as in ROS; nil when it is unknown.
    fileprivate var ellipsoidalAltitude: Double? {
        guard altitudeDatum == .meanSeaLevel else { return altitude }
        return altitude.flatMap { altitude in geoidSeparationM.map { altitude + $0 } }
    }

    /// The velocity to the east and to the north, m/s.
    fileprivate var velocity: (x: Double, y: Double)? {
        if let east = velocityEastMps, let north = velocityNorthMps { return (east, north) }
        guard let speed else { return nil }
        guard let course else { return speed == 0 ? (0, 0) : nil }
        return (speed * sin(course), speed * cos(course))
    }
}

extension ROS2Export {
    private static let separator = String(repeating: "=", count: 80) + "\n"
    private static let header = """
        \(separator)MSG: std_msgs/Header
        builtin_interfaces/Time stamp
        string frame_id
        \(separator)MSG: builtin_interfaces/Time
        int32 sec
        uint32 nanosec

        """
    private static let fixDefinition = """
        uint8 COVARIANCE_TYPE_UNKNOWN=0
        uint8 COVARIANCE_TYPE_APPROXIMATED=1
        uint8 COVARIANCE_TYPE_DIAGONAL_KNOWN=2
        uint8 COVARIANCE_TYPE_KNOWN=3
        std_msgs/Header header
        sensor_msgs/NavSatStatus status
        float64 latitude
        float64 longitude
        float64 altitude
        float64[9] position_covariance
        uint8 position_covariance_type
        \(separator)MSG: sensor_msgs/NavSatStatus
        int8 STATUS_NO_FIX=-1
        int8 STATUS_FIX=0
        int8 STATUS_SBAS_FIX=1
        int8 STATUS_GBAS_FIX=2
        uint16 SERVICE_GPS=1
        uint16 SERVICE_GLONASS=2
        uint16 SERVICE_COMPASS=4
        uint16 SERVICE_GALILEO=8
        int8 status
        uint16 service
        \(header)
        """
    private static let twistDefinition = """
        std_msgs/Header header
        geometry_msgs/Twist twist
        \(separator)MSG: geometry_msgs/Twist
        geometry_msgs/Vector3 linear
        geometry_msgs/Vector3 angular
        \(separator)MSG: geometry_msgs/Vector3
        float64 x
        float64 y
        float64 z
        \(header)
        """
}
