internal import NavGeo
internal import NavMap

/// A directed edge of the road network, encoded as twice its segment's index, plus one for the direction against the way's nodes.
struct DirectedEdge: Sendable, Hashable {
    let number: UInt32

    init(_ segment: Int, isBackward: Bool) { number = UInt32(segment) << 1 | (isBackward ? 1 : 0) }

    var segment: Int { Int(number >> 1) }
    var isBackward: Bool { number & 1 == 1 }
}

/// A road network of segments that meet only at their ends.
///
/// Segments end where two or more roads (or one road twice) meet, where a road ends, and where a barrier blocks it. Signals, crossings and
/// similar features lie within segments.
struct RoadNetwork: Sendable {
    struct Anomalies: Sendable {
        var missingNodes = 0
        var shortWays = 0
        var repeatedNodes = 0
    }

    var roads: RoadTable
    /// The nodes of all roads in order, as indexes in the data, without absent ones and immediate repeats.
    private(set) var lineNodes: ContiguousArray<UInt32> = []
    /// For each segment: its road, and the positions of its first and last node in ``lineNodes``.
    private(set) var segmentRoads: ContiguousArray<UInt32> = []
    private(set) var segmentStarts: ContiguousArray<Int> = []
    private(set) var segmentEnds: ContiguousArray<Int> = []
    /// For each segment, its attributes along and against the way: indexes in the road table, or the table's `none`.
    private(set) var segmentForward: ContiguousArray<UInt32> = []
    private(set) var segmentBackward: ContiguousArray<UInt32> = []
    /// For each road, its first segment; plus a final entry.
    private(set) var firstSegments: ContiguousArray<Int> = []
    /// The end nodes of segments: their indexes in the data, ascending.
    private(set) var nodes: ContiguousArray<UInt32> = []
    /// For each node of the data, its index in ``nodes``, or ``noNode``.
    private(set) var nodeNumbers: ContiguousArray<UInt32> = []
    /// The meaning of the tags of each node of ``OSMData/taggedNodes``.
    private(set) var meanings: ContiguousArray<NodeTags.Meaning> = []
    /// For each node of the data, its index in ``meanings``, or ``noNode``.
    private(set) var meaningNumbers: ContiguousArray<UInt32> = []
    private(set) var anomalies = Anomalies()
    /// The departing edges of each node of ``nodes``: offsets and edges.
    private(set) var firstDepartures: ContiguousArray<UInt32> = []
    private(set) var departures: ContiguousArray<DirectedEdge> = []

    static let noNode = UInt32.max
    /// The most points of one segment; the limit of the tile format is 65,535.
    private static let longestSegment = 60_000

    init(_ data: OSMData, roads: RoadTable) {
        self.roads = roads
        interpretNodes(data)
        let lines = cutLines(data)
        split(lines, data)
        numberNodes(data)
        listDepartures()
    }

    private mutating func interpretNodes(_ data: OSMData) {
        meaningNumbers = ContiguousArray(repeating: RoadNetwork.noNode, count: data.nodeIDs.count)
        var tags = TagSet()
        meanings.reserveCapacity(data.taggedNodes.count)
        for (number, node) in data.taggedNodes.enumerated() {
            tags.load(data.nodeTags, number)
            meanings.append(NodeTags.interpret(tags, data.strings))
            meaningNumbers[Int(node)] = UInt32(number)
        }
    }

    /// Returns the meaning of a node's tags; nil without tags.
    func meaning(_ node: UInt32) -> NodeTags.Meaning? {
        let number = meaningNumbers[Int(node)]
        return number == RoadNetwork.noNode ? nil : meanings[Int(number)]
    }

    /// A stretch of a road without a gap.
    private struct Line {
        var road: UInt32
        var range: Range<Int>
    }

    /// Copies the nodes of roads, ending a line at an absent node.
    private mutating func cutLines(_ data: OSMData) -> ContiguousArray<Line> {
        var lines = ContiguousArray<Line>()
        lines.reserveCapacity(roads.ways.count)
        for (road, way) in roads.ways.enumerated() {
            var start = lineNodes.count
            func end(_ network: inout RoadNetwork) {
                if network.lineNodes.count - start >= 2 {
                    lines.append(Line(road: UInt32(road), range: start..<network.lineNodes.count))
                } else {
                    network.lineNodes.removeLast(network.lineNodes.count - start)
                }
                start = network.lineNodes.count
            }
            let before = lines.count
            for at in data.ways.partRange(Int(way)) {
                let node = data.ways.parts[at]
                if !data.isPresent(node) {
                    anomalies.missingNodes += 1
                    end(&self)
                } else if lineNodes.count > start, lineNodes.last == node {
                    anomalies.repeatedNodes += 1
                } else {
                    lineNodes.append(node)
                }
            }
            end(&self)
            if lines.count == before { anomalies.shortWays += 1 }
        }
        return lines
    }

