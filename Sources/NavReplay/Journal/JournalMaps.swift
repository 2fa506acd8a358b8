import NavBag
import NavGeo
import NavKit
import NavMap
import NavMessages
import NavNavigator
import NavRouting
import NavWire
import NavigationNode

/// A builder that recreates the maps of a recorded run, by their numbers.
struct JournalMaps {
    /// The number of maps kept: a route may have been found on a map that was no longer the newest.
    private static let kept = 16

    private let directory: TilesetDirectory
    private let entries: [RoadTileID: Tileset.Entry]
    private var tiles: [RoadTileID: RoadTile] = [:]
    private let store: MapStore
    private let initial: TrafficUpdate
    private var causes: ArraySlice<MapCause>
    /// The newest maps, starting with the initial map of the run.
    private var made: [MapChange]
    private var traffic: TrafficTrack

    /// Creates the maps of a run.
    ///
    /// - Parameter traffic: the bag's traffic messages since the run's start.
    init(
        _ run: JournalScan.Run, _ directory: TilesetDirectory, _ configuration: NavigationConfiguration,
        _ traffic: TrafficTrack
    ) throws(NodeError) {
        self.directory = directory
        self.traffic = traffic
        causes = run.maps[...]
        var entries: [RoadTileID: Tileset.Entry] = [:]
        for entry in directory.tileset.tiles { if let id = entry.tile { entries[id] = entry } }
        self.entries = entries
        let version = run.start.mapVersion ?? ""
        guard version == directory.tileset.mapVersion else {
            throw NodeError(
                .invalid,
                "the drive used map \(version.prefix(12)), but '\(directory.path)' is map "
                    + "\(directory.tileset.mapVersion.prefix(12)); use the tiles of the recorded node")
        }
        let ids = run.start.tiles.compactMap { RoadTileID($0) }
        for id in ids.isEmpty ? Array(entries.keys) : ids {
            tiles[id] = try Self.load(id, directory, entries)
        }
        let graph = directory.graph(of: tiles.values)
        store = MapStore(MapSnapshot(graph: graph, model: CostModel(profile: configuration.profile)))
        initial =
            configuration.traffic.isEmpty
            ? TrafficUpdate(TrafficSpeeds(replacesAll: true))
            : TrafficUpdate(try TrafficFile(path: configuration.traffic))
        if !configuration.traffic.isEmpty { _ = store.update([initial], at: NavGeo.Timestamp(nanoseconds: .min)) }
        made = [MapChange(map: store.current)]
    }

    /// The initial map of the run.
    var first: MapSnapshot { made[0].map }

    /// Creates all maps up to a number, and returns those after `seen`, in order.
    mutating func changes(after seen: UInt64, through number: UInt64) throws(NodeError) -> [MapChange] {
        try make(through: number)
        return made.filter { $0.map.number > seen && $0.map.number <= number }
    }

    mutating func map(_ number: UInt64) throws(NodeError) -> MapSnapshot {
        try make(through: number)
        guard let map = made.last(where: { $0.map.number == number })?.map else {
            throw NodeError(.invalid, "a route was found on map \(number), which the journal does not contain")
        }
        return map
    }

    private mutating func make(through number: UInt64) throws(NodeError) {
        while let cause = causes.first, cause.number <= number {
            causes = causes.dropFirst()
            try make(cause)
        }
    }

    private mutating func make(_ cause: MapCause) throws(NodeError) {
        var roads: RoadGraph?
        if let change = cause.tiles {
            guard cause.mapVersion == directory.tileset.mapVersion else {
                throw NodeError(
                    .invalid,
                    "the drive changed to map \(cause.mapVersion.prefix(12)), which is not in '\(directory.path)'"
                )
            }
            for id in change.removed { tiles[id] = nil }
            for id in change.added { tiles[id] = try Self.load(id, directory, entries) }
            roads = directory.graph(of: tiles.values)
        }
        var updates: [TrafficUpdate] = []
        for (header, sequence) in cause.traffic {
            switch header.provider {
            case MapCause.expiry where sequence == 0: break
            case MapCause.start where sequence == 0: updates.append(initial)
            default: updates.append(try traffic.update(header, sequence))
            }
        }
        _ = store.update(updates, roads: roads, at: cause.stamp)
        var map = store.current
        map.number = cause.number
        made.append(MapChange(map: map, traffic: cause.traffic, tiles: cause.tiles, at: cause.stamp))
        if made.count > Self.kept { made.removeFirst() }
    }

    private static func load(
        _ id: RoadTileID, _ directory: TilesetDirectory, _ entries: [RoadTileID: Tileset.Entry]
    ) throws(NodeError) -> RoadTile {
        guard let entry = entries[id] else {
            throw NodeError(.missing, "the node used tile \(id), which '\(directory.path)' lacks")
        }
        return try directory.loadTile(entry)
    }
}

/// The traffic messages in a bag, found by their journal entries.
struct TrafficTrack {
    /// The number of skipped messages kept: the journal refers to messages in the order of handling, so later entries may refer to them.
    private static let kept = 32

    private var next: () throws(BagError) -> BagMessage?
    private var passed: [(sequence: UInt32, update: TrafficUpdate)] = []

    init(_ reader: BagReader) {
        var cursor = reader.messages(BagQuery(topics: [Topics.trafficSpeeds.name], order: .file))
        next = { () throws(BagError) in try cursor.next() }
    }

    mutating func update(_ header: TrafficSpeeds, _ sequence: UInt64) throws(NodeError) -> TrafficUpdate {
        func isWanted(_ candidate: (sequence: UInt32, update: TrafficUpdate)) -> Bool {
            candidate.sequence == UInt32(truncatingIfNeeded: sequence) && candidate.update.header == header
        }
        if let index = passed.firstIndex(where: isWanted) { return passed.remove(at: index).update }
        do throws(BagError) {
            while let message = try next() {
                guard let update = TrafficUpdate(message) else { continue }
                if isWanted((message.sequence, update)) { return update }
                passed.append((message.sequence, update))
                if passed.count > Self.kept { passed.removeFirst() }
            }
        } catch {
            throw NodeError(.invalid, error.description)
        }
        throw NodeError(
            .missing,
            "the bag lacks message \(sequence) of /traffic/speeds, which the journal refers to; record that topic too")
    }
}
