import NavMap

/// A path through the turn graph with the cost up to the end of each edge.
struct StatePath {
    /// The states, at least one; the destination's edge comes after the last.
    var states: ContiguousArray<TurnState> = []
    /// The cost from the origin to each state, ms.
    var costs: ContiguousArray<UInt32> = []
    /// The total cost, ms, including the part of the destination's edge.
    var cost: UInt32 = 0
    /// The numbers of the seeds it starts and ends at.
    var origin = 0
    var destination = 0

    /// Returns the cost between the ends of two edges: `nil` stands for the origin, and the number of states for the
    /// destination.
    func cost(from first: Int?, to last: Int) -> UInt32 {
        (last < costs.count ? costs[last] : cost) - (first.map { costs[$0] } ?? 0)
    }

    mutating func append(_ state: TurnState, _ metric: Metric) {
        let turns = metric.turns
        guard let last = states.last, let before = costs.last else { return }
        var turn = Metric.forbidden
        for arc in turns.arcs(from: last) where turns.arcTargets[arc] == state {
            turn = min(turn, metric.arcCosts[arc])
        }
        states.append(state)
        costs.append(before &+ turn &+ metric.edgeCosts[turns.edge(of: state).index])
    }
}

/// An index of the edges of a path, as a small hash table whose memory grows with the path, not with the map.
struct PathIndex {
    private var slots: ContiguousArray<(edge: UInt32, place: UInt32)>
    private let mask: Int
    private static let free = UInt32.max

    /// Creates an index; an edge that is driven twice is listed at its first position.
    init(_ edges: some Sequence<EdgeIndex>, count: Int) {
        var capacity = 64
        while capacity < count * 2 { capacity *= 2 }
        mask = capacity - 1
        slots = ContiguousArray(repeating: (Self.free, 0), count: capacity)
        for (place, edge) in edges.enumerated() { insert(edge.rawValue, UInt32(place)) }
    }

    /// Inserts a value, or returns the position it already has.
    @discardableResult
    mutating func insert(_ value: UInt32, _ place: UInt32) -> Int? {
        var slot = Int(truncatingIfNeeded: UInt64(value) &* 0x9E37_79B9_7F4A_7C15 >> 32) & mask
        while slots[slot].edge != Self.free {
            if slots[slot].edge == value { return Int(slots[slot].place) }
            slot = (slot + 1) & mask
        }
        slots[slot] = (value, place)
        return nil
    }

    /// Returns the position of an edge; nil when the path does not contain it.
    @inline(__always)
    func place(of edge: EdgeIndex) -> Int? {
        var slot = Int(truncatingIfNeeded: UInt64(edge.rawValue) &* 0x9E37_79B9_7F4A_7C15 >> 32) & mask
        while slots[slot].edge != Self.free {
            if slots[slot].edge == edge.rawValue { return Int(slots[slot].place) }
            slot = (slot + 1) & mask
        }
        return nil
    }
}

/// The common part of two paths between the same places.
struct PathComparison {
    /// The cost of the common edges on the first path, ms.
    var shared: UInt32 = 0
    /// The number of stretches of the first path that are not on the second.
    var forks = 0
    /// The length of the longest such stretch, metres.
    var longestPiece = 0.0
    /// The greatest factor by which such a stretch costs more than the second path between the same two points;
    /// infinite when the second path does not connect them in that order.
    var stretch = 1.0

    /// Compares a path with another one, given by its index.
    ///
    /// - Parameters:
    ///   - end: The destination of the first path.
    ///   - skipped: Metres of the first path's first edge before its origin.
    init(
        _ path: StatePath, with other: StatePath, _ index: PathIndex, _ turns: TurnGraph, to end: EdgePosition,
        skipped: Double
    ) {
        var pieceStart: Int?
        var pieceLength = 0.0
        /// The last common state, as its position on both paths.
        var last: (own: Int, other: Int)?
        for number in 0...path.states.count {
            let isEnd = number == path.states.count
            let edge = isEnd ? end.edge : turns.edge(of: path.states[number])
            let place = index.place(of: edge)
            if let place {
                if pieceStart != nil {
                    close(at: number, place)
                    pieceStart = nil
                }
                shared += path.cost(from: number == 0 ? nil : number - 1, to: number)
                last = (number, place)
            } else {
                if pieceStart == nil {
                    pieceStart = number
                    pieceLength = 0
                    forks += 1
                }
                pieceLength += isEnd ? end.offset : Double(turns.graph.edgeLengths[edge.index])
                if number == 0 { pieceLength -= skipped }
                longestPiece = max(longestPiece, pieceLength)
            }
        }
        if pieceStart != nil { close(at: path.states.count, other.states.count) }

        func close(at number: Int, _ place: Int) {
            longestPiece = max(longestPiece, pieceLength)
            guard place > (last?.other ?? -1) else {
                stretch = .infinity
                return
            }
            let own = path.cost(from: last?.own, to: number)
            let others = other.cost(from: last?.other, to: place)
            stretch = max(stretch, Double(own) / Double(max(others, 1)))
        }
    }
}
