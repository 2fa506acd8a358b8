import NavMap

/// The costs of one ``Metric`` on the arcs of a ``ContractionHierarchy``.
///
/// An arc costs what the cheapest way between its ends over lower vertices costs, which is found triangle by triangle
/// from the lowest vertex up.
public final class HierarchyMetric: @unchecked Sendable {
    public let hierarchy: ContractionHierarchy
    /// The costs of edges and turns.
    public let metric: Metric

    /// The cost of what cannot be driven: two of them still fit 32 bits. Costs up to 24 days are told apart.
    static let unreachable = UInt32(Int32.max)

    /// Up (x) and down (y) each arc, ms.
    let costs: FlatArray<SIMD2<UInt32>>
    /// Over which vertices they come about.
    let middles: FlatArray<ArcMiddles>
    /// The costs to the ends of the loaded tiles; nil when they end nowhere.
    private(set) var openEnds: OpenEndCosts?

    /// Runs a body for each of the numbers 0 ..< n, in any order and on any threads, and returns when all are done:
    /// `DispatchQueue.concurrentPerform(iterations:execute:)` is one.
    public typealias ForEach = (_ n: Int, _ body: @Sendable (Int) -> Void) -> Void

    /// A ``ForEach`` on the calling thread, one number after the other.
    public static func inTurn(_ n: Int, _ body: @Sendable (Int) -> Void) { for number in 0..<n { body(number) } }

    /// Customises a hierarchy. Equal metrics give equal costs, whatever the threads.
    ///
    /// Subtrees of the elimination tree are done side by side. Above them, first all ways over their vertices are
    /// taken side by side, then those over the top's own vertices on the calling thread.
    ///
    /// - Parameters:
    ///   - hierarchy: The topology of the metric's turn graph.
    ///   - metric: The costs.
    ///   - forEach: Who does the parts; the calling thread unless given.
    public convenience init(
        _ hierarchy: ContractionHierarchy, _ metric: Metric,
        forEach: ForEach = HierarchyMetric.inTurn
    ) {
        precondition(hierarchy.turns === metric.turns, "a metric of another turn graph than the hierarchy's")
        self.init(metric, on: hierarchy)
        let parts = hierarchy.parts
        forEach(parts.subtrees.count) { part in
            self.withPlaces { places in
                for vertex in parts.subtrees[part] {
                    self.respect(vertex)
                    self.customise(vertex, places, over: .all)
                }
            }
        }
        let slices = min(parts.top.count, Self.topSlices)
        forEach(slices) { slice in
            self.withPlaces { places in
                // Interleaved: vertices higher up have more to do.
                for index in stride(from: slice, to: parts.top.count, by: slices) {
                    self.respect(Int(parts.top[index]))
                    self.customise(Int(parts.top[index]), places, over: .subtrees)
                }
            }
        }
        withPlaces { places in for vertex in parts.top { customise(Int(vertex), places, over: .top) } }
        openEnds = OpenEndCosts(hierarchy, metric, costs)
    }

    /// Into how many parts the work above the subtrees is shared out.
    private static let topSlices = 16

    /// The lower vertices over which ways are looked for.
    private enum Lower { case all, subtrees, top }

    private func withPlaces(_ body: (UnsafeMutablePointer<UInt32>) -> Void) {
        // Never read where it was not written before.
        let places = UnsafeMutablePointer<UInt32>.allocate(capacity: max(hierarchy.vertexCount, 1))
        defer { places.deallocate() }
        body(places)
    }

    /// Still without any cost.
    private init(_ metric: Metric, on hierarchy: ContractionHierarchy) {
        self.hierarchy = hierarchy
        self.metric = metric
        costs = FlatArray(uninitialized: hierarchy.arcCount)
        middles = FlatArray(uninitialized: hierarchy.arcCount)
    }

