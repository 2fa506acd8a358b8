import Foundation
package import NavBag
import NavMessages

/// A conversion of a ROS recording to messages of navbus; messages of navbus are passed on.
///
/// `NavSatFix` becomes a fix on `/gnss/fix`. A `TwistStamped` with the frame and stamp of a fix is the receiver's velocity to the east and
/// north and becomes part of that fix. Any other `TwistStamped`, `Odometry` and `Imu` are the vehicle's motion on `/vehicle/odometry`.
/// Other types are dropped and counted, as are the matched positions of a navigation node, which are not fixes of a receiver. A fix and its
/// velocity may come in any order within a second; the messages keep the order of the recording.
///
/// A receiver is named by its frame. If several topics have fixes in one frame, the first topic's receiver is named by the frame, and the
/// others by their topics.
package struct ROSImport: RecordSource {
    /// A message in the order of the recording.
    private struct Entry {
        enum Content {
            /// A message that is ready.
            case record(Record)
            /// A fix that waits for its velocity.
            case fix(GnssFix, ROSHeader)
            /// A velocity that waits for its fix.
            case velocity(ROSMotion)
            /// A message that became part of another message, or was dropped.
            case none
        }

        var content: Content
        /// The recorded message.
        let record: Record
    }

    /// The time for which a fix and its velocity wait for each other, on the clock of the recording, ns.
    private static let patience: UInt64 = 1_000_000_000
    /// The maximum number of waiting messages.
    private static let mostWaiting = 4_096
    /// The maximum number of frames remembered.
    private static let mostFrames = 64

    private var base: any RecordSource
    private var ready: ArraySlice<Record> = []
    /// The messages that wait for an earlier fix or velocity, and those behind them.
    private var waiting: ArraySlice<Entry> = []
    /// The frames of the fixes so far, each with the topic of its first fix.
    private var frames: [String: String] = [:]
    /// The frames of velocities that are the vehicle's, because no fix had their stamp.
    private var vehicleFrames: Set<String> = []
    private var outputs: [ObjectIdentifier: RecordChannel] = [:]
    /// The channels of the source, kept alive because the map above refers to them by identity.
    private var inputs: [RecordChannel] = []
    private var isAtEnd = false

    /// The messages of ROS and what they became.
    package let tally = ConversionTally()

    package init(_ base: any RecordSource) { self.base = base }

    /// The share that has been read.
    package var progress: Double { base.progress }

    package mutating func next() throws(BagError) -> Record? {
        while ready.isEmpty {
            guard !isAtEnd else { return nil }
            if let record = try base.next() {
                // Even if it is damaged: the others need not wait longer.
                defer { release(at: record.logTime) }
                try take(record)
            } else {
                isAtEnd = true
                release(at: nil)
            }
        }
        return ready.removeFirst()
    }

    private mutating func take(_ record: Record) throws(BagError) {
        if record.channel.messageEncoding == "protobuf" { return add(.record(record), record) }
        let type = ROSMessage.shortName(record.channel.schemaName)
        guard let encoding = ROSEncoding(record.channel.messageEncoding),
            let message = try ROSMessage(record.data, type: type, encoding)
        else { return leaveOut(record, record.channel.schemaName) }
        switch message {
        case .fix(let fix) where fix.header.frame == ROS2Export.matchedFrame:
            leaveOut(record, "matched positions of a navigation node, not fixes of a receiver")
        case .fix(let fix): take(fix, record)
        case .twist(let motion): takeVelocity(motion, record)
        case .motion(let motion): add(.record(odometry(motion, record)), record)
        }
    }

    private mutating func add(_ content: Entry.Content, _ record: Record) {
        waiting.append(Entry(content: content, record: record))
    }

    /// Releases the messages that need not wait, or that have waited long enough at a moment of the recording; releases all at its end,
    /// nil.
    private mutating func release(at moment: UInt64?) {
        while let entry = waiting.first {
            let waited = moment.map { $0 > entry.record.logTime ? $0 - entry.record.logTime : 0 } ?? .max
            if waited < Self.patience, waiting.count <= Self.mostWaiting {
                switch entry.content {
                case .fix, .velocity: return
                case .record, .none: break
                }
            }
            waiting.removeFirst()
            switch entry.content {
            case .record(let record): ready.append(record)
            case .fix(let fix, let header): ready.append(self.fix(fix, header, entry.record))
            case .velocity(let motion):
                let frame = motion.header.frame
                if frames[frame] != nil {
                    leaveOut(entry.record, Self.withoutFix)
                } else {
                    if vehicleFrames.count < Self.mostFrames { vehicleFrames.insert(frame) }
                    ready.append(odometry(motion, entry.record))
                }
            case .none: break
            }
        }
    }

    private func leaveOut(_ record: Record, _ reason: String) {
        tally.leaveOut("\(record.channel.topic) (\(reason))")
    }

    private mutating func take(_ fix: ROSNavSatFix, _ record: Record) {
        let topic = record.channel.topic
        if frames.count < Self.mostFrames, frames[fix.header.frame] == nil { frames[fix.header.frame] = topic }
        var message = GnssFix(fix)
        if let first = frames[fix.header.frame], first != topic { (message.frameId, message.source) = (nil, topic) }
        for index in waiting.indices {
            guard case .velocity(let motion) = waiting[index].content, motion.header == fix.header else { continue }
            let velocity = waiting[index].record
            waiting[index].content = .none
            if message.take(motion) {
                tally.convert(velocity.channel.topic, to: Self.velocities)
                return add(.record(self.fix(message, fix.header, record)), record)
            }
            leaveOut(velocity, Self.withoutFix)
        }
        add(.fix(message, fix.header), record)
    }

    private static let velocities = "velocities of the fixes"
    private static let withoutFix = "velocities without a fix of their time"

    private mutating func takeVelocity(_ motion: ROSMotion, _ record: Record) {
        for index in waiting.indices {
            guard case .fix(var message, let header) = waiting[index].content, motion.header == header else { continue }
            guard message.take(motion) else { break }
            tally.convert(record.channel.topic, to: Self.velocities)
            waiting[index].content = .record(fix(message, header, waiting[index].record))
            return
        }
        let frame = motion.header.frame
        let isVehicle = frames[frame] == nil && vehicleFrames.contains(frame)
        add(isVehicle ? .record(odometry(motion, record)) : .velocity(motion), record)
    }

    private mutating func fix(_ message: GnssFix, _ header: ROSHeader, _ record: Record) -> Record {
        let name = message.receiverName
        tally.convert(
            record.channel.topic,
            to: Topics.gnssFix.name + (name.isEmpty ? " of a receiver without a name" : " of the receiver '\(name)'"))
        return converted(message, Topics.gnssFix.name, header, record)
    }

    private mutating func odometry(_ motion: ROSMotion, _ record: Record) -> Record {
        var odometry = VehicleOdometry(stampNs: motion.header.isStamped ? motion.header.stamp : nil)
        if let linear = motion.linear {
            odometry.speedMps = abs(linear.x)
            odometry.speedSigmaMps = motion.linearSigma
            odometry.reverse = linear.x < 0 ? true : nil
        }
        odometry.yawRateRadps = motion.yawRate
        odometry.yawRateSigmaRadps = motion.yawRateSigma
        odometry.accelerationMps2 = motion.acceleration
        tally.convert(record.channel.topic, to: Topics.odometry.name)
        return converted(odometry, Topics.odometry.name, motion.header, record)
    }

    /// Returns a message measured at the stamp of a header; without a stamp, at the time of the recorded message.
    private mutating func converted(
        _ message: some Message, _ topic: String, _ header: ROSHeader, _ record: Record
    ) -> Record {
        let key = ObjectIdentifier(record.channel)
        let channel: RecordChannel
        if let known = outputs[key] {
            channel = known
        } else {
            channel = .protobuf(topic, type(of: message), metadata: ["ros_topic": record.channel.topic])
            outputs[key] = channel
            inputs.append(record.channel)
        }
        return Record(
            channel: channel, sequence: record.sequence, logTime: record.logTime,
            publishTime: header.isStamped ? UInt64(header.stamp) : record.publishTime, data: message.encoded()[...])
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
    /// Takes the receiver's velocity to the east and north; returns false if the motion has none.
    fileprivate mutating func take(_ motion: ROSMotion) -> Bool {
        guard let velocity = motion.linear else { return false }
        (velocityEastMps, velocityNorthMps) = (velocity.x, velocity.y)
        let speed = hypot(velocity.x, velocity.y)
        self.speed = speed
        let course = atan2(velocity.x, velocity.y)
        if speed > 0 { self.course = course < 0 ? course + 2 * .pi : course }
        return true
    }

    fileprivate init(_ fix: ROSNavSatFix) {
        self.init(
            timestamp: fix.header.isStamped ? .nanoseconds(fix.header.stamp) : nil,
            frameId: fix.header.frame.isEmpty ? nil : fix.header.frame)
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
