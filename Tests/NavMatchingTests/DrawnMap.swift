import Glibc
import NavGeo
import NavMap
import NavMatching
import NavRouting
import NavSimulation
import NavTestSupport

/// A road network drawn with letters: each letter is an OSM node, each road a way over some of them.
///
/// The letters are also the OSM node ids (``id(_:)``); roads get way ids from 100 on in the given order.
struct DrawnMap {
    static let origin = Coordinate(latitude: 47.15, longitude: 9.53)

    let graph: RoadGraph
    let metric: Metric
    private let frame = LocalFrame(origin: origin)
    private let points: [Character: LocalPoint]

    /// Creates the map of a drawing.
    ///
    /// - Parameters:
    ///   - scale: metres per column; a row is twice as high.
    ///   - roads: ways as their letters; a leading `>` makes a one-way street.
    ///   - prohibited: prohibited turns, as three letters.
    ///   - skipping: letters whose roads are missing, as if their tile was not loaded.
    init(
        _ drawing: String, scale: Double = 10, roads: [String], prohibited: [String] = [], mapVersion: String = "drawn",
        skipping: Set<Character> = []
    ) throws {
        var points: [Character: LocalPoint] = [:]
        for cell in try ASCIIMap.cells(of: drawing) {
            points[cell.node] = LocalPoint(east: Double(cell.column) * scale, north: Double(-cell.line) * scale * 2)
        }
        self.points = points
        var tile = TileContent(id: RoadTileID(layer: .local, containing: DrawnMap.origin))
        let ways = roads.enumerated().map { number, road in
            (id: Int64(100 + number), oneway: road.hasPrefix(">"), letters: road.filter(\.isLetter))
        }.filter { $0.letters.allSatisfy { !skipping.contains($0) } }
        var uses: [Character: Int] = [:]
        for way in ways {
            for (position, letter) in way.letters.enumerated() {
                uses[letter, default: 0] += position == 0 || position == way.letters.count - 1 ? 2 : 1
            }
        }
        let nodes = points.keys.sorted().filter { uses[$0, default: 0] > 1 }
        let frame = frame
        func position(_ letter: Character) -> FixedCoordinate {
            FixedCoordinate(frame.coordinate(of: points[letter] ?? LocalPoint(east: 0, north: 0)))
        }
        tile.nodes = nodes.map {
            TileContent.Node(osmID: DrawnMap.id($0), position: position($0), flags: [], layers: [.local])
        }
        tile.attributes = [RoadAttributes(roadClass: .residential, freeFlowSpeed: 14)]
        var edges: [(edge: TileContent.Edge, pair: Int)] = []
        for way in ways {
            var piece: [Character] = []
            for letter in way.letters {
                piece.append(letter)
                guard piece.count > 1, let tail = nodes.firstIndex(of: piece[0]),
                    let head = nodes.firstIndex(of: letter)
                else { continue }
                let start = tile.shapePoints.count
                tile.shapePoints += piece.map { TileContent.ShapePoint(osmID: DrawnMap.id($0), position: position($0)) }
                let shape = start..<tile.shapePoints.count
                edges.append(
                    (
                        TileContent.Edge(
                            tail: tail, head: .local(head), wayID: way.id, shape: shape, reversed: false, opposite: nil,
                            attributes: 0), start
                    ))
                if !way.oneway {
                    edges.append(
                        (
                            TileContent.Edge(
                                tail: head, head: .local(tail), wayID: way.id, shape: shape, reversed: true,
                                opposite: nil, attributes: 0), start
                        ))
                }
                piece = [letter]
            }
        }
        edges.sort { ($0.edge.tail, $0.pair) < ($1.edge.tail, $1.pair) }
        for index in edges.indices {
            edges[index].edge.opposite = edges.indices.first { $0 != index && edges[$0].pair == edges[index].pair }
        }
        tile.edges = edges.map(\.edge)
        tile.restrictions = prohibited.map { path in
            let letters = Array(path)
            return TileContent.Restriction(
                path: zip(letters, letters.dropFirst()).map { from, to in
                    EdgeReference(
                        tailNodeID: DrawnMap.id(from), headNodeID: DrawnMap.id(to),
                        wayID: ways.first {
                            $0.letters.contains("\(from)\(to)") || $0.letters.contains("\(to)\(from)")
                        }?.id ?? 0)
                })
        }
        let bytes = try TileEncoder.encode(tile)
        graph = RoadGraph(tiles: [try RoadTile(TileStorage(copying: bytes))], mapVersion: mapVersion)
        metric = Metric(TurnGraph(graph), model: CostModel())
    }

