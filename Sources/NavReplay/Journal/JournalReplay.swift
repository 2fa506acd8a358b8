package import NavBag
import NavGeo
package import NavKit
import NavMap
import NavMessages
import NavNavigator
package import NavRecording
import NavRouting
import NavigationNode

/// A replay that re-executes the journal of a recorded drive in this process, and compares the core's messages with the recording.
///
/// The journal has every event in the order in which the core handled it, so threads and clocks have no influence. Routes are recomputed on
/// the map on which they were found; the answers of a network provider and of the owner's policy are taken from the journal.
package struct JournalReplay {
    package struct Summary: Sendable, Equatable, Codable {
        package var events = 0
        package var runs = 0
        package var messages = 0
        /// The number of reproduced messages missing from the bag: the recorder missed them, or ended earlier.
        package var unrecorded = 0
        /// A description of the first difference; nil without a difference.
        package var difference: String?
        /// A warning about the bag if it is damaged.
        package var warning: String?
    }

    private let path: String
    private let directory: TilesetDirectory

    package init(bag path: String, tiles: String) throws(NodeError) {
        self.path = path
        directory = try TilesetDirectory(path: tiles)
    }

    /// Executes the journal until its end or the first difference.
    ///
    /// - Parameters:
    ///   - log: the log of the core's messages.
    ///   - progress: called with the completed share.
    package func run<Sink: ByteSink>(
        into log: inout MessageLog<Sink>?, progress: (Double) -> Void = { _ in }
    ) throws(NodeError) -> Summary {
        do {
            return try run(try BagReader(path: path), into: &log, progress)
        } catch let error as NodeError {
            throw error
        } catch {
            throw NodeError(.invalid, "\(error)")
        }
    }

    private func run<Sink: ByteSink>(
        _ reader: BagReader, into log: inout MessageLog<Sink>?, _ progress: (Double) -> Void
    ) throws -> Summary {
        let scan = try JournalScan(reader)
        var comparison = JournalComparison()
        var summary = Summary()
        summary.warning = reader.index.origin.warning(about: path)
        var execution: JournalExecution?
        var isSameRun = false
        var cursor = reader.messages(BagQuery(topics: NavigationNode.topics.map { $0.name }, order: .file))
        while comparison.difference == nil, let message = try cursor.next() {
            guard let channel = reader.index.channel(message.channelID) else { continue }
            let type = reader.index.schema(channel.schemaID)?.name ?? ""
            let entry: JournalEntry? = try channel.topic == JournalEntry.topic ? JournalEntry(message) : nil
            if case .start? = entry?.event, entry?.entrySequence != nil, !isSameRun, summary.runs < scan.runs.count {
                comparison.endRun()
                let traffic = TrafficTrack(reader)
                execution = try JournalExecution(scan.runs[summary.runs], directory, traffic)
                summary.runs += 1
            }
            comparison.take(recorded: message, channel.topic, type: type)
            guard let entry, entry.entrySequence != nil else { continue }
            let said = try execution?.execute(entry) ?? []
            summary.events += 1
            comparison.take(produced: said, entry: summary.events)
            for said in said {
                try log?.write(
                    said.message, topic: said.topic, logTime: Int64(clamping: message.logTime),
                    publishTime: said.stamp.nanoseconds)
            }
            isSameRun = entry.isClockJump
            progress(Double(summary.events) / Double(max(scan.entryCount, 1)))
        }
        comparison.finish()
        summary.messages = comparison.comparedCount
        summary.unrecorded = comparison.missingCount
        summary.difference = comparison.difference.map { words($0, scan.runs[max(summary.runs - 1, 0)].start) }
        return summary
    }

    private func words(_ difference: JournalComparison.Difference, _ start: CoreStart) -> String {
        var lines = [
            "message \(difference.position) of \(difference.topic), at journal event \(difference.entry), differs"
        ]
        lines += difference.recorded.map { "  recorded:   \($0)" } + difference.reproduced.map { "  reproduced: \($0)" }
        if let version = start.version, version != NavbusVersion.text {
            lines.append("  recorded by navbus \(version), reproduced by \(NavbusVersion.text)")
        }
        return lines.joined(separator: "\n")
    }
}
