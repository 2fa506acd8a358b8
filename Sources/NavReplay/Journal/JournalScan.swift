import NavWire
import NavRecording
import NavBag
import NavGeo
import NavKit
import NavMap
import NavMessages
import NavigationNode

/// An overview of a bag's journal: the runs of the node, and the maps that became active in each.
///
/// It is needed before the events are executed, because a route may have been found on a map that the core received later. A journal is
/// read in file order, the order in which its entries were received: log time goes back when the clock is set back during a drive.
struct JournalScan {
    /// A run of the node from start to end, regardless of clock jumps.
    struct Run {
        var start: CoreStart
        /// The causes of map changes, in order.
        var maps: [MapCause] = []
    }

    private(set) var runs: [Run] = []
    private(set) var entryCount = 0

    init(_ reader: BagReader) throws(NodeError) {
        var cursor = reader.messages(BagQuery(topics: [JournalEntry.topic], order: .file))
        var expected: UInt64 = 1
        var isSameRun = false
        do throws(BagError) {
            while let message = try cursor.next() {
                let entry = try JournalEntry(message)
                guard let number = entry.entrySequence else { continue }
                if case .start(let start)? = entry.event {
                    if !isSameRun { runs.append(Run(start: start)) }
                    expected = number
                }
                guard !runs.isEmpty else {
                    throw BagError(
                        .malformed,
                        "the journal begins with entry \(number), after the core's start: record from before the node starts"
                    )
                }
                guard number == expected else {
                    throw BagError(
                        .malformed,
                        "the journal lacks entries \(expected) to \(number &- 1); the recording is incomplete")
                }
                expected += 1
                entryCount += 1
                isSameRun = entry.isClockJump
                Self.note(entry, in: &runs[runs.count - 1])
            }
        } catch {
            throw NodeError(.invalid, error.description)
        }
        guard !runs.isEmpty else {
            throw NodeError(
                .missing,
                "the bag has no messages of \(JournalEntry.topic): record it with 'navbus bag record' while the node runs"
            )
        }
    }

    private static func note(_ entry: JournalEntry, in run: inout Run) {
        guard let number = entry.mapSnapshot else { return }
        func change(_ body: (inout MapCause) -> Void) {
            if run.maps.last?.number != number {
                run.maps.append(
                    MapCause(
                        number: number, mapVersion: run.start.mapVersion ?? "", traffic: [], tiles: nil,
                        stamp: NavGeo.Timestamp(nanoseconds: entry.mapStampNs ?? .min)))
            }
            body(&run.maps[run.maps.count - 1])
        }
        switch entry.event {
        case .traffic(let header): change { $0.traffic.append((header, entry.causeSequence ?? 0)) }
        case .tiles(let arrival):
            change {
                $0.mapVersion = arrival.mapVersion ?? $0.mapVersion
                $0.tiles = TileSupply.Change(
                    added: arrival.added.compactMap { RoadTileID($0) },
                    removed: arrival.removed.compactMap { RoadTileID($0) })
            }
        // The start of a drive refers to the map in force and does not cause it.
        default: return
        }
    }
}

extension JournalEntry {
    /// Whether the drive ended here because of a clock jump, after which the node started another drive.
    var isClockJump: Bool {
        if case .command(let command)? = event { return command.caller == JournalCaller.clock }
        return false
    }
}
