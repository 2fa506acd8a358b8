import Foundation
package import NavBag
import NavMessages

/// The messages of a ROS recording converted to messages of navbus; messages of navbus are passed on.
///
/// `NavSatFix` becomes a fix on `/gnss/fix`. A `TwistStamped` with the frame and stamp of a fix is the receiver's velocity to the east and
/// north and becomes part of that fix. Any other `TwistStamped`, `Odometry` and `Imu` are the vehicle's motion on `/vehicle/odometry`.
/// Other types are dropped and counted, and so are the matched positions of a navigation node, which are no receiver's fixes.
///
/// A receiver is named by its frame. Where several topics have fixes in one frame, the first keeps it, and the others are named by topic.
package struct ROSImport: RecordSource {
    private struct Fix {
        var message: GnssFix
        var header: ROSHeader
        var record: Record
    }

    private var base: any RecordSource
    private var ready: [Record] = []
    /// The last fix, waiting for its velocity.
    private var pending: Fix?
    /// A velocity that arrived before its fix.
    private var early: (motion: ROSMotion, record: Record)?
    /// The frames of the fixes so far, each with the topic of its first fix.
    private var frames: [String: String] = [:]
    private var outputs: [ObjectIdentifier: RecordChannel] = [:]
    /// The channels of the source, kept alive because the map above refers to them by identity.
    private var inputs: [RecordChannel] = []
    private var isAtEnd = false

    /// The messages of ROS and what they became.
    package let tally = ConversionTally()

    /// The number of dropped messages, by topic and type.
    package var leftOut: [String: Int] { tally.leftOut }

    package init(_ base: any RecordSource) { self.base = base }

    /// The share that has been read.
    package var progress: Double { base.progress }

    package mutating func next() throws(BagError) -> Record? {
        while ready.isEmpty {
            guard !isAtEnd else { return nil }
            guard let record = try base.next() else {
                isAtEnd = true
                releaseEarly()
                release()
                continue
            }
            try take(record)
        }
        return ready.removeFirst()
    }

    private mutating func take(_ record: Record) throws(BagError) {
        if record.channel.messageEncoding == "protobuf" { return ready.append(record) }
        let type = ROSMessage.shortName(record.channel.schemaName)
        guard let encoding = ROSEncoding(record.channel.messageEncoding),
            let message = try ROSMessage(record.data, type: type, encoding)
        else { return leaveOut(record, record.channel.schemaName) }
        switch message {
        case .fix(let fix) where fix.header.frame == ROS2Export.matchedFrame:
            leaveOut(record, "matched positions of a navigation node, not fixes of a receiver")
        case .fix(let fix): take(fix, record)
        case .twist(let motion): takeTwist(motion, record)
        case .motion(let motion): emit(motion, record)
        }
    }

    private func leaveOut(_ record: Record, _ reason: String) {
        tally.leaveOut("\(record.channel.topic) (\(reason))")
    }

    private mutating func take(_ fix: ROSNavSatFix, _ record: Record) {
        release()
        let topic = record.channel.topic
        if frames.count < 64, frames[fix.header.frame] == nil { frames[fix.header.frame] = topic }
        var message = GnssFix(fix)
        if let first = frames[fix.header.frame], first != topic { (message.frameId, message.source) = (nil, topic) }
        pending = Fix(message: message, header: fix.header, record: record)
        guard let early else { return }
        self.early = nil
        early.motion.header.frame == fix.header.frame
            ? join(early.motion, early.record) : emit(early.motion, early.record)
    }

    private mutating func takeTwist(_ motion: ROSMotion, _ record: Record) {
        if motion.header == pending?.header { return join(motion, record) }
        // Before the first fix the frame of the fixes is unknown.
        guard frames.isEmpty || frames[motion.header.frame] != nil else { return emit(motion, record) }
        releaseEarly()
        early = (motion, record)
    }

    private mutating func join(_ motion: ROSMotion, _ record: Record) {
        guard motion.header == pending?.header, let velocity = motion.linear else {
            return leaveOut(record, "velocities without a fix of their time")
        }
        tally.convert(record.channel.topic, to: "velocities of the fixes")
        pending?.message.velocityEastMps = velocity.x
        pending?.message.velocityNorthMps = velocity.y
        let speed = hypot(velocity.x, velocity.y)
        pending?.message.speed = speed
        let course = atan2(velocity.x, velocity.y)
        if speed > 0 { pending?.message.course = course < 0 ? course + 2 * .pi : course }
        release()
    }

    private mutating func release() {
        guard let fix = pending else { return }
        pending = nil
        let name = fix.message.receiverName
        tally.convert(
            fix.record.channel.topic,
            to: Topics.gnssFix.name + (name.isEmpty ? " of a receiver without a name" : " of the receiver '\(name)'"))
        emit(fix.message, Topics.gnssFix.name, stamp: fix.header.stamp, fix.record)
    }

    /// Emits the velocity whose fix has not arrived, unless it is in the frame of the fixes, where it is useless without its fix.
    private mutating func releaseEarly() {
        guard let held = early else { return }
        early = nil
        guard frames[held.motion.header.frame] == nil else {
            return leaveOut(held.record, "velocities without a fix of their time")
        }
        emit(held.motion, held.record)
    }

    private mutating func emit(_ motion: ROSMotion, _ record: Record) {
        var odometry = VehicleOdometry(stampNs: motion.header.stamp)
        if let linear = motion.linear {
            odometry.speedMps = abs(linear.x)
            odometry.speedSigmaMps = motion.linearSigma
            odometry.reverse = linear.x < 0 ? true : nil
        }
        odometry.yawRateRadps = motion.yawRate
        odometry.yawRateSigmaRadps = motion.yawRateSigma
        odometry.accelerationMps2 = motion.acceleration
        tally.convert(record.channel.topic, to: Topics.odometry.name)
        emit(odometry, Topics.odometry.name, stamp: motion.header.stamp, record)
    }

    private mutating func emit(_ message: some Message, _ topic: String, stamp: Int64, _ record: Record) {
        let key = ObjectIdentifier(record.channel)
        let channel: RecordChannel
        if let known = outputs[key] {
            channel = known
        } else {
            channel = .protobuf(topic, type(of: message), metadata: ["ros_topic": record.channel.topic])
            outputs[key] = channel
            inputs.append(record.channel)
        }
        ready.append(
            Record(
                channel: channel, sequence: record.sequence, logTime: record.logTime,
                publishTime: stamp > 0 ? UInt64(stamp) : record.publishTime, data: message.encoded()[...]))
    }
}

