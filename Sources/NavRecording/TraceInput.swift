import Glibc
import NavBag
import NavConfig
import NavGNSS
package import NavKit
import NavMessages

/// The recorded fixes of a bag or of a receiver's or logger's file, and the other inputs of a bag.
package struct TraceInput: Sendable {
    /// The fixes, in the order in which they arrived.
    package let fixes: RecordedFixes
    /// The traffic, the odometry and the commands between the fixes; nil when the file has none.
    package let others: InputTrack?
    /// The counts of rejected input, by reason.
    package let rejected: [(reason: String, count: Int)]
    /// A one-line description of the unreadable part of a bag; nil when the whole bag is readable.
    package var loss: String? { origin?.loss }
    private let origin: BagIndex.Origin?
    /// Whether the recorded node guided along a route.
    private let isGuided: Bool

    /// Returns a note that a replay lacks the guidance of the recording; nil when the replay has guidance or the recording has none.
    ///
    /// - Parameters:
    ///   - routes: the number of routes in the replay.
    ///   - option: the option that specifies a destination.
    package func noteOfMissingGuidance(routes: Int, option: String) -> String? {
        guard isGuided, routes == 0 else { return nil }
        return "the recording was under guidance, the replay is not; set a destination with '\(option)'"
    }

    /// Returns a warning about the unreadable part of a bag for a command that uses the readable part; nil when the whole bag is readable.
    package func warning(about path: String) -> String? {
        origin?.warning(about: path)
    }

    /// The topics of a bag that enter the core.
    private static let topics = [Topics.gnssFix.name, JournalEntry.topic] + InputTrack.types.keys.sorted()

    /// Returns notes about the inputs that a bag lacks, and about their order; none for other files.
    ///
    /// - Parameter path: the path that was read.
    package func notes(about path: String) throws(NodeError) -> [String] {
        guard origin != nil else { return [] }
        let check: BagCheck
        do throws(BagError) {
            check = try BagReader(path: path).checkSequences(of: TraceInput.topics)
        } catch {
            throw NodeError(.invalid, error.description(of: path))
        }
        var missing: [String: UInt64] = [:]
        for channel in check.channels { missing[channel.channel.topic, default: 0] += channel.missingCount }
        var notes = missing.filter { $0.value > 0 }.sorted { $0.key < $1.key }.map { topic, count in
            "\(topic): \(count) messages are missing from the sequence"
        }
        if !notes.isEmpty, check.longestGap >= TraceInput.leastGap {
            let seconds = check.longestGap / 1_000_000_000
            notes.append("the longest time without input is \(seconds) s")
        }
        if check.backwardCount > 0 {
            notes.append(
                "\(check.backwardCount) inputs have an earlier log time than their predecessor; "
                    + "they are replayed in the order of log time")
        }
        return notes
    }

    /// The shortest time without input that is reported, ns.
    private static let leastGap: UInt64 = 2_000_000_000
    /// The largest file that is not a bag, bytes.
    private static let greatestSize = 1 << 30
    /// The maximum number of fixes of a bag: 230 days at one per second.
    private static let mostFixes = 20_000_000
    /// The maximum bytes of commands and decisions in a bag, which may contain whole routes.
    private static let mostCommandBytes = 64 << 20

    /// Reads a file.
    ///
    /// - Parameter most: the maximum number of a bag's fixes to keep in memory.
    package init(path: String, keeping most: Int = RecordedFixes.mostKept) throws(NodeError) {
        let bytes: [UInt8]?
        let isROSBag: Bool
        do throws(ConfigError) {
            let head = try TextFile.head(path, count: TraceFormat.sniffLength)
            isROSBag = ["SQLite format 3\0", "#ROSBAG "].contains { head.starts(with: $0.utf8) }
            // The file is read rather than mapped: truncation of a mapped file while it is being read would raise a
            // signal instead of an error.
            bytes =
                isROSBag || TraceFormat.detect(head, name: path) == .mcap
                ? nil : try TextFile.bytes(path, limit: TraceInput.greatestSize)
        } catch {
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
                throw NodeError(.missing, error.description)
            }
            throw NodeError(
                .missing,
                "'\(path)' is a folder: convert a ROS 2 bag with 'navbus bag convert \(path) --out FILE.mcap' first")
        }
        guard !isROSBag else {
            throw NodeError(.invalid, "'\(path)' \(TraceInput.advice(onROSBag: path))")
        }
        guard let bytes else {
            self = try TraceInput(bag: path, keeping: most)
            return
        }
        do throws(TraceError) {
            let trace = try TraceReader.read(bytes, name: path)
            fixes = RecordedFixes(trace.fixes)
            others = nil
            origin = nil
            isGuided = false
            rejected = trace.rejections.all.filter { $0.count > 0 }.map { ($0.reason.rawValue, $0.count) }
        } catch {
            throw NodeError(.invalid, "'\(path)': \(error)")
        }
    }

    private static func advice(onROSBag path: String) -> String {
        "is a bag of ROS: convert it with 'navbus bag convert \(path) --out FILE.mcap' first"
    }

    private static func isTooLong(_ path: String, _ what: String) -> BagError {
        BagError(.limitExceeded, "'\(path)' has more than \(what); cut out a part with 'navbus bag cut'")
    }

    private init(bag path: String, keeping most: Int) throws(NodeError) {
        do throws(BagError) {
            let reader = try BagReader(path: path)
            var kept: [GnssFix] = []
            var count = 0
            var commandBytes = 0
            var unreadable = 0
            let channels = reader.index.channels(topic: Topics.gnssFix.name)
            let encodings = Set(reader.index.channels.map(\.messageEncoding))
            guard encodings != ["cdr"], encodings != ["ros1"] else {
                throw BagError(.invalidArgument, "'\(path)' \(TraceInput.advice(onROSBag: path))")
            }
            guard !channels.isEmpty else {
                let topics = reader.index.channels.map(\.topic).sorted().joined(separator: ", ")
                let content = topics.isEmpty ? "it has no readable message" : "it has: \(topics)"
                throw BagError(.invalidArgument, "'\(path)' has no topic /gnss/fix; \(content)")
            }
            for channel in channels {
                let type = reader.index.schema(channel.schemaID)?.name ?? ""
                guard type == GnssFix.fullName else {
                    throw BagError(
                        .invalidArgument, "/gnss/fix in '\(path)' is of type '\(type)', expected \(GnssFix.fullName)")
                }
            }
            var track = InputTrack(path: path, reader)
            let journal = reader.index.channels(topic: JournalEntry.topic).map(\.id)
            let trips = reader.channels(of: RecordedTrip.types)
            var cursor = reader.messages(BagQuery(topics: TraceInput.topics + RecordedTrip.types.keys.sorted()))
            while let message = try cursor.next() {
                if let topic = track.channels[message.channelID] {
                    track.add(topic)
                } else if journal.contains(message.channelID) {
                    let entries = track.entryCount
                    if let entry = try? JournalEntry(message) { track.add(entry) }
                    if track.entryCount > entries { commandBytes += message.data.count }
                    guard commandBytes <= TraceInput.mostCommandBytes else {
                        throw TraceInput.isTooLong(path, "\(TraceInput.mostCommandBytes >> 20) MiB of commands")
                    }
                } else if !channels.contains(where: { $0.id == message.channelID }) {
                    if let topic = trips[message.channelID] { track.add(message, showingTripOn: topic) }
                } else if let fix = RecordedFixes.fix(message) {
                    count += 1
                    guard count <= TraceInput.mostFixes else {
                        throw TraceInput.isTooLong(path, "\(TraceInput.mostFixes) fixes")
                    }
                    if count <= most { kept.append(fix) } else { kept = [] }
                    track.addFix()
                } else {
                    unreadable += 1
                }
            }
            fixes =
                count <= most
                ? RecordedFixes(kept) : RecordedFixes(bag: path, channels: Set(channels.map(\.id)), count: count)
            others = track.isEmpty ? nil : track
            origin = reader.index.origin
            isGuided = !reader.index.channels(topic: Topics.progress.name).isEmpty
            rejected = unreadable > 0 ? [("unreadable", unreadable)] : []
        } catch {
            throw NodeError(.invalid, error.description(of: path))
        }
    }
}
