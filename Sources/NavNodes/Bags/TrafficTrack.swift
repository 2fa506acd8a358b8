import NavBag
import NavMessages

/// The messages of `/traffic/speeds` in a bag, each by the number of fixes before it. They are read when their time has
/// come: an hour of a city's traffic is more than memory should hold.
public struct TrafficTrack: Sendable {
    private let path: String
    /// For each message the fixes before it, ascending.
    let positions: [Int]

    init(path: String, positions: [Int]) {
        self.path = path
        self.positions = positions
    }

    /// Messages in the track.
    public var count: Int { positions.count }

    /// Reads the track from its start.
    struct Reader {
        private let positions: [Int]
        private var index = 0
        private var next: () throws(BagError) -> BagMessage?

        init(_ track: TrafficTrack) throws(BagError) {
            positions = track.positions
            let reader = try BagReader(path: track.path)
            var cursor = reader.messages(BagQuery(topics: ["/traffic/speeds"]))
            next = { () throws(BagError) in try cursor.next() }
        }

        /// The next message that comes before a fix, the first being 0; nil when there is none.
        mutating func message(before fix: Int) throws(BagError) -> BagMessage? {
            guard index < positions.count, positions[index] <= fix else { return nil }
            index += 1
            return try next()
        }
    }
}