extension RecordChannel {
    static func protobuf(_ topic: String, _ type: any Message.Type, metadata: [String: String] = [:]) -> RecordChannel {
        protobuf(topic, named: type.fullName, metadata: metadata)
    }

    /// Returns a channel of messages of navbus with their schema.
    package static func protobuf(
        _ topic: String, named type: String, metadata: [String: String] = [:]
    ) -> RecordChannel {
        RecordChannel(
            topic: topic, messageEncoding: "protobuf", schemaName: type, schemaEncoding: "protobuf",
            schemaData: Schema.fileDescriptorSet(for: type) ?? [], metadata: metadata)
    }
}

extension GnssFix {
    fileprivate init(_ fix: ROSNavSatFix) {
        self.init(timestamp: .nanoseconds(fix.header.stamp), frameId: fix.header.frame.isEmpty ? nil : fix.header.frame)
        switch fix.status {
        case ..<0: fixType = .noFix
        case 1, 2: fixType = .differential
        default: break
        }
        guard fixType != .noFix, abs(fix.latitude) <= 90, abs(fix.longitude) <= 180 else { return }
        (latitude, longitude) = (fix.latitude, fix.longitude)
        if fix.altitude.isFinite { (altitude, altitudeDatum) = (fix.altitude, .ellipsoid) }
        guard (1...3).contains(fix.covarianceType), fix.covariance.allSatisfy(\.isFinite), fix.covariance[0] >= 0,
            fix.covariance[4] >= 0
        else { return }
        positionCovariance = fix.covariance
        positionCovarianceType = PositionCovarianceType(rawValue: Int32(fix.covarianceType))
    }
}

extension Timestamp {
    static func nanoseconds(_ value: Int64) -> Timestamp {
        let (seconds, rest) = value.quotientAndRemainder(dividingBy: 1_000_000_000)
        return rest < 0
            ? Timestamp(seconds: seconds - 1, nanos: Int32(rest + 1_000_000_000))
            : Timestamp(seconds: seconds, nanos: Int32(rest))
    }
}