    /// Returns the OSM id of a letter.
    static func id(_ letter: Character) -> Int64 { Int64(letter.unicodeScalars.first?.value ?? 0) }

    /// Returns the two letters of an OSM segment, such as "AB".
    static func name(_ from: Int64, _ to: Int64) -> String {
        String([from, to].compactMap { Unicode.Scalar(UInt32($0)).map(Character.init) })
    }

    /// Returns the place of a letter, with an offset in metres.
    func coordinate(_ letter: Character, east: Double = 0, north: Double = 0) -> Coordinate {
        let point = points[letter] ?? LocalPoint(east: 0, north: 0)
        return frame.coordinate(of: LocalPoint(east: point.east + east, north: point.north + north))
    }

    /// Returns the edge from one letter to another.
    func edge(_ from: Character, _ to: Character) -> EdgeIndex? {
        (0..<graph.edgeCount).map { EdgeIndex($0) }.first {
            let shape = graph.shape(of: $0)
            return shape.nodeID(0) == DrawnMap.id(from) && shape.nodeID(shape.count - 1) == DrawnMap.id(to)
        }
    }

    /// Returns fixes of a drive in straight lines from letter to letter, the last fix at the last letter.
    func drive(
        _ letters: String, speed: Double = 12, every interval: Double = 1, from start: Double = 0, noise: Double = 0,
        seed: UInt64 = 1, sideways: Double = 0, senses: Bool = true
    ) -> [Fix] {
        let route = Array(letters).map { points[$0] ?? LocalPoint(east: 0, north: 0) }
        var random = SeededRandom(seed: seed)
        var fixes: [Fix] = []
        var carried = 0.0
        for (from, to) in zip(route, route.dropFirst()) {
            let length = (to - from).length
            let course = Angle.normalised(atan2(to.east - from.east, to.north - from.north))
            var along = carried
            let isLast = to == route.last
            while along < length || isLast && along < length + speed * interval {
                let share = min(along / length, 1)
                let point = LocalPoint(
                    east: from.east + (to.east - from.east) * share + sideways * cos(course) + noise
                        * random.gaussian(),
                    north: from.north + (to.north - from.north) * share - sideways * sin(course) + noise
                        * random.gaussian()
                )
                fixes.append(
                    fix(
                        start + Double(fixes.count) * interval, frame.coordinate(of: point),
                        speed: senses ? speed : nil, course: senses ? course : nil))
                along += speed * interval
            }
            carried = along - length
        }
        return fixes
    }

    /// Returns one fix, `seconds` after the epoch of the tests.
    func fix(_ seconds: Double, _ coordinate: Coordinate, speed: Double? = nil, course: Double? = nil) -> Fix {
        Fix(
            stamp: Timestamp(nanoseconds: 1_700_000_000_000_000_000).advanced(bySeconds: seconds),
            coordinate: coordinate, horizontalSigma: 4, speed: speed, course: course)
    }
}

/// The positions and path of a drive from a matcher.
struct MatchedDrive {
    var positions: [MatchedPosition] = []
    var path: [String] = []

    init(
        _ map: DrawnMap, _ fixes: some Sequence<Fix>, prior: RoutePrior? = nil, config: MatcherConfig = MatcherConfig(),
        includesPartialEnds: Bool = false, lag: Int = 256
    ) {
        var matcher = StreamingMatcher(metric: map.metric, config: config, recordsPath: true)
        var tracker = PathTracker(lag: lag, includesPartialEnds: includesPartialEnds)
        var segments: [DrivenSegment] = []
        for fix in fixes {
            positions.append(matcher.match(fix, routePrior: prior))
            if let step = matcher.step { segments += tracker.append(step) }
        }
        segments += tracker.finish()
        path = segments.map { DrawnMap.name($0.fromNodeID, $0.toNodeID) }
    }

    /// The segments of the positions, without repetitions.
    var visited: [String] {
        positions.compactMap(\.segmentName).reduce(into: []) { if $0.last != $1 { $0.append($1) } }
    }
}

extension MatchedPosition {
    /// The letters of the matched OSM segment.
    var segmentName: String? { road.map { DrawnMap.name($0.fromNodeID, $0.toNodeID) } }
}
