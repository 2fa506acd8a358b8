package import NavBag
package import NavKit
package import NavMessages

/// The inputs of the core in a bag other than fixes, each with the number of preceding fixes.
///
/// Traffic and odometry are read only when they are due: an hour of a city's traffic, or of wheel speeds at 100 Hz, takes too much memory.
/// The commands and the decisions of the owner's policy are taken from the journal of a recorded node; a trip in progress that the journal
/// does not explain is taken from the node's publications.
package struct InputTrack: Sendable {
    /// The message types of a track's topics.
    package static let types: [String: String] = [
        Topics.trafficSpeeds.name: TrafficSpeeds.fullName, Topics.odometry.name: VehicleOdometry.fullName,
    ]

    /// The path of the bag.
    package let path: String
    /// The topics of the bag's channels that carry a topic of the track with the expected type.
    package let channels: [UInt16: String]
    /// The numbers of messages before the first fix, between each fix and the next, and after the last.
    package private(set) var counts: [UInt32] = [0]
    package private(set) var count = 0
    package private(set) var odometryCount = 0
    /// The commands to the node, each with the number of fixes before it.
    package private(set) var commands: [(fix: Int, command: NavigationCommand)] = []
    /// The decisions of the owner's policy, in order.
    package private(set) var decisions: [PolicyDecision] = []

    /// The configured trip of the recorded node, from its keys `destination` and `via`.
    package private(set) var configuredTrip: (destination: String, via: String)?
    private var recordedTrip = RecordedTrip()

    /// The trip in progress that the journal does not explain, with the number of fixes before it.
    package var tripUnderWay: (fix: Int, trip: SavedTrip)? {
        guard configuredTrip == nil, let trip = recordedTrip.trip else { return nil }
        return (recordedTrip.fix, trip)
    }

    /// The number of commands and decisions.
    var entryCount: Int { commands.count + decisions.count }

    package var isEmpty: Bool {
        count == 0 && commands.isEmpty && decisions.isEmpty && configuredTrip == nil && tripUnderWay == nil
    }

    /// The track without commands, trips and decisions of the owner's policy.
    package var withoutCommands: InputTrack {
        var track = self
        (track.commands, track.decisions, track.configuredTrip) = ([], [], nil)
        track.recordedTrip = RecordedTrip()
        return track
    }

    package init(path: String, _ reader: BagReader) {
        self.path = path
        channels = reader.channels(of: InputTrack.types)
    }

    /// Returns the odometry in a message of the track, stamped with the message's time if it has no stamp; nil when it cannot be read.
    package static func odometry(_ message: BagMessage) -> VehicleOdometry? {
        try? VehicleOdometry(decoding: Array(message.data), limit: 4 << 10)
            .dated(by: Int64(clamping: message.publishTime))
    }

    /// Counts the next message of the track in the bag.
    package mutating func add(_ topic: String) {
        counts[counts.count - 1] &+= 1
        count += 1
        if topic == Topics.odometry.name { odometryCount += 1 }
    }

    /// Adds the next entry of the journal; an unreadable entry is ignored.
    package mutating func add(_ entry: JournalEntry) {
        switch entry.event {
        case .command(let command)
        where command.caller != JournalCaller.configuration && command.caller != JournalCaller.clock:
            commands.append((counts.count - 1, command))
            recordedTrip.take(command, stamp: entry.stampNs)
        case .policyDecision(let decision): decisions.append(decision)
        case .start(let start) where configuredTrip == nil:
            var values: [Substring: Substring] = [:]
            for line in (start.configuration ?? "").split(separator: "\n") {
                guard let colon = line.firstRange(of: ": ") else { continue }
                values[line[..<colon.lowerBound]] = line[colon.upperBound...]
            }
            guard let destination = values["destination"], !destination.isEmpty else { return }
            configuredTrip = (String(destination), String(values["via"] ?? ""))
        default: break
        }
    }

    /// Adds the next message of a topic that shows the trip.
    mutating func add(_ message: BagMessage, showingTripOn topic: String) {
        if configuredTrip == nil { recordedTrip.take(message, topic: topic, fix: counts.count - 1) }
    }

    package mutating func addFix() { counts.append(0) }

    /// A reader of the track from its start.
    package struct Reader {
        private let channels: [UInt16: String]
        private var counts: [UInt32]
        private var next: () throws(BagError) -> BagMessage?

        package init(_ track: InputTrack) throws(BagError) {
            (channels, counts) = (track.channels, track.counts)
            let reader = try BagReader(path: track.path)
            var cursor = reader.messages(BagQuery(topics: Array(InputTrack.types.keys.sorted())))
            next = { () throws(BagError) in try cursor.next() }
        }

        /// Returns the next message, with its topic, between a fix and the fix before it; nil after the last.
        ///
        /// The first fix is 0; the number of fixes denotes the end of the bag.
        package mutating func message(before fix: Int) throws(BagError) -> (topic: String, message: BagMessage)? {
            guard counts.indices.contains(fix), counts[fix] > 0 else { return nil }
            counts[fix] -= 1
            while let message = try next() {
                if let topic = channels[message.channelID] { return (topic, message) }
            }
            return nil
        }
    }
}

package enum RecordedInput: Sendable {
    case fix(GnssFix)
    /// Odometry of the vehicle.
    case odometry(VehicleOdometry)
}

extension TraceInput {
    /// Calls `body` with the fixes and, for a bag, the odometry between them, in the order of recording.
    package func forEachInput(_ body: (RecordedInput) -> Void) throws(NodeError) {
        do throws(BagError) {
            var track = try others.map { track throws(BagError) in try InputTrack.Reader(track) }
            var reader = try RecordedFixes.Reader(fixes)
            for index in 0...fixes.count {
                while let (topic, message) = try track?.message(before: index) {
                    guard topic == Topics.odometry.name, let odometry = InputTrack.odometry(message) else { continue }
                    body(.odometry(odometry))
                }
                if let fix = try reader.next() { body(.fix(fix)) }
            }
        } catch {
            throw NodeError(.invalid, others.map { error.description(of: $0.path) } ?? error.description)
        }
    }
}

extension BagReader {
    /// Returns the topics of the channels that carry one of the given topics with the expected type, by channel number.
    func channels(of types: [String: String]) -> [UInt16: String] {
        var channels: [UInt16: String] = [:]
        for (topic, type) in types {
            for channel in index.channels(topic: topic) where index.schema(channel.schemaID)?.name == type {
                channels[channel.id] = topic
            }
        }
        return channels
    }
}
