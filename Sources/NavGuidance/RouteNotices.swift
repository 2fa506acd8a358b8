public import NavGeo
internal import NavMap
internal import NavRouting

/// A place on a route that is announced and requires no maneuver.
public struct RouteNotice: Sendable, Equatable {
    /// The kind of place; the raw values are the ends of the phrases' keys.
    public enum Kind: String, Sendable, CaseIterable {
        /// A toll road begins.
        case tollRoad = "toll road"
        /// A toll booth.
        case tollBooth = "toll booth"
        /// A long tunnel begins.
        case tunnel
        /// A border between two countries.
        case border
    }

    /// Groups of notices that are enabled together.
    public struct Topics: OptionSet, Sendable, Hashable {
        /// The bits.
        public let rawValue: UInt8
        /// A set from its bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Toll roads and toll booths.
        public static let tolls = Topics(rawValue: 1 << 0)
        /// Long tunnels.
        public static let tunnels = Topics(rawValue: 1 << 1)
        /// Borders.
        public static let borders = Topics(rawValue: 1 << 2)
        /// All topics.
        public static let all: Topics = [.tolls, .tunnels, .borders]
    }

    public var leg: Int
    /// The index among the leg's notices.
    public var number: Int
    public var kind: Kind
    /// Metres from the route's start.
    public var routeOffset: Double
    public var coordinate: Coordinate
    /// Direction of travel there, radians clockwise from north.
    public var bearing: Double
    /// The length of the tunnel or toll road, metres; nil for a place.
    public var length: Double?
    /// The two-letter ISO 3166-1 code of the country that is entered at a border; empty for others.
    public var country: String
}

/// A finder of the notices of a route.
struct NoticeFinder {
    /// The shortest tunnel that is announced, metres. 500: the tunnels to which the European directive 2004/54/EC applies.
    static let shortestTunnel = 500.0
    /// The longest stretch without a toll between two parts of one toll road, metres: a bridge or an exit without the tag.
    static let longestTollGap = 1_000.0
    /// The distance between a booth and the start of a toll road within which only the booth is announced, metres.
    static let boothReach = 1_000.0
    /// The distance between two booths of one plaza, metres.
    static let plazaLength = 300.0
    /// The shortest passage through a country that is announced, metres: a road along a border may cross it several times.
    static let shortestCountry = 1_000.0

    private let roads: RouteRoads
    private var route: Route { roads.route }

    init(_ roads: RouteRoads) { self.roads = roads }

    /// Returns the notices about some topics, in travel order.
    func notices(_ topics: RouteNotice.Topics) -> [RouteNotice] {
        var found: [RouteNotice] = []
        if topics.contains(.borders) { addBorders(to: &found) }
        if topics.contains(.tolls) { addTolls(to: &found) }
        if topics.contains(.tunnels) { addTunnels(to: &found) }
        found.sort { $0.routeOffset < $1.routeOffset }
        var leg = 0
        var first = 0
        for index in found.indices {
            while leg + 1 < route.legs.count, found[index].routeOffset >= route.legs[leg + 1].routeOffset {
                leg += 1
                first = index
            }
            (found[index].leg, found[index].number) = (leg, index - first)
        }
        return found
    }

    private func add(
        _ kind: RouteNotice.Kind, at offset: Double, length: Double? = nil, country: String = "",
        to found: inout [RouteNotice]
    ) {
        guard let place = route.line.coordinate(at: offset) else { return }
        found.append(
            RouteNotice(
                leg: 0, number: 0, kind: kind, routeOffset: offset, coordinate: place,
                bearing: Angle.normalised(route.line.bearing(at: offset) ?? 0), length: length, country: country))
    }

    private func start(of piece: Int) -> Double { route.edges[piece].routeOffset }

    private func end(of piece: Int) -> Double { route.edges[piece].routeOffset + route.edges[piece].length }

    /// Returns the maximal runs of pieces with a flag, without ferries.
    private func runs(_ flag: RoadFlags) -> [ClosedRange<Int>] {
        var runs: [ClosedRange<Int>] = []
        for (index, kind) in roads.kinds.enumerated() where kind.flags.contains(flag) && kind.roadClass != .ferry {
            if let last = runs.last, last.upperBound == index - 1 {
                runs[runs.count - 1] = last.lowerBound...index
            } else {
                runs.append(index...index)
            }
        }
        return runs
    }

    private func addTunnels(to found: inout [RouteNotice]) {
        for run in runs(.tunnel) where run.lowerBound > 0 {
            let length = end(of: run.upperBound) - start(of: run.lowerBound)
            guard length >= Self.shortestTunnel else { continue }
            add(.tunnel, at: start(of: run.lowerBound), length: length, to: &found)
        }
    }

    private func addTolls(to found: inout [RouteNotice]) {
        var booths: [Double] = []
        for piece in route.piecesWithTollBooths {
            let offset = boothOffset(piece)
            if let last = booths.last, offset - last < Self.plazaLength { continue }
            booths.append(offset)
            add(.tollBooth, at: offset, to: &found)
        }
        var parts: [ClosedRange<Int>] = []
        for run in runs(route.vehicle.access == .truck ? .truckToll : .toll) {
            if let last = parts.last, start(of: run.lowerBound) - end(of: last.upperBound) < Self.longestTollGap {
                parts[parts.count - 1] = last.lowerBound...run.upperBound
            } else {
                parts.append(run)
            }
        }
        for part in parts where part.lowerBound > 0 {
            let offset = start(of: part.lowerBound)
            guard !booths.contains(where: { abs($0 - offset) < Self.boothReach }) else { continue }
            add(.tollRoad, at: offset, length: end(of: part.upperBound) - offset, to: &found)
        }
    }

    /// Returns the place of the first toll booth on a piece, metres from the route's start; the piece's end when the map no longer contains
    /// the piece.
    private func boothOffset(_ piece: Int) -> Double {
        let (from, to) = (route.edges[piece].startOffset, route.edges[piece].endOffset)
        guard let edge = roads.resolved[piece] else { return end(of: piece) }
        let booths = roads.graph.features(of: edge).filter { $0.kind == .tollBooth }
        guard !booths.isEmpty else { return end(of: piece) }
        let line = Polyline(roads.graph.shape(of: edge).coordinates)
        let scale = line.length > 0 ? Double(roads.graph.edgeLengths[edge.index]) / line.length : 1
        for booth in booths {
            let along = line.cumulativeLengths[min(Int(booth.shapeIndex), line.cumulativeLengths.count - 1)] * scale
            if along > from, along <= to { return start(of: piece) + along - from }
        }
        return end(of: piece)
    }

    private func addBorders(to found: inout [RouteNotice]) {
        let runs = route.countryRuns
        guard runs.count > 1 else { return }
        var last = runs[0].country
        for (index, run) in runs.enumerated().dropFirst() where !run.country.isEmpty && run.country != last {
            let isLast = index + 1 == runs.count
            if !isLast, start(of: runs[index + 1].first) - start(of: run.first) < Self.shortestCountry { continue }
            // A border at sea or in a port is not visible.
            let isAtSea = [run.first - 1, run.first].contains { roads.kinds[$0].roadClass == .ferry }
            if !last.isEmpty, !isAtSea { add(.border, at: start(of: run.first), country: run.country, to: &found) }
            last = run.country
        }
    }
}
