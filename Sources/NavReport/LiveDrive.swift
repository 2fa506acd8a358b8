import Foundation
package import NavGeo
package import NavMessages

/// An ongoing drive: the whole drive for newly opened pages, and batches of updates for open pages.
///
/// The first fix or position begins a drive. Several consecutive fixes or positions with a time outside the drive begin a new one, for
/// example when a playback restarts. Earlier messages, such as the active route, belong to its start.
package struct LiveDrive {
    /// A node with its health.
    package struct Node: Encodable, Sendable {
        package struct Topic: Encodable, Sendable {
            var topic: String
            var publishes: Bool
            /// The number of messages; nil for a topic that is not read.
            var count: UInt64?
            var rate: Double?
            var lost: UInt64
        }

        var name: String
        var state: Int32
        var reason: String
        var cpu: Double?
        var memory: UInt64?
        var uptime: Double?
        var topics: [Topic]

        /// The most topics of one node.
        private static let mostTopics = 100

        /// Creates a node from its health.
        package init(name: String, _ health: NodeHealth) {
            self.name = name
            state = health.state?.rawValue ?? 0
            reason = health.reasons.map { $0.message ?? $0.code ?? "?" }.joined(separator: "; ")
            cpu = health.cpuLoad.flatMap { $0.isFinite ? $0 : nil }
            memory = health.residentBytes
            uptime = health.uptimeS.flatMap { $0.isFinite ? $0 : nil }
            topics = health.topics.prefix(Self.mostTopics).map {
                Topic(
                    topic: $0.topic ?? "?", publishes: $0.isPublisher == true, count: $0.messageCount ?? 0,
                    rate: $0.rateHz.flatMap { $0.isFinite ? $0 : nil }, lost: $0.lostCount ?? 0)
            }
        }

        /// Creates a node without health messages from its announcement and its received messages.
        ///
        /// - Parameters:
        ///   - publisher: the node's `boot_id`.
        ///   - announced: the topics that the node announces.
        ///   - isRead: whether a topic is subscribed to.
        package init(
            name: String, publisher: UInt64, announced: [String], _ rates: ArrivalRates, isRead: (String) -> Bool
        ) {
            self.name = name
            state = 0
            // A node that announces the topic has only just started.
            reason = announced.contains(Topics.health(of: name).name) ? "" : "it publishes no health"
            topics = announced.prefix(Self.mostTopics).map { topic in
                guard isRead(topic) else { return Topic(topic: topic, publishes: true, lost: 0) }
                let (count, rate) = rates.measured(topic: topic, publisher: publisher)
                return Topic(topic: topic, publishes: true, count: count, rate: rate, lost: 0)
            }
        }
    }

    private struct Batch: Encodable {
        var sequence: Int64
        var run: DriveReport.RunDocument?
        /// The key figures of the whole drive, in batches with nodes.
        var figures: [DriveSummary.Figure]?
        var nodes: [Node]?
        var map: Int
    }

    private struct Message {
        var type: String
        var topic: String
        var publisher: UInt64?
        var sequence: UInt32
        var stamp: Int64
        var bytes: [UInt8]

        var isPlace: Bool { type == GnssFix.fullName || type == MatchedPosition.fullName }
        /// The approximate bytes of memory.
        var size: Int { bytes.count + 200 }
    }

    /// The greatest step back and forward from the last place's stamp within one drive, ns.
    private static let backwards: Int64 = 10_000_000_000
    private static let forwards: Int64 = 3_600_000_000_000
    /// The number of consecutive places with a time outside the drive that begin a new drive.
    private static let placesOfNewDrive = 5
    /// The most bytes of messages that may belong to the next drive.
    private static let mostPending = 8 << 20

    private var whole = DriveCollector()
    private var news = DriveCollector()
    private var hasNews = false
    /// The stamps of the first and the last fix or position, ns; nil before the first.
    private var start: Int64?
    private var lastPlace: Int64 = 0
    /// The latest stamp of any message.
    private var latest: Int64 = 0
    /// The messages since the last fix or position that may belong to the next drive, oldest first.
    private var pending: [Message] = []
    private var map: MapExtract?
    private var mapVersion = 0
    /// The number of the last batch.
    package private(set) var sequence: Int64

    /// Creates a drive without messages.
    ///
    /// - Parameter sequence: the number of the last batch. A number that grows from process to process, such as the time in ms,
    ///   allows pages of an earlier process to be recognised.
    package init(sequence: Int64) { self.sequence = sequence }

    /// Adds a message.
    ///
    /// - Parameter publisher: the `boot_id` of the publisher, which differs between its runs; nil when unknown.
    /// - Returns: whether a new drive has begun, so that pages must be reloaded.
    package mutating func add(
        _ type: String, topic: String, publisher: UInt64?, sequence: UInt32, stamp: Int64, _ bytes: [UInt8]
    ) -> Bool {
        guard DriveCollector.shown.contains(type) else { return false }
        // Differences of nonnegative stamps cannot overflow.
        let stamp = max(stamp, 0)
        let message = Message(
            type: type, topic: topic, publisher: publisher, sequence: sequence, stamp: stamp, bytes: bytes)
        guard start != nil else {
            hold(message)
            if message.isPlace { begin(at: stamp) }
            return message.isPlace
        }
        let step = stamp - lastPlace
        let isOther = step < -Self.backwards || step > Self.forwards
        if isOther { hold(message) }
        if message.isPlace {
            guard isOther else {
                pending = []
                lastPlace = stamp
                collect(message)
                return false
            }
            let places = pending.filter(\.isPlace)
            guard places.count >= Self.placesOfNewDrive else { return false }
            begin(at: places.map(\.stamp).min() ?? stamp)
            return true
        }
        // An old latched message still applies, but one with a future stamp does not apply yet.
        if step <= Self.forwards { collect(message) }
        return false
    }

    private mutating func hold(_ message: Message) {
        pending.append(message)
        var size = pending.reduce(0) { $0 + $1.size }
        while size > Self.mostPending, pending.count > 1 { size -= pending.removeFirst().size }
    }

    private mutating func begin(at stamp: Int64) {
        (whole, news, hasNews) = (DriveCollector(), DriveCollector(), false)
        (start, lastPlace, latest) = (stamp, stamp, stamp)
        let messages = pending
        pending = []
        for message in messages {
            collect(message)
            if message.isPlace { lastPlace = message.stamp }
        }
    }

    private mutating func collect(_ message: Message) {
        // A stamp from another clock or from before the drive counts as the drive's start.
        let stamp = max(message.stamp, start ?? message.stamp)
        if stamp - latest < Self.forwards { latest = max(latest, stamp) }
        whole.add(
            message.type, topic: message.topic, publisher: message.publisher, sequence: message.sequence, stamp: stamp,
            message.bytes)
        news.add(
            message.type, topic: message.topic, publisher: message.publisher, sequence: message.sequence, stamp: stamp,
            message.bytes)
        hasNews = true
    }

    /// The places of the drive, for the roads around them.
    package var places: [NavGeo.Coordinate] { DriveReport.places(of: whole) }
    /// The position of the vehicle.
    package var place: NavGeo.Coordinate? {
        let table = whole.positions.stamps.isEmpty ? whole.fixes : whole.positions
        guard let latitude = table.values("lat").last, let longitude = table.values("lon").last else { return nil }
        return NavGeo.Coordinate(latitude: Double(latitude) * 1e-6, longitude: Double(longitude) * 1e-6)
    }
    /// The number of routes so far.
    package var routeCount: Int { whole.routes.count }

    /// Sets the roads.
    package mutating func set(_ map: MapExtract) {
        self.map = map
        mapVersion += 1
    }

    /// Returns the updates since the last batch as JSON on one line; nil without updates.
    package mutating func batch(_ nodes: [Node]?) throws -> [UInt8]? {
        guard hasNews || nodes != nil else { return nil }
        sequence += 1
        var batch = Batch(sequence: sequence, nodes: nodes, map: mapVersion)
        if let start {
            let span = start...max(start, latest)
            if hasNews {
                batch.run = DriveReport.document(DriveReport.Run(name: "", content: news), start: start, span: span)
            }
            // The figures of a long drive take milliseconds, so only batches with nodes have them.
            if nodes != nil { batch.figures = DriveSummary(whole, since: start, within: span).figures }
        }
        (news, hasNews) = (DriveCollector(), false)
        return try Self.encoded(batch)
    }

    /// Returns the page of the drive so far; the page requests later batches. All updates must already be in a batch.
    package func page(name: String, version: String) throws -> [UInt8] {
        let report = DriveReport([DriveReport.Run(name: name, content: whole)], map: map, version: version)
        return try report.page(live: sequence, start: start)
    }

    /// Returns the roads as JSON.
    package func mapDocument() throws -> [UInt8] {
        try Self.encoded(map.map(DriveReport.document))
    }

    private static func encoded(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }
}