    private mutating func split(_ lines: ContiguousArray<Line>, _ data: OSMData) {
        // A node with two uses becomes an end; a line's own ends count twice.
        var uses = ContiguousArray<UInt8>(repeating: 0, count: data.nodeIDs.count)
        for line in lines {
            for at in line.range {
                let node = Int(lineNodes[at])
                let isEnd = at == line.range.lowerBound || at == line.range.upperBound - 1
                uses[node] = min(uses[node] + (isEnd ? 2 : 1), 2)
            }
        }
        for (number, node) in data.taggedNodes.enumerated()
        where !meanings[number].flags.isDisjoint(
            with: [.impassable, .truckImpassable, .privateGate, .truckPrivateGate, .sizeLimited])
        {
            uses[Int(node)] = 2
        }
        segmentRoads.reserveCapacity(lines.count * 2)
        firstSegments.reserveCapacity(roads.ways.count + 1)
        var cuts: [Int] = []
        for line in lines {
            // Where the country changes, the road is split at the preceding node.
            let countries =
                roads.crossings.isEmpty
                ? nil : roads.countries(ofRoad: Int(line.road), along: line.range.map { data.position(lineNodes[$0]) })
            while firstSegments.count <= Int(line.road) { firstSegments.append(segmentRoads.count) }
            cuts.removeAll(keepingCapacity: true)
            for at in line.range
            where uses[Int(lineNodes[at])] >= 2 || at - (cuts.last ?? at) >= RoadNetwork.longestSegment
                || changes(countries, at - line.range.lowerBound)
            {
                cuts.append(at)
            }
            separateTwins(&cuts)
            for (start, end) in zip(cuts, cuts.dropFirst()) {
                segmentRoads.append(line.road)
                segmentStarts.append(start)
                segmentEnds.append(end)
                var attributes = (forward: roads.forward[Int(line.road)], backward: roads.backward[Int(line.road)])
                if let countries {
                    attributes = roads.attributes(
                        ofRoad: Int(line.road), in: countries[start - line.range.lowerBound])
                }
                segmentForward.append(attributes.forward)
                segmentBackward.append(attributes.backward)
            }
        }
        while firstSegments.count <= roads.ways.count { firstSegments.append(segmentRoads.count) }
    }

    /// Whether the pieces before and after a point of a line lie in different countries.
    private func changes(_ countries: [UInt16]?, _ point: Int) -> Bool {
        guard let countries, point > 0, point < countries.count else { return false }
        return countries[point - 1] != countries[point]
    }

    /// Replaces the attributes of a segment by indexes in the road table.
    mutating func setAttributes(_ segment: Int, forward: UInt32, backward: UInt32) {
        segmentForward[segment] = forward
        segmentBackward[segment] = backward
    }

    /// Adds cuts where a road returns to its own start, or joins the same two nodes twice, so that no segment is a loop, and two nodes and
    /// a way identify a single segment.
    private func separateTwins(_ cuts: inout [Int]) {
        if cuts.count == 2 && lineNodes[cuts[0]] != lineNodes[cuts[1]] { return }
        var pairs: [(low: UInt32, high: UInt32, segment: Int)] = []
        for segment in 0..<max(cuts.count - 1, 0) {
            let (start, end) = (lineNodes[cuts[segment]], lineNodes[cuts[segment + 1]])
            pairs.append((min(start, end), max(start, end), segment))
        }
        pairs.sort { ($0.low, $0.high, $0.segment) < ($1.low, $1.high, $1.segment) }
        var added: [Int] = []
        for (rank, pair) in pairs.enumerated() {
            let start = cuts[pair.segment]
            let length = cuts[pair.segment + 1] - start
            if pair.low == pair.high {
                added += length >= 3 ? [start + length / 3, start + length * 2 / 3] : length == 2 ? [start + 1] : []
            } else if rank > 0, pairs[rank - 1].low == pair.low, pairs[rank - 1].high == pair.high, length >= 2 {
                added.append(start + length / 2)
            }
        }
        if added.isEmpty { return }
        cuts += added
        cuts.sort()
    }

    private mutating func numberNodes(_ data: OSMData) {
        nodeNumbers = ContiguousArray(repeating: RoadNetwork.noNode, count: data.nodeIDs.count)
        for segment in segmentRoads.indices {
            nodeNumbers[Int(lineNodes[segmentStarts[segment]])] = 0
            nodeNumbers[Int(lineNodes[segmentEnds[segment]])] = 0
        }
        for node in nodeNumbers.indices where nodeNumbers[node] == 0 {
            nodeNumbers[node] = UInt32(nodes.count)
            nodes.append(UInt32(node))
        }
    }