    /// Gives the arcs of a vertex the costs of the turns alone.
    @inline(__always)
    private func respect(_ vertex: Int) {
        let (costs, middles, slots) = (costs.base, middles.base, hierarchy.slots.base)
        for arc in Int(hierarchy.upOffsets[vertex])..<Int(hierarchy.upOffsets[vertex + 1]) {
            costs[arc] = SIMD2(repeating: Self.unreachable)
            middles[arc] = .none
        }
        let state = hierarchy.states[vertex]
        let turns = hierarchy.turns
        for arc in turns.arcs(from: state) where slots[arc] != ContractionHierarchy.noArc && slots[arc] & 1 == 0 {
            let index = Int(slots[arc] >> 1)
            costs[index].x = min(costs[index].x, cost(arc, to: turns.arcTargets[arc]))
        }
        for slot in Int(turns.reverseOffsets[Int(state)])..<Int(turns.reverseOffsets[Int(state) + 1]) {
            let arc = Int(turns.reverseArcs[slot])
            guard slots[arc] != ContractionHierarchy.noArc, slots[arc] & 1 == 1 else { continue }
            let index = Int(slots[arc] >> 1)
            costs[index].y = min(costs[index].y, cost(arc, to: state))
        }
    }

    /// The cost of a turn, the second edge's included.
    @inline(__always)
    private func cost(_ arc: Int, to next: TurnState) -> UInt32 {
        guard metric.arcCosts[arc] != Metric.forbidden else { return Self.unreachable }
        let edge = metric.edgeCosts[hierarchy.turns.edge(of: next).index]
        let (sum, overflow) = metric.arcCosts[arc].addingReportingOverflow(edge)
        return overflow ? Self.unreachable : min(sum, Self.unreachable)
    }

    /// Brings the arcs of a vertex to the cost of ways over lower vertices whose own arcs are final. It writes to no
    /// other vertex' arcs.
    ///
    /// - Parameter places: scratch of the calling thread, one number for each vertex.
    @inline(__always)
    private func customise(_ vertex: Int, _ places: UnsafeMutablePointer<UInt32>, over lower: Lower) {
        let (costs, middles) = (costs.base, middles.base)
        let (upOffsets, upHeads) = (hierarchy.upOffsets.base, hierarchy.upHeads.base)
        let (downOffsets, downTails, downArcs) =
            (hierarchy.downOffsets.base, hierarchy.downTails.base, hierarchy.downArcs.base)
        let isTop = hierarchy.parts.isTop.base
        for arc in upOffsets[vertex]..<upOffsets[vertex + 1] { places[Int(upHeads[Int(arc)])] = arc }
        let firstSlot = Int(downOffsets[vertex])
        for slot in firstSlot..<Int(downOffsets[vertex + 1]) {
            let tail = Int(downTails[slot])
            if lower != .all, isTop[tail] != (lower == .top) { continue }
            let arc = Int(downArcs[slot])
            let first = costs[arc]
            let toLower = SIMD2(first.y, first.x)
            let end = Int(upOffsets[tail + 1])
            let middle = ArcMiddles(place: slot - firstSlot)
            var other = arc + 1
            while other < end {
                let place = Int(places[Int(upHeads[other])])
                let cost = toLower &+ costs[other]
                let isLess = cost .< costs[place]
                costs[place].replace(with: cost, where: isLess)
                middles[place].replace(with: middle, where: isLess)
                other += 1
            }
        }
    }
}

/// Over which vertex the cost of an arc comes about, up and down: the vertex' place among the lower neighbours of the
/// arc's lower end.
struct ArcMiddles: BitwiseCopyable {
    /// The place up in the lower half of the bits, the place down in the upper.
    private var places: UInt32

    /// Stands for "over no vertex": the arc is a turn, or leads nowhere.
    static let noPlace = UInt16.max
    /// Over no vertex in both directions.
    static let none = ArcMiddles(places: .max)

    private init(places: UInt32) { self.places = places }

    /// The same place, below ``noPlace``, in both directions.
    @inline(__always)
    init(place: Int) { places = UInt32(truncatingIfNeeded: place) &* 0x0001_0001 }

    /// Returns the place where the cost comes about in one direction.
    @inline(__always)
    func place(isUp: Bool) -> UInt16 { UInt16(truncatingIfNeeded: isUp ? places : places >> 16) }

    /// Takes over the places of the directions, up first, that a mask names. Without a branch: whether a way is cheaper
    /// than those before cannot be foretold.
    @inline(__always)
    mutating func replace(with other: ArcMiddles, where mask: SIMDMask<SIMD2<Int32>>) {
        let wide = unsafeBitCast(mask, to: UInt64.self)
        let chosen = UInt32(truncatingIfNeeded: wide & 0xFFFF) | UInt32(truncatingIfNeeded: wide >> 16) & 0xFFFF_0000
        places = places & ~chosen | other.places & chosen
    }
}