    private mutating func listDepartures() {
        var counts = ContiguousArray<UInt32>(repeating: 0, count: nodes.count + 1)
        forEachEdge { counts[Int(tail($0)) + 1] += 1 }
        for node in 0..<nodes.count { counts[node + 1] += counts[node] }
        firstDepartures = counts
        departures = ContiguousArray(repeating: DirectedEdge(0, isBackward: false), count: Int(counts.last ?? 0))
        var places = departures
        forEachEdge { edge in
            let node = Int(tail(edge))
            places[Int(counts[node])] = edge
            counts[node] += 1
        }
        departures = places
    }

    /// Calls `body` for each drivable edge, by segment, forward first.
    func forEachEdge(_ body: (DirectedEdge) -> Void) {
        for segment in segmentRoads.indices {
            if segmentForward[segment] != RoadTable.none { body(DirectedEdge(segment, isBackward: false)) }
            if segmentBackward[segment] != RoadTable.none { body(DirectedEdge(segment, isBackward: true)) }
        }
    }

    /// For each node, whether three or more roads meet there.
    var junctions: ContiguousArray<Bool> {
        var roads = ContiguousArray<UInt8>(repeating: 0, count: nodes.count)
        for segment in segmentRoads.indices
        where segmentForward[segment] != RoadTable.none || segmentBackward[segment] != RoadTable.none {
            for place in [segmentStarts[segment], segmentEnds[segment]] {
                let node = Int(nodeNumbers[Int(lineNodes[place])])
                roads[node] = min(roads[node] + 1, 3)
            }
        }
        return ContiguousArray(roads.map { $0 == 3 })
    }

    /// For each node, the lanes of its widest road, both directions together; 0 when unknown.
    var widths: ContiguousArray<UInt8> {
        var widths = ContiguousArray<UInt8>(repeating: 0, count: nodes.count)
        for segment in segmentRoads.indices {
            let lanes = [segmentForward[segment], segmentBackward[segment]].map {
                $0 == RoadTable.none ? 0 : Int(roads.attributes[Int($0)].lanes)
            }
            let width = UInt8(min(lanes[0] + lanes[1], Int(UInt8.max)))
            for place in [segmentStarts[segment], segmentEnds[segment]] {
                let node = Int(nodeNumbers[Int(lineNodes[place])])
                widths[node] = max(widths[node], width)
            }
        }
        return widths
    }

    /// Returns the start node of an edge, an index in ``nodes``.
    func tail(_ edge: DirectedEdge) -> UInt32 {
        nodeNumbers[Int(lineNodes[edge.isBackward ? segmentEnds[edge.segment] : segmentStarts[edge.segment]])]
    }

    /// Returns the end node of an edge, an index in ``nodes``.
    func head(_ edge: DirectedEdge) -> UInt32 {
        nodeNumbers[Int(lineNodes[edge.isBackward ? segmentStarts[edge.segment] : segmentEnds[edge.segment]])]
    }

    func exists(_ edge: DirectedEdge) -> Bool { attributes(edge) != RoadTable.none }

    /// Returns the attributes of an edge, an index in the road table.
    func attributes(_ edge: DirectedEdge) -> UInt32 {
        edge.isBackward ? segmentBackward[edge.segment] : segmentForward[edge.segment]
    }

    func departures(_ node: UInt32) -> ArraySlice<DirectedEdge> {
        ArraySlice(departures[Int(firstDepartures[Int(node)])..<Int(firstDepartures[Int(node) + 1])])
    }

    func segments(ofRoad road: Int) -> Range<Int> { firstSegments[road]..<firstSegments[road + 1] }

    /// Returns the length of a segment, metres.
    func length(_ segment: Int, _ data: OSMData) -> Double {
        (segmentStarts[segment]..<segmentEnds[segment]).reduce(0) { $0 + step(from: $1, data) }
    }

    /// Returns the position in ``lineNodes`` of a segment's first node that is at least as far from its start as from its end.
    func middle(_ segment: Int, _ data: OSMData) -> Int {
        let half = length(segment, data) / 2
        var passed = 0.0
        for at in segmentStarts[segment]..<segmentEnds[segment] {
            if passed >= half { return at }
            passed += step(from: at, data)
        }
        return segmentEnds[segment]
    }

    /// Returns the distance from a node of ``lineNodes`` to the next, metres.
    private func step(from at: Int, _ data: OSMData) -> Double {
        Geodesy.distance(data.position(lineNodes[at]).coordinate, data.position(lineNodes[at + 1]).coordinate)
    }
}
